r"""Posteriors whose covariance at the training points is :math:`\Sigma = \mathrm{diag}(d) + C C^\top`.

With the prior covariance K, the covariance of any points given this is :math:`K_{**} - K_{*} R K_{*}^\top`,
:math:`R = K^{-1} - K^{-1} \Sigma K^{-1}`; solves go through the Cholesky factor of K.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.linalg.cholesky import Cholesky
from bayesvm.linalg.support_factor import at_least_floor, share_left
from bayesvm.typing import Indices, Matrix, Vector


@dataclasses.dataclass(frozen=True)
class CovarianceFactor:
    r"""What prediction needs of :math:`\Sigma = \mathrm{diag}(d) + C C^\top`."""

    prior: Cholesky  #: Factor of K, with its jitter.
    d: Vector  #: Diagonal part; shape (n,).
    C: Matrix  #: Factors; shape (n, M).
    #: Precision that each training point contributes by itself, for leave-one-out predictions; shape (n,).
    curvature: Vector

    @property
    def support(self) -> Indices:
        """All rows."""
        return np.arange(self.d.size)

    def log_det(self) -> float:
        r"""Return :math:`\ln |K| - \ln |\Sigma|`."""
        A = np.eye(self.C.shape[1]) + self.C.T @ (self.C / self.d[:, None])
        return self.prior.log_det() - float(np.sum(np.log(self.d))) - small_inverse(A)[1]

    def apply(self, x: Matrix) -> Matrix:
        r"""Return :math:`R x` for a vector or a matrix of columns."""
        inner = self.prior.solve(np.asfortranarray(x))
        d = self.d if x.ndim == 1 else self.d[:, None]
        return inner - self.prior.solve(np.asfortranarray(d * inner + self.C @ (self.C.T @ inner)))

    def explained(self, K_support: Matrix) -> Vector:
        r"""Return :math:`k^\top R k` for each column k of ``K_support``."""
        half = self.prior.half_solve(np.asfortranarray(K_support))
        inner = self.prior.back_solve(half)
        parts = self.C.T @ inner
        return np.asarray(
            np.einsum("ij,ij->j", half, half)
            - np.einsum("i,ij,ij->j", self.d, inner, inner)
            - np.einsum("ij,ij->j", parts, parts)
        )

    def marginals(self, K: Matrix) -> tuple[Vector, Vector]:
        """Return the posterior variances v of all points, and 1 - v W with W the ``curvature``."""
        var = np.diagonal(K) - self.explained(K)
        return at_least_floor(var, K), share_left(var, self.curvature)

    def matrix(self) -> Matrix:
        """Return R."""
        inverse = self.prior.inverse()
        parts = inverse @ self.C
        return np.asarray(inverse - (inverse * self.d) @ inverse - parts @ parts.T)


def small_inverse(A: Matrix) -> tuple[Matrix, float]:
    """Return inverse and log determinant of a small symmetric positive definite matrix."""
    return np.asarray(np.linalg.inv(A), dtype=np.float64), float(np.linalg.slogdet(A)[1])


__all__ = ["CovarianceFactor", "small_inverse"]
