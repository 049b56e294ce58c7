"""Cholesky factorisation with pivots, which ends where the matrix has no further rank."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from bayesvm.linalg.cholesky import Cholesky
from bayesvm.typing import Indices, Matrix


def pivoted_cholesky(A: Matrix, tol: float) -> tuple[Indices, Cholesky]:
    """Return the pivots P, in the order of their choice, and the factor of the block A_PP.

    Each pivot is the row whose diagonal entry the ones before it explain least.

    Parameters
    ----------
    A : array, shape (n, n)
        Symmetric and positive semidefinite.
    tol : float
        What may be left of the largest diagonal entry, as a share of it.
    """
    most = float(np.max(np.diagonal(A), initial=0.0))
    if not (np.isfinite(most) and most > 0.0):
        return np.empty(0, dtype=np.intp), Cholesky(np.empty((0, 0), order="F"))
    factor, order, rank, _ = lapack.dpstrf(A, tol=tol * most, lower=1)
    return order[:rank].astype(np.intp) - 1, Cholesky(np.array(factor[:rank, :rank], order="F"))


__all__ = ["pivoted_cholesky"]
