"""Derivatives by five-point central differences, the yardstick of every gradient in the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesvm.typing import Vector


def five_point(function: Callable[[Vector], Any], x: Vector, step: float = 1e-4) -> NDArray[np.float64]:
    r"""Return the derivative of ``function`` at the vector ``x``, one leading entry per coordinate.

    :math:`[f(x-2h) - 8 f(x-h) + 8 f(x+h) - f(x+2h)] / 12h` per coordinate, with an error of order :math:`h^4`.
    """
    x = np.asarray(x, dtype=float)
    rows = []
    for i in range(x.size):
        e = np.zeros_like(x)
        e[i] = step
        far = np.asarray(function(x - 2 * e)) - np.asarray(function(x + 2 * e))
        near = np.asarray(function(x + e)) - np.asarray(function(x - e))
        rows.append((far + 8.0 * near) / (12.0 * step))
    return np.asarray(rows)


def relative_error(found: Any, expected: Any, floor: float = 1.0) -> float:
    """Return the largest ``|found - expected| / max(floor, |expected|)``."""
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    if found.shape != expected.shape:
        raise AssertionError(f"shapes differ: found {found.shape}, expected {expected.shape}")
    return float(np.max(np.abs(found - expected) / np.maximum(floor, np.abs(expected)), initial=0.0))


__all__ = ["five_point", "relative_error"]
