"""The Matern family at smoothness 1/2 (Ornstein-Uhlenbeck), 3/2 and 5/2."""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.kernels.stationary import Stationary
from bayesvm.typing import Matrix


@dataclasses.dataclass(frozen=True, repr=False)
class OrnsteinUhlenbeck(Stationary):
    r"""Ornstein-Uhlenbeck (exponential) kernel.

    .. math:: k(x, z) = v\,e^{-r}, \qquad r^2 = \sum_l (x_l - z_l)^2 / \ell_l^2

    Domain: dense or sparse vectors. Positive definite on distinct points; sample functions are continuous and nowhere
    differentiable.

    Parameters
    ----------
    variance : float
        :math:`v`.
    lengthscale : float or tuple of float
        :math:`\ell_l`.
    ard : bool
        Whether every feature has a length scale of its own.

    Notes
    -----
    Special cases: Matern kernel of smoothness 1/2; in one dimension the covariance of a Markov process. The slope
    :math:`dk/dr^2 = -k/2r` is infinite at :math:`r = 0`, but there :math:`r^2\,dk/dr^2 = 0`, which is what is used.

    References
    ----------
    Rasmussen2006 section 4.2.1.
    """

    def _profile(self, r2: Matrix) -> Matrix:
        r = np.sqrt(r2, out=r2)
        np.negative(r, out=r)
        return np.exp(r, out=r)

    def _slope(self, r2: Matrix, k: Matrix) -> Matrix:
        r = np.sqrt(r2)
        r *= -2.0
        zero = r == 0.0
        r[zero] = 1.0
        k /= r
        k[zero] = 0.0
        return k


@dataclasses.dataclass(frozen=True, repr=False)
class Matern32(Stationary):
    r"""Matern kernel of smoothness 3/2.

    .. math:: k(x, z) = v\,(1 + s)\,e^{-s}, \qquad s^2 = 3 \sum_l (x_l - z_l)^2 / \ell_l^2

    Domain: dense or sparse vectors. Positive definite on distinct points; sample functions are once differentiable.

    Parameters
    ----------
    variance : float
        :math:`v`.
    lengthscale : float or tuple of float
        :math:`\ell_l`.
    ard : bool
        Whether every feature has a length scale of its own.

    References
    ----------
    Rasmussen2006 section 4.2.1.
    """

    def _profile(self, r2: Matrix) -> Matrix:
        s = _root(3.0, r2, out=r2)
        decay = np.exp(-s)
        s += 1.0
        s *= decay
        return s

    def _slope(self, r2: Matrix, k: Matrix) -> Matrix:
        # -3/2 exp(-s), with exp(-s) = k / (1 + s)
        s = _root(3.0, r2)
        s += 1.0
        k /= s
        k *= -1.5
        return k


@dataclasses.dataclass(frozen=True, repr=False)
class Matern52(Stationary):
    r"""Matern kernel of smoothness 5/2.

    .. math:: k(x, z) = v\,(1 + s + s^2/3)\,e^{-s}, \qquad s^2 = 5 \sum_l (x_l - z_l)^2 / \ell_l^2

    Domain: dense or sparse vectors. Positive definite on distinct points; sample functions are twice differentiable.

    Parameters
    ----------
    variance : float
        :math:`v`.
    lengthscale : float or tuple of float
        :math:`\ell_l`.
    ard : bool
        Whether every feature has a length scale of its own.

    References
    ----------
    Rasmussen2006 section 4.2.1.
    """

    def _profile(self, r2: Matrix) -> Matrix:
        s = _root(5.0, r2, out=r2)
        decay = np.exp(-s)
        decay *= _quadratic(s)
        return decay

    def _slope(self, r2: Matrix, k: Matrix) -> Matrix:
        # -5/6 (1 + s) exp(-s), with exp(-s) = k / (1 + s + s^2/3)
        s = _root(5.0, r2)
        k /= _quadratic(s)
        s += 1.0
        k *= s
        k *= -5.0 / 6.0
        return k


def _root(factor: float, r2: Matrix, out: Matrix | None = None) -> Matrix:
    """Return ``sqrt(factor * r2)``."""
    scaled = np.multiply(r2, factor, out=out)
    return np.asarray(np.sqrt(scaled, out=scaled))


def _quadratic(s: Matrix) -> Matrix:
    """Return ``1 + s + s**2 / 3`` in a fresh array."""
    value = s / 3.0
    value += 1.0
    value *= s
    value += 1.0
    return value


__all__ = ["Matern32", "Matern52", "OrnsteinUhlenbeck"]
