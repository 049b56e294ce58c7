"""The Gaussian (squared exponential, RBF) kernel."""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.kernels.stationary import Stationary
from bayesvm.typing import Matrix


@dataclasses.dataclass(frozen=True, repr=False)
class Gaussian(Stationary):
    r"""Gaussian kernel, Thesis (3.43)-(3.46).

    .. math:: k(x, z) = v \exp\Bigl(-\tfrac12 \sum_l (x_l - z_l)^2 / \ell_l^2\Bigr)

    Domain: dense or sparse vectors. Positive definite on distinct points; its sample functions are infinitely smooth.

    Parameters
    ----------
    variance : float
        :math:`v`, the papers' :math:`\kappa_0`.
    lengthscale : float or tuple of float
        :math:`\ell_l`; the papers' :math:`\kappa_l` is :math:`1/\ell_l^2`.
    ard : bool
        Whether every feature has a length scale of its own, Thesis (3.46). A feature whose length scale grows without
        bound drops out of the model.

    Notes
    -----
    Special cases: the limit of :class:`RationalQuadratic` for ``alpha`` to infinity. scikit-learn's
    ``RBF(length_scale)`` and ``SVC(gamma)`` with ``gamma = 1/(2 lengthscale**2)`` are this kernel with variance 1.

    References
    ----------
    Thesis section 3.2.1; Chu2003.
    """

    def _profile(self, r2: Matrix) -> Matrix:
        r2 *= -0.5
        return np.exp(r2, out=r2)

    def _slope(self, r2: Matrix, k: Matrix) -> Matrix:
        k *= -0.5
        return k


__all__ = ["Gaussian"]
