"""The derivative of a Cholesky factor in reverse mode: draws of a Gaussian as functions of its covariance."""

from __future__ import annotations

import numpy as np

from bayesvm.linalg.cholesky import Cholesky
from bayesvm.typing import Matrix


def cholesky_pullback(factor: Cholesky, cotangent: Matrix) -> Matrix:
    r"""Return the :math:`\bar A` with :math:`\langle \bar L, dL \rangle = \langle \bar A, dA \rangle` for symmetric dA.

    From :math:`dA = dL\, L^\top + L\, dL^\top` follows :math:`L^{-1} dL = \Phi(L^{-1} dA\, L^{-\top})`, where
    :math:`\Phi` keeps the lower triangle and halves the diagonal, hence

    .. math:: \bar A = \operatorname{sym}\bigl(L^{-\top}\, \Phi(L^\top \bar L)\, L^{-1}\bigr).

    Parameters
    ----------
    factor : Cholesky
        Of :math:`A = L L^\top`.
    cotangent : array, shape (n, n)
        :math:`\bar L`; what stands above the diagonal does not count.
    """
    P = np.tril(factor.lower().T @ np.tril(cotangent))
    P[np.diag_indices_from(P)] *= 0.5
    half = factor.back_solve(np.asfortranarray(P))  # L^-T P
    full = factor.back_solve(np.asfortranarray(half.T)).T  # L^-T P L^-1
    return np.asarray(0.5 * (full + full.T))


__all__ = ["cholesky_pullback"]
