r"""Level 1: coefficients and bias from the linear system (2.19) of VanGestel2002, for many right-hand sides.

In scaled space, :math:`a = S^{-1} \alpha` solves

.. math:: \begin{pmatrix} 0 & s^\top \\ s & \tilde K + I/\gamma \end{pmatrix} \begin{pmatrix} b \\ a \end{pmatrix}
          = \begin{pmatrix} 0 \\ S y \end{pmatrix}, \qquad f(x) = \sum_i \alpha_i k(x, x_i) + b, \qquad
          \alpha_i = \gamma v_i e_i

((2.22) without :math:`y_i`: :math:`\alpha` carries the sign). Without bias, b and the first row are absent (2.23).
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.inference.ls_svm.design import Design
from bayesvm.inference.ls_svm.spectrum import Spectrum, centred_product
from bayesvm.linalg.cholesky import cholesky
from bayesvm.linalg.conjugate_gradients import conjugate_gradients
from bayesvm.linalg.eigen import Product
from bayesvm.solvers.base import Status
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class LevelOne:
    r"""Coefficients and bias of every output."""

    alpha: Matrix  #: :math:`f(x_j) = \sum_i \alpha_i k(x_j, x_i) + b`; shape (n, q).
    bias: Vector  #: Zero for a machine without one; shape (q,).
    latent: Matrix  #: f at the training rows; shape (n, q).
    residual: float  #: Norm of :math:`S (f - y) + a/\gamma` relative to that of :math:`S y`: how well (2.19) is solved.
    n_iter: int  #: Products of the Gram matrix with vectors that an iterative solution took; 0 for a direct one.
    status: Status  #: How the solution ended.


def _finished(
    alpha: Matrix, K_alpha: Matrix, y: Matrix, design: Design, gamma: float, n_iter: int, status: Status
) -> LevelOne:
    """Return the result with bias and residual; the bias makes the weighted error zero on average."""
    v = design.counts
    bias = (v @ (y - K_alpha)) / design.total if design.bias else np.zeros(y.shape[1])
    latent = K_alpha + bias
    s = design.root[:, None]
    miss = s * (latent - y) + alpha / (gamma * s)
    size = float(np.sqrt(np.sum((s * y) ** 2)))
    residual = float(np.sqrt(np.sum(miss**2))) / (size if size > 0.0 else 1.0)
    return LevelOne(alpha, bias, latent, residual, n_iter, status)


def solve_direct(K: Matrix, y: Matrix, design: Design, gamma: float) -> LevelOne:
    r"""Solve by one factor of :math:`C = \tilde K + I/\gamma`: :math:`b = s^\top C^{-1} S y / s^\top C^{-1} s`.

    The ridge is that of :func:`_ridge`.
    """
    C = np.array(design.scaled_gram(K))
    C[np.diag_indices(design.n)] += _ridge(gamma, float(np.trace(C)))
    factor = cholesky(C, overwrite=True, what="K + I/gamma (is the kernel positive definite?)")
    a = factor.solve(np.asfortranarray(design.scaled(y)))
    if design.bias:
        s = design.root
        Cs = factor.solve(s)
        a = a - np.outer(Cs, (s @ a) / float(s @ Cs))
    alpha = design.scaled(a)
    return _finished(alpha, K @ alpha, y, design, gamma, 0, Status.CONVERGED)


def solve_spectral(product: Product, spectrum: Spectrum, y: Matrix, gamma: float) -> LevelOne:
    r"""Solve with a complete spectrum, :math:`a = V (\Lambda + I/\gamma)^{-1} V^\top S y`."""
    return solved_by(_spectral(spectrum, y, gamma), product, y, spectrum.design, gamma)


def solved_by(a: Matrix, product: Product, y: Matrix, design: Design, gamma: float) -> LevelOne:
    """Return level 1 for coefficients in scaled space that are known already."""
    alpha = design.scaled(a)
    return _finished(alpha, product(alpha), y, design, gamma, 0, Status.CONVERGED)


def solve_iterative(
    product: Product, spectrum: Spectrum, y: Matrix, gamma: float, *, tol: float = 1e-6, max_iter: int = 100
) -> LevelOne:
    r"""Solve by conjugate gradients, preconditioned with the computed eigenpairs.

    The preconditioner inverts :math:`\tilde K + I/\gamma` on their span and is :math:`\gamma` elsewhere, so that the
    condition number is about :math:`1 + \gamma\lambda` with the largest eigenvalue that was not computed. ``tol`` is
    the largest relative residual, ``max_iter`` the largest number of products. The ridge is that of :func:`_ridge`.
    """
    design, V, gamma = spectrum.design, spectrum.basis, 1.0 / _ridge(gamma, spectrum.whole)
    gain = gamma / (1.0 + gamma * spectrum.values)
    centred = centred_product(product, design)

    def system(B: Matrix) -> Matrix:
        return centred(B) + B / gamma

    def precondition(B: Matrix) -> Matrix:
        inside = V.T @ B
        return np.asarray(gamma * B + V @ ((gain - gamma)[:, None] * inside))

    b = design.centred(design.scaled(y))
    result = conjugate_gradients(system, b, precondition, _spectral(spectrum, y, gamma), tol=tol, max_iter=max_iter)
    alpha = design.scaled(design.centred(result.x))
    status = Status.CONVERGED if result.converged else Status.MAX_ITER
    return _finished(alpha, product(alpha), y, design, gamma, result.n_iter + 1, status)


def _ridge(gamma: float, whole: float) -> float:
    r"""Return :math:`1/\gamma`, but at least what rounding does to the eigenvalues of :math:`\tilde K`.

    gamma has no meaning, and is as large as may be, where the kernel is constant over the rows.
    """
    return max(1.0 / gamma, 4.0 * float(np.finfo(float).eps) * whole)


def _spectral(spectrum: Spectrum, y: Matrix, gamma: float) -> Matrix:
    """Return the solution in scaled space when eigenvalues that were not computed count as zero."""
    design, V = spectrum.design, spectrum.basis
    p = 1.0 / (1.0 + gamma * spectrum.values)
    if spectrum.values.size == spectrum.size:
        return np.asarray(V @ ((gamma * p)[:, None] * spectrum.targets))
    b = design.centred(design.scaled(y))
    return np.asarray(gamma * (b + V @ ((p - 1.0)[:, None] * spectrum.targets)))


__all__ = ["LevelOne", "solve_direct", "solve_iterative", "solve_spectral", "solved_by"]
