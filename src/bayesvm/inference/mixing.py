r"""Anderson mixing: a fixed-point iteration :math:`x \to G(x)` speeded up by the last few steps.

With the residuals :math:`r_k = G(x_k) - x_k`, the next iterate is the combination of the last images whose weights sum to one and
make the same combination of residuals smallest (Anderson1965). Near a fixed point this is a secant method; it needs no derivative.
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
        self._image: list[Vector] = []

    def forget(self) -> None:
        """Begin afresh."""
        self._x.clear()
        self._image.clear()

    def next(self, x: Vector, image: Vector) -> Vector:
        """Return the next iterate, given the last one and its image."""
        self._x.append(x)
        self._image.append(image)
        del self._x[: -self.depth - 1], self._image[: -self.depth - 1]
        if len(self._x) == 1:
            return image
        images = np.stack(self._image, axis=1)
        residuals = images - np.stack(self._x, axis=1)
        weights = least_squares(np.diff(residuals, axis=1), residuals[:, -1])
        return np.asarray(image - np.diff(images, axis=1) @ weights)


__all__ = ["AndersonMixer"]
