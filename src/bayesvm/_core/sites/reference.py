"""Plain NumPy statements of what the native functions compute; the oracle of their tests."""

from __future__ import annotations

import numpy as np

from bayesvm.typing import Indices, Matrix, Vector


def inverse_diagonal(L: Matrix) -> Vector:
    r"""Return the diagonal of :math:`(L L^\top)^{-1}` for a lower triangular L (what stands above does not count)."""
    inverse = np.linalg.inv(np.tril(L))
    return np.asarray(np.sum(inverse**2, axis=0))


def inverse(L: Matrix) -> Matrix:
    r"""Return :math:`(L L^\top)^{-1}` for a lower triangular L."""
    return lower_square(np.asarray(np.linalg.inv(np.tril(L)), dtype=np.float64))


def lower_solve(L: Matrix, B: Matrix, forward: bool, backward: bool) -> Matrix:
    r"""Return B multiplied by :math:`L^{-1}` if ``forward``, and then by :math:`L^{-\top}` if ``backward``."""
    lower = np.tril(L)
    half = np.asarray(np.linalg.solve(lower, B) if forward else B, dtype=np.float64)
    return np.asarray(np.linalg.solve(lower.T, half) if backward else half, dtype=np.float64)


def lower_square(A: Matrix) -> Matrix:
    r"""Return :math:`A^\top A` for a lower triangular A (what stands above the diagonal does not count)."""
    return np.asarray(np.tril(A).T @ np.tril(A))


def response(B_inverse: Matrix, root: Vector, dtau: Vector, pull: Vector) -> tuple[Vector, Vector]:
    r"""Return the first-order changes of the marginals on the support as the sites change.

    With the posterior covariance :math:`V = W^{-1/2} (I - B^{-1}) W^{-1/2}` they are :math:`V p` and
    :math:`-(V \circ V)\, d\tau`, where :math:`p = d\nu - d\tau \circ m`.
    """
    V = (np.eye(root.size) - B_inverse) / np.outer(root, root)
    return V @ pull, -(V * V) @ dtau


def site_posterior(
    K: Matrix, tau: Vector, nu: Vector
) -> tuple[int, Indices, Vector, Matrix, Matrix, float, Vector, Vector, Vector, Vector]:
    r"""Return the posterior under sites :math:`\exp(\nu_i f_i - \tfrac12 \tau_i f_i^2)`, :math:`\tau \ge 0`.

    Returns
    -------
    info : int
        Zero, or the order of the leading minor of B that is not positive definite.
    support, root : arrays
        The rows M with :math:`\tau_i > 0`, and the roots of their precisions.
    L : array
        Lower Cholesky factor of :math:`B = I + W^{1/2} K_{MM} W^{1/2}`.
    inverse : array
        Its inverse.
    log_det : float
        :math:`\ln |B|`.
    alpha, mean, var, rest : arrays
        :math:`\alpha = \nu - R K \nu`, :math:`K \alpha`, the posterior variances v of all points (at least 1e-15 of the
        largest prior variance) and :math:`1 - v_i \tau_i`.
    """
    support = np.flatnonzero(tau > 0.0)
    root = np.sqrt(tau[support])
    B = np.eye(support.size) + root[:, None] * K[np.ix_(support, support)] * root
    L = np.asarray(np.linalg.cholesky(B), dtype=np.float64)
    R = root[:, None] * np.linalg.inv(B) * root
    alpha = nu.copy()
    alpha[support] -= R @ (K @ nu)[support]
    var = np.diagonal(K) - np.einsum("im,mk,ik->i", K[:, support], R, K[:, support])
    var = np.maximum(np.asarray(var, dtype=np.float64), 1e-15 * np.max(np.diagonal(K)))
    rest = np.ones(tau.size)
    rest[support] = np.diagonal(np.linalg.inv(B))
    inverse = np.asarray(np.linalg.inv(L), dtype=np.float64)
    return 0, support, root, L, inverse, float(np.linalg.slogdet(B)[1]), alpha, K @ alpha, var, rest


__all__ = ["inverse", "inverse_diagonal", "lower_solve", "lower_square", "response", "site_posterior"]
