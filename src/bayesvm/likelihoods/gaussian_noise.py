"""Gaussian noise."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from bayesvm.likelihoods.base import Derivatives, Regression, Traits
from bayesvm.likelihoods.convolution import log_tail
from bayesvm.likelihoods.dual import Dual
from bayesvm.likelihoods.expectations import Expected, expected
from bayesvm.likelihoods.normal_tails import log_ndtr
from bayesvm.likelihoods.tilted import Tilted, log_normalizer, tilted
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
    add. The knot is the bottom of the parabola, from which the quadrature can measure small residuals.
    """

    positive: ClassVar[dict[str, Bounds]] = {"variance": (1e-8, 1e4)}
    powers: ClassVar[dict[str, int]] = {"variance": 2}
    traits = Traits(smoothness=3, convex=True, normalized=True, sparse=False, quadratic=True)
    knots = (0.0,)

    variance: float = 0.1

    @property
    def noise_variance(self) -> float:
        """Return the parameter itself."""
        return self.variance

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


@log_normalizer.register
def _(likelihood: GaussianNoise, t: Vector, var: Vector) -> Vector:
    """Return the logarithm of the Gaussian density whose variance is the sum of the two."""
    total = likelihood.variance + var
    return -0.5 * t * (t / total) - 0.5 * np.log(2.0 * np.pi * total)


@tilted.register
def _(likelihood: GaussianNoise, t: Vector, var: Vector) -> Tilted:
    total = likelihood.variance + var
    return Tilted(log_normalizer(likelihood, t, var), -t / total, -1.0 / total)


@log_tail.register
def _(likelihood: GaussianNoise, t: Vector, var: Vector) -> Vector:
    """Return the logarithm of the normal tail whose variance is the sum of the two."""
    return np.asarray(log_ndtr(-np.asarray(t, dtype=float) / np.sqrt(likelihood.variance + var)))


@expected.register
def _(likelihood: GaussianNoise, t: Vector, var: Vector) -> Expected:
    p = likelihood.profile(t)
    higher = [np.zeros_like(t)] * 4
    return Expected(p.loss + 0.5 * var / likelihood.variance, p.gradient, p.curvature, *higher)


__all__ = ["GaussianNoise"]
