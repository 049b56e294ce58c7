"""The Dirichlet kernel: periodic functions of limited bandwidth."""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.kernels.feature_product import FeatureProduct
from bayesvm.typing import Matrix


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
    lengthscale : float or tuple of float
        :math:`\ell_l`: the period over :math:`2\pi`.
    ard : bool
        Whether every feature has a length scale of its own.

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


def _reduced(u: Matrix) -> Matrix:
    """Return ``u`` less the nearest multiple of the period."""
    return np.asarray(u - 2.0 * np.pi * np.round(u / (2.0 * np.pi)))


__all__ = ["Dirichlet"]
