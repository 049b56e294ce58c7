"""The values of a column in one of three forms: numbers, moments, or text; gaps are nan, NaT or None."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesvm.tables.frame import is_category, pandas
from bayesvm.typing import Vector

if TYPE_CHECKING:
    import pandas as pd

#: Text that stands for a missing value, in lower case.
MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "none", "nat", "#n/a", "<na>"})
#: Text that stands for a missing value among numbers and dates, but may be a category among text.
MISSING_NUMBER = frozenset({"-", "--", ".", ".."})

#: What pandas calls objects that are numbers, and those that are moments.
_NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal")
_MOMENTS = ("datetime64", "datetime", "date")


def values_of(column: pd.Series) -> np.ndarray:
    """Return a column as an array of float64, of datetime64 (UTC), or of text and None.

    Truth values become the text "True" and "False", durations become days, and a column of pandas' type ``category``
    is text whatever its categories are.
    """
    types = pandas().api.types
    if is_category(column) or types.is_bool_dtype(column.dtype):
        return _as_text(column.astype(object).to_numpy(dtype=object))
    if types.is_complex_dtype(column.dtype):
        raise ValueError(f"Complex data not supported: column {column.name!r}")
    if types.is_numeric_dtype(column.dtype):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if types.is_datetime64_any_dtype(column.dtype):
        return moments(column)
    if types.is_timedelta64_dtype(column.dtype):
        return np.asarray(column / np.timedelta64(1, "D"), dtype=np.float64)
    return _of_objects(column.astype(object).to_numpy(dtype=object))


def moments(entries: Any) -> np.ndarray:
    """Return dates and times as datetime64 in UTC, without a zone."""
    found = pandas().to_datetime(pandas().Series(entries), utc=True)
    return np.asarray(found.dt.tz_localize(None).to_numpy())


def _of_objects(entries: np.ndarray) -> np.ndarray:
    """Return Python objects in one of the three forms, by what they are."""
    pd = pandas()
    entries = _without_markers(entries)
    present = ~is_gap(entries)
    kind = pd.api.types.infer_dtype(entries[present], skipna=False)
    if kind in _NUMBERS or not present.any():
        numbers = np.full(len(entries), np.nan)
        numbers[present] = entries[present].astype(np.float64)
        return numbers
    if kind in _MOMENTS:
        return moments(entries)
    return entries if kind == "string" else _as_text(entries)


def _without_markers(entries: np.ndarray) -> np.ndarray:
    """Return entries with the blanks around text taken off and text that stands for a gap replaced by None."""
    try:
        codes, distinct = pandas().factorize(entries)
    except TypeError:  # lists or dictionaries among them
        codes, distinct = pandas().factorize(_hashable(entries))
    cleaned = np.empty(len(distinct) + 1, dtype=object)
    for i, entry in enumerate(distinct):
        cleaned[i] = entry
        if isinstance(entry, str):
            stripped = entry.strip()
            cleaned[i] = None if stripped.lower() in MISSING else stripped
    return np.asarray(cleaned[codes])  # the code of a gap is -1: the last entry, which is None


def _hashable(entries: np.ndarray) -> np.ndarray:
    """Return entries with those that cannot be keys (lists, dictionaries) as text."""
    plain = np.empty(len(entries), dtype=object)
    plain[:] = [entry if entry.__hash__ is not None else str(entry) for entry in entries]
    return plain


def _as_text(entries: np.ndarray) -> np.ndarray:
    """Return entries of any kind as text; whole numbers are written without a point."""
    texts = np.empty(len(entries), dtype=object)
    texts[:] = [None if gap else text_of(entry) for entry, gap in zip(entries, pandas().isna(entries))]
    return texts


def text_of(entry: Any) -> str:
    """Return an entry as text: whole numbers without a point, others so that they can be read back exactly."""
    if isinstance(entry, float | np.floating):
        return f"{int(entry)}" if np.isfinite(entry) and float(entry).is_integer() else f"{entry:.17g}"
    return str(entry).strip()


def texts_of(values: np.ndarray) -> np.ndarray:
    """Return values in any of the three forms as text, with None for gaps."""
    return values if values.dtype.kind == "O" else _as_text(values.astype(object))


def is_numeric(values: np.ndarray) -> bool:
    """Whether values are numbers."""
    return values.dtype.kind == "f"


def is_gap(values: np.ndarray) -> np.ndarray:
    """Return which entries are missing."""
    return np.asarray(pandas().isna(values))


def distinct_texts(texts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for every entry the place of its text among the distinct ones (-1: a gap), and the distinct texts."""
    codes, distinct = pandas().factorize(texts)
    return np.asarray(codes), np.asarray(distinct, dtype=object)


def spread(codes: np.ndarray, results: Vector, gap: Any) -> np.ndarray:
    """Return what was computed per distinct text for every entry, ``gap`` for gaps."""
    return np.asarray(np.append(results, np.array([gap], dtype=results.dtype))[codes])


__all__ = [
    "MISSING",
    "MISSING_NUMBER",
    "distinct_texts",
    "is_gap",
    "is_numeric",
    "moments",
    "spread",
    "text_of",
    "texts_of",
    "values_of",
]
