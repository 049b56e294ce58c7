"""Laplacian noise."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from bayesvm.likelihoods.base import Derivatives, Regression, Traits
from bayesvm.likelihoods.dual import Dual
from bayesvm.likelihoods.expectations import Expected, expected_ramp
from bayesvm.likelihoods.normal_tails import log_exponential_tail
from bayesvm.parameters import Bounds
from bayesvm.typing import Matrix, Vector


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

    C: float = 10.0

    @property
    def knots(self) -> tuple[float, ...]:
        """Return the kink."""
        return (0.0,)

    @property
    def noise_variance(self) -> float:
        """Return 2/C^2."""
        return 2.0 / self.C**2

    @property
    def noise_entropy(self) -> float:
        """Return 1 + ln(2/C)."""
        return float(1.0 + np.log(2.0 / self.C))

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

    def profile_parameters(self, t: Vector) -> dict[str, tuple[Vector, Vector, Vector]]:
        """Return the derivatives in ln C."""
        return {"C": (self.C * np.abs(t) - 1.0, self.C * np.sign(t), np.zeros_like(t))}

    def log_predictive(self, y: Vector, mean: Vector, var: Vector) -> Vector:
        """Return the closed form."""
        t, var = self._gaussians(y, mean, var)
        s = np.sqrt(np.where(var > 0.0, var, 1.0))
        tails = np.logaddexp(log_exponential_tail(-t / s, self.C * s), log_exponential_tail(t / s, self.C * s))
        return np.where(var > 0.0, tails + np.log(0.5 * self.C), -self.profile(t).loss)

    def expected(self, y: Vector, mean: Vector, var: Vector) -> Expected:
        """Return the closed form, one ramp to either side."""
        t, var = self._gaussians(y, mean, var)
        both = expected_ramp(t, var).scaled(self.C, -1.0) + expected_ramp(-t, var).scaled(self.C)
        return dataclasses.replace(both, loss=both.loss - np.log(0.5 * self.C))

    def expected_theta(self, y: Vector, mean: Vector, var: Vector) -> Matrix:
        """Return the derivative in ln C."""
        row = self.expected(y, mean, var).loss + np.log(0.5 * self.C) - 1.0
        return row[None] if self.theta.size else np.zeros((0, row.size))


__all__ = ["Laplace"]
