"""Standardised targets: zero mean and unit variance per output, with the way back to the user's units."""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.estimators._standardize import weighted_moments
from bayesvm.likelihoods.base import Regression
from bayesvm.typing import Matrix, Vector

#: Scale of an output that does not vary, relative to its largest value.
CONSTANT = 1e-9


@dataclasses.dataclass(frozen=True)
class TargetScale:
    """The map y -> (y - shift) / scale, one pair of numbers per output.

    Attributes
    ----------
    shift, scale : array, shape (m,)
        Means and standard deviations (divisor n). An output that is constant up to rounding has a billionth of its largest
        value (of 1, if all are zero): the function varies no more than the targets, as its variance says.
    """

    shift: Vector
    scale: Vector

    @classmethod
    def of(cls, Y: Matrix, weights: Vector | None = None) -> TargetScale:
        """Learn the map from the rows of Y, each counted as often as its weight says.

        Every column is summed on its own, so that an output has the same map, to the last bit, whatever its companions.
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


__all__ = ["TargetScale"]
