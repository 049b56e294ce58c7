"""A column of truth values."""

from __future__ import annotations

import dataclasses
from typing import final

import numpy as np

from bayesvm.tables.columns.base import Column, ColumnKind, Encoded, Gaps, refuse_unreadable
from bayesvm.tables.frame import Place
from bayesvm.tables.truth_format import TruthFormat
from bayesvm.tables.values import Values, texts_of


@final
@dataclasses.dataclass(frozen=True)
class TruthColumn(Column):
    """Truth values, as 0 and 1.

    Attributes
    ----------
    gaps : Gaps
        How missing values are replaced.
    format : TruthFormat
        How they are written.
    """

    gaps: Gaps
    format: TruthFormat

    @property
    def kind(self) -> ColumnKind:
        """Truth values."""
        return ColumnKind.TRUTH

    def outputs(self, name: str) -> tuple[str, ...]:
        """Return the name, and that of the marks of gaps."""
        return (name, *(name + mark for mark in self.gaps.marks))

    def encode(self, values: Values, place: Place) -> Encoded:
        """Return zeros and ones without gaps, and the marks of the gaps."""
        texts = texts_of(values)
        parsed = self.format.parse(texts.distinct)
        expected = f"{self.format.false} or {self.format.true}"
        refuse_unreadable(texts.spread(np.isnan(parsed), False), texts, expected, place)
        columns, remark = self.gaps.filled(texts.spread(parsed, np.nan))
        return Encoded(np.column_stack(columns), remark)

    def sentence(self) -> str:
        """Return the words that were found, and what is done with gaps."""
        words = f"{self.format.false} is 0, {self.format.true} is 1"
        return "; ".join(part for part in (words, self.gaps.words("median")) if part)


__all__ = ["TruthColumn"]
