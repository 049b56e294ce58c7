"""Gaussian noise."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from bayesvm.likelihoods.base import Derivatives, Regression, Traits
from bayesvm.likelihoods.dual import Dual
from bayesvm.likelihoods.expectations import Expected
from bayesvm.likelihoods.normal_tails import log_ndtr
from bayesvm.likelihoods.tilted import Tilted
from bayesvm.parameters import Bounds
from bayesvm.typing import Matrix, Vector


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
    powers: ClassVar[dict[str, int]] = {"variance": 2}
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

    @property
    def noise_entropy(self) -> float:
        r"""Return :math:`\tfrac12 \ln 2\pi e\sigma^2`."""
        return float(0.5 * np.log(2.0 * np.pi * self.variance) + 0.5)

    def log_survival(self, t: Vector) -> Vector:
        """Return the logarithm of the normal tail."""
        return log_ndtr(-np.asarray(t, dtype=float) / np.sqrt(self.variance))

    def dual(self, y: Vector) -> Dual:
        """Return the dual without bounds, Thesis (4.28)."""
        return Dual.residual(y, np.inf, bend=self.variance)

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

    def tilted(self, y: Vector, mean: Vector, var: Vector) -> Tilted:
        """Return the closed form."""
        total = self.variance + var
        return Tilted(self.log_predictive(y, mean, var), (y - mean) / total, -1.0 / total)

    def tilted_theta(self, y: Vector, mean: Vector, var: Vector) -> Matrix:
        """Return the closed form."""
        total = self.variance + var
        row = 0.5 * self.variance / total * ((y - mean) ** 2 / total - 1.0)
        return row[None] if self.theta.size else np.zeros((0, row.size))

    def expected(self, y: Vector, mean: Vector, var: Vector) -> Expected:
        """Return the closed form."""
        t, var = self._gaussians(y, mean, var)
        p = self.profile(t)
        zero = np.zeros_like(t)
        return Expected(p.loss + 0.5 * var / self.variance, -p.gradient, p.curvature, zero, zero.copy())

    def expected_theta(self, y: Vector, mean: Vector, var: Vector) -> Matrix:
        """Return the closed form."""
        t, var = self._gaussians(y, mean, var)
        row = 0.5 - 0.5 * (t * t + var) / self.variance
        return row[None] if self.theta.size else np.zeros((0, row.size))


__all__ = ["GaussianNoise"]
