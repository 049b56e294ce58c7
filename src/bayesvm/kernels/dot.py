r"""Kernels of the inner product :math:`x^\top z`: linear, polynomial, hyperbolic tangent and arcsine."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from bayesvm.kernels.ard import PerFeature
from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.leaf import OFFSET, VARIANCE, Leaf, frobenius
from bayesvm.kernels.scale import Scale
from bayesvm.parameters import Bounds, check_integer
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True, repr=False)
class DotProduct(Leaf):
    r"""A kernel of the inner product, :math:`k(x, z) = \varphi(x^\top z)`.

    A new one is two functions: :math:`\varphi`, and its derivatives with respect to the logarithms of its parameters.
    """

    @abstractmethod
    def _profile(self, s: Matrix) -> Matrix:
        r"""Return :math:`\varphi(s)`; it may overwrite ``s``."""

    @abstractmethod
    def _profile_gradients(self, s: Matrix, Q: Matrix) -> Mapping[str, float]:
        r"""Return :math:`\partial \langle Q, \varphi(s) \rangle / \partial \log p` by name; it may overwrite ``s``."""

    def _gram(self, X: Inputs, Z: Inputs | None) -> Matrix:
        return self._profile(X.inner(Z))

    def _diag(self, X: Inputs) -> Vector:
        return self._profile(X.squared_norms())

    def _gradients(self, X: Inputs, Q: Matrix) -> Mapping[str, float]:
        return self._profile_gradients(X.inner(), Q)

    def _cross_pullback(self, X: Inputs, Z: Inputs, Q: Matrix) -> Vector:
        return self._of_free(self._profile_gradients(X.inner(Z), Q))

    def _diag_pullback(self, X: Inputs, q: Vector) -> Vector:
        return self._of_free(self._profile_gradients(X.squared_norms()[:, None], q[:, None]))


@dataclasses.dataclass(frozen=True, repr=False)
class Linear(PerFeature):
    r"""Linear kernel, Thesis (3.51), with ``ard=True`` (3.52); the bias is a separate :class:`Constant`.

    .. math:: k(x, z) = \sum_l v_l x_l z_l

    Domain: dense or sparse vectors. Positive semidefinite of rank at most the number of features: the covariance of a
    plane through the origin with independent slopes :math:`a_l \sim N(0, v_l)`.

    Parameters
    ----------
    variance : float or sequence of float
        :math:`v`, common to all features, or :math:`v_l` per feature; the papers' :math:`\kappa_a`.
    ard : bool
        Whether every feature has a variance of its own, which a sequence implies.

    References
    ----------
    Thesis section 3.2.1.2; Chu2003.
    """

    positive: ClassVar[Mapping[str, Bounds]] = {"variance": VARIANCE}
    per_feature: ClassVar[str] = "variance"
    relevance_power: ClassVar[float] = 1.0

    variance: float | Sequence[float] = 1.0

    def _start(self, scale: Scale) -> dict[str, float]:
        return {"variance": scale.variance / scale.n_features}

    def _gram(self, X: Inputs, Z: Inputs | None) -> Matrix:
        return X.inner(Z, weights=self._checked_values(X, Z))

    def _diag(self, X: Inputs) -> Vector:
        return X.squared_norms(self._checked_values(X))

    def _gradients(self, X: Inputs, Q: Matrix) -> Mapping[str, float | Vector]:
        return {"variance": self._checked_values(X) * X.quadratic(Q)}

    def _cross_pullback(self, X: Inputs, Z: Inputs, Q: Matrix) -> Vector:
        return self._of_free({"variance": self._checked_values(X, Z) * X.quadratic(Q, Z)})

    def _diag_pullback(self, X: Inputs, q: Vector) -> Vector:
        return self._of_free({"variance": self._checked_values(X) * X.squares(q)})


@dataclasses.dataclass(frozen=True, repr=False)
class Polynomial(DotProduct):
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

    def _start(self, scale: Scale) -> dict[str, float]:
        return {"variance": scale.variance / (1.0 + scale.n_features) ** self.degree, "offset": 1.0}

    def _profile(self, s: Matrix) -> Matrix:
        s += self.offset
        K = _power(s, self.degree)
        K *= self.variance
        return K

    def _profile_gradients(self, s: Matrix, Q: Matrix) -> Mapping[str, float]:
        s += self.offset
        K = _power(s, self.degree - 1)
        K *= self.variance
        offset = self.degree * self.offset * frobenius(Q, K)
        K *= s
        return {"variance": frobenius(Q, K), "offset": offset}


@dataclasses.dataclass(frozen=True, repr=False)
class MLP(DotProduct):
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
    always_positive = False

    variance: float = 1.0
    scale: float = 1.0
    offset: float = 1.0

    def _start(self, scale: Scale) -> dict[str, float]:
        return {"variance": scale.variance, "scale": 1.0 / scale.n_features}

    def _profile(self, s: Matrix) -> Matrix:
        s *= self.scale
        s += self.offset
        np.tanh(s, out=s)
        s *= self.variance
        return s

    def _profile_gradients(self, s: Matrix, Q: Matrix) -> Mapping[str, float]:
        K = self._profile(s.copy())
        variance = frobenius(Q, K)
        K *= K  # v d tanh(u) / du = v - (v tanh(u))^2 / v
        K /= -self.variance
        K += self.variance
        K *= Q
        return {"variance": variance, "scale": self.scale * frobenius(K, s), "offset": self.offset * float(K.sum())}


@dataclasses.dataclass(frozen=True, repr=False)
class NeuralNetwork(PerFeature):
    r"""Arcsine kernel of Williams.

    .. math:: k(x, z) = v\,\frac{2}{\pi} \arcsin
              \frac{2 s(x, z)}{\sqrt{(1 + 2 s(x, x))(1 + 2 s(z, z))}}, \qquad s(x, z) = b + \sum_l w_l x_l z_l

    Domain: dense or sparse vectors. Positive semidefinite and not stationary: the covariance of a network with one
    hidden layer of infinitely many error-function units, whose input weights have variances :math:`w_l` and whose
    biases have variance :math:`b`.

    Parameters
    ----------
    variance : float
        :math:`v`, of the output weights; the kernel is below :math:`v` everywhere.
    bias_variance : float
        :math:`b`.
    weight_variance : float or sequence of float
        :math:`w`, common to all features, or :math:`w_l` per feature.
    ard : bool
        Whether every feature has a weight variance of its own, which a sequence implies.

    References
    ----------
    Williams1998; Rasmussen2006 section 4.2.3.
    """

    positive: ClassVar[Mapping[str, Bounds]] = {
        "variance": VARIANCE,
        "bias_variance": VARIANCE,
        "weight_variance": VARIANCE,
    }
    per_feature: ClassVar[str] = "weight_variance"
    relevance_power: ClassVar[float] = 1.0

    variance: float = 1.0
    bias_variance: float = 1.0
    weight_variance: float | Sequence[float] = 1.0

    def _start(self, scale: Scale) -> dict[str, float]:
        return {"variance": scale.variance, "weight_variance": scale.lengthscale**-2.0}

    def _norms(self, X: Inputs) -> Vector:
        """Return ``1 + 2 s(x, x)``."""
        return 1.0 + 2.0 * (X.squared_norms(self._checked_values(X)) + self.bias_variance)

    def _sine(self, X: Inputs, Z: Inputs | None) -> Matrix:
        """Return the argument of the arcsine."""
        c = X.inner(Z, weights=self._checked_values(X, Z))
        c += self.bias_variance
        c *= 2.0
        c /= np.multiply.outer(np.sqrt(self._norms(X)), np.sqrt(self._norms(X if Z is None else Z)))
        return np.clip(c, -1.0, 1.0, out=c)

    def _gram(self, X: Inputs, Z: Inputs | None) -> Matrix:
        K = self._sine(X, Z)
        np.arcsin(K, out=K)
        K *= self.variance * (2.0 / np.pi)
        return K

    def _diag(self, X: Inputs) -> Vector:
        norms = self._norms(X)
        return np.asarray(self.variance * (2.0 / np.pi) * np.arcsin(1.0 - 1.0 / norms))

    def _gradients(self, X: Inputs, Q: Matrix) -> Mapping[str, float | Vector]:
        norms = self._norms(X)
        c = self._sine(X, None)
        factor = self.variance * (2.0 / np.pi)
        variance = factor * frobenius(Q, np.arcsin(c))
        # With a_i = 1 + 2 s_ii:  d c_ij = 2 d s_ij / sqrt(a_i a_j) - c_ij (d s_ii / a_i + d s_jj / a_j)
        M = c * c
        np.subtract(1.0, M, out=M)
        np.maximum(M, np.finfo(float).eps, out=M)
        np.sqrt(M, out=M)
        np.divide(Q, M, out=M)  # Q / sqrt(1 - c^2)
        shrink = 2.0 * np.einsum("ij,ij->i", M, c) / norms
        M *= 2.0
        M /= np.sqrt(norms)[:, None]
        M /= np.sqrt(norms)
        M[np.diag_indices_from(M)] -= shrink  # now <Q, d K> = factor sum_ij M_ij d s_ij
        return {
            "variance": variance,
            "bias_variance": factor * self.bias_variance * float(M.sum()),
            "weight_variance": factor * self._values * X.quadratic(M),
        }


def _power(base: Matrix, exponent: int) -> Matrix:
    """Return ``base**exponent`` in a fresh array by repeated squaring, many times faster than the general power."""
    result = np.ones_like(base)
    while exponent:
        if exponent % 2:
            result *= base
        exponent //= 2
        if exponent:
            base = base * base
    return result


__all__ = ["MLP", "DotProduct", "Linear", "NeuralNetwork", "Polynomial"]
