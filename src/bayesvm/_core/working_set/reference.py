r"""Plain NumPy statement of what the working-set solver computes; the oracle of its tests.

.. math:: \min_a \; \tfrac12 a^\top K a + \sum_i \bigl[-y_i a_i + \kappa_i |a_i| + \tfrac12 b_i a_i^2
          + w_i\, c(|a_i|/w_i)\bigr], \quad l_i \le a_i \le u_i, \quad \Bigl[\sum_i a_i = 0\Bigr]

with :math:`c(x) = \tfrac4\pi x \arctan\tfrac{2x}{\pi} - \ln(1 + (\tfrac{2x}{\pi})^2)`. The pair that violates the
optimality conditions most (without the constraint: the variable) moves to the minimum along its line, found by
bisection, until no violation above the tolerance remains. No cache, no shrinking, no second-order selection.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.typing import Indices, Matrix, Vector


@dataclasses.dataclass(frozen=True)
class ReferenceResult:
    """Solution, gap, interval of the multiplier of the constraint, and number of steps."""

    alpha: Vector
    gap: float
    multiplier: tuple[float, float]
    n_iter: int


@dataclasses.dataclass(frozen=True)
class ReferenceProblem:
    """The arrays of the module's formula."""

    K: Matrix
    target: Vector
    kink: Vector
    bend: Vector
    weight: Vector
    lower: Vector
    upper: Vector
    equality: bool

    def slope(self, a: Vector, side: int) -> Vector:
        """Return the one-sided derivatives of the separable part (side +1 or -1), infinite at a bound."""
        return self._slope(a, side, np.arange(a.size))

    def _slope(self, a: Vector, side: Vector | int, at: Indices) -> Vector:
        sign = np.where(a == 0.0, side, np.sign(a))
        w = np.where(self.weight[at] > 0.0, self.weight[at], 1.0)
        curved = np.where(self.weight[at] > 0.0, 4.0 / np.pi * np.arctan(2.0 * a / (np.pi * w)), 0.0)
        s = -self.target[at] + self.kink[at] * sign + self.bend[at] * a + curved
        s = np.where((np.asarray(side) > 0) & (a >= self.upper[at]), np.inf, s)
        return np.where((np.asarray(side) < 0) & (a <= self.lower[at]), -np.inf, s)

    def along(self, a: Vector, gradient: Vector, direction: Vector) -> float:
        """Return the step to the minimum along the direction, by bisection of the derivative; ``gradient`` is K a."""
        at = np.flatnonzero(direction)
        p, value = direction[at], a[at]
        end = np.where(p > 0.0, self.upper[at], self.lower[at])
        high = float(np.min((end - value) / p))
        slope, curvature = float(p @ gradient[at]), float(p @ self.K[np.ix_(at, at)] @ p)

        def derivative(t: float) -> float:
            h = self._slope(value + t * p, p, at)
            return slope + curvature * t + float(p @ h) if np.all(np.isfinite(h)) else np.inf

        low = 0.0
        if not np.isfinite(high):
            high = 1.0
            while derivative(high) < 0.0:
                low, high = high, 2.0 * high
        for _ in range(100):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            low, high = (middle, high) if derivative(middle) < 0.0 else (low, middle)
        return high

    def solve(self, tol: float = 1e-8, max_iter: int = 100_000) -> ReferenceResult:
        """Return a solution with a gap of at most ``tol`` (or the one reached after ``max_iter`` steps)."""
        a = np.zeros_like(self.target)
        for n_iter in range(max_iter + 1):
            gradient = self.K @ a
            up, down = gradient + self.slope(a, 1), gradient + self.slope(a, -1)
            i, j = int(np.argmin(up)), int(np.argmax(down))
            gap = down[j] - up[i] if self.equality else max(down[j], -up[i])
            if gap <= tol or n_iter == max_iter:
                break
            direction = np.zeros_like(a)
            if self.equality or -up[i] >= down[j]:
                direction[i] = 1.0
            if self.equality or -up[i] < down[j]:
                direction[j] = -1.0
            t = self.along(a, gradient, direction)
            a = np.clip(a + t * direction, self.lower, self.upper)
            a[np.abs(a) < 1e-14] = 0.0
        return ReferenceResult(a, float(gap), (float(down[j]), float(up[i])), n_iter)


__all__ = ["ReferenceProblem", "ReferenceResult"]
