"""The smooth insensitive loss: the soft insensitive loss made twice continuously differentiable."""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.likelihoods.base import Traits
from bayesvm.likelihoods.cancellation import parabola_minus_versine, y_minus_sin
from bayesvm.likelihoods.transition_loss import TransitionLoss, check_beta
from bayesvm.typing import Vector

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)


@dataclasses.dataclass(frozen=True)
class SmoothInsensitive(TransitionLoss):
    r"""An insensitive loss whose second derivative is a raised cosine in each zone.

    The zones and the values outside are those of :class:`SoftInsensitive`; inside, with
    :math:`u = (|t| - \epsilon)/(\beta\epsilon) \in [-1, 1]`,

    .. math:: \ell(t) = \ln Z + C\beta\epsilon \Big[\frac{(u+1)^2}{4} - \frac{1 + \cos \pi u}{2\pi^2}\Big], \qquad
              \ell'(t) = \pm C \Big[\frac{u+1}{2} + \frac{\sin \pi u}{2\pi}\Big].

    Parameters
    ----------
    C : float
        Slope of the linear part, learnt.
    epsilon : float
        Centre of the transition, learnt.
    beta : float
        Half-width of the transition in units of epsilon, in (0, 1]; fixed, not part of theta.

    Notes
    -----
    Domain: the real line; convex; sparse (with beta = 1 flat at t = 0 only, to third order). The second derivative is
    continuous, so the Laplace evidence is a continuous function of the hyperparameters. Z, the noise variance and
    their derivatives are Gauss-Legendre sums over the part of a zone that carries weight, to about 1e-15, plus closed
    forms outside. Near the inner end of a zone the loss starts as the fourth power of the distance; it is summed from
    a series there.
    """

    beta: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "beta", check_beta("SmoothInsensitive", self.beta))

    @property
    def traits(self) -> Traits:
        """Return the traits; with beta = 1 no flat part remains."""
        return Traits(smoothness=2, convex=True, normalized=True, sparse=self.beta < 1.0)

    @staticmethod
    def area(p: Vector) -> Vector:
        """Return the integral of S."""
        return parabola_minus_versine(2.0 * np.pi * p) / (4.0 * np.pi**2)

    @staticmethod
    def slopes(p: Vector) -> tuple[Vector, Vector, Vector]:
        """Return S(p) = p - sin(2 pi p)/(2 pi) and its derivatives."""
        side = np.minimum(p, 1.0 - p)  # from the nearer end, where S' vanishes
        quarter = np.minimum(side, 0.5 - side)  # from the nearest zero of S''
        slope = y_minus_sin(2.0 * np.pi * p) / (2.0 * np.pi)
        twist = np.copysign(2.0 * np.pi, 0.5 - p) * np.sin(2.0 * np.pi * quarter)
        return slope, 2.0 * np.sin(np.pi * side) ** 2, twist

    def _zone(self, q: float) -> tuple[Vector, Vector, Vector]:
        """Return nodes p, weights times exp(-2 q A(p)), and 2 q A(p) where it is small enough: A > p^4/2."""
        end = min(1.0, (40.0 / q) ** 0.25)
        p = 0.5 * end * (1.0 + _NODES)
        depth = 2.0 * q * self.area(p)
        return p, 0.5 * end * _WEIGHTS * np.exp(-depth), depth

    def scaled_mass(self, k: float) -> tuple[float, float]:
        """Return G and k G'."""
        q, flat = self.beta * k, (1.0 - self.beta) * k
        _, weight, depth = self._zone(q)
        tail = float(np.exp(-q))
        mass, change = 2.0 * q * float(np.sum(weight)), 2.0 * q * float(np.sum(weight * (1.0 - depth)))
        return flat + mass + tail, flat + change - q * tail

    def scaled_moment(self, k: float) -> float:
        """Return M."""
        q, flat, outer = self.beta * k, (1.0 - self.beta) * k, (1.0 + self.beta) * k
        p, weight, _ = self._zone(q)
        zone = 2.0 * q * float(np.sum(weight * (flat + 2.0 * q * p) ** 2))
        return flat**3 / 3.0 + zone + (outer**2 + 2.0 * outer + 2.0) * float(np.exp(-q))

    def scaled_tail(self, p: Vector, k: float) -> Vector:
        r"""Return the rest of the zone by Gauss-Legendre quadrature and the exponential tail.

        The rule covers what matters: beyond p the exponent falls by at least 40 within :math:`40/(2 q S(p))`, and
        within :math:`(40/q)^{1/4}`.
        """
        q = self.beta * k
        area = self.area(p)
        reach = np.minimum(40.0 / np.maximum(2.0 * q * self.slopes(p)[0], 1e-300), (40.0 / q) ** 0.25)
        half = 0.5 * np.minimum(1.0 - p, reach)
        at = p[..., None] + half[..., None] * (1.0 + _NODES)
        fall = np.exp(2.0 * q * (area[..., None] - self.area(np.minimum(at, 1.0))))
        zone = 2.0 * q * half * np.sum(_WEIGHTS * fall, axis=-1)
        return np.asarray(np.log(zone + np.exp(2.0 * q * (area - 0.5))) - 2.0 * q * area)


__all__ = ["SmoothInsensitive"]
