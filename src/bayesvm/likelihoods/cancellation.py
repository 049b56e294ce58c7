r"""Differences that cancel near zero: :math:`y - \sin y` and :math:`y^2/2 - 1 + \cos y`.

Below |y| = 1 both are summed from their Taylor series (nine terms reach the last bit), above it they are formed
directly.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bayesvm.typing import Vector

_TERMS = 9
_SIN = [(-1.0) ** k / math.factorial(2 * k + 3) for k in range(_TERMS)]
_COS = [(-1.0) ** k / math.factorial(2 * k + 4) for k in range(_TERMS)]


def _horner(coefficients: list[float], x: Vector) -> Vector:
    total = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        total *= x
        total += c
    return total


def _patched(y: Vector, direct: Vector, series: Callable[[Vector, Vector], Vector]) -> Vector:
    """Return what was formed directly, with the series, a function of y and its square, where |y| < 1."""
    result = np.asarray(direct)
    few = np.abs(y) < 1.0
    small = y[few]
    result[few] = series(small, small * small)
    return result


def y_minus_sin(y: Vector) -> Vector:
    r"""Return :math:`y - \sin y` to full relative accuracy."""
    y = np.asarray(y, dtype=float)
    return _patched(y, y - np.sin(y), lambda small, square: small * square * _horner(_SIN, square))


def parabola_minus_versine(y: Vector) -> Vector:
    r"""Return :math:`y^2/2 - (1 - \cos y)` to full relative accuracy."""
    y = np.asarray(y, dtype=float)
    direct = 0.5 * y * y - 2.0 * np.sin(0.5 * y) ** 2
    return _patched(y, direct, lambda small, square: square * square * _horner(_COS, square))


__all__ = ["parabola_minus_versine", "y_minus_sin"]
