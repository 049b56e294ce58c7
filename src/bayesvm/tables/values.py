"""The values of a column in one of three forms: numbers, moments, or text."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard, final

import numpy as np

from bayesvm.tables.frame import is_category, pandas

if TYPE_CHECKING:
    import pandas as pd

#: Text that stands for a missing value, in lower case.
MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "none", "nat", "#n/a", "<na>"})
#: Text that stands for a missing value among numbers and dates, but may be a category among text.
MISSING_NUMBER = frozenset({"-", "--", ".", ".."})

#: What pandas calls objects that are numbers, and those that are moments.
_NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal")
_MOMENTS = ("datetime64", "datetime", "date")
_LONGEST_MARKER = max(map(len, MISSING))


@final
@dataclasses.dataclass(frozen=True)
class Texts:
    """A column of text. What is to be found out about it is found out once per distinct text.

    Attributes
    ----------
    codes : array of int
        For every row the place of its text among the distinct ones, -1 for a gap.
    distinct : array of str
        The distinct texts, in the order in which they appear.
    """

    codes: np.ndarray
    distinct: np.ndarray

    @classmethod
    def of(cls, codes: np.ndarray, texts: Sequence[str | None]) -> Texts:
        """Return the column of codes of texts that may be equal to one another, or None for gaps."""
        if len(set(texts)) == len(texts) and None not in texts:
            return cls(codes, _objects(texts))
        merged, distinct = pandas().factorize(_objects(texts))
        return cls(np.append(merged, -1)[codes], np.asarray(distinct, dtype=object))

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def first_rows(self) -> np.ndarray:
        """For every distinct text the first row in which it stands."""
        first = np.full(len(self.distinct), len(self.codes))
        present = np.flatnonzero(self.codes >= 0)
        np.minimum.at(first, self.codes[present], present)
        return first

    def spread(self, results: np.ndarray, gap: Any) -> np.ndarray:
        """Return for every row what was found out about its text, ``gap`` for gaps."""
        return np.asarray(np.append(results, np.array([gap], dtype=results.dtype))[self.codes])

    def entries(self) -> np.ndarray:
        """Return the text of every row, None for gaps."""
        return self.spread(self.distinct, None)


#: Numbers (float64, nan for gaps), moments (datetime64 in UTC, NaT for gaps), or text.
Values = np.ndarray | Texts


def values_of(column: pd.Series) -> Values:
    """Return a column in one of the three forms.

    Truth values become the text "True" and "False", durations become days, and a column of pandas' type ``category``
    is text whatever its categories are. Blanks around text are taken off.
    """
    types = pandas().api.types
    if is_category(column) or types.is_bool_dtype(column.dtype):
        return _as_text(column.astype(object).to_numpy(dtype=object))
    if types.is_complex_dtype(column.dtype):
        raise ValueError(f"Complex data not supported: column {column.name!r}")
    if types.is_numeric_dtype(column.dtype):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if types.is_datetime64_any_dtype(column.dtype):
        return _moments(column)
    if types.is_timedelta64_dtype(column.dtype):
        return np.asarray(column / np.timedelta64(1, "D"), dtype=np.float64)
    return _of_objects(column.astype(object).to_numpy(dtype=object))


def _moments(entries: Any) -> np.ndarray:
    found = pandas().to_datetime(pandas().Series(entries), utc=True)
    return np.asarray(found.dt.tz_localize(None).to_numpy())


def _of_objects(entries: np.ndarray) -> Values:
    """Return Python objects in one of the three forms, by what they are."""
    codes, distinct = _factorized(entries)
    cleaned = [_without_marker(entry) for entry in distinct]
    present = _objects([entry for entry in cleaned if entry is not None])
    kind = pandas().api.types.infer_dtype(present, skipna=False)
    if kind == "string":
        return Texts.of(codes, cleaned)
    if kind in _NUMBERS or len(present) == 0:
        return np.asarray(np.array([np.nan if entry is None else float(entry) for entry in (*cleaned, None)])[codes])
    if kind in _MOMENTS:
        return np.asarray(_moments([*cleaned, None])[codes])
    return Texts.of(codes, [None if entry is None else text_of(entry) for entry in cleaned])


def _factorized(entries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    try:
        codes, distinct = pandas().factorize(entries)
    except TypeError:  # lists or dictionaries, which cannot be keys
        codes, distinct = pandas().factorize(_objects([e if e.__hash__ is not None else str(e) for e in entries]))
    return codes, distinct


def _without_marker(entry: Any) -> Any:
    """Return text without the blanks around it, None if it stands for a gap; anything else as it is."""
    if not isinstance(entry, str):
        return entry
    stripped = entry.strip()
    return None if len(stripped) <= _LONGEST_MARKER and stripped.lower() in MISSING else stripped


def _objects(entries: Sequence[Any]) -> np.ndarray:
    array = np.empty(len(entries), dtype=object)
    array[:] = entries
    return array


def _as_text(values: np.ndarray) -> Texts:
    codes, distinct = pandas().factorize(values)
    return Texts.of(codes, [text_of(entry) for entry in distinct])


def text_of(entry: Any) -> str:
    """Return an entry as text: whole numbers without a point, others so that they can be read back exactly."""
    if isinstance(entry, float | np.floating):
        return f"{int(entry)}" if np.isfinite(entry) and float(entry).is_integer() else f"{entry:.17g}"
    return str(entry).strip()


def texts_of(values: Values) -> Texts:
    """Return values in any of the three forms as text."""
    return values if isinstance(values, Texts) else _as_text(values)


def is_numeric(values: Values) -> TypeGuard[np.ndarray]:
    """Whether values are numbers."""
    return not isinstance(values, Texts) and values.dtype.kind == "f"


def is_gap(values: Values) -> np.ndarray:
    """Return which entries are missing."""
    return values.codes < 0 if isinstance(values, Texts) else np.asarray(pandas().isna(values))


def value_at(values: Values, row: int) -> Any:
    """Return one entry."""
    return values.distinct[values.codes[row]] if isinstance(values, Texts) else values[row]


__all__ = [
    "MISSING",
    "MISSING_NUMBER",
    "Texts",
    "Values",
    "is_gap",
    "is_numeric",
    "text_of",
    "texts_of",
    "value_at",
    "values_of",
]
