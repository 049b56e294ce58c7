"""Square systems known through products only: generalised conjugate residuals (Eisenstat, Elman and Schultz)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bayesvm.typing import Vector


def minimal_residual(product: Callable[[Vector], Vector], b: Vector, *, tol: float, max_iter: int) -> Vector:
    """Return x with a residual A x - b as small as the space spanned by the products so far permits.

    Parameters
    ----------
    product : callable
        Product of the matrix A, which need not be symmetric, with a vector.
    b : array, shape (n,)
        Right-hand side.
    tol : float
        Residual, relative to b, at which to stop.
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
