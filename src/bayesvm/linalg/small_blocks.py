"""Many small symmetric matrices at once, one per row of the data: arrays of shape (n, C, C)."""

from __future__ import annotations

import numpy as np

from bayesvm.typing import Blocks


def principal_roots(A: Blocks) -> Blocks:
    r"""Return R with :math:`R R^\top = A`, the columns along the principal axes of A, the longest first.

    Eigenvalues that rounding has made negative count as zero. The largest entry of each axis is positive, so that a
    permutation of rows and columns of A permutes the rows of R and changes nothing else, unless eigenvalues are equal.
    """
    values, vectors = np.linalg.eigh(A)
    largest = np.take_along_axis(vectors, np.argmax(np.abs(vectors), axis=1, keepdims=True), axis=1)
    roots = vectors * np.where(largest < 0.0, -1.0, 1.0) * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    return np.asarray(roots[:, :, ::-1])


def covariance_without(V: Blocks, W: Blocks) -> Blocks:
    r"""Return :math:`(V^{-1} - W)^{-1} = (I - V W)^{-1} V`, the covariance once the precision W is taken away.

    V itself may be singular; :math:`V^{-1} - W` must be positive definite where V is not.
    """
    found = np.linalg.solve(np.eye(V.shape[1]) - V @ W, V)
    return np.asarray(0.5 * (found + found.transpose(0, 2, 1)))


__all__ = ["covariance_without", "principal_roots"]
