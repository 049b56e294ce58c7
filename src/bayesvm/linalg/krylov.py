"""Square systems that are known through products only (generalised conjugate residuals of Eisenstat, Elman and Schultz)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bayesvm.typing import Vector


def minimal_residual(product: Callable[[Vector], Vector], b: Vector, *, tol: float, max_iter: int) -> Vector:
    """Return x whose residual A x - b has a norm of at most ``tol`` times that of b, or as small as ``max_iter`` products make it.

    The iterates minimise the residual over the space that the products so far span.

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
    x, residual = np.zeros_like(b), b.copy()
    enough = tol * tol * float(b @ b)
    directions, images = np.empty((max_iter, b.size)), np.empty((max_iter, b.size))
    for k in range(max_iter):
        if float(residual @ residual) <= enough:
            break
        p, q = residual.copy(), product(residual)
        shares = images[:k] @ q
        q = q - shares @ images[:k]
        p -= shares @ directions[:k]
        size = float(np.sqrt(q @ q))
        if size == 0.0:
            break
        directions[k], images[k] = p / size, q / size
        step = float(images[k] @ residual)
        x += step * directions[k]
        residual -= step * images[k]
    return x


__all__ = ["minimal_residual"]
