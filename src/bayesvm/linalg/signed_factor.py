r"""The factor on the support when a few of the curvatures are negative.

Expectation propagation with a likelihood that is not log-concave can give a point a negative precision. Let P be the
rows with :math:`W_i > 0`, N those with :math:`W_i < 0`, :math:`R_P` the matrix of the
:class:`~bayesvm.linalg.support_factor.SupportFactor` on P, and :math:`V_P = K - K_{\cdot P} R_P K_{P \cdot}`. With
:math:`c = |W_N|^{1/2}` and :math:`C = I - c V_{P,NN} c = L L^\top`,

.. math:: (K^{-1} + W)^{-1} = V_P + V_{P,\cdot N}\, c\, C^{-1} c\, V_{P,N \cdot} = K - K_{\cdot M} R K_{M \cdot}, \qquad
          R = \begin{pmatrix} R_P & 0 \\ 0 & 0 \end{pmatrix} - U U^\top, \quad
          U = \begin{pmatrix} -R_P K_{PN} \\ I \end{pmatrix} c L^{-\top},

M being the union of P and N. The posterior is proper if and only if C is positive definite. The factor on P is kept
padded to M, with curvature zero on N, so that :math:`R_P` has its zeros already.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.linalg.cholesky import cholesky
from bayesvm.linalg.support_factor import SupportFactor, at_least_floor
from bayesvm.typing import Indices, Matrix, Vector


@dataclasses.dataclass(frozen=True)
class SignedFactor:
    r"""Like :class:`~bayesvm.linalg.support_factor.SupportFactor`, for curvatures of either sign."""

    support: Indices  #: Row numbers of M, the rows with :math:`W_i \ne 0`, increasing.
    curvature: Vector  #: :math:`W_M`.
    positive: SupportFactor  #: Factor for :math:`\max(W_M, 0)`.
    U: Matrix  #: What lowers R; shape (m, number of negative curvatures).
    log_det_negative: float  #: :math:`\ln |C|`.

    @classmethod
    def of(cls, K: Matrix, W: Vector) -> SignedFactor:
        """Factor for the full Gram matrix and the curvatures of all points.

        Raises
        ------
        NotPositiveDefiniteError
            If the negative curvatures leave no proper posterior.
        """
        support = np.flatnonzero(W)
        positive = SupportFactor.on(K, support, np.sqrt(np.maximum(W[support], 0.0)))
        at = np.flatnonzero(W[support] < 0.0)
        negative = support[at]
        c = np.sqrt(-W[negative])
        K_MN = np.asfortranarray(K[np.ix_(support, negative)])
        RK = positive.apply(K_MN)
        V = K_MN[at] - K_MN.T @ RK
        C = cholesky(
            np.eye(c.size) - c[:, None] * V * c, what="I - c V c (negative precisions leave no proper posterior)"
        )
        E = -RK * c
        E[at, np.arange(c.size)] = c
        U = C.half_solve(np.asfortranarray(E.T)).T
        return cls(support, W[support], positive, U, C.log_det())

    def log_det(self) -> float:
        r"""Return :math:`\ln |I + K W|`."""
        return self.positive.log_det() + self.log_det_negative

    def apply(self, x: Matrix) -> Matrix:
        r"""Return :math:`R x` for x given on the support (a vector or a matrix of columns)."""
        return np.asarray(self.positive.apply(np.asfortranarray(x)) - self.U @ (self.U.T @ x))

    def explained(self, K_support: Matrix) -> Vector:
        r"""Return :math:`k^\top R k` for each column k of ``K_support`` (rows: the support)."""
        lowered = self.U.T @ K_support
        return np.asarray(self.positive.explained(K_support) - np.einsum("ij,ij->j", lowered, lowered))

    def inverse(self) -> tuple[Matrix, Vector]:
        r"""Return :math:`R` and the diagonal of :math:`B^{-1}` of the factor on P."""
        R, diagonal = self.positive.inverse()
        R -= (self.U @ self.U.T).T  # symmetric; R is in Fortran order
        return R, diagonal

    def matrix(self) -> Matrix:
        """Return R."""
        return self.inverse()[0]

    def marginals(self, K: Matrix, inverse_diagonal: Vector | None = None) -> tuple[Vector, Vector]:
        """Return the posterior variances v of all points, and 1 - v W; ``inverse_diagonal`` is that of ``inverse``."""
        var, rest = self.positive.marginals(K, inverse_diagonal)
        raised = (K if self.support.size == len(K) else K[:, self.support]) @ self.U  # V = V_P + (K U) (K U)'
        change = np.einsum("ij,ij->i", raised, raised)
        W = np.zeros(var.size)
        W[self.support] = self.curvature
        return at_least_floor(var + change, K), np.where(W > 0.0, rest, 1.0 - W * var) - W * change


__all__ = ["SignedFactor"]
