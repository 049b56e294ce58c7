"""What all columns have in common, and how gaps are filled."""

from __future__ import annotations

import abc
import dataclasses
import enum
from typing import Self

import numpy as np

from bayesvm.tables.errors import DataError
from bayesvm.tables.frame import Place
from bayesvm.tables.values import MISSING_NUMBER, Values, value_at
from bayesvm.typing import Matrix, Vector

#: What gaps are called in the names of the encoded columns.
GAP = "(missing)"


class ColumnKind(enum.Enum):
    """What becomes of a column; the value says it in words."""

    NUMERIC = "numbers"
    DATE = "dates"
    TRUTH = "true or false"
    CATEGORICAL = "categories, one-hot encoded"
    CONSTANT = "left out: it has one value only"
    IDENTIFIER = "left out: it names the rows, nearly every value is different"
    EMPTY = "left out: it has no values"
    DROPPED = "left out, as asked for"

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:  # some readers of stored models look for this alone
        return type(self), (self.value,)


@dataclasses.dataclass(frozen=True)
class Encoded:
    """The matrix that a column becomes, and what the caller should be told about it (empty: nothing)."""

    matrix: Matrix
    remark: str = ""


class Column(abc.ABC):
    """What is done with one column; subclasses are frozen records that hold what was learnt from the training data."""

    @property
    @abc.abstractmethod
    def kind(self) -> ColumnKind:
        """What becomes of the column."""

    @abc.abstractmethod
    def outputs(self, name: str) -> tuple[str, ...]:
        """Return the names of the columns that a column of that name becomes."""

    @abc.abstractmethod
    def encode(self, values: Values, place: Place) -> Encoded:
        """Return the numbers that values become, shape (n, number of outputs)."""

    @abc.abstractmethod
    def sentence(self) -> str:
        """Return what is done, in words without the name of the column; empty if it goes without saying."""


@dataclasses.dataclass(frozen=True)
class Gaps:
    """How missing values are replaced.

    Attributes
    ----------
    fill : float
        Number in their place.
    count : int
        Missing values in the training data.
    marked : bool
        Whether a column of zeros and ones tells where they were.
    """

    fill: float
    count: int = 0
    marked: bool = False

    @classmethod
    def of(cls, numbers: Vector) -> Gaps:
        """Return the rule for numbers with nan for gaps: the median, marked if there are gaps."""
        missing = int(np.isnan(numbers).sum())
        return cls(float(np.nanmedian(numbers)), missing, missing > 0)

    @property
    def marks(self) -> tuple[str, ...]:
        """What the name of the column of marks ends in; none if there is no such column."""
        return (f"={GAP}",) if self.marked else ()

    def filled(self, numbers: Vector) -> tuple[list[Vector], str]:
        """Return numbers without gaps, then the marks if there are any; and a remark on gaps that are new."""
        missing = np.isnan(numbers)
        columns = [np.where(missing, self.fill, numbers)]
        if self.marked:
            columns.append(missing.astype(np.float64))
        if self.count or not missing.any():
            return columns, ""
        return columns, f"{missing.sum()} missing, filled in; there were none in the training data"

    def words(self, name: str) -> str:
        """Return what is done with gaps, ``name`` being that of the number in their place; empty if there are none."""
        if not self.count:
            return ""
        marks = " and marked in a column of zeros and ones" if self.marked else ""
        return f"{self.count} missing, replaced by the {name} {self.fill:.6g}{marks}"


def refuse_unreadable(unread: np.ndarray, values: Values, expected: str, place: Place) -> None:
    """Raise the error of the first value that could not be read."""
    if unread.any():
        row = int(np.flatnonzero(unread)[0])
        value = value_at(values, row)
        shown = repr(value) if isinstance(value, str) else str(value)
        raise DataError(f"{place.at(row)}: expected {expected}, found {shown}; correct the cell (NA means missing)")


def are_gaps(texts: np.ndarray) -> np.ndarray:
    """Return which distinct texts stand for a gap among numbers and dates."""
    return np.array([text in MISSING_NUMBER for text in texts], dtype=bool)


__all__ = ["GAP", "Column", "ColumnKind", "Encoded", "Gaps", "are_gaps", "refuse_unreadable"]
