"""Kernels of the inner product: linear, polynomial and hyperbolic tangent."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from bayesvm.kernels.ard import VARIANCE, PerFeature
from bayesvm.kernels.base import Leaf, check_integer, frobenius
from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.scale import Scale
from bayesvm.parameters import Bounds
from bayesvm.typing import Matrix, Vector

#: Default bounds of what is added to an inner product, or multiplied with it.
OFFSET: Bounds = (1e-5, 1e5)


@dataclasses.dataclass(frozen=True, repr=False)
class Linear(PerFeature):
    r"""Linear kernel, Thesis (3.51), with ``ard=True`` (3.52); the bias is a separate :class:`Constant`.

    .. math:: k(x, z) = \sum_l v_l x_l z_l

    Domain: dense or sparse vectors. Positive semidefinite of rank at most the number of features: the covariance of a
    plane through the origin with independent slopes :math:`a_l \sim N(0, v_l)`.

    Parameters
    ----------
    variance : float or tuple of float
        :math:`v`, common to all features, or :math:`v_l` per feature with ``ard=True``; the papers' :math:`\kappa_a`.
    ard : bool
        Whether every feature has a variance of its own.

    References
    ----------
    Thesis section 3.2.1.2; Chu2003.
    """

    positive: ClassVar[Mapping[str, Bounds]] = {"variance": VARIANCE}
    per_feature: ClassVar[str] = "variance"

    variance: float | tuple[float, ...] = 1.0

    def _relevance(self) -> Vector:
        return self._values

    def _of_relevance(self, value: float) -> float:
        return value

    def _placed(self, scale: Scale) -> Mapping[str, float]:
        return {"variance": scale.variance / scale.n_features}

    def _gram(self, X: Inputs, Z: Inputs | None) -> Matrix:
        values = self._checked_values(X, Z)
        if self._is_vector:
            return X.inner(Z, weights=values)
        K = X.inner(Z)
        K *= values
        return K

    def _diag(self, X: Inputs) -> Vector:
        values = self._checked_values(X)
        return X.squared_norms(values) if self._is_vector else X.squared_norms() * values

    def _gradients(self, X: Inputs, Q: Matrix) -> Mapping[str, float | Vector]:
        per_column = self._checked_values(X) * X.quadratic(Q)
        return {"variance": per_column if self._is_vector else float(per_column.sum())}


@dataclasses.dataclass(frozen=True, repr=False)
class Polynomial(Leaf):
    r"""Polynomial kernel.

    .. math:: k(x, z) = v\,(x^\top z + c)^p

    Domain: dense or sparse vectors. Positive semidefinite, because it is a sum of powers of the linear kernel with
    positive coefficients; its feature space holds all monomials up to degree :math:`p`.

    Parameters
    ----------
    degree : int
        :math:`p \ge 1`; not learnt.
    variance : float
        :math:`v`.
    offset : float
        :math:`c > 0`: the weight of the lower degrees.

    Notes
    -----
    Special case: ``degree=1`` is ``Linear(v) + Constant(v * c)``.

    References
    ----------
    Vapnik1998.
    """

    positive: ClassVar[Mapping[str, Bounds]] = {"variance": VARIANCE, "offset": OFFSET}

    degree: int = 3
    variance: float = 1.0
    offset: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "degree", check_integer("Polynomial.degree", self.degree))

    def _placed(self, scale: Scale) -> Mapping[str, float]:
        return {"variance": scale.variance / (1.0 + scale.n_features) ** self.degree, "offset": 1.0}

    def _power(self, base: Matrix, degree: int) -> Matrix:
        """Return ``variance * (base + offset)**degree``; it overwrites ``base``."""
        base += self.offset
        base **= degree
        base *= self.variance
        return base

    def _gram(self, X: Inputs, Z: Inputs | None) -> Matrix:
        return self._power(X.inner(Z), self.degree)

    def _diag(self, X: Inputs) -> Vector:
        return self._power(X.squared_norms(), self.degree)

    def _gradients(self, X: Inputs, Q: Matrix) -> Mapping[str, float | Vector]:
        inner = X.inner()
        lower = frobenius(Q, self._power(inner.copy(), self.degree - 1))
        return {
            "variance": frobenius(Q, self._power(inner, self.degree)),
            "offset": self.degree * self.offset * lower,
        }


@dataclasses.dataclass(frozen=True, repr=False)
class MLP(Leaf):
    r"""Hyperbolic tangent (sigmoid) kernel, the activation of a multi-layer perceptron.

    .. math:: k(x, z) = v \tanh(a\,x^\top z + c)

    Domain: dense or sparse vectors. **Not** positive semidefinite in general, hence ``always_positive`` is False;
    :class:`NeuralNetwork` is the covariance function of an actual network.

    Parameters
    ----------
    variance : float
        :math:`v`.
    scale : float
        :math:`a > 0`.
    offset : float
        :math:`c > 0`.

    References
    ----------
    Vapnik1998.
    """

    positive: ClassVar[Mapping[str, Bounds]] = {"variance": VARIANCE, "scale": OFFSET, "offset": OFFSET}

    variance: float = 1.0
    scale: float = 1.0
    offset: float = 1.0

    @property
    def always_positive(self) -> bool:
        """False: some Gram matrices have negative eigenvalues."""
        return False

    def _placed(self, scale: Scale) -> Mapping[str, float]:
        return {"variance": scale.variance, "scale": 1.0 / scale.n_features}

    def _tanh(self, inner: Matrix) -> Matrix:
        """Return ``tanh(scale * inner + offset)``; it overwrites ``inner``."""
        inner *= self.scale
        inner += self.offset
        return np.asarray(np.tanh(inner, out=inner))

    def _gram(self, X: Inputs, Z: Inputs | None) -> Matrix:
        K = self._tanh(X.inner(Z))
        K *= self.variance
        return K

    def _diag(self, X: Inputs) -> Vector:
        return self.variance * self._tanh(X.squared_norms())

    def _gradients(self, X: Inputs, Q: Matrix) -> Mapping[str, float | Vector]:
        inner = X.inner()
        t = self._tanh(inner.copy())
        variance = self.variance * frobenius(Q, t)
        # d tanh(u) / du = 1 - tanh(u)^2
        t *= t
        np.subtract(1.0, t, out=t)
        t *= Q
        return {
            "variance": variance,
            "scale": self.variance * self.scale * frobenius(t, inner),
            "offset": self.variance * self.offset * float(t.sum()),
        }


__all__ = ["MLP", "Linear", "Polynomial"]
