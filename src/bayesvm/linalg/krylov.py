"""Square systems that are known through products only (Saad and Schultz's generalised minimal residuals)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import LinearOperator, gmres

from bayesvm.typing import Vector


def minimal_residual(product: Callable[[Vector], Vector], b: Vector, *, tol: float, max_iter: int) -> Vector:
    """Return x whose residual A x - b has a norm of at most ``tol`` times that of b, or as small as ``max_iter`` products make it.

    Parameters
    ----------
    product : callable
        Product of the matrix A, which need not be symmetric, with a vector.
    b : array, shape (n,)
        Right-hand side.
    tol : float
        Largest relative residual.
    max_iter : int
        Largest number of products.
    """
    operator = LinearOperator((b.size, b.size), matvec=product, dtype=np.float64)
    x, _ = gmres(operator, b, rtol=tol, atol=0.0, restart=max_iter, maxiter=1)
    return np.asarray(x)


__all__ = ["minimal_residual"]
