"""The hinge loss normalised over the labels, Seeger (1999)."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
from scipy.special import expit

from bayesvm.likelihoods.base import Classification, Derivatives, Traits
from bayesvm.likelihoods.hinge import Hinge
from bayesvm.parameters import Bounds
from bayesvm.typing import Vector


@dataclasses.dataclass(frozen=True)
class NormalizedHinge(Classification):
    r"""The normalised support vector classification loss of Seeger1999, section 2.

    .. math:: \ell(t) = C [1-t]_+ + \ln\big(e^{-C[1-t]_+} + e^{-C[1+t]_+}\big) = \ln\big(1 + e^{C d(t)}\big),
              \quad t = y f,

    with :math:`d(t) = [1-t]_+ - [1+t]_+`, that is -2t between -1 and 1 and :math:`-t - \mathrm{sign}\, t` outside.

    Parameters
    ----------
    C : float
        Steepness. Seeger1999 has C = 1, with the scale of f in the kernel: ``NormalizedHinge().fix("C")``. It is learnt
        unless fixed, and is only weakly determined by the data next to a kernel variance.

    Notes
    -----
    Domain: the real line; not sparse (the loss never vanishes); **not convex**: the slope jumps down at t = -1, from
    :math:`-C\sigma(2C)` to :math:`-2C\sigma(2C)` (-0.881 to -1.762 for C = 1), and up at t = 1. Between the kinks the
    loss is convex. At a kink the derivatives of the outer side are returned. Every derivative is a product of
    :math:`\sigma(\pm Cd)` and :math:`\tanh(Cd/2)`, none of which cancels.

    References
    ----------
    M. Seeger (1999). Bayesian model selection for support vector machines, Gaussian processes and other kernel
    classifiers.
    """

    positive: ClassVar[dict[str, Bounds]] = {"C": (1e-2, 1e3)}
    traits = Traits(smoothness=0, convex=False, normalized=True, sparse=False)

    C: float = 1.0

    @property
    def knots(self) -> tuple[float, ...]:
        """Return the kinks and the points where C d is 5, 15 and 40: there the quadrature changes its scale."""
        levels = (5.0 / self.C, 15.0 / self.C, 40.0 / self.C)
        right = sorted({1.0, *(0.5 * d if d < 2.0 else d - 1.0 for d in levels)})
        return (*(-k for k in reversed(right)), *right)

    @property
    def margin_loss(self) -> Hinge:
        """Return the hinge loss: the support vector machine whose loss is normalised here."""
        return Hinge(self.C, limits=self.limits)

    def _steps(self, t: Vector) -> tuple[Vector, Vector]:
        """Return C d(t) and its derivative."""
        inside = np.abs(t) < 1.0
        return -self.C * np.where(inside, 2.0 * t, t + np.sign(t)), np.where(inside, -2.0 * self.C, -self.C)

    def profile(self, t: Vector) -> Derivatives:
        """Return the loss and its first three derivatives."""
        t = np.asarray(t, dtype=float)
        s, rate = self._steps(t)
        up = expit(s)
        bend = rate**2 * up * expit(-s)
        return Derivatives(np.logaddexp(0.0, s), rate * up, bend, -rate * bend * np.tanh(0.5 * s))

    def profile_parameters(self, t: Vector) -> dict[str, tuple[Vector, Vector, Vector]]:
        """Return the derivatives in ln C; both C d and its slope are proportional to C."""
        s, rate = self._steps(t)
        up = expit(s)
        bend = up * expit(-s)
        return {"C": (s * up, rate * (up + s * bend), rate**2 * bend * (2.0 - s * np.tanh(0.5 * s)))}


__all__ = ["NormalizedHinge"]
