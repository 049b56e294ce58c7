"""A column of numbers."""

from __future__ import annotations

import dataclasses
from typing import final

import numpy as np

from bayesvm.tables.columns.base import Column, ColumnKind, Encoded, Gaps, are_gaps, refuse_unreadable
from bayesvm.tables.frame import Place
from bayesvm.tables.number_format import NumberFormat
from bayesvm.tables.values import Values, is_numeric, texts_of
from bayesvm.typing import Vector


def read_numbers(values: Values, format: NumberFormat, place: Place) -> Vector:
    """Return values as finite numbers with nan for gaps, or refuse the first that is none."""
    if is_numeric(values):
        numbers = values
    else:
        texts = texts_of(values)
        parsed = format.parse(texts.distinct)
        unread = np.isnan(parsed) & ~are_gaps(texts.distinct)
        refuse_unreadable(texts.spread(unread, False), texts, "a number", place)
        numbers = texts.spread(parsed, np.nan)
    refuse_unreadable(np.isinf(numbers), values, "a finite number", place)
    return numbers


@final
@dataclasses.dataclass(frozen=True)
class NumberColumn(Column):
    """Numbers, as they are.

    Attributes
    ----------
    gaps : Gaps
        How missing values are replaced.
    format : NumberFormat
        How the numbers are written if they are given as text.
    """

    gaps: Gaps
    format: NumberFormat

    @property
    def kind(self) -> ColumnKind:
        """Numbers."""
        return ColumnKind.NUMERIC

    def outputs(self, name: str) -> tuple[str, ...]:
        """Return the name, and that of the marks of gaps."""
        return (name, *(name + mark for mark in self.gaps.marks))

    def encode(self, values: Values, place: Place) -> Encoded:
        """Return the numbers without gaps, and the marks of the gaps."""
        columns, remark = self.gaps.filled(read_numbers(values, self.format, place))
        return Encoded(np.column_stack(columns), remark)

    def sentence(self) -> str:
        """Return how the numbers are written, and what is done with gaps."""
        return "; ".join(part for part in (self.format.words, self.gaps.words("median")) if part)


__all__ = ["NumberColumn", "read_numbers"]
