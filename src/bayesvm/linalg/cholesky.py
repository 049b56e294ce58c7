r"""Cholesky factorisation with a written jitter policy.

Policy
------
1. No jitter is tried first; most matrices of this library are :math:`I + W^{1/2} K W^{1/2}`, whose eigenvalues are at
   least one, and need none.
2. Where ``jitter=True`` is asked for (Gram matrices themselves: drawing from a prior, checking a kernel), multiples of
   the mean diagonal are added, from ``JITTER_FIRST`` upwards by factors of ten to ``JITTER_LAST``; the smallest that
   works is used and reported in :attr:`Cholesky.jitter`.
3. If even the last does not help, the matrix is not positive definite:
   :class:`~bayesvm.exceptions.NotPositiveDefiniteError`.

This folder is the only one that calls LAPACK.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.linalg import blas, lapack

from bayesvm._core.sites import inverse, inverse_diagonal, lower_solve
from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.typing import Matrix, Vector

#: Smallest and largest jitter, relative to the mean diagonal.
JITTER_FIRST = 1e-14
JITTER_LAST = 1e-8


@dataclasses.dataclass(frozen=True)
class Cholesky:
    r"""Lower factor of a symmetric positive definite matrix, :math:`A + \text{jitter} \cdot I = L L^\top`.

    Attributes
    ----------
    L : array, shape (n, n), Fortran order
        Only the lower triangle is meaningful.
    jitter : float
        What was added to the diagonal (0.0: nothing).
    """

    L: Matrix
    jitter: float = 0.0

    def log_det(self) -> float:
        r"""Return :math:`\ln |A|`."""
        return float(2.0 * np.sum(np.log(np.diagonal(self.L))))

    def solve(self, b: Matrix) -> Matrix:
        r"""Return :math:`A^{-1} b` for a vector or a matrix."""
        return self._solved(b, forward=True, backward=True)

    def half_solve(self, b: Matrix) -> Matrix:
        r"""Return :math:`L^{-1} b` for a vector or a matrix."""
        return self._solved(b, forward=True, backward=False)

    def back_solve(self, b: Matrix) -> Matrix:
        r"""Return :math:`L^{-\top} b` for a vector or a matrix."""
        return self._solved(b, forward=False, backward=True)

    def _solved(self, b: Matrix, *, forward: bool, backward: bool) -> Matrix:
        """Return the solution; other threads of Python go on meanwhile, which SciPy's own functions do not let them."""
        columns = b[:, None] if b.ndim == 1 else b
        return lower_solve(self.L, np.asfortranarray(columns), forward, backward).reshape(b.shape, order="F")

    def lower(self) -> Matrix:
        """Return L with zeros above the diagonal."""
        return np.tril(self.L)

    def inverse_factor(self) -> Matrix:
        r"""Return :math:`L^{-1}`, with zeros above the diagonal."""
        if not self.L.size:
            return self.L
        W = np.asarray(lapack.dtrtri(self.L, lower=1)[0])
        for j in range(1, W.shape[1]):  # a column lies in one piece of memory
            W[:j, j] = 0.0
        return W

    def inverse(self) -> Matrix:
        r"""Return :math:`A^{-1}`, both triangles."""
        return inverse(self.L)

    def inverse_diagonal(self) -> Vector:
        r"""Return the diagonal of :math:`A^{-1}`: squared norms of the columns of :math:`L^{-1}`, at half its cost."""
        return inverse_diagonal(self.L)


def cholesky(A: Matrix, *, jitter: bool = False, overwrite: bool = False, what: str = "the matrix") -> Cholesky:
    """Factor a symmetric matrix of which the lower triangle (in Fortran order) is given.

    Parameters
    ----------
    A : array, shape (n, n)
        Symmetric; a C-ordered array is read through its transpose, so no copy is made for the order's sake.
    jitter : bool
        Whether rule 2 of the policy applies.
    overwrite : bool
        Whether the factor may take A's memory.
    what : str
        How an error message calls the matrix.

    Raises
    ------
    NotPositiveDefiniteError
        With the size of the matrix and the largest jitter tried.
    """
    n = A.shape[0]
    if n == 0:
        return Cholesky(np.empty((0, 0), order="F"))
    fortran = A if A.flags.f_contiguous else A.T
    L, info = lapack.dpotrf(fortran, lower=1, clean=0, overwrite_a=int(overwrite and not jitter))
    if _succeeded(L, info):
        return Cholesky(L)
    scale = float(np.mean(np.abs(np.diagonal(A))))
    if jitter and np.isfinite(scale) and scale > 0.0:
        size = JITTER_FIRST
        while size <= JITTER_LAST * 1.01:
            trial = np.array(fortran, order="F")
            trial[np.diag_indices(n)] += size * scale
            L, info = lapack.dpotrf(trial, lower=1, clean=0, overwrite_a=1)
            if _succeeded(L, info):
                return Cholesky(L, size * scale)
            size *= 10.0
    tried = f" even with {JITTER_LAST * scale:.3g} added to its diagonal" if jitter else ""
    reason = "contains non-finite values" if not np.all(np.isfinite(A)) else f"is not positive definite{tried}"
    raise NotPositiveDefiniteError(f"{what} ({n} x {n}) {reason}")


def scaled_plus_products(A: Matrix, scale: float, B: Matrix, factors: Vector) -> Matrix:
    r"""Return scale times A plus :math:`B\, \mathrm{diag}(f)\, B^\top` for symmetric A, in its place and in C order."""
    if not A.size:
        return A
    fortran = A if A.flags.f_contiguous else A.T
    return np.asarray(blas.dgemm(1.0, B * factors, B, beta=scale, c=fortran, trans_b=1, overwrite_c=1)).T


def _succeeded(L: Matrix, info: int) -> bool:
    """Whether potrf went through; some LAPACKs report success for a matrix with NaN, which reaches the diagonal."""
    return info == 0 and bool(np.all(np.isfinite(np.diagonal(L))))


__all__ = ["JITTER_FIRST", "JITTER_LAST", "Cholesky", "cholesky", "scaled_plus_products"]
