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
from collections.abc import Callable

import numpy as np
from scipy.linalg import blas

from bayesvm.linalg.cholesky import cholesky
from bayesvm.linalg.support_factor import SMALL, SupportFactor, at_least_floor
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
        positive = cls._positive(K, W)
        return cls._lowered(K, W, positive, positive.apply)[0]

    @classmethod
    def with_inverse(cls, K: Matrix, W: Vector) -> tuple[SignedFactor, Matrix, tuple[Vector, Vector]]:
        """Return the same with R, which takes the place of solutions, and what :meth:`marginals` may be given."""
        positive = cls._positive(K, W)
        R, diagonal = positive.inverse()
        factor, V = cls._lowered(K, W, positive, R.__matmul__)
        return factor, factor._lower(R), (diagonal, np.diagonal(V))

    @staticmethod
    def _positive(K: Matrix, W: Vector) -> SupportFactor:
        support = np.flatnonzero(W)
        return SupportFactor.on(K, support, np.sqrt(np.maximum(W[support], 0.0)))

    @classmethod
    def _lowered(
        cls, K: Matrix, W: Vector, positive: SupportFactor, apply: Callable[[Matrix], Matrix]
    ) -> tuple[SignedFactor, Matrix]:
        """Build from the factor on P and the product with its R; return the block of the covariance on N, too."""
        support = positive.support
        at = np.flatnonzero(W[support] < 0.0)
        negative = support[at]
        c = np.sqrt(-W[negative])
        K_MN = np.asfortranarray(K[np.ix_(support, negative)])
        RK = apply(K_MN)
        V = K_MN[at] - K_MN.T @ RK
        C = cholesky(
            np.eye(c.size) - c[:, None] * V * c, what="I - c V c (negative precisions leave no proper posterior)"
        )
        E = -RK * c
        E[at, np.arange(c.size)] = c
        U = C.half_solve(np.asfortranarray(E.T)).T
        return cls(support, W[support], positive, U, C.log_det()), V

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
        return self._lower(R), diagonal

    def _lower(self, R: Matrix) -> Matrix:
        r"""Return :math:`R - U U^\top` in the place of R, which is symmetric and in Fortran order."""
        return np.asarray(blas.dgemm(-1.0, self.U, self.U, beta=1.0, c=R, trans_b=1, overwrite_c=1))

    def matrix(self) -> Matrix:
        """Return R."""
        return self.inverse()[0]

    def marginals(
        self, K: Matrix, inverse_diagonal: Vector | None = None, weightless: Vector | None = None
    ) -> tuple[Vector, Vector]:
        """Return the posterior variances v of all points, and 1 - v W.

        ``inverse_diagonal`` is that of ``inverse``, ``weightless`` the variances on N given P alone.
        """
        var, rest = self.positive.marginals(K, inverse_diagonal, weightless)
        raised = self._raised(K)  # V = V_P + (K U) (K U)'
        change = np.einsum("ij,ij->i", raised, raised)
        W = np.zeros(var.size)
        W[self.support] = self.curvature
        return at_least_floor(var + change, K), np.where(W > 0.0, rest, 1.0 - W * var) - W * change

    def _raised(self, K: Matrix) -> Matrix:
        r"""Return :math:`K U`, which is :math:`-W^{-1} U` on P, since :math:`(I - K R_P) K = W^{-1} R_P K` there.

        It is taken from there where W is large enough that this loses no digits.
        """
        W = np.zeros(len(K))
        W[self.support] = self.curvature
        others = np.flatnonzero(W * np.diagonal(K) < SMALL)
        raised = np.empty((W.size, self.U.shape[1]))
        raised[self.support] = -self.U / np.where(self.curvature > 0.0, self.curvature, 1.0)[:, None]
        raised[others] = K[np.ix_(others, self.support)] @ self.U
        return raised


__all__ = ["SignedFactor"]
