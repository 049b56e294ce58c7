r"""Anderson mixing: a fixed-point iteration :math:`x \to G(x)` speeded up by the last few steps.

With the residuals :math:`r_k = G(x_k) - x_k`, weights that sum to one are chosen so that the combination :math:`\bar r`
of the last residuals is smallest; the next iterate is :math:`\bar x + \beta \bar r`, the same combination of the
iterates plus a step (Anderson1965). Near a fixed point this is a secant method; it needs no derivative.
"""

from __future__ import annotations

import numpy as np

from bayesvm.linalg import least_squares
from bayesvm.typing import Vector


class AndersonMixer:
    """Memory of one fixed-point iteration.

    Parameters
    ----------
    depth : int
        How many earlier steps count.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self._x: list[Vector] = []
        self._residual: list[Vector] = []

    def forget(self) -> None:
        """Begin afresh."""
        self._x.clear()
        self._residual.clear()

    def next(self, x: Vector, image: Vector, step: float) -> Vector:
        """Return the next iterate, given the last one, its image, and how far to go towards the combined image."""
        self._x.append(x)
        self._residual.append(image - x)
        del self._x[: -self.depth - 1], self._residual[: -self.depth - 1]
        if len(self._x) == 1:
            return np.asarray(x + step * (image - x))
        residuals, points = np.stack(self._residual, axis=1), np.stack(self._x, axis=1)
        changes = np.diff(residuals, axis=1)
        weights = least_squares(changes, residuals[:, -1])
        best = residuals[:, -1] - changes @ weights
        return np.asarray(x - np.diff(points, axis=1) @ weights + step * best)


__all__ = ["AndersonMixer"]
