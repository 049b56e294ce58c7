"""The raised-cosine likelihood: twice continuously differentiable and sparse."""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.likelihoods.base import Classification, Derivatives, Traits
from bayesvm.likelihoods.cancellation import y_minus_sin
from bayesvm.likelihoods.tilted import FixedNodes, Tilted, step_tilted
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True, kw_only=True)
class RaisedCosine(Classification):
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

    traits = Traits(smoothness=2, convex=True, normalized=True, sparse=True)

    @property
    def knots(self) -> tuple[float, ...]:
        """Return where the loss becomes flat."""
        return (1.0,)

    @property
    def domain(self) -> tuple[float, float]:
        """Return the margins of positive probability."""
        return (-1.0, np.inf)

    def profile(self, t: Vector) -> Derivatives:
        """Return the loss and its first three derivatives."""
        t = np.asarray(t, dtype=float)
        return _profile(1.0 + t, 1.0 - t)

    def shifted_profile(self, x: Vector) -> Derivatives:
        """Return the profile at t = -1 + x."""
        x = np.asarray(x, dtype=float)
        return _profile(x, 2.0 - x)

    def tilted(self, y: Vector, mean: Vector, var: Vector) -> Tilted:
        """Return the normalisers by integrals over (-1, 1)."""
        return step_tilted(self, _FIXED, self.argument(y, mean), var, self.slope(y))


def _profile(x: Vector, q: Vector) -> Derivatives:
    """Return the profile from the distances x to the edge t = -1 and q to the flat part t = 1."""
    curved = (x > 0.0) & (q > 0.0)
    near = x < 1.0
    angle = np.pi * np.where(curved, np.minimum(x, q), 1.0)
    part = y_minus_sin(angle) / (2.0 * np.pi)  # the smaller of the two probabilities
    p = np.where(near, part, 1.0 - part)
    sine, cosine = np.sin(0.5 * angle), np.cos(0.5 * angle)
    square = sine * sine
    r1 = square / p
    r2 = np.where(near, np.pi, -np.pi) * sine * cosine / p
    r3 = np.pi**2 * (0.5 - square) / p
    loss = -np.where(near, np.log(part), np.log1p(-part))
    return Derivatives(
        np.where(curved, loss, np.where(x > 0.0, 0.0, np.inf)),
        np.where(curved, -r1, 0.0),
        np.where(curved, r1 * r1 - r2, 0.0),
        np.where(curved, r1 * (3.0 * r2 - 2.0 * r1 * r1) - r3, 0.0),
    )


def _step(t: Matrix) -> tuple[Matrix, Matrix]:
    """Return the probability and its slope for t in (-1, 1)."""
    return y_minus_sin(np.pi * (1.0 + t)) / (2.0 * np.pi), np.cos(0.5 * np.pi * t) ** 2


_FIXED = FixedNodes.of(_step)

__all__ = ["RaisedCosine"]
