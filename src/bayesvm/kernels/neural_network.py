"""The arcsine kernel: a neural network with infinitely many hidden units."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from bayesvm.kernels.ard import VARIANCE, PerFeature
from bayesvm.kernels.base import frobenius
from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.scale import Scale
from bayesvm.parameters import Bounds
from bayesvm.typing import Matrix, Vector


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
    weight_variance : float or tuple of float
        :math:`w`, common to all features, or :math:`w_l` per feature with ``ard=True``.
    ard : bool
        Whether every feature has a weight variance of its own.

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

    variance: float = 1.0
    bias_variance: float = 1.0
    weight_variance: float | tuple[float, ...] = 1.0

    def _relevance(self) -> Vector:
        return self._values

    def _of_relevance(self, value: float) -> float:
        return value

    def _placed(self, scale: Scale) -> Mapping[str, float]:
        return {"variance": scale.variance, "weight_variance": scale.lengthscale**-2.0}

    def _norms(self, X: Inputs) -> Vector:
        """Return ``1 + 2 s(x, x)``."""
        values = self._checked_values(X)
        s = X.squared_norms(values) if self._is_vector else X.squared_norms() * values
        return 1.0 + 2.0 * (s + self.bias_variance)

    def _sine(self, X: Inputs, Z: Inputs | None) -> Matrix:
        """Return the argument of the arcsine."""
        values = self._checked_values(X, Z)
        c = X.inner(Z, weights=values) if self._is_vector else X.inner(Z) * values
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
        weights = factor * self._values * X.quadratic(M)
        return {
            "variance": variance,
            "bias_variance": factor * self.bias_variance * float(M.sum()),
            "weight_variance": weights if self._is_vector else float(weights.sum()),
        }


__all__ = ["NeuralNetwork"]
