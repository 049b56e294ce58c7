"""The raised-cosine likelihood: twice continuously differentiable and sparse."""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.likelihoods.base import Derivatives, Traits
from bayesvm.likelihoods.cancellation import y_minus_sin
from bayesvm.likelihoods.compact_sigmoid import CompactSigmoid
from bayesvm.typing import Vector


@dataclasses.dataclass(frozen=True, kw_only=True)
class RaisedCosine(CompactSigmoid):
    r"""Normalised, flat for margins beyond one, with a continuous second derivative.

    .. math:: p(y|f) = \tfrac12 \Big(1 + t + \frac{\sin \pi t}{\pi}\Big), \quad t = y f \in (-1, 1),

    zero for :math:`t \le -1`, one for :math:`t \ge 1`; its slope is the raised cosine :math:`(1 + \cos \pi t)/2`.

    Notes
    -----
    Domain :math:`(-1, \infty)`; convex; sparse; no parameters. The second derivative falls to zero at t = 1, so that
    the Laplace evidence is a continuous function of the hyperparameters; Chu2003, footnote 1, notes that such a
    likelihood can exist. The third derivative jumps from :math:`-\pi^2/2` to zero at t = 1.

    With :math:`x = 1 + t` the probability is :math:`(\pi x - \sin \pi x)/2\pi \approx \pi^2 x^3/12`, and one minus it
    is the same function of :math:`1 - t`: both are summed from series where they cancel, so that the loss and its
    derivatives keep their relative accuracy at both ends.
    """

    traits = Traits(smoothness=2, convex=True, normalized=True, sparse=True, levels_off=True)

    def curved(self, x: Vector, q: Vector) -> Derivatives:
        """Return the loss and its first three derivatives between -1 and 1."""
        near = x < 1.0
        angle = np.pi * np.minimum(x, q)
        part = y_minus_sin(angle) / (2.0 * np.pi)  # the smaller of the two probabilities
        p = np.where(near, part, 1.0 - part)
        sine, cosine = np.sin(0.5 * angle), np.cos(0.5 * angle)
        square = sine * sine
        r1 = square / p
        r2 = np.where(near, np.pi, -np.pi) * sine * cosine / p
        r3 = np.pi**2 * (0.5 - square) / p
        loss = -np.where(near, np.log(part), np.log1p(-part))
        return Derivatives(loss, -r1, r1 * r1 - r2, r1 * (3.0 * r2 - 2.0 * r1 * r1) - r3)

    def probability(self, x: Vector) -> Vector:
        """Return the integral of the raised cosine."""
        return y_minus_sin(np.pi * x) / (2.0 * np.pi)

    def rate(self, x: Vector) -> Vector:
        """Return the raised cosine."""
        return np.asarray(np.sin(0.5 * np.pi * x) ** 2)


__all__ = ["RaisedCosine"]
