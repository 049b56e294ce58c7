"""Preconditioned conjugate gradients for several right-hand sides at once (Hestenes and Stiefel)."""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.linalg.eigen import Product
from bayesvm.typing import Matrix


@dataclasses.dataclass(frozen=True)
class CGResult:
    """Solution of a positive definite system."""

    x: Matrix  #: One column per right-hand side; shape (n, q).
    residual: float  #: Largest norm of a residual column, relative to its right-hand side.
    n_iter: int  #: Products with the matrix that were spent.
    converged: bool  #: Whether ``residual`` is below the tolerance.


def conjugate_gradients(
    product: Product, b: Matrix, precondition: Product, x: Matrix, *, tol: float = 1e-8, max_iter: int = 200
) -> CGResult:
    """Solve for every column of ``b``, all columns sharing each product.

    Parameters
    ----------
    product : callable
        Product of the positive definite matrix with columns.
    b : array, shape (n, q)
        Right-hand sides.
    precondition : callable
        Product of a positive definite approximation of the inverse with columns.
    x : array, shape (n, q)
        First guess.
    tol : float
        Largest residual, relative to the right-hand side.
    max_iter : int
        Largest number of products.
    """
    size = np.sqrt(np.einsum("ij,ij->j", b, b))
    size = np.where(size > 0.0, size, 1.0)
    x, r = x.copy(), b - product(x)
    z = precondition(r)
    p, rz = z.copy(), np.einsum("ij,ij->j", r, z)
    n_iter, residual = 1, _relative(r, size)
    while residual > tol and n_iter < max_iter:
        Ap = product(p)
        n_iter += 1
        curvature = np.einsum("ij,ij->j", p, Ap)
        step = np.divide(rz, curvature, out=np.zeros_like(rz), where=curvature > 0.0)
        x += step * p
        r -= step * Ap
        residual = _relative(r, size)
        z = precondition(r)
        new = np.einsum("ij,ij->j", r, z)
        p = z + np.divide(new, rz, out=np.zeros_like(rz), where=rz > 0.0) * p
        rz = new
    return CGResult(x, residual, n_iter, residual <= tol)


def _relative(r: Matrix, size: Matrix) -> float:
    return float(np.max(np.sqrt(np.einsum("ij,ij->j", r, r)) / size, initial=0.0))


__all__ = ["CGResult", "conjugate_gradients"]
