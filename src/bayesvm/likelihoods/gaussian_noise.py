"""Gaussian noise."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from bayesvm.likelihoods.base import Derivatives, Regression, Traits
from bayesvm.parameters import Bounds
from bayesvm.typing import Vector


@dataclasses.dataclass(frozen=True)
class GaussianNoise(Regression):
    r"""Gaussian noise, the quadratic loss.

    .. math:: \ell(t) = \frac{t^2}{2\sigma^2} + \tfrac12 \ln 2\pi\sigma^2, \quad t = y - f.

    Parameters
    ----------
    variance : float
        :math:`\sigma^2`.

    Notes
    -----
    Domain: the real line; convex; infinitely smooth; not sparse. Gaussian integrals are closed forms: the variances
    add.
    """

    positive: ClassVar[dict[str, Bounds]] = {"variance": (1e-8, 1e4)}
    traits = Traits(smoothness=3, convex=True, normalized=True, sparse=False, quadratic=True)

    variance: float = 0.1

    @property
    def knots(self) -> tuple[float, ...]:
        """Return the bottom of the parabola, from which the quadrature can measure small residuals."""
        return (0.0,)

    @property
    def noise_variance(self) -> float:
        """Return the parameter itself."""
        return self.variance

    def profile(self, t: Vector) -> Derivatives:
        """Return the loss and its first three derivatives."""
        t = np.asarray(t, dtype=float)
        gradient = t / self.variance
        loss = 0.5 * t * gradient + 0.5 * np.log(2.0 * np.pi * self.variance)
        return Derivatives(loss, gradient, np.full_like(t, 1.0 / self.variance), np.zeros_like(t))

    def profile_parameters(self, t: Vector) -> dict[str, tuple[Vector, Vector, Vector]]:
        """Return the derivatives in the logarithm of the variance."""
        gradient = t / self.variance
        return {"variance": (0.5 - 0.5 * t * gradient, -gradient, np.full_like(t, -1.0 / self.variance))}

    def log_predictive(self, y: Vector, mean: Vector, var: Vector) -> Vector:
        """Return the logarithm of the Gaussian density whose variance is the sum of the two."""
        t, var = self._gaussians(y, mean, var)
        total = self.variance + var
        return -0.5 * t * (t / total) - 0.5 * np.log(2.0 * np.pi * total)


__all__ = ["GaussianNoise"]
