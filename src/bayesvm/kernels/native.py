"""Which kernels native code knows (:mod:`bayesvm._core.mode`): sums of constant, linear and stationary ones.

The table is by exact class: a subclass may be another kernel, and any class that is not in it is treated in NumPy.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from bayesvm._core.mode import TermKind
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.combine import Sum, Transformed
from bayesvm.kernels.constant import Constant
from bayesvm.kernels.dot import Linear
from bayesvm.kernels.gaussian import Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.leaf import Leaf
from bayesvm.kernels.stationary import Matern32, Matern52, OrnsteinUhlenbeck, Radial
from bayesvm.typing import Matrix, Vector

STATIONARY: Mapping[type, TermKind] = {
    Gaussian: TermKind.GAUSSIAN,
    OrnsteinUhlenbeck: TermKind.EXPONENTIAL,
    Matern32: TermKind.MATERN32,
    Matern52: TermKind.MATERN52,
}


@dataclasses.dataclass(frozen=True)
class NativeTerm:
    r"""A term of a sum of kernels as native code knows it.

    Attributes
    ----------
    leaf : Leaf
        The kernel.
    kind : TermKind
        What native code calls it.
    variance : float
        Of a constant or stationary kernel.
    scale : float
        What squared distances are multiplied with, :math:`1/\ell^2`.
    matrix : array or None
        Squared distances, or features: divided by their length scales, or times the roots of their variances.
    of_features : bool
        Whether ``matrix`` holds features.
    """

    leaf: Leaf
    kind: TermKind
    variance: float = 0.0
    scale: float = 1.0
    matrix: Matrix | None = None
    of_features: bool = False

    @property
    def given(self) -> tuple[TermKind, float, float, Matrix | None, bool]:
        """Return what native code is given."""
        return self.kind, self.variance, self.scale, self.matrix, self.of_features

    @property
    def size(self) -> int:
        """Return how many derivatives native code returns: of the variance, or variances, then of length scales."""
        features = self.matrix.shape[1] if self.matrix is not None and self.of_features else 1
        return {TermKind.CONSTANT: 1, TermKind.LINEAR: features}.get(self.kind, 1 + features)

    def of_free(self, gradients: Vector) -> Vector:
        """Return the derivatives of the free parameters, in the order of theta."""
        if self.kind is TermKind.LINEAR:
            return self.leaf._of_free({"variance": gradients})
        return self.leaf._of_free({"variance": gradients[0], "lengthscale": gradients[1:]})


def native_terms(kernel: Kernel, X: Inputs) -> list[NativeTerm] | None:
    """Return the terms of a kernel on given inputs, None if native code does not know all of them."""
    if type(kernel) is Sum:
        left, right = native_terms(kernel.left, X), native_terms(kernel.right, X)
        return None if left is None or right is None else left + right
    if isinstance(kernel, Transformed):
        return native_terms(kernel.kernel, kernel._transformed(X))
    if type(kernel) is Constant:
        return [NativeTerm(kernel, TermKind.CONSTANT, kernel.variance)]
    if type(kernel) is Linear and not X.is_sparse:
        features = X.dense() * np.sqrt(kernel._checked_values(X))
        return [NativeTerm(kernel, TermKind.LINEAR, matrix=features, of_features=True)]
    kind = STATIONARY.get(type(kernel))
    return None if kind is None else _stationary(kernel, kind, X)


def _stationary(kernel: Kernel, kind: TermKind, X: Inputs) -> list[NativeTerm] | None:
    """Return a kernel of the distance: of cached squared distances, if it has one length scale."""
    assert isinstance(kernel, Radial)
    values = kernel._checked_values(X)
    if not kernel._is_vector:
        return [NativeTerm(kernel, kind, kernel.variance, float(values**-2.0), X.squared_distances())]
    if X.is_sparse:
        return None
    return [NativeTerm(kernel, kind, kernel.variance, 1.0, (X.dense() - X.centre) / values, True)]


def pulled_back(terms: Sequence[NativeTerm], gradients: Vector) -> Vector:
    """Return the derivatives of the free parameters of all terms from what native code returns."""
    parts, start = [np.empty(0)], 0
    for term in terms:
        parts.append(term.of_free(gradients[start : start + term.size]))
        start += term.size
    return np.concatenate(parts)


__all__ = ["STATIONARY", "NativeTerm", "native_terms", "pulled_back"]
