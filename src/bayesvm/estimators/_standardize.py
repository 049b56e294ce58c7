"""Standardised inputs: zero mean and unit variance per feature, so that default starts and bounds fit any data."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import scipy.sparse as sp

from bayesvm.kernels.inputs import Inputs
from bayesvm.typing import Vector


@dataclasses.dataclass(frozen=True)
class Standardizer:
    """The map x -> (x - shift) / scale.

    Attributes
    ----------
    shift, scale : array, shape (d,)
        Means (zeros for sparse data, to keep it sparse) and standard deviations with divisor n; a feature that is constant
        up to rounding has scale 1 and plays no part.
    """

    shift: Vector
    scale: Vector

    @classmethod
    def of(cls, X: Any) -> Standardizer:
        """Learn the map from the rows of X."""
        if sp.issparse(X):
            mean = np.asarray(X.mean(axis=0)).ravel()
            square = np.asarray(X.multiply(X).mean(axis=0)).ravel()
            scale = np.sqrt(np.maximum(square - mean**2, 0.0))
            return cls(np.zeros_like(mean), np.where(scale > 1e-12 * np.sqrt(square), scale, 1.0))
        shift = X.mean(axis=0)
        scale = (X - shift).std(axis=0)
        size = np.max(np.abs(X), axis=0, initial=0.0)
        return cls(shift, np.where(scale > 1e-12 * size, scale, 1.0))

    @classmethod
    def identity(cls, d: int) -> Standardizer:
        """Return the map that changes nothing."""
        return cls(np.zeros(d), np.ones(d))

    def inputs(self, X: Any) -> Inputs:
        """Return the rows of X, standardised."""
        if sp.issparse(X):
            return Inputs(X.multiply(1.0 / self.scale))
        return Inputs((X - self.shift) / self.scale)


__all__ = ["Standardizer"]
