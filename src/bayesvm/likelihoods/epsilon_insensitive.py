"""The epsilon-insensitive loss of Vapnik (1995)."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import ClassVar

import numpy as np

from bayesvm.likelihoods.base import Derivatives, Regression, Traits
from bayesvm.likelihoods.dual import Dual
from bayesvm.likelihoods.expectations import Expected, expected, expected_ramp
from bayesvm.likelihoods.normal_tails import log_exponential_tail, log_interval
from bayesvm.likelihoods.tilted import log_normalizer
from bayesvm.parameters import Bounds
from bayesvm.typing import Vector


@dataclasses.dataclass(frozen=True)
class TubeLoss(Regression):
    """A loss that is flat within a tube of half-width epsilon, which may be zero, and linear outside."""

    C: float = 10.0

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """Half-width of the tube."""

    @property
    def knots(self) -> tuple[float, ...]:
        """Return the kinks."""
        return (-self.epsilon, self.epsilon) if self.epsilon else (0.0,)

    @property
    def log_mass(self) -> float:
        """Return ln Z."""
        return float(np.log(2.0 * (self.epsilon + 1.0 / self.C)))

    @property
    def noise_variance(self) -> float:
        """Return the second moment of a flat density with exponential tails."""
        k = self.C * self.epsilon
        return (k**3 / 3.0 + k**2 + 2.0 * k + 2.0) / (1.0 + k) / self.C**2

    def log_survival(self, t: Vector) -> Vector:
        """Return the exponential tail, and inside the tube the tail plus a rectangle."""
        excess = np.asarray(t, dtype=float) - self.epsilon
        inside = np.log1p(self.C * np.maximum(-excess, 0.0))
        return np.asarray(np.where(excess > 0.0, -self.C * excess, inside) - np.log(self.C) - self.log_mass)

    def dual(self, y: Vector) -> Dual:
        """Return the dual of classical support vector regression, Thesis (4.25) with beta = 0."""
        return Dual.residual(y, self.C, kink=self.epsilon)

    def profile(self, t: Vector) -> Derivatives:
        """Return the loss and its first three derivatives."""
        t = np.asarray(t, dtype=float)
        excess = np.maximum(np.abs(t) - self.epsilon, 0.0)
        zero = np.zeros_like(t)
        slope = np.where(excess > 0.0, self.C * np.sign(t), 0.0)
        return Derivatives(self.C * excess + self.log_mass, slope, zero, zero.copy())


@log_normalizer.register
def _(likelihood: TubeLoss, t: Vector, var: Vector) -> Vector:
    """Return the closed form: an interval and two exponential tails."""
    scale, epsilon = np.sqrt(var), likelihood.epsilon
    upper, lower = (log_exponential_tail((epsilon + side * t) / scale, likelihood.C * scale) for side in (-1.0, 1.0))
    total = np.logaddexp(upper, lower)
    if epsilon:
        total = np.logaddexp(total, log_interval((np.abs(t) - epsilon) / scale, epsilon / scale))
    return np.asarray(total - likelihood.log_mass)


@expected.register
def _(likelihood: TubeLoss, t: Vector, var: Vector) -> Expected:
    """Return the closed form: one ramp to either side of the tube."""
    up, down = expected_ramp(t - likelihood.epsilon, var), expected_ramp(-t - likelihood.epsilon, var)
    both = (up + down.scaled(1.0, -1.0)).scaled(likelihood.C)
    return dataclasses.replace(both, loss=both.loss + likelihood.log_mass)


@dataclasses.dataclass(frozen=True)
class EpsilonInsensitive(TubeLoss):
    r"""The epsilon-insensitive loss of support vector regression. Thesis (2.27).

    .. math:: \ell(t) = C\, [|t| - \epsilon]_+ + \ln Z, \qquad Z = 2(\epsilon + 1/C), \quad t = y - f.

    Parameters
    ----------
    C : float
        Slope outside the tube, learnt.
    epsilon : float
        Half-width of the tube, learnt.

    Notes
    -----
    Domain: the real line; convex; sparse; kinks at :math:`\pm\epsilon`, where the derivatives of the flat side are
    returned. The limit of :class:`SoftInsensitive` for beta towards 0. Gaussian integrals are closed forms: an
    interval and two exponential tails.
    """

    positive: ClassVar[dict[str, Bounds]] = {"C": (1e-2, 1e5), "epsilon": (1e-4, 1e1)}
    powers: ClassVar[dict[str, int]] = {"C": -1, "epsilon": 1}
    traits = Traits(smoothness=0, convex=True, normalized=True, sparse=True)

    epsilon: float = 0.1

    def profile_parameters(self, t: Vector) -> dict[str, tuple[Vector, Vector, Vector]]:
        """Return the derivatives in ln C and ln epsilon."""
        p, zero, k = self.profile(t), np.zeros_like(t), self.C * self.epsilon
        outside = np.where(p.gradient == 0.0, 0.0, -k)
        by_c = (p.loss - self.log_mass - 1.0 / (1.0 + k), p.gradient, zero)
        return {"C": by_c, "epsilon": (outside + k / (1.0 + k), zero, zero)}


__all__ = ["EpsilonInsensitive", "TubeLoss"]
