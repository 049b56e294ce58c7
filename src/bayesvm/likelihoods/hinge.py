"""The hinge loss of the support vector classifier, as it stands."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from bayesvm.likelihoods.base import Classification, Derivatives, Traits
from bayesvm.likelihoods.dual import Dual
from bayesvm.likelihoods.expectations import Expected, expected_ramp
from bayesvm.likelihoods.normal_tails import log_exponential_tail, log_ndtr
from bayesvm.parameters import Bounds
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class Hinge(Classification):
    r"""The hinge loss, not normalised over the labels.

    .. math:: \ell(t) = C\, [1 - t]_+, \quad t = y f.

    Parameters
    ----------
    C : float
        Price of a margin violation.

    Notes
    -----
    Domain: the real line; convex; sparse; a kink at t = 1, where the derivative of the flat side is returned.
    :math:`e^{-\ell(f)} + e^{-\ell(-f)}` is not one, so there is no ``predict_proba``: see :class:`NormalizedHinge` for
    the pointwise normalisation of Seeger1999; Sollich1999 normalises over the whole model instead. ``log_predictive``
    is the logarithm of the Gaussian integral of :math:`e^{-\ell}`, a closed form.
    """

    positive: ClassVar[dict[str, Bounds]] = {"C": (1e-3, 1e6)}
    traits = Traits(smoothness=0, convex=True, normalized=False, sparse=True)

    C: float = 1.0

    @property
    def knots(self) -> tuple[float, ...]:
        """Return the kink."""
        return (1.0,)

    def dual(self, y: Vector) -> Dual:
        """Return the dual of the classical support vector classifier, Thesis (B.16) with epsilon = 0."""
        return Dual.margin(y, self.C)

    def profile(self, t: Vector) -> Derivatives:
        """Return the loss and its first three derivatives."""
        t = np.asarray(t, dtype=float)
        zero = np.zeros_like(t)
        return Derivatives(self.C * np.maximum(1.0 - t, 0.0), np.where(t < 1.0, -self.C, 0.0), zero, zero.copy())

    def profile_parameters(self, t: Vector) -> dict[str, tuple[Vector, Vector, Vector]]:
        """Return the derivatives in ln C: the loss is linear in C."""
        p = self.profile(t)
        return {"C": (p.loss, p.gradient, p.curvature)}

    def log_predictive(self, y: Vector, mean: Vector, var: Vector) -> Vector:
        """Return the closed form: a half-line of the Gaussian plus an exponential tail."""
        t, var = self._gaussians(y, mean, var)
        s = np.sqrt(np.where(var > 0.0, var, 1.0))
        u = (t - 1.0) / s
        integral = np.logaddexp(log_ndtr(u), log_exponential_tail(u, self.C * s))
        return np.where(var > 0.0, integral, -self.profile(t).loss)

    def expected(self, y: Vector, mean: Vector, var: Vector) -> Expected:
        """Return the closed form."""
        t, var = self._gaussians(y, mean, var)
        return expected_ramp(1.0 - t, var).scaled(self.C, -self.slope(y))

    def expected_theta(self, y: Vector, mean: Vector, var: Vector) -> Matrix:
        """Return the derivative in ln C, the expected loss itself."""
        row = self.expected(y, mean, var).loss
        return row[None] if self.theta.size else np.zeros((0, row.size))


__all__ = ["Hinge"]
