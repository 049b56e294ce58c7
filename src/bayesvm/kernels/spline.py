"""The B-spline kernel of odd order."""

from __future__ import annotations

import dataclasses
from math import comb, factorial

import numpy as np

from bayesvm.kernels.feature_product import FeatureProduct
from bayesvm.typing import Matrix

#: The sum of truncated powers loses about one digit per eight orders; this leaves eleven.
MAX_ORDER = 31


@dataclasses.dataclass(frozen=True, repr=False)
class BSpline(FeatureProduct):
    r"""B-spline kernel of odd order, Thesis (3.47).

    .. math:: k(x, z) = v \prod_l \frac{B_p\bigl((x_l - z_l)/\ell_l\bigr)}{B_p(0)}, \qquad
              B_p = \underbrace{B_0 \otimes \dots \otimes B_0}_{p+1}

    where :math:`B_0` is one on :math:`[-\tfrac12, \tfrac12]`, zero elsewhere.

    Domain: dense vectors. Positive semidefinite for odd :math:`p` only, because the Fourier transform
    :math:`\mathrm{sinc}^{p+1}(\omega/2)` is then an even power, Thesis (3.48). Zero when a feature differs by
    :math:`\ell_l (p+1)/2` or more, so with many features the length scales have to grow.

    Parameters
    ----------
    order : int
        :math:`p`, odd, from 1 to 31; not learnt.
    variance : float
        :math:`v`.
    lengthscale : float or tuple of float
        :math:`\ell_l`.
    ard : bool
        Whether every feature has a length scale of its own.

    Notes
    -----
    Special cases: ``order=1`` is the triangle :math:`(1 - |u|)_+`, with kinks where its derivative with respect to the
    length scale jumps; ``order=3`` is twice continuously differentiable. With increasing order the shape approaches a
    :class:`Gaussian` of variance :math:`(p+1)/12` in :math:`u`.

    References
    ----------
    Thesis section 3.2.1.1.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order % 2 == 0:
            raise ValueError(
                f"BSpline.order: expected an odd number, found {self.order}; the Fourier transform of a B-spline of "
                "even order has negative parts, so it is no covariance function"
            )
        if self.order > MAX_ORDER:
            raise ValueError(f"BSpline.order: expected at most {MAX_ORDER}, found {self.order}")

    def _factor(self, u: Matrix) -> Matrix:
        return _truncated_powers(np.abs(u), self.order, self.order) / _centre(self.order)

    def _factor_slope(self, u: Matrix) -> Matrix:
        slope = _truncated_powers(np.abs(u), self.order, self.order - 1)
        slope *= -np.sign(u) / _centre(self.order)
        return slope


def _truncated_powers(a: Matrix, order: int, power: int) -> Matrix:
    r"""Return :math:`\frac{1}{q!} \sum_k (-1)^k \binom{p+1}{k} (\tfrac{p+1}{2} - a - k)_+^q` for :math:`a \ge 0`.

    That is :math:`B_p(a)` for :math:`q = p` and :math:`-B_p'(a)` for :math:`q = p - 1`. Since :math:`a` is not negative
    only half of the terms are ever needed, and few near the end of the support, where the value is small.
    """
    half = (order + 1) // 2
    total = np.zeros_like(a)
    for k in range(half):
        rest = (half - k) - a
        term = np.maximum(rest, 0.0) ** power if power else (rest > 0.0).astype(float)
        term *= (-1) ** k * comb(order + 1, k) / factorial(power)
        total += term
    return total


def _centre(order: int) -> float:
    return float(_truncated_powers(np.zeros(1), order, order)[0])


__all__ = ["BSpline"]
