"""Maps of targets and weights, as a source has them, to those of models; small objects that travel to the workers."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from bayesvm.estimators._regressor import target_columns
from bayesvm.models.probabilities import one_against_rest
from bayesvm.models.scaling import TargetScale
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class RowMap(ABC):
    """What is done to the targets and weights of every row.

    Attributes
    ----------
    units : TargetScale
        The map of the outputs to the units used inside; it changes nothing for labels.
    spread : float
        Standard deviation of the outputs in those units.
    """

    units: TargetScale
    spread: float = 1.0

    @abstractmethod
    def targets(self, y: Any) -> Matrix:
        """Return one column per output."""

    def weights(self, y: Any, weights: Any) -> Vector | None:
        """Return the weights of the rows, None if all are one."""
        return given_weights(y, weights)


@dataclasses.dataclass(frozen=True)
class TargetMap(RowMap):
    """Real targets, standardised."""

    def targets(self, y: Any) -> Matrix:
        """Return one column per output."""
        return self.units.inner(target_columns(y))


@dataclasses.dataclass(frozen=True)
class LabelMap(RowMap):
    """Labels as -1 and +1: of the second of two classes, or of each class against the rest.

    Attributes
    ----------
    classes : array
        Sorted.
    factors : array or None
        Weights of the classes (None: all one), by which those of the rows are multiplied.
    """

    classes: Any = dataclasses.field(kw_only=True)
    factors: Vector | None = dataclasses.field(kw_only=True)

    def targets(self, y: Any) -> Matrix:
        """Return one column for two classes, one per class for more."""
        codes = np.searchsorted(self.classes, y)
        return one_against_rest(codes, self.classes.size)

    def weights(self, y: Any, weights: Any) -> Vector | None:
        """Return the weights of the rows times those of their classes."""
        if self.factors is None:
            return given_weights(y, weights)
        own = self.factors[np.searchsorted(self.classes, y)]
        return np.asarray(own if weights is None else own * weights)


def given_weights(y: Any, weights: Any) -> Vector | None:
    """Return the weights of the rows as they are."""
    return None if weights is None else np.asarray(weights, dtype=np.float64)


__all__ = ["LabelMap", "RowMap", "TargetMap", "given_weights"]
