"""The Gaussian kernel."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from bayesvm._core.gram import gaussian_from_inner, gaussian_of_distances
from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.leaf import frobenius
from bayesvm.kernels.stationary import Radial
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True, repr=False)
class Gaussian(Radial):
    r"""Gaussian kernel, Thesis (3.43)-(3.46).

    .. math:: k(x, z) = v \exp\Bigl(-\tfrac12 \sum_l (x_l - z_l)^2 / \ell_l^2\Bigr)

    Domain: dense or sparse vectors. Positive definite on distinct points; its sample functions are infinitely smooth.

    Parameters
    ----------
    variance : float
        :math:`v`, the papers' :math:`\kappa_0`.
    lengthscale : float or sequence of float
        :math:`\ell_l`; the papers' :math:`\kappa_l` is :math:`1/\ell_l^2`.
    ard : bool
        Whether every feature has a length scale of its own, which a sequence implies; Thesis (3.46). A feature whose
        length scale grows without bound drops out of the model.

    Notes
    -----
    Special cases: the limit of :class:`RationalQuadratic` for ``alpha`` to infinity. scikit-learn's
    ``RBF(length_scale)`` and ``SVC(gamma)`` with ``gamma = 1/(2 lengthscale**2)`` are this kernel with variance 1.

    References
    ----------
    Thesis section 3.2.1; Chu2003.
    """

    def _gram(self, X: Inputs, Z: Inputs | None) -> Matrix:
        inverse = self._checked_values(X, Z) ** -2.0
        if Z is None and self._is_vector and not X.is_sparse:
            K = X.centred_inner(inverse)
            gaussian_from_inner(K, self.variance)
            return K
        weights = inverse if self._is_vector else None
        half = 0.5 if self._is_vector else 0.5 * float(inverse)
        return gaussian_of_distances(X.squared_distances(Z, weights=weights), half, self.variance, Z is None)

    def _gradients(self, X: Inputs, Q: Matrix) -> Mapping[str, float | Vector]:
        return self._moved(X, None, Q)

    def _cross_pullback(self, X: Inputs, Z: Inputs, Q: Matrix) -> Vector:
        return self._of_free(self._moved(X, Z, Q))

    def _moved(self, X: Inputs, Z: Inputs | None, Q: Matrix) -> dict[str, float | Vector]:
        A = self._gram(X, Z)
        A *= Q
        gradients: dict[str, float | Vector] = {"variance": float(A.sum())}
        if self._is_free("lengthscale"):  # d k / d log l_l = k (x_l - z_l)^2 / l_l^2
            moved = X.spread(A, Z) if self._is_vector else frobenius(A, X.squared_distances(Z))
            gradients["lengthscale"] = moved / self._values**2
        return gradients


__all__ = ["Gaussian"]
