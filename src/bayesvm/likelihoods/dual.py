r"""The dual side of a loss: what a working-set solver needs of it.

The mode :math:`\min_f \tfrac12 f^\top K^{-1} f + \sum_i \ell_i(f_i)` has the dual problem

.. math:: \min_a \; \tfrac12 a^\top K a + \sum_i h_i(a_i), \qquad
          h_i(a) = \max_f \{-a f - \ell_i(f)\} + \text{constant},

whose solution is the vector of coefficients, :math:`f = K a`. All duals of this library have the form

.. math:: h_i(a) = -y_i a + \kappa_i |a| + \tfrac12 b_i a^2 + w_i\, c(|a|/w_i), \qquad l_i \le a \le u_i,

.. math:: c(x) = \tfrac4\pi x \arctan\tfrac{2x}{\pi} - \ln\bigl(1 + (\tfrac{2x}{\pi})^2\bigr).

Here :math:`a = \alpha - \alpha^*`: of the two multipliers of a sample one is always zero (Thesis C.3), so one signed
variable stands for both. Thesis (B.18), (B.30), (4.25) have :math:`w = 0`, Chu2003 (25) and (43) have
:math:`\kappa = b = 0`.
"""

from __future__ import annotations

import dataclasses
from typing import Self

import numpy as np

from bayesvm.typing import Vector


@dataclasses.dataclass(frozen=True)
class Dual:
    r"""The separable part of a dual problem; see the module for the formula.

    Attributes
    ----------
    target, kink, bend, weight : arrays, shape (n,)
        :math:`y`, :math:`\kappa \ge 0`, :math:`b \ge 0`, :math:`w \ge 0` (zero: no such term).
    lower, upper : arrays, shape (n,)
        Bounds; zero lies between them. They may be infinite.
    """

    target: Vector
    kink: Vector
    bend: Vector
    weight: Vector
    lower: Vector
    upper: Vector

    @classmethod
    def margin(cls, y: Vector, C: float, *, bend: float = 0.0, weight: float = 0.0) -> Self:
        r"""Return the dual of a loss of the margin: :math:`0 \le y_i a_i \le C`, Thesis (B.18)."""
        zero = np.zeros_like(y)
        positive = y > 0.0
        lower, upper = np.where(positive, 0.0, -C), np.where(positive, C, 0.0)
        return cls(np.array(y), zero, np.full_like(y, bend), np.full_like(y, weight), lower, upper)

    @classmethod
    def residual(cls, y: Vector, C: float, *, kink: float = 0.0, bend: float = 0.0) -> Self:
        r"""Return the dual of a loss of the residual: :math:`|a_i| \le C`, Thesis (B.30), (4.25)."""
        same = np.full_like
        return cls(np.array(y), same(y, kink), same(y, bend), np.zeros_like(y), same(y, -C), same(y, C))

    def weighted(self, w: Vector) -> Self:
        r"""Return the dual of :math:`w_i \ell_i`, which is :math:`w_i h_i(a / w_i)`; with weight zero a is zero."""
        on = w > 0.0
        w_or_one = np.where(on, w, 1.0)
        return dataclasses.replace(
            self,
            bend=self.bend / w_or_one,
            weight=self.weight * w_or_one,
            lower=np.where(on, self.lower * w_or_one, 0.0),
            upper=np.where(on, self.upper * w_or_one, 0.0),
        )

    def value(self, a: Vector) -> float:
        """Return the sum of h_i(a_i)."""
        h = (0.5 * self.bend * a - self.target) * a + self.kink * np.abs(a)
        curved = self.weight > 0.0
        w = np.where(curved, self.weight, 1.0)
        x = 2.0 * np.abs(a) / (np.pi * w)
        h += np.where(curved, w * (2.0 * x * np.arctan(x) - np.log1p(x * x)), 0.0)
        return float(np.sum(h))


__all__ = ["Dual"]
