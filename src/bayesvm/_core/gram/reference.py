"""Plain NumPy statements of what the native functions compute; the oracle of their tests."""

from __future__ import annotations

import numpy as np

from bayesvm.typing import Indices, Matrix, Vector


def gaussian_from_inner(G: Matrix, variance: float) -> None:
    r"""Turn inner products :math:`x_i^\top x_j` into :math:`v \exp(-\|x_i - x_j\|^2 / 2)`, in place; G is symmetric."""
    norms = np.diagonal(G).copy()
    distances = np.maximum(norms[:, None] + norms[None, :] - 2.0 * G, 0.0)
    np.fill_diagonal(distances, 0.0)
    G[:] = variance * np.exp(-0.5 * distances)


def gaussian_of_distances(D: Matrix, scale: float, variance: float, symmetric: bool) -> Matrix:
    r"""Return :math:`v \exp(-s D)` for a matrix of squared distances (``symmetric``: half of it need be read)."""
    return np.asarray(variance * np.exp(-scale * D))


def rows_times(K: Matrix, rows: Indices, x: Vector) -> Vector:
    r"""Return :math:`\sum_{i \in rows} x_i K_{i \cdot}`, which is K x for a symmetric K if x is zero elsewhere."""
    return np.asarray(x @ K[rows])


def scaled_block(K: Matrix, rows: Indices, root: Vector) -> Matrix:
    r"""Return :math:`I + r r^\top \circ K_{MM}`; only the upper triangle (in C order) is promised."""
    return np.eye(len(rows)) + root[:, None] * K[np.ix_(rows, rows)] * root[None, :]
