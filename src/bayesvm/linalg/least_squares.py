"""Small least-squares problems: many rows, few columns, possibly nearly dependent."""

from __future__ import annotations

import numpy as np

from bayesvm.typing import Matrix, Vector


def least_squares(A: Matrix, b: Vector, *, cutoff: float = 1e-7) -> Vector:
    r"""Return an x of least norm of A x - b, by the normal equations of columns brought to unit length.

    With the eigenvalues :math:`\lambda` of their Gram matrix, directions with :math:`\sqrt\lambda` below ``cutoff``
    times the largest are left out: the columns are dependent there up to rounding. Columns of zeros get weight zero.
    """
    size = np.sqrt(np.einsum("ij,ij->j", A, A))
    size = np.where(size > 0.0, size, 1.0)
    scaled = A / size
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    kept = values > cutoff**2 * values[-1]
    inner = vectors[:, kept]
    return np.asarray(inner @ ((inner.T @ (scaled.T @ b)) / values[kept]) / size)


__all__ = ["least_squares"]
