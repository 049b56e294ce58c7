"""Kernels that are a product over the features of a function of the difference: B-splines and Dirichlet kernels."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from math import comb, factorial

import numpy as np

from bayesvm.kernels.ard import PerFeature
from bayesvm.kernels.inputs import BLOCK, Inputs
from bayesvm.kernels.leaf import frobenius
from bayesvm.parameters import check_integer
from bayesvm.typing import Matrix, Vector

#: Highest order of a B-spline: the sum of truncated powers loses about one digit per eight orders; this leaves eleven.
MAX_ORDER = 31


@dataclasses.dataclass(frozen=True, repr=False)
class FeatureProduct(PerFeature):
    r"""Product over the features of an even function of the scaled difference.

    .. math:: k(x, z) = v \prod_l \varphi(u_l), \qquad u_l = (x_l - z_l) / \ell_l, \qquad \varphi(0) = 1

    The integer ``order`` selects :math:`\varphi` and is not learnt. Dense inputs only. The Gram matrix takes one pass
    per feature. The derivative with respect to :math:`\ell_l` needs the product of the *other* factors, any of which
    may be zero: it is the product of a running product from the left and one from the right, formed for a block of
    rows at a time, so nothing is divided by a factor and the extra memory does not grow with the square of the number
    of rows.
    """

    order: int = 3
    variance: float = 1.0
    lengthscale: float | Sequence[float] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "order", check_integer(f"{type(self).__name__}.order", self.order))

    @abstractmethod
    def _factor(self, u: Matrix) -> Matrix:
        r"""Return :math:`\varphi(u)` in a fresh array."""

    @abstractmethod
    def _factor_slope(self, u: Matrix) -> Matrix:
        r"""Return :math:`d\varphi/du` in a fresh array."""

    def _scaled(self, X: Inputs) -> Matrix:
        """Return the columns divided by their length scales, one row per feature."""
        return np.ascontiguousarray((X.dense() / self._checked_values(X)).T)

    def _gram(self, X: Inputs, Z: Inputs | None) -> Matrix:
        left = self._scaled(X)
        right = left if Z is None else self._scaled(Z)
        K = np.full((left.shape[1], right.shape[1]), self.variance)
        for x, z in zip(left, right):
            K *= self._factor(np.subtract.outer(x, z))
        return K

    def _diag(self, X: Inputs) -> Vector:
        X.dense()
        return np.full(len(X), self.variance)

    def _gradients(self, X: Inputs, Q: Matrix) -> Mapping[str, float | Vector]:
        scaled = self._scaled(X)
        d, n = scaled.shape
        step = max(1, BLOCK // max(1, n * d))
        variance, moved = 0.0, np.zeros(d)
        for start in range(0, n, step):
            u = scaled[:, start : start + step, None] - scaled[:, None, :]
            weights = Q[start : start + step]
            others, product = _products_of_the_others(self._factor(u))
            variance += frobenius(weights, product)
            u *= self._factor_slope(u)  # d phi / d log l = -u phi'
            u *= others
            moved -= np.einsum("ij,lij->l", weights, u)
        return {"variance": self.variance * variance, "lengthscale": self.variance * moved}


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
    lengthscale : float or sequence of float
        :math:`\ell_l`.
    ard : bool
        Whether every feature has a length scale of its own, which a sequence implies.

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


@dataclasses.dataclass(frozen=True, repr=False)
class Dirichlet(FeatureProduct):
    r"""Dirichlet kernel, Thesis (3.50), scaled to one at the origin.

    .. math:: k(x, z) = v \prod_l D_m(u_l), \qquad u_l = (x_l - z_l)/\ell_l, \qquad
              D_m(u) = \frac{1 + 2 \sum_{j=1}^m \cos j u}{2m + 1}
                     = \frac{\sin\bigl((2m+1) u/2\bigr)}{(2m+1) \sin(u/2)}

    Domain: dense vectors. Positive semidefinite of finite rank, since its spectrum is :math:`2m+1` equal weights,
    Thesis (3.49). Its functions have period :math:`2 \pi \ell_l` in every feature and no frequency above the
    :math:`m`-th.

    Parameters
    ----------
    order : int
        :math:`m \ge 1`: the highest frequency; not learnt.
    variance : float
        :math:`v`.
    lengthscale : float or sequence of float
        :math:`\ell_l`: the period over :math:`2\pi`.
    ard : bool
        Whether every feature has a length scale of its own, which a sequence implies.

    Notes
    -----
    The difference is first reduced to :math:`[-\pi, \pi]`, so the quotient of sines is accurate next to every multiple
    of :math:`2\pi`; at the multiple itself its limit 1 is taken. The derivative is computed from the sum, which has no
    cancellation there.

    References
    ----------
    Thesis section 3.2.1.1.
    """

    def _factor(self, u: Matrix) -> Matrix:
        half = 0.5 * _reduced(u)
        count = 2 * self.order + 1
        value = np.sin(count * half)
        np.sin(half, out=half)
        half *= count
        centre = half == 0.0
        half[centre] = value[centre] = 1.0
        value /= half
        return value

    def _factor_slope(self, u: Matrix) -> Matrix:
        v = _reduced(u)
        slope = np.zeros_like(v)
        for j in range(1, self.order + 1):
            slope += j * np.sin(j * v)
        slope *= -2.0 / (2 * self.order + 1)
        return slope


def _products_of_the_others(factors: Matrix) -> tuple[Matrix, Matrix]:
    """Return, along the first axis, the product of all factors but one, and the product of all."""
    others = np.ones_like(factors)
    np.cumprod(factors[:-1], axis=0, out=others[1:])
    product = np.ones(factors.shape[1:])
    for l in range(len(factors) - 1, -1, -1):
        others[l] *= product
        product *= factors[l]
    return others, product


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


def _reduced(u: Matrix) -> Matrix:
    """Return ``u`` less the nearest multiple of the period."""
    return np.asarray(u - 2.0 * np.pi * np.round(u / (2.0 * np.pi)))


__all__ = ["BSpline", "Dirichlet", "FeatureProduct"]
