"""The trigonometric likelihood of Chu et al. (2003)."""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.likelihoods.base import Derivatives, Traits
from bayesvm.likelihoods.compact_sigmoid import CompactSigmoid
from bayesvm.likelihoods.dual import Dual
from bayesvm.likelihoods.raised_cosine import RaisedCosine
from bayesvm.typing import Vector


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trigonometric(CompactSigmoid):
    r"""Normalised, with a flat zero for margins beyond one: Chu2003 (3)-(6).

    .. math:: p(y|f) = \cos^2\!\big(\tfrac{\pi}{4} (1 - t)\big) = \sin^2\!\big(\tfrac{\pi}{4}(1 + t)\big),
              \quad t = y f \in (-1, 1),

    zero for :math:`t \le -1`, one for :math:`t \ge 1`.

    Notes
    -----
    Domain :math:`(-1, \infty)`; convex; sparse; no parameters. The first derivative is continuous, the second jumps
    from :math:`\pi^2/8` to zero at t = 1 (hence the jumps of the Laplace evidence, Chu2003 footnote 5; see
    ``RaisedCosine`` for a likelihood without them). The half-width of the curved zone, :math:`\delta` in Chu2003 (7),
    is one: a scale of f, which the variance of the kernel stands for.

    With :math:`x = 1 + t` and :math:`\theta = \pi(1-t)/4`, the loss is :math:`-2 \ln \sin(\pi x/4)` for t < 0, exact
    near the edge, and :math:`\ln(1 + \tan^2 \theta)` for t > 0, exact near t = 1.

    References
    ----------
    W. Chu, S. S. Keerthi, C. J. Ong (2003). Bayesian trigonometric support vector classifier. Neural Computation 15.
    """

    traits = Traits(smoothness=1, convex=True, normalized=True, sparse=True, levels_off=True)

    @property
    def smoothed(self) -> RaisedCosine:
        """Return the raised cosine, which has the same zones and a continuous second derivative."""
        return RaisedCosine()

    def dual(self, y: Vector) -> Dual:
        """Return the dual Chu2003 (25)."""
        return Dual.margin(y, np.inf, weight=1.0)

    def curved(self, x: Vector, q: Vector) -> Derivatives:
        """Return Chu2003 (3), (5), (6) and the third derivative."""
        near = x < 1.0
        tangent = np.tan(0.25 * np.pi * np.minimum(x, q))
        square = tangent * tangent
        # sin^2 of the angle from the edge; the tangent of theta is one over that of the angle from the edge
        p = np.where(near, square, 1.0) / (1.0 + square)
        tangent = np.where(near, 1.0 / tangent, tangent)
        loss = np.where(near, -np.log(p), np.log1p(square))
        third = -(np.pi**3) / 16.0 * tangent / p
        return Derivatives(loss, -0.5 * np.pi * tangent, 0.125 * np.pi**2 / p, third)

    def probability(self, x: Vector) -> Vector:
        """Return the square of the sine."""
        return np.asarray(np.sin(0.25 * np.pi * x) ** 2)

    def rate(self, x: Vector) -> Vector:
        """Return its derivative."""
        return np.asarray(0.25 * np.pi * np.sin(0.5 * np.pi * x))


__all__ = ["Trigonometric"]
