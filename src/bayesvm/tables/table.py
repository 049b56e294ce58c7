"""A table: named columns of numbers or of text, with gaps."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

#: Text that stands for a missing value, in lower case.
MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "none"})


class DataError(ValueError):
    """Data that cannot be used; the message names file, row and column where they are known."""


@dataclasses.dataclass(frozen=True)
class Table:
    """Named columns of equal length.

    Attributes
    ----------
    columns : mapping
        Per name an array: float64 with nan for gaps, or object with text and None for gaps.
    source : str
        Where the data came from, for messages.
    numbers : array of int, optional
        Numbers of the rows in the source, for messages; from 1 if None.
    """

    columns: Mapping[str, np.ndarray]
    source: str = "the data"
    numbers: np.ndarray | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def where(self, row: int, name: str) -> str:
        """Return the place of an entry in words."""
        return f"{self.source}, row {self.number(row)}, column {name!r}"

    def number(self, row: int) -> int:
        """Return the number that a row has in the source."""
        return row + 1 if self.numbers is None else int(self.numbers[row])

    def take(self, rows: Any) -> Table:
        """Return some of the rows."""
        numbers = np.array([self.number(i) for i in np.arange(len(self))[rows]])
        return Table({name: column[rows] for name, column in self.columns.items()}, self.source, numbers)

    def without(self, names: Sequence[str]) -> Table:
        """Return the table without some of its columns."""
        return dataclasses.replace(self, columns={n: c for n, c in self.columns.items() if n not in names})

    def column(self, name: str) -> np.ndarray:
        """Return a column, or say which there are."""
        if name not in self.columns:
            shown = ", ".join(self.names[:12]) + (", ..." if len(self.names) > 12 else "")
            raise DataError(f"{self.source}: no column {name!r}; the columns are {shown}")
        return self.columns[name]


def is_numeric(column: np.ndarray) -> bool:
    """Whether a column of a table holds numbers."""
    return column.dtype.kind == "f"


def text_column(texts: Sequence[str | None]) -> np.ndarray:
    """Return a column of a table from text: numbers if every entry that is not missing is a finite number, else text."""
    gaps = [text is None or text.strip().lower() in MISSING for text in texts]
    numbers = np.full(len(texts), np.nan)
    try:
        for i, (text, gap) in enumerate(zip(texts, gaps)):
            if not gap:
                numbers[i] = _number(str(text))
    except ValueError:
        column = np.empty(len(texts), dtype=object)
        column[:] = [None if gap else str(text).strip() for text, gap in zip(texts, gaps)]
        return column
    return numbers


def _number(text: str) -> float:
    text = text.strip()
    if not text.isascii() or "_" in text:
        raise ValueError(text)
    return float(text)


def as_table(X: Any, source: str = "the data") -> Table:
    """Return a table, a pandas or polars DataFrame, a mapping of columns or a matrix as a table."""
    if isinstance(X, Table):
        return X
    if isinstance(X, Mapping):
        return Table({str(name): any_column(values) for name, values in X.items()}, source)
    if hasattr(X, "columns") and hasattr(X, "__getitem__"):
        return Table({str(name): any_column(X[name]) for name in X.columns}, source)
    matrix = np.asarray(X)
    if matrix.ndim != 2:
        raise DataError(f"{source}: expected a table or a matrix, found {matrix.ndim} dimension(s)")
    return Table({f"x{j}": any_column(matrix[:, j]) for j in range(matrix.shape[1])}, source)


def any_column(values: Any) -> np.ndarray:
    """Return a sequence of numbers, truth values, text or anything else as a column of a table."""
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    entries = [None if _is_gap(entry) else entry for entry in array.tolist()]
    present = [entry for entry in entries if entry is not None]
    if all(isinstance(entry, bool | int | float) for entry in present):
        return np.array([np.nan if entry is None else float(entry) for entry in entries], dtype=np.float64)
    column = np.empty(len(entries), dtype=object)
    column[:] = [None if entry is None else str(entry) for entry in entries]
    return column


def _is_gap(entry: Any) -> bool:
    if entry is None:
        return True
    try:
        return bool(entry != entry)  # nan, NaT
    except (TypeError, ValueError):
        return True  # pandas' NA refuses the question


__all__ = ["MISSING", "DataError", "Table", "any_column", "as_table", "is_numeric", "text_column"]
