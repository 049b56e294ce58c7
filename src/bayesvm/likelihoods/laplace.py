"""Laplacian noise."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from bayesvm.likelihoods.base import Derivatives, Regression, Traits
from bayesvm.likelihoods.dual import Dual
from bayesvm.likelihoods.expectations import Expected, expected, expected_ramp
from bayesvm.likelihoods.normal_tails import log_exponential_tail
from bayesvm.likelihoods.tilted import log_normalizer
from bayesvm.parameters import Bounds
from bayesvm.typing import Vector


@dataclasses.dataclass(frozen=True)
class Laplace(Regression):
    r"""Laplacian noise, the absolute loss. Thesis (2.24).

    .. math:: \ell(t) = C |t| - \ln(C/2), \quad t = y - f.

    Parameters
    ----------
    C : float
        Inverse scale; the noise variance is :math:`2/C^2`.

    Notes
    -----
    Domain: the real line; convex; not sparse; a kink at zero, where the derivative returned is 0. Gaussian integrals
    are closed forms: two exponential tails.
    """

    positive: ClassVar[dict[str, Bounds]] = {"C": (1e-2, 1e5)}
    powers: ClassVar[dict[str, int]] = {"C": -1}
    traits = Traits(smoothness=0, convex=True, normalized=True, sparse=False)
    knots = (0.0,)

    C: float = 10.0

    @property
    def noise_variance(self) -> float:
        """Return 2/C^2."""
        return 2.0 / self.C**2

    def log_survival(self, t: Vector) -> Vector:
        """Return the exponential tail."""
        return np.asarray(-self.C * np.asarray(t, dtype=float) - np.log(2.0))

    def dual(self, y: Vector) -> Dual:
        """Return the dual, Thesis (4.25) with beta = epsilon = 0."""
        return Dual.residual(y, self.C)

    def profile(self, t: Vector) -> Derivatives:
        """Return the loss and its first three derivatives."""
        t = np.asarray(t, dtype=float)
        zero = np.zeros_like(t)
        return Derivatives(self.C * np.abs(t) - np.log(0.5 * self.C), self.C * np.sign(t), zero, zero.copy())


@log_normalizer.register
def _(likelihood: Laplace, t: Vector, var: Vector) -> Vector:
    """Return the closed form: two exponential tails."""
    scale = np.sqrt(var)
    u, rate = t / scale, likelihood.C * scale
    tails = np.logaddexp(log_exponential_tail(-u, rate), log_exponential_tail(u, rate))
    return np.asarray(tails + np.log(0.5 * likelihood.C))


@expected.register
def _(likelihood: Laplace, t: Vector, var: Vector) -> Expected:
    """Return the closed form: one ramp to either side."""
    both = (expected_ramp(t, var) + expected_ramp(-t, var).scaled(1.0, -1.0)).scaled(likelihood.C)
    return dataclasses.replace(both, loss=both.loss - np.log(0.5 * likelihood.C))


__all__ = ["Laplace"]
