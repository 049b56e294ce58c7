"""The hinge loss of the support vector classifier, as it stands."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from bayesvm.likelihoods.base import Classification, Derivatives, Traits
from bayesvm.likelihoods.dual import Dual
from bayesvm.likelihoods.expectations import Expected, expected, expected_ramp, expected_theta
from bayesvm.likelihoods.normal_tails import log_exponential_tail, log_ndtr
from bayesvm.likelihoods.tilted import log_normalizer
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
    knots = (1.0,)

    C: float = 1.0

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


@log_normalizer.register
def _(likelihood: Hinge, t: Vector, var: Vector) -> Vector:
    """Return the closed form: a half-line of the Gaussian plus an exponential tail."""
    scale = np.sqrt(var)
    u = (t - 1.0) / scale
    return np.logaddexp(log_ndtr(u), log_exponential_tail(u, likelihood.C * scale))


@expected.register
def _(likelihood: Hinge, t: Vector, var: Vector) -> Expected:
    return expected_ramp(1.0 - t, var).scaled(likelihood.C, -1.0)


@expected_theta.register
def _(likelihood: Hinge, t: Vector, var: Vector) -> Matrix:
    return np.asarray(expected(likelihood, t, var).loss[None])


__all__ = ["Hinge"]
