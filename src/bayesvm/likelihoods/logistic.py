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
    of which cancels. The knots are no kinks: they are the ends of the zones in which one quadrature rule resolves the
    bend at zero.
    """

    traits = Traits(smoothness=3, convex=True, normalized=True, sparse=False, levels_off=True)
    knots = (-40.0, -15.0, -5.0, 5.0, 15.0, 40.0)

    def profile(self, t: Vector) -> Derivatives:
        """Return the loss and its first three derivatives."""
        t = np.asarray(t, dtype=float)
        wrong = expit(-t)
        curvature = wrong * expit(t)
        return Derivatives(np.logaddexp(0.0, -t), -wrong, curvature, -curvature * np.tanh(0.5 * t))

    def shifted_loss(self, x: Vector) -> Vector:
        """Return the loss alone."""
        return np.asarray(np.log1p(np.exp(-np.abs(x))) - np.minimum(x, 0.0))


__all__ = ["Logistic"]
