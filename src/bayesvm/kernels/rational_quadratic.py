"""The rational quadratic kernel: a mixture of Gaussian kernels of many length scales."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from bayesvm.kernels.ard import LENGTHSCALE, VARIANCE
from bayesvm.kernels.base import frobenius
from bayesvm.kernels.stationary import Stationary
from bayesvm.parameters import Bounds
from bayesvm.typing import Matrix


@dataclasses.dataclass(frozen=True, repr=False)
class RationalQuadratic(Stationary):
    r"""Rational quadratic kernel.

    .. math:: k(x, z) = v\,\Bigl(1 + \frac{r^2}{2\alpha}\Bigr)^{-\alpha}, \qquad
              r^2 = \sum_l (x_l - z_l)^2 / \ell_l^2

    Domain: dense or sparse vectors. Positive definite on distinct points; it decays like a power of the distance.

    Parameters
    ----------
    variance : float
        :math:`v`.
    lengthscale : float or tuple of float
        :math:`\ell_l`.
    alpha : float
        :math:`\alpha`: how narrow the mixture of length scales is.
    ard : bool
        Whether every feature has a length scale of its own.

    Notes
    -----
    Special cases: ``alpha`` to infinity is :class:`Gaussian`; ``alpha=1`` is the Cauchy kernel. The power is computed
    as :math:`\exp(-\alpha \log(1 + r^2/2\alpha))` with ``log1p``, exact for large ``alpha`` too.

    References
    ----------
    Rasmussen2006 section 4.2.1.
    """

    positive: ClassVar[Mapping[str, Bounds]] = {
        "variance": VARIANCE,
        "lengthscale": LENGTHSCALE,
        "alpha": (1e-3, 1e4),
    }

    alpha: float = 1.0

    def _profile(self, r2: Matrix) -> Matrix:
        r2 *= 0.5 / self.alpha
        np.log1p(r2, out=r2)
        r2 *= -self.alpha
        return np.exp(r2, out=r2)

    def _slope(self, r2: Matrix, k: Matrix) -> Matrix:
        # -1/2 k / (1 + r2 / 2 alpha)
        base = r2 * (0.5 / self.alpha)
        base += 1.0
        k /= base
        k *= -0.5
        return k

    def _shape_gradients(self, r2: Matrix, k: Matrix, Q: Matrix) -> Mapping[str, float]:
        # d log k / d log alpha = alpha [h / (1 + h) - log(1 + h)],  h = r2 / 2 alpha
        h = r2 * (0.5 / self.alpha)
        term = np.log1p(h)
        np.negative(term, out=term)
        h /= 1.0 + h
        term += h
        term *= k
        return {"alpha": self.variance * self.alpha * frobenius(Q, term)}


__all__ = ["RationalQuadratic"]
