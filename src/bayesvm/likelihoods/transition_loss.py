r"""What the insensitive losses with a smooth transition share.

With :math:`a = |t|` and the zone :math:`[(1-\beta)\epsilon, (1+\beta)\epsilon]` measured by
:math:`p = (a - (1-\beta)\epsilon)/(2\beta\epsilon) \in [0, 1]`, the loss is

.. math:: \ell(t) = \ln Z + C \cdot \begin{cases}
          0 & p \le 0 \\ 2\beta\epsilon A(p) & 0 \le p \le 1 \\ a - \epsilon & p \ge 1 \end{cases}

for a slope :math:`S(p)` that rises from 0 to 1 symmetrically, and its integral :math:`A`. In units of 1/C everything
depends on :math:`k = C\epsilon` alone: :math:`Z = 2 G(k)/C` and the noise variance is :math:`M(k)/(C^2 G(k))`.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import numbers
from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesvm.likelihoods.base import Derivatives, Likelihood, Regression
from bayesvm.likelihoods.gaussian_noise import GaussianNoise
from bayesvm.parameters import Bounds
from bayesvm.typing import Matrix, Vector

Mask = NDArray[np.bool_]

#: Values of C epsilon that are tried with the variance of Gaussian noise: near Laplace's (two) and near uniform noise.
SHAPES = (1.0, 0.6, 3.0)


@dataclasses.dataclass(frozen=True)
class TransitionLoss(Regression):
    """An insensitive loss with a smooth transition; see the module for the formula."""

    positive: ClassVar[dict[str, Bounds]] = {"C": (1e-2, 1e5), "epsilon": (1e-4, 1e1)}
    powers: ClassVar[dict[str, int]] = {"C": -1, "epsilon": 1}

    C: float = 10.0
    epsilon: float = 0.1

    # -- to be given by a subclass ------------------------------------------------------------------------------------
    @property
    @abstractmethod
    def beta(self) -> float:
        """Half-width of the zone in units of epsilon."""

    @staticmethod
    @abstractmethod
    def area(p: Vector) -> Vector:
        """Return A at p in [0, 1]."""

    @staticmethod
    @abstractmethod
    def slopes(p: Vector) -> tuple[Vector, Vector, Vector]:
        """Return S, S' and S'' at p in [0, 1]."""

    @abstractmethod
    def scaled_mass(self, k: float) -> tuple[float, float]:
        """Return G(k) and k G'(k)."""

    @abstractmethod
    def scaled_moment(self, k: float) -> float:
        """Return M(k), half the second moment in units of 1/C."""

    @abstractmethod
    def scaled_tail(self, p: Vector, k: float) -> Vector:
        r"""Return :math:`\ln \int e^{-C \ell}` from p in [0, 1] to the end of the zone and beyond, in units of 1/C."""

    # -- what follows from it -----------------------------------------------------------------------------------------
    @property
    def knots(self) -> tuple[float, ...]:
        """Return the ends of the zones (and zero between them, where the zones of beta = 1 meet)."""
        inner, outer = (1.0 - self.beta) * self.epsilon, (1.0 + self.beta) * self.epsilon
        return (-outer, -inner, inner, outer) if inner > 0.0 else (-outer, 0.0, outer)

    @functools.cached_property
    def log_mass(self) -> float:
        """Return ln Z."""
        return math.log(2.0 * self.scaled_mass(self.C * self.epsilon)[0] / self.C)

    @property
    def noise_variance(self) -> float:
        """Return the second moment of the noise."""
        k = self.C * self.epsilon
        return float(self.scaled_moment(k) / self.scaled_mass(k)[0] / self.C**2)

    def log_survival(self, t: Vector) -> Vector:
        """Return the logarithm of one minus the distribution function, Thesis (F.1)."""
        t = np.asarray(t, dtype=float)
        k = self.C * self.epsilon
        p = (t / self.epsilon - (1.0 - self.beta)) / (2.0 * self.beta)
        curved = self.scaled_tail(np.clip(p, 0.0, 1.0), k)
        flat = np.log(np.exp(self.scaled_tail(np.zeros(()), k)) + np.maximum((1.0 - self.beta) * k - self.C * t, 0.0))
        tail = np.where(p <= 0.0, flat, np.where(p >= 1.0, -self.C * (t - self.epsilon), curved))
        return np.asarray(tail - np.log(self.C) - self.log_mass)

    def eased(self, n: int, enough: int) -> Regression:
        """Return the soft insensitive loss with zones so wide that most samples lie in them.

        Up to ``enough`` samples it is Huber's. Beyond, beta is smaller, so that about as many samples lie in the zones.
        """
        from bayesvm.likelihoods.soft_insensitive import SoftInsensitive

        beta = max(self.beta, min(1.0, enough / max(n, 1)))
        return self if beta == self.beta else SoftInsensitive(self.C, self.epsilon, beta, limits=self.limits)

    @property
    def companion(self) -> Likelihood:
        """Gaussian noise of the same variance, if C and epsilon are both free."""
        if len(self.names) < len(self.positive):
            return self
        (C_low, C_high), (epsilon_low, epsilon_high) = np.exp(self.bounds)
        unit, k = self._of_shape(1.0, SHAPES[0]).noise_variance, SHAPES[0]
        bounds = unit / min(C_high, k / epsilon_low) ** 2, unit / max(C_low, k / epsilon_high) ** 2
        return GaussianNoise(float(np.clip(self.noise_variance, *bounds))).bounded(variance=bounds)

    def matching(self, companion: Likelihood) -> tuple[Likelihood, ...]:
        """Return the loss with each of the shapes ``SHAPES`` and the variance of the companion, within the bounds."""
        assert isinstance(companion, GaussianNoise)
        found = []
        for k in SHAPES:
            C = float(np.sqrt(self._of_shape(1.0, k).noise_variance / companion.variance))
            theta = np.clip(np.log([C, k / C]), *self.bounds.T)
            found.append(self.with_theta(theta))
        return tuple(found)

    def _of_shape(self, C: float, k: float) -> TransitionLoss:
        """Return the loss with the given C and C epsilon = k."""
        return dataclasses.replace(self, C=C, epsilon=k / C)

    def majorant(self, t: Vector) -> Vector:
        r"""Return the larger of :math:`\ell''` and :math:`|\ell'(t)| / (|t| - (1-\beta)\epsilon)` beyond the flat."""
        p, beyond = self.profile(t), np.abs(t) - (1.0 - self.beta) * self.epsilon
        chord = np.abs(p.gradient) / np.where(beyond > 0.0, beyond, 1.0)
        return np.where(beyond > 0.0, np.maximum(p.curvature, chord), p.curvature)

    def curvatures(self, y: Vector, f: Vector, thetas: Matrix) -> Vector:
        """Return d2loss/df2 of samples with parameters of their own."""
        free = dict(zip(self.names, np.exp(thetas.T), strict=True))
        C, epsilon = free.get("C", self.C), free.get("epsilon", self.epsilon)
        width = 2.0 * self.beta * epsilon
        p = (np.abs(y - f) - (1.0 - self.beta) * epsilon) / width
        bend = self.slopes(np.clip(p, 0.0, 1.0))[1]
        return np.where((p >= 0.0) & (p <= 1.0), C / width * bend, 0.0)

    def _zones(self, t: Vector) -> tuple[Vector, Vector, Mask, Mask]:
        """Return |t|, p in [0, 1], whether t lies in a zone (ends included) and whether beyond it."""
        a = np.abs(t)
        p = (a - (1.0 - self.beta) * self.epsilon) / (2.0 * self.beta * self.epsilon)
        return a, np.clip(p, 0.0, 1.0), (p >= 0.0) & (p <= 1.0), p > 1.0

    def profile(self, t: Vector) -> Derivatives:
        """Return the loss and its first three derivatives."""
        t = np.asarray(t, dtype=float)
        a, p, zone, beyond = self._zones(t)
        slope, bend, twist = self.slopes(p)
        width = 2.0 * self.beta * self.epsilon
        return Derivatives(
            self.C * np.where(beyond, a - self.epsilon, width * self.area(p)) + self.log_mass,
            self.C * np.sign(t) * slope,
            np.where(zone, self.C / width * bend, 0.0),
            np.where(zone, self.C / width**2 * np.sign(t) * twist, 0.0),
        )

    def shifted_loss(self, x: Vector) -> Vector:
        """Return the loss alone."""
        a, p, _, beyond = self._zones(x)
        return (
            self.C * np.where(beyond, a - self.epsilon, 2.0 * self.beta * self.epsilon * self.area(p)) + self.log_mass
        )

    def profile_parameters(self, t: Vector) -> dict[str, tuple[Vector, Vector, Vector]]:
        r"""Return the derivatives in ln C and ln epsilon; :math:`\epsilon\, dp/d\epsilon = -a/(2\beta\epsilon)`."""
        a, p, zone, beyond = self._zones(t)
        (slope, bend, twist), area = self.slopes(p), self.area(p)
        width = 2.0 * self.beta * self.epsilon
        mass, change = self.scaled_mass(self.C * self.epsilon)
        sign = np.sign(t)
        e = np.where(zone, a, 0.0) / width
        loss = np.where(beyond, a - self.epsilon, width * area)
        curvature = np.where(zone, bend / width, 0.0)
        by_c = (self.C * loss + change / mass - 1.0, self.C * sign * slope, self.C * curvature)
        by_epsilon = (
            self.C * np.where(beyond, -self.epsilon, width * (area - slope * e)) + change / mass,
            -self.C * sign * np.where(zone, bend * e, 0.0),
            -self.C * (curvature + np.where(zone, twist * e / width, 0.0)),
        )
        return {"C": by_c, "epsilon": by_epsilon}


def check_beta(owner: str, beta: float) -> float:
    """Return beta as a float in (0, 1], or say what is wrong with it."""
    if not (isinstance(beta, numbers.Real) and 0.0 < beta <= 1.0):
        raise ValueError(f"{owner}.beta: expected a number in (0, 1], found {beta!r}")
    return float(beta)


__all__ = ["TransitionLoss", "check_beta"]
