"""Small least-squares problems: many rows, few columns, possibly nearly dependent."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from bayesvm.typing import Matrix, Vector


def least_squares(A: Matrix, b: Vector, *, cutoff: float = 1e-10) -> Vector:
    """Return the shortest x of least norm of A x - b; singular values below ``cutoff`` times the largest are zero."""
    x, *_ = scipy.linalg.lstsq(A, b, cond=cutoff, check_finite=False)
    return np.asarray(x)


__all__ = ["least_squares"]
