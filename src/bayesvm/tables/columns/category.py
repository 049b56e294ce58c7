"""A column of categories."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import final

import numpy as np

from bayesvm.tables.columns.base import GAP, Column, ColumnKind, Encoded
from bayesvm.tables.frame import Place
from bayesvm.tables.values import Texts, Values, texts_of
from bayesvm.typing import Matrix

#: What rare categories are called together.
OTHER = "(other)"


@final
@dataclasses.dataclass(frozen=True)
class CategoryColumn(Column):
    """Categories, as one column of zeros and ones each.

    A gap is a category of its own if there were gaps in the training data. A category that was not seen there counts
    as "(other)" if there is that category, and otherwise has zeros in all columns.

    Attributes
    ----------
    categories : tuple of str
        Categories with an indicator of their own; of two, only the second has one.
    rare : tuple of str or None
        Categories that are "(other)"; None if they are not known (models of older releases).
    n_missing : int
        Gaps in the training data.
    """

    categories: tuple[str, ...]
    rare: tuple[str, ...] | None = ()
    n_missing: int = 0

    @property
    def kind(self) -> ColumnKind:
        """Categories."""
        return ColumnKind.CATEGORICAL

    @property
    def indicators(self) -> tuple[str, ...]:
        """Categories that become a column of zeros and ones."""
        return self.categories[1:] if len(self.categories) == 2 else self.categories

    def outputs(self, name: str) -> tuple[str, ...]:
        """Return one name per indicator."""
        return tuple(f"{name}={category}" for category in self.indicators)

    def encode(self, values: Values, place: Place) -> Encoded:
        """Return the indicators of the categories."""
        texts = texts_of(values)
        table = self.indicator_table([*texts.distinct, GAP])  # the code of a gap is -1: the last row
        return Encoded(table[texts.codes], self._remark(texts))

    def indicator_table(self, texts: Sequence[str | None]) -> Matrix:
        """Return the indicators of texts, one row each; None is a text that was not seen in training."""
        spare = OTHER if OTHER in self.categories else None
        own = [text if text in self.categories else spare for text in texts]
        return np.array([[float(text == category) for category in self.indicators] for text in own])

    def _remark(self, texts: Texts) -> str:
        """Return how many rows have a category that was not seen in training."""
        if self.rare is None:
            return ""
        known = {*self.categories, *self.rare}
        new = np.array([text not in known for text in texts.distinct], dtype=bool)
        count = int(texts.spread(new, GAP not in known).sum())
        if not count:
            return ""
        names = [repr(text) for text in texts.distinct if text not in known]
        shown = ", ".join(names[:3] or ["a gap"]) + (", ..." if len(names) > 3 else "")
        return f"{count} row{'s' if count > 1 else ''} with a category that the training data do not have ({shown})"

    def sentence(self) -> str:
        """Return how many categories there are, and what is done with rare ones and gaps."""
        own = len(self.categories) - (OTHER in self.categories)
        parts = [f"{own} {self.kind.value}"]
        if OTHER in self.categories:
            rare = f"{len(self.rare)} rarer ones" if self.rare is not None else "rarer ones"
            parts.append(f"{rare} share the category {OTHER}")
        if self.n_missing:
            parts.append(f"{self.n_missing} missing, a category of their own")
        return "; ".join(parts)


__all__ = ["GAP", "OTHER", "CategoryColumn"]
