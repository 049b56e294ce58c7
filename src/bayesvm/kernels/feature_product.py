"""Kernels that are a product over the features of a function of the difference."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from bayesvm.kernels.ard import LENGTHSCALE, VARIANCE, PerFeature
from bayesvm.kernels.base import check_integer
from bayesvm.kernels.inputs import BLOCK, Inputs
from bayesvm.kernels.scale import Scale
from bayesvm.parameters import Bounds
from bayesvm.typing import Matrix, Vector


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

    positive: ClassVar[Mapping[str, Bounds]] = {"variance": VARIANCE, "lengthscale": LENGTHSCALE}
    per_feature: ClassVar[str] = "lengthscale"

    order: int = 3
    variance: float = 1.0
    lengthscale: float | tuple[float, ...] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "order", check_integer(f"{type(self).__name__}.order", self.order))

    @abstractmethod
    def _factor(self, u: Matrix) -> Matrix:
        r"""Return :math:`\varphi(u)` in a fresh array."""

    @abstractmethod
    def _factor_slope(self, u: Matrix) -> Matrix:
        r"""Return :math:`d\varphi/du` in a fresh array."""

    def _relevance(self) -> Vector:
        return np.asarray(self._values**-2.0)

    def _of_relevance(self, value: float) -> float:
        return float(value**-0.5)

    def _placed(self, scale: Scale) -> Mapping[str, float]:
        return {"variance": scale.variance, "lengthscale": scale.lengthscale}

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
            factors = self._factor(u)
            others, product = _products_of_the_others(factors)
            variance += float(np.einsum("ij,ij->", weights, product))
            u *= self._factor_slope(u)  # d phi / d log l = -u phi'
            u *= others
            moved -= np.einsum("ij,lij->l", weights, u)
        moved *= self.variance
        return {
            "variance": self.variance * variance,
            "lengthscale": moved if self._is_vector else float(moved.sum()),
        }


def _products_of_the_others(factors: Matrix) -> tuple[Matrix, Matrix]:
    """Return, along the first axis, the product of all factors but one, and the product of all."""
    others = np.ones_like(factors)
    np.cumprod(factors[:-1], axis=0, out=others[1:])
    product = np.ones(factors.shape[1:])
    for l in range(len(factors) - 1, -1, -1):
        others[l] *= product
        product *= factors[l]
    return others, product


__all__ = ["FeatureProduct"]
