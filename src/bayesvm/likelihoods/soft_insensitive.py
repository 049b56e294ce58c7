"""The soft insensitive loss of Chu (2003)."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy.special import erfcx

from bayesvm.likelihoods.base import Traits
from bayesvm.likelihoods.dual import Dual
from bayesvm.likelihoods.smooth_insensitive import SmoothInsensitive
from bayesvm.likelihoods.transition_loss import TransitionLoss, check_beta
from bayesvm.typing import Vector


@dataclasses.dataclass(frozen=True)
class QuadraticTransition(TransitionLoss):
    """An insensitive loss that is a parabola in its zones: closed forms for any beta."""

    @staticmethod
    def area(p: Vector) -> Vector:
        """Return p^2/2."""
        return 0.5 * p * p

    @staticmethod
    def slopes(p: Vector) -> tuple[Vector, Vector, Vector]:
        """Return S(p) = p and its derivatives."""
        return p, np.ones_like(p), np.zeros_like(p)

    def dual(self, y: Vector) -> Dual:
        """Return the dual, Thesis (4.25)."""
        width = 2.0 * self.beta * self.epsilon
        return Dual.residual(y, self.C, kink=(1.0 - self.beta) * self.epsilon, bend=width / self.C)

    def scaled_mass(self, k: float) -> tuple[float, float]:
        """Return G and k G' from Thesis (2.32)."""
        q = self.beta * k
        bell = math.sqrt(math.pi * q) * math.erf(math.sqrt(q))
        flat = (1.0 - self.beta) * k
        return flat + bell + math.exp(-q), flat + 0.5 * bell

    def scaled_moment(self, k: float) -> float:
        """Return M from Thesis (2.33)."""
        q, flat = self.beta * k, (1.0 - self.beta) * k
        bell = math.sqrt(math.pi * q) * math.erf(math.sqrt(q))
        tail = (flat**2 + 2.0 * (1.0 + self.beta) * k + 2.0) * math.exp(-q)
        return flat**3 / 3.0 + bell * (2.0 * q + flat**2) + 4.0 * flat * q + tail

    def scaled_tail(self, p: Vector, k: float) -> Vector:
        """Return the rest of the bell and the exponential tail, with the value of the bell at p set apart."""
        q = self.beta * k
        root = float(np.sqrt(q))
        fall = np.exp(-q * (1.0 - p * p))
        bell = np.sqrt(np.pi) * root * (erfcx(root * p) - fall * erfcx(root))
        return np.asarray(np.log(bell + fall) - q * p * p)


@dataclasses.dataclass(frozen=True)
class SoftInsensitive(QuadraticTransition):
    r"""The soft insensitive loss: flat, then quadratic, then linear. Thesis (2.28)-(2.33).

    .. math:: \ell(t) = \ln Z + C \cdot \begin{cases}
        0 & |t| < (1-\beta)\epsilon \\
        \dfrac{(|t| - (1-\beta)\epsilon)^2}{4\beta\epsilon} & (1-\beta)\epsilon \le |t| \le (1+\beta)\epsilon \\
        |t| - \epsilon & |t| > (1+\beta)\epsilon \end{cases}

    .. math:: Z = 2(1-\beta)\epsilon + 2\sqrt{\pi\beta\epsilon/C}\, \mathrm{erf}\sqrt{C\beta\epsilon}
              + \tfrac2C e^{-C\beta\epsilon}

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
    Domain: the real line; convex; sparse if beta < 1. The first derivative is continuous, the second jumps at the ends
    of the zones (which belong to the zone). beta = 1 is :class:`Huber`; beta towards 0 gives
    :class:`EpsilonInsensitive`, epsilon towards 0 :class:`Laplace`. Thesis (2.31) prints 1/Z for the integral; Z is
    meant.

    References
    ----------
    W. Chu (2003). Bayesian approach to support vector machines. PhD thesis, National University of Singapore, section
    2.2.
    """

    beta: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "beta", check_beta("SoftInsensitive", self.beta))

    @property
    def traits(self) -> Traits:
        """Return the traits; with beta = 1 no flat part remains."""
        return Traits(smoothness=1, convex=True, normalized=True, sparse=self.beta < 1.0)

    @property
    def smoothed(self) -> SmoothInsensitive:
        """Return the loss with the same zones and parameters and a continuous second derivative."""
        return SmoothInsensitive(self.C, self.epsilon, self.beta, limits=self.limits)


__all__ = ["QuadraticTransition", "SoftInsensitive"]
