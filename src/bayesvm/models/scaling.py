"""Standardised inputs and targets: zero mean and unit variance, so that default starts and bounds fit any data."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import scipy.sparse as sp

from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Regression
from bayesvm.typing import Matrix, Vector

#: Scale of an output that does not vary, relative to its largest value.
CONSTANT = 1e-9


@dataclasses.dataclass(frozen=True)
class Standardizer:
    """The map x -> (x - shift) / scale.

    Attributes
    ----------
    shift, scale : array, shape (d,)
        Means (zeros for sparse data, to keep it sparse) and standard deviations with divisor n; a feature that is
        constant up to rounding has scale 1 and plays no part.
    """

    shift: Vector
    scale: Vector

    @classmethod
    def of(cls, X: Any, weights: Vector | None = None) -> Standardizer:
        """Learn the map from the rows of X, each counted as often as its weight says."""
        shift, var = weighted_moments(X, weights)
        size = np.asarray(abs(X).max(axis=0).toarray()).ravel() if _sparse(X) else np.max(np.abs(X), axis=0)
        scale = np.sqrt(var)
        scale = np.where(scale > 1e-12 * size, scale, 1.0)
        return cls(np.zeros_like(shift) if _sparse(X) else shift, scale)

    @classmethod
    def identity(cls, d: int) -> Standardizer:
        """Return the map that changes nothing."""
        return cls(np.zeros(d), np.ones(d))

    def inputs(self, X: Any) -> Inputs:
        """Return the rows of X, standardised."""
        if _sparse(X):
            return Inputs(X.multiply(1.0 / self.scale))
        return Inputs((X - self.shift) / self.scale)


def _sparse(X: Any) -> bool:
    return bool(sp.issparse(X))


def weighted_moments(X: Any, weights: Vector | None = None) -> tuple[Vector, Vector]:
    """Return the mean and the variance (divisor: the sum of the weights) of every column."""
    w = np.ones(X.shape[0]) if weights is None else weights
    w = w / w.sum()
    if _sparse(X):
        mean = np.asarray(w @ X).ravel()
        return mean, np.maximum(np.asarray(w @ X.multiply(X)).ravel() - mean**2, 0.0)
    mean = w @ X
    centred = X - mean
    return mean, np.einsum("i,ij,ij->j", w, centred, centred)


@dataclasses.dataclass(frozen=True)
class TargetScale:
    """The map y -> (y - shift) / scale, one pair of numbers per output.

    Attributes
    ----------
    shift, scale : array, shape (m,)
        Means and standard deviations (divisor n). An output that is constant up to rounding has a billionth of its
        largest value (of 1, if all are zero): the function varies no more than the targets, as its variance says.
    """

    shift: Vector
    scale: Vector

    @classmethod
    def of(cls, Y: Matrix, weights: Vector | None = None) -> TargetScale:
        """Learn the map from the rows of Y, each counted as often as its weight says.

        Every column is summed on its own, so that the map of an output does not depend, to the last bit, on the others.
        """
        origin = Y[0].copy()  # moments about a row of the data: a huge offset costs no digits
        moments = [weighted_moments(np.ascontiguousarray(column)[:, None], weights) for column in (Y - origin).T]
        shift, var = (np.concatenate(parts) for parts in zip(*moments))
        return cls.from_moments(origin + shift, var, np.max(np.abs(Y), axis=0))

    @classmethod
    def from_moments(cls, mean: Vector, var: Vector, largest: Vector) -> TargetScale:
        """Return the map from the moments of the outputs and their largest absolute values."""
        scale = np.sqrt(var)
        varies = scale > 8.0 * np.finfo(float).eps * largest
        return cls(mean, np.where(varies, scale, CONSTANT * np.where(largest > 0.0, largest, 1.0)))

    @classmethod
    def identity(cls, m: int) -> TargetScale:
        """Return the map that changes nothing."""
        return cls(np.zeros(m), np.ones(m))

    def inner(self, Y: Matrix) -> Matrix:
        """Return targets in the units used inside."""
        return np.asarray((Y - self.shift) / self.scale)

    def outer(self, Y: Matrix) -> Matrix:
        """Return targets in the user's units."""
        return np.asarray(self.shift + self.scale * Y)

    def theta_shift(self, k: int, n_kernel: int, likelihood: Regression) -> Vector:
        """Return what to add to theta (kernel, then likelihood) of output k to have it in the user's units."""
        powers = [likelihood.powers[name] for name in likelihood.names]
        return np.concatenate([np.zeros(n_kernel), np.log(self.scale[k]) * np.asarray(powers, dtype=float)])


__all__ = ["Standardizer", "TargetScale", "weighted_moments"]
