"""The logistic likelihood."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import expit

from bayesvm.likelihoods.base import Classification, Derivatives, Traits
from bayesvm.typing import Vector


@dataclasses.dataclass(frozen=True, kw_only=True)
class Logistic(Classification):
    r"""The logistic likelihood of Gaussian process classification.

    .. math:: p(y|f) = \sigma(t) = \frac{1}{1 + e^{-t}}, \quad t = y f.

    Notes
    -----
    Domain: the real line; convex; infinitely smooth; not sparse; no parameters. The loss is :math:`\ln(1 + e^{-t})` by
    ``logaddexp``; its derivatives are products of :math:`\sigma(t)`, :math:`\sigma(-t)` and :math:`\tanh(t/2)`, none
    of which cancels. The knots mark where the quadrature changes its scale, not kinks.
    """

    traits = Traits(smoothness=3, convex=True, normalized=True, sparse=False)

    @property
    def knots(self) -> tuple[float, ...]:
        """Return the ends of the zones in which one quadrature rule resolves the bend at zero."""
        return (-40.0, -15.0, -5.0, 5.0, 15.0, 40.0)

    def profile(self, t: Vector) -> Derivatives:
        """Return the loss and its first three derivatives."""
        t = np.asarray(t, dtype=float)
        wrong = expit(-t)
        curvature = wrong * expit(t)
        return Derivatives(np.logaddexp(0.0, -t), -wrong, curvature, -curvature * np.tanh(0.5 * t))

    def shifted_loss(self, x: Vector) -> Vector:
        """Return the loss alone."""
        return np.asarray(np.maximum(-x, 0.0) + np.log1p(np.exp(-np.abs(x))))


__all__ = ["Logistic"]
