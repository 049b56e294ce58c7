r"""Symmetric eigenproblems in the complement of one vector.

The bias of a least-squares machine removes one direction, the vector of ones (of square roots of the weights, if rows
are weighted). Centring a Gram matrix and dropping its smallest computed eigenvalue would leave to rounding which
direction is dropped. Here the complement has an orthonormal basis of its own, the last :math:`n - 1` columns of a
Householder reflector, and the matrix is diagonalised in it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from scipy.linalg import blas, qr

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.linalg.interruptible import interruptible
from bayesvm.typing import Matrix, Vector

#: Returns the product of a fixed symmetric matrix with a matrix of columns.
Product = Callable[[Matrix], Matrix]
#: From this size on an eigenproblem takes so long that an interrupt does not wait for its end.
LONG = 500


@dataclasses.dataclass(frozen=True)
class Complement:
    r"""Orthonormal basis P of the complement of a vector s: the last n - 1 columns of :math:`I - 2 u u^\top`.

    Attributes
    ----------
    u : array, shape (n,)
        Unit normal of the reflector that turns s into a multiple of the first unit vector.
    """

    u: Vector

    @classmethod
    def of(cls, s: Vector) -> Complement:
        """Build the basis for a vector that is not zero."""
        u = s / np.sqrt(s @ s)
        u[0] += 1.0 if u[0] >= 0.0 else -1.0
        return cls(u / np.sqrt(u @ u))

    def _turned(self, Ku: Vector) -> Vector:
        r"""Return w with :math:`(I - 2 u u^\top) K (I - 2 u u^\top) = K - u w^\top - w u^\top` for symmetric K."""
        return np.asarray(2.0 * (Ku - (self.u @ Ku) * self.u))

    def compress(self, K: Matrix) -> Matrix:
        r"""Return :math:`P^\top K P` for symmetric K, in a fresh array and in :math:`O(n^2)`."""
        return _less_both(np.array(K[1:, 1:], order="C"), self.u[1:], self._turned(K @ self.u)[1:])

    def project(self, B: Matrix) -> Matrix:
        r"""Return :math:`P^\top B`."""
        return np.asarray(B[1:] - np.outer(self.u[1:], 2.0 * (self.u @ B)))

    def expand(self, Z: Matrix) -> Matrix:
        r"""Return :math:`P Z`."""
        B = np.outer(self.u, -2.0 * (self.u[1:] @ Z))
        B[1:] += Z
        return B


def _less_both(G: Matrix, u: Vector, w: Vector) -> Matrix:
    r"""Return :math:`G - u w^\top - w u^\top` in the place of G, which is in C order."""
    if G.size:  # the transpose is in Fortran order, so that BLAS writes to the array itself
        blas.dger(-1.0, w, u, a=G.T, overwrite_a=1)
        blas.dger(-1.0, u, w, a=G.T, overwrite_a=1)
    return G


def triangle_less_both(G: Matrix, u: Vector, w: Vector) -> Matrix:
    r"""Return :math:`G - u w^\top - w u^\top`, its lower triangle in Fortran order, in the place of G in C order."""
    if G.size:
        blas.dsyr2(-1.0, u, w, lower=1, a=G.T, overwrite_a=1)
    return G


def symmetric_eigen(A: Matrix) -> tuple[Vector, Matrix]:
    """Return the eigenvalues, largest first, and the eigenvectors (columns) of a symmetric matrix.

    Raises
    ------
    NotPositiveDefiniteError
        If the matrix has entries that are not finite, or the iteration does not converge.
    """
    n = A.shape[0]
    if n == 0:
        return np.empty(0), np.empty((0, 0))
    try:
        values, vectors = np.linalg.eigh(A) if n < LONG else interruptible(lambda: np.linalg.eigh(A))
    except np.linalg.LinAlgError as error:
        raise NotPositiveDefiniteError(f"the matrix ({n} x {n}) has no eigenvalues that could be computed") from error
    if not np.all(np.isfinite(values)):
        raise NotPositiveDefiniteError(f"the matrix ({n} x {n}) contains non-finite values")
    return values[::-1], vectors[:, ::-1]


@dataclasses.dataclass(frozen=True)
class LeadingPairs:
    r"""Approximate leading eigenpairs of a positive semidefinite matrix G, by Rayleigh's quotient in a subspace."""

    #: Ritz values, largest first, and orthonormal Ritz vectors. Every Ritz value is at most the eigenvalue of its rank,
    #: and within ``residual`` of some eigenvalue; shapes (k,) and (n, k).
    values: Vector
    vectors: Matrix
    residual: float  #: Largest :math:`|G v - \lambda v|`.
    passes: int  #: Products with G (of all columns at once) that were spent.


def leading_pairs(
    product: Product, n: int, k: int, rng: np.random.Generator, *, tol: float = 1e-3, max_passes: int = 5
) -> LeadingPairs:
    r"""Return the k leading eigenpairs by randomised subspace iteration.

    A random start of k + k/10 + 10 columns is multiplied with G and orthonormalised until the residual of the kept
    pairs is below ``tol`` times the largest eigenvalue, or ``max_passes`` products have been spent.

    Parameters
    ----------
    product : callable
        Product of G with an (n, m) matrix.
    n, k : int
        Size of G, and number of pairs.
    rng : numpy Generator
        For the random start.
    tol : float
        Largest residual, relative to the largest eigenvalue.
    max_passes : int
        Largest number of products, at least 2.
    """
    Q = _orthonormal(product(rng.standard_normal((n, min(n, k + k // 10 + 10)))))
    passes = 1
    while True:
        GQ = product(Q)
        passes += 1
        values, Z = symmetric_eigen(0.5 * (Q.T @ GQ + GQ.T @ Q))
        values, Z = values[:k], Z[:, :k]
        vectors = Q @ Z
        residuals = GQ @ Z - vectors * values
        residual = float(np.sqrt(np.max(np.einsum("ij,ij->j", residuals, residuals), initial=0.0)))
        if passes >= max_passes or residual <= tol * max(float(values[0]), np.finfo(float).tiny):
            return LeadingPairs(np.maximum(values, 0.0), vectors, residual, passes)
        Q = _orthonormal(GQ)


def _orthonormal(A: Matrix) -> Matrix:
    return np.asarray(qr(A, mode="economic", overwrite_a=True, check_finite=False)[0])


__all__ = ["Complement", "LeadingPairs", "Product", "leading_pairs", "symmetric_eigen", "triangle_less_both"]
