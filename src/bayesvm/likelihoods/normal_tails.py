r"""Logarithms of normal probabilities that neither cancel nor underflow.

:math:`\phi` and :math:`\Phi` are the standard normal density and distribution function;
:math:`\mathrm{erfcx}(z) = e^{z^2} \mathrm{erfc}(z)` carries the tails.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erf, erfc, erfcx

from bayesvm.typing import Vector

_ROOT2 = float(np.sqrt(2.0))
_HALF_LOG_2PI = float(0.5 * np.log(2.0 * np.pi))
_ROOT_2PI_INVERSE = float(1.0 / np.sqrt(2.0 * np.pi))
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def log_ndtr(z: Vector) -> Vector:
    r"""Return :math:`\ln \Phi(z)` to full relative accuracy, on the positive side too."""
    z = np.asarray(z, dtype=float)
    below, above = np.minimum(z, 0.0), np.maximum(z, 0.0)
    left = -0.5 * below * below + np.log(0.5 * erfcx(-below / _ROOT2))
    return np.where(z < 0.0, left, np.log1p(-0.5 * erfc(above / _ROOT2)))


def density(z: Vector) -> Vector:
    r"""Return :math:`\phi(z)`."""
    return np.asarray(np.exp(-0.5 * z * z) * _ROOT_2PI_INVERSE)


def hazard(z: Vector) -> Vector:
    r"""Return :math:`\phi(z)/\Phi(z)`, the inverse Mills ratio of -z."""
    z = np.asarray(z, dtype=float)
    below, above = np.minimum(z, 0.0), np.maximum(z, 0.0)
    left = np.sqrt(2.0 / np.pi) / erfcx(-below / _ROOT2)
    right = np.exp(-0.5 * above * above) / (np.sqrt(2.0 * np.pi) * (1.0 - 0.5 * erfc(above / _ROOT2)))
    return np.asarray(np.where(z < 0.0, left, right))


def log_exponential_tail(u: Vector, rate: Vector) -> Vector:
    r"""Return :math:`\ln \int_u^\infty e^{-c (x - u)} \phi(x)\, dx` for rates :math:`c \ge 0`.

    The integral is :math:`e^{cu + c^2/2}\, \Phi(-(u + c))`; where u + c > 0 the exponents are merged first, which
    leaves :math:`e^{-u^2/2}\, \mathrm{erfcx}((u + c)/\sqrt2)/2`.
    """
    z = u + rate
    outside = -0.5 * u * u + np.log(0.5 * erfcx(np.maximum(z, 0.0) / _ROOT2))
    inside = rate * np.where(z < 0.0, u + 0.5 * rate, 0.0) + log_ndtr(np.maximum(-z, 0.0))
    return np.where(z >= 0.0, outside, inside)


def log_interval(low: Vector, half: Vector) -> Vector:
    r"""Return :math:`\ln \int_a^{a + 2h} \phi(x)\, dx` for an interval whose centre a + h is not negative.

    Around zero by a sum of error functions; in the tail by ``erfcx``; where the density hardly changes over the
    interval, so that a difference would cancel, by a Gauss-Legendre rule.
    """
    high = low + 2.0 * half
    start = np.maximum(low, 0.0)
    change = half * (start + high)  # half the difference of the squares of the ends
    across = np.where(low < 0.0, 0.5 * (erf(high / _ROOT2) - erf(np.minimum(low, 0.0) / _ROOT2)), 1.0)
    steep = np.where(change > 0.5, 0.5 * (erfcx(start / _ROOT2) - np.exp(-change) * erfcx(high / _ROOT2)), 1.0)
    gentle = (low >= 0.0) & (change <= 0.5)
    width = np.where(gentle, 2.0 * half, 1.0)
    step = 0.5 * width[..., None] * (1.0 + _NODES)
    mean = 0.5 * np.sum(_WEIGHTS * np.exp(-(np.where(gentle, low, 0.0)[..., None] + 0.5 * step) * step), axis=-1)
    narrow = np.log(width) + np.log(mean) - _HALF_LOG_2PI
    return np.where(low < 0.0, np.log(across), -0.5 * start * start + np.where(gentle, narrow, np.log(steep)))


__all__ = ["density", "hazard", "log_exponential_tail", "log_interval", "log_ndtr"]
