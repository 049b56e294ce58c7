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
    def of(cls, X: Any, weights: Vector | None = None) -> Standardizer:
        """Learn the map from the rows of X, each counted as often as its weight says."""
        shift, var = weighted_moments(X, weights)
        size = np.asarray(abs(X).max(axis=0).toarray()).ravel() if sp.issparse(X) else np.max(np.abs(X), axis=0)
        scale = np.sqrt(var)
        scale = np.where(scale > 1e-12 * size, scale, 1.0)
        return cls(np.zeros_like(shift) if sp.issparse(X) else shift, scale)

    @classmethod
    def identity(cls, d: int) -> Standardizer:
        """Return the map that changes nothing."""
        return cls(np.zeros(d), np.ones(d))

    def inputs(self, X: Any) -> Inputs:
        """Return the rows of X, standardised."""
        if sp.issparse(X):
            return Inputs(X.multiply(1.0 / self.scale))
        return Inputs((X - self.shift) / self.scale)


def weighted_moments(X: Any, weights: Vector | None = None) -> tuple[Vector, Vector]:
    """Return the mean and the variance (divisor: the sum of the weights) of every column."""
    w = np.ones(X.shape[0]) if weights is None else weights
    w = w / w.sum()
    if sp.issparse(X):
        mean = np.asarray(w @ X).ravel()
        return mean, np.maximum(np.asarray(w @ X.multiply(X)).ravel() - mean**2, 0.0)
    mean = w @ X
    centred = X - mean
    return mean, np.einsum("i,ij,ij->j", w, centred, centred)


__all__ = ["Standardizer", "weighted_moments"]
