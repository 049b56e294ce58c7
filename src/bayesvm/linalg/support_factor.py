r"""The factor that inference needs, of :math:`B = I + W_M^{1/2} K_{MM} W_M^{1/2}` on the support, :math:`W_i > 0`.

With W the curvature of the loss, zero for every point outside M, the posterior covariance :math:`(K^{-1} + W)^{-1}` and
all solves with :math:`I + K W` go through the small matrix

.. math:: R = W_M^{1/2} B^{-1} W_M^{1/2} = (K_{MM} + W_M^{-1})^{-1},

so that neither :math:`K^{-1}` nor :math:`W^{-1/2}` ever appears, and the eigenvalues of B are at least one.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm._core.gram import scaled_block
from bayesvm.linalg.cholesky import Cholesky, cholesky
from bayesvm.typing import Indices, Matrix, Vector

#: The matrix that is factored, in messages.
B_NAME = "I + W^1/2 K W^1/2 (is the kernel positive definite?)"


@dataclasses.dataclass(frozen=True)
class SupportFactor:
    r"""Cholesky factor of :math:`B = I + W_M^{1/2} K_{MM} W_M^{1/2}`.

    Attributes
    ----------
    support : array of int
        Row numbers of M, increasing.
    root : array
        :math:`\sqrt{W_M}`.
    B : Cholesky
        Factor of B.
    """

    support: Indices
    root: Vector
    B: Cholesky

    @classmethod
    def of(cls, K: Matrix, W: Vector) -> SupportFactor:
        """Factor for the full Gram matrix ``K`` and the curvatures ``W >= 0`` of all points."""
        support = np.flatnonzero(W > 0.0)
        root = np.sqrt(W[support])
        return cls(support, root, cholesky(scaled_block(K, support, root), overwrite=True, what=B_NAME))

    @classmethod
    def on(cls, K: Matrix, support: Indices, root: Vector) -> SupportFactor:
        """Factor for the given rows and roots of their curvatures, some of which may be zero."""
        return cls(support, root, cholesky(scaled_block(K, support, root), overwrite=True, what=B_NAME))

    @property
    def curvature(self) -> Vector:
        """Return W on the support."""
        return np.asarray(self.root**2)

    def log_det(self) -> float:
        r"""Return :math:`\ln |B| = \ln |I + K W|`."""
        return self.B.log_det()

    def apply(self, x: Matrix) -> Matrix:
        r"""Return :math:`R x` for x given on the support (a vector or a matrix of columns)."""
        root = self.root if x.ndim == 1 else self.root[:, None]
        return root * self.B.solve(root * x)

    def half_apply(self, x: Matrix) -> Matrix:
        r"""Return :math:`L^{-1} W^{1/2} x`, of which :math:`x^\top R x` is the square, for a matrix of columns."""
        return self.B.half_solve(self.root[:, None] * x)

    def explained(self, K_support: Matrix) -> Vector:
        r"""Return :math:`k^\top R k` for each column k of ``K_support`` (rows: the support)."""
        V = self.half_apply(K_support)
        return np.asarray(np.einsum("ij,ij->j", V, V))

    def inverse(self) -> tuple[Matrix, Vector]:
        r"""Return :math:`R` and the diagonal of :math:`B^{-1}`."""
        R = self.B.inverse()
        diagonal = np.diagonal(R).copy()
        R *= self.root[:, None]
        R *= self.root[None, :]
        return R, diagonal

    def matrix(self) -> Matrix:
        """Return R."""
        return self.inverse()[0]

    def variances(self, K: Matrix, inverse_diagonal: Vector, weightless: Vector | None = None) -> Vector:
        r"""Return the posterior variances :math:`[(K^{-1} + W)^{-1}]_{mm}` on the support.

        :math:`(1 - (B^{-1})_{mm}) / W_m` where that loses no digits, :math:`K_{mm} - k_m^\top R k_m` for the points
        with :math:`W_m K_{mm}` below ``SMALL``; ``weightless`` are those of the points with :math:`W_m = 0`, if known.
        """
        prior = np.diagonal(K)[self.support]
        W = self.root**2
        small = W * prior < SMALL
        var = np.where(small, prior, (1.0 - inverse_diagonal) / np.where(small, 1.0, W))
        if weightless is not None:
            var[W == 0.0] = weightless
            small &= W > 0.0
        if np.any(small):
            rows = self.support[small]
            var[small] = prior[small] - self.explained(K[np.ix_(self.support, rows)])
        return np.maximum(var, 0.0)

    def marginals(
        self, K: Matrix, inverse_diagonal: Vector | None = None, weightless: Vector | None = None
    ) -> tuple[Vector, Vector]:
        r"""Return the posterior variances v of all points, and 1 - v W, which is :math:`(B^{-1})_{ii}` on the support.

        ``inverse_diagonal`` is the diagonal of :math:`B^{-1}`, computed if it is not given; ``weightless`` are the
        variances of the points on the support with :math:`W_m = 0`, if known.
        """
        M = self.support
        diagonal = self.B.inverse_diagonal() if inverse_diagonal is None else inverse_diagonal
        var, rest = np.diagonal(K).copy(), np.ones(K.shape[0])
        var[M], rest[M] = self.variances(K, diagonal, weightless), diagonal
        if M.size < var.size:
            others = np.setdiff1d(np.arange(var.size), M, assume_unique=True)
            var[others] -= self.explained(K[np.ix_(M, others)])
        return at_least_floor(var, K), rest


def at_least_floor(var: Vector, K: Matrix) -> Vector:
    """Return posterior variances that are at least a tiny share of the largest prior variance."""
    return np.maximum(var, FLOOR * float(np.max(np.diagonal(K))))


def share_left(var: Vector, curvature: Vector) -> Vector:
    """Return 1 - v W, which is positive: at least as much as rounding may take from the difference."""
    return np.maximum(1.0 - var * curvature, np.finfo(float).eps)


#: Below this value of W_m K_mm the variance is computed without a division by W_m.
SMALL = 1e-4
#: Least posterior variance, relative to the largest prior variance.
FLOOR = 1e-15

__all__ = ["SupportFactor"]
