"""Tables are pandas DataFrames: how other things become one, and how a place in one is named."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array

from bayesvm.lookup import did_you_mean, listed
from bayesvm.tables.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

#: Name of the index of a table that was read from a file: it holds the numbers of the rows in the file.
ROW = "row"
#: Key of ``DataFrame.attrs`` under which a table keeps the name of its file.
SOURCE = "source"


def pandas() -> Any:
    """Return the module pandas; it is imported when the first table is, not before."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("tables need pandas: pip install 'bayesvm[tables]'") from None
    return pd


def as_frame(X: Any) -> pd.DataFrame:
    """Return a DataFrame of pandas or polars, a mapping of columns, or a matrix as a DataFrame with names of text.

    The columns of a matrix are called x0, x1, and so on.
    """
    pd = pandas()
    if isinstance(X, pd.DataFrame):
        frame = X if all(isinstance(name, str) for name in X.columns) else X.set_axis(X.columns.map(str), axis=1)
    elif isinstance(X, Mapping) and not issparse(X):
        frame = _from_columns({str(name): values for name, values in X.items()})
    elif hasattr(X, "columns") and hasattr(X, "__getitem__"):
        frame = _from_columns({str(name): X[name].to_list() for name in X.columns})
    else:
        matrix = check_array(X, dtype=None, ensure_all_finite=False)
        frame = pd.DataFrame(matrix, columns=[f"x{j}" for j in range(matrix.shape[1])])
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise DataError(f"{source_of(frame)}: the column name {twice!r} occurs twice")
    return frame


def _from_columns(columns: Mapping[str, Any]) -> pd.DataFrame:
    try:
        return pandas().DataFrame(dict(columns))
    except ValueError as error:
        raise DataError(f"the data: expected columns of equal length ({error})") from None


def has_names(X: Any) -> bool:
    """Whether the columns of something that :func:`as_frame` takes have names of their own."""
    return (isinstance(X, Mapping) or hasattr(X, "columns")) and not issparse(X)


def is_category(column: pd.Series) -> bool:
    """Whether a column is of pandas' type ``category``: its values are names, whatever they look like."""
    return isinstance(column.dtype, pandas().CategoricalDtype)


def source_of(frame: pd.DataFrame) -> str:
    """Return where a table came from, for messages."""
    return str(frame.attrs.get(SOURCE, "the data"))


def row_numbers(frame: pd.DataFrame) -> np.ndarray:
    """Return the numbers of the rows in the source of a table, from 1 if it was not read from a file."""
    return frame.index.to_numpy() if frame.index.name == ROW else np.arange(1, len(frame) + 1)


def column_of(frame: pd.DataFrame, name: str) -> pd.Series:
    """Return a column, or say which there are."""
    if name not in frame.columns:
        raise no_column(frame, name)
    return frame[name]


def no_column(frame: pd.DataFrame, name: str) -> DataError:
    """Return the error of a column that a table does not have: it says which there are, and which may be meant."""
    names = list(frame.columns)
    made_up = frame.index.name == ROW and names == [f"c{j + 1}" for j in range(len(names))]
    hint = "; if the first row of the file holds the names, say header=True (--header)" if made_up else ""
    return DataError(
        f"{source_of(frame)}: no column {name!r}{did_you_mean(name, names)}; the columns are {listed(names)}{hint}"
    )


def chosen_columns(frame: pd.DataFrame, features: Sequence[str] | None, drop: Sequence[str]) -> list[str]:
    """Return the names of the columns that are asked for: all, or ``features``, without ``drop``."""
    wanted = list(frame.columns) if features is None else list(features)
    for name in (*wanted, *drop):
        column_of(frame, name)
    return [name for name in wanted if name not in set(drop)]


@dataclasses.dataclass(frozen=True)
class Place:
    """A column of a table, for messages.

    Attributes
    ----------
    source : str
        Where the table came from.
    column : str
        The column.
    numbers : array
        Numbers of the rows in the source.
    """

    source: str
    column: str
    numbers: np.ndarray

    @classmethod
    def of(cls, frame: pd.DataFrame, column: str) -> Place:
        """Return the place of a column."""
        return cls(source_of(frame), column, row_numbers(frame))

    def at(self, row: int) -> str:
        """Return the place of a cell in words; rows are counted from 0."""
        return f"{self.source}, row {self.numbers[row]}, column {self.column!r}"


__all__ = [
    "ROW",
    "SOURCE",
    "Place",
    "as_frame",
    "chosen_columns",
    "column_of",
    "has_names",
    "is_category",
    "no_column",
    "pandas",
    "row_numbers",
    "source_of",
]
