r"""Kernels of the distance, :math:`k(x, z) = v\,\varphi(r^2)`, with one or many length scales.

A new one is two functions: the profile :math:`\varphi` and its slope :math:`\varphi' = d\varphi/dr^2`.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from bayesvm.kernels.ard import LENGTHSCALE, VARIANCE, PerFeature
from bayesvm.kernels.base import frobenius
from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.scale import Scale
from bayesvm.parameters import Bounds
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True, repr=False)
class Radial(PerFeature):
    r"""A kernel of the scaled squared distance, Thesis (3.41) and (3.46).

    .. math:: k(x, z) = v\,\varphi(r^2), \qquad r^2 = \sum_l (x_l - z_l)^2 / \ell_l^2, \qquad \varphi(0) = 1.

    Parameters
    ----------
    variance : float
        :math:`v`, the papers' :math:`\kappa_0`.
    lengthscale : float or tuple of float
        :math:`\ell`, or :math:`\ell_l` per feature with ``ard=True``; the papers' :math:`\kappa_l` is
        :math:`1/\ell_l^2`.
    ard : bool
        Whether every feature has a length scale of its own.
    """

    positive: ClassVar[Mapping[str, Bounds]] = {"variance": VARIANCE, "lengthscale": LENGTHSCALE}
    per_feature: ClassVar[str] = "lengthscale"

    variance: float = 1.0
    lengthscale: float | tuple[float, ...] = 1.0

    def _relevance(self) -> Vector:
        return np.asarray(self._values**-2.0)

    def _of_relevance(self, value: float) -> float:
        return float(value**-0.5)

    def _placed(self, scale: Scale) -> Mapping[str, float]:
        return {"variance": scale.variance, "lengthscale": scale.lengthscale}

    def _r2(self, X: Inputs, Z: Inputs | None) -> Matrix:
        """Scaled squared distances in a fresh array."""
        inverse = self._checked_values(X, Z) ** -2.0
        if self._is_vector:
            return X.squared_distances(Z, weights=inverse)
        return X.squared_distances(Z) * inverse

    def _diag(self, X: Inputs) -> Vector:
        return np.full(len(X), self.variance)


@dataclasses.dataclass(frozen=True, repr=False)
class Stationary(Radial):
    r"""A radial kernel that is written as its profile :math:`\varphi` and the slope :math:`\varphi'`."""

    @abstractmethod
    def _profile(self, r2: Matrix) -> Matrix:
        r"""Return :math:`\varphi(r^2)`; it overwrites ``r2``."""

    @abstractmethod
    def _slope(self, r2: Matrix, k: Matrix) -> Matrix:
        r"""Return :math:`d\varphi/dr^2`, given :math:`k = \varphi(r^2)`; it overwrites ``k`` and leaves ``r2``.

        Only :math:`r^2 d\varphi/dr^2` counts, so a slope that is infinite at :math:`r = 0` is returned as zero there.
        """

    def _shape_gradients(self, r2: Matrix, k: Matrix, Q: Matrix) -> Mapping[str, float]:
        """Return the gradients of the profile's own parameters; it leaves its arguments as they are."""
        return {}

    def _gram(self, X: Inputs, Z: Inputs | None) -> Matrix:
        K = self._profile(self._r2(X, Z))
        K *= self.variance
        return K

    def _gradients(self, X: Inputs, Q: Matrix) -> Mapping[str, float | Vector]:
        r2 = self._r2(X, None)
        k = self._profile(r2.copy())
        gradients: dict[str, float | Vector] = {"variance": self.variance * frobenius(Q, k)}
        gradients.update(self._shape_gradients(r2, k, Q))
        if self._is_free("lengthscale"):
            k = self._slope(r2, k)
            k *= Q
            # d r2 / d log l_l = -2 (x_l - z_l)^2 / l_l^2
            if self._is_vector:
                del r2
                moved: float | Vector = X.spread(k) / self._values**2
            else:
                moved = frobenius(k, r2)
            gradients["lengthscale"] = -2.0 * self.variance * moved
        return gradients


__all__ = ["Radial", "Stationary"]
