"""Maps of targets and weights, as a source has them, to what machines take; small objects that travel to the workers."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from bayesvm.distributed.column_stats import columns
from bayesvm.estimators._targets import TargetScale
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class Labels:
    """Labels as -1 and +1, one column per machine; weights times those of the classes.

    Attributes
    ----------
    classes : array
        Sorted.
    factors : array or None
        Weights of the classes (None: all one).
    """

    classes: Any
    factors: Vector | None

    def targets(self, y: Any) -> Matrix:
        """Return one column for two classes, one per class for more."""
        codes = np.searchsorted(self.classes, y)
        positives = range(self.classes.size) if self.classes.size > 2 else (1,)
        return np.column_stack([np.where(codes == k, 1.0, -1.0) for k in positives])

    def weights(self, y: Any, weights: Any) -> Vector | None:
        """Return the weights of the rows."""
        if self.factors is None:
            return None if weights is None else np.asarray(weights, dtype=np.float64)
        own = self.factors[np.searchsorted(self.classes, y)]
        return own if weights is None else own * np.asarray(weights, dtype=np.float64)


@dataclasses.dataclass(frozen=True)
class Reals:
    """Real targets, standardised.

    Attributes
    ----------
    scale : TargetScale
        The map.
    """

    scale: TargetScale

    def targets(self, y: Any) -> Matrix:
        """Return one column per output."""
        return self.scale.inner(columns(y))


def given_weights(y: Any, weights: Any) -> Vector | None:
    """Return the weights of the rows as they are."""
    return None if weights is None else np.asarray(weights, dtype=np.float64)


__all__ = ["Labels", "Reals", "given_weights"]
