"""A column that is not used."""

from __future__ import annotations

import dataclasses
from typing import final

import numpy as np

from bayesvm.tables.columns.base import Column, ColumnKind, Encoded
from bayesvm.tables.frame import Place
from bayesvm.tables.values import Values


@final
@dataclasses.dataclass(frozen=True)
class LeftOut(Column):
    """Nothing.

    Attributes
    ----------
    reason : ColumnKind
        Why the column is left out.
    """

    reason: ColumnKind

    @property
    def kind(self) -> ColumnKind:
        """The reason."""
        return self.reason

    def outputs(self, name: str) -> tuple[str, ...]:
        """Return no name."""
        return ()

    def encode(self, values: Values, place: Place) -> Encoded:
        """Return no column."""
        return Encoded(np.empty((len(values), 0)))

    def sentence(self) -> str:
        """Return the reason."""
        return self.reason.value


__all__ = ["LeftOut"]
