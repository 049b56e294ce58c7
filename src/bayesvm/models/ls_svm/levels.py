"""Levels 1 and 2 of a least-squares machine at a given kernel: complete, by leading eigenpairs, or by landmarks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from bayesvm.inference.ls_svm import (
    Design,
    FeatureSums,
    LevelTwo,
    Predictor,
    Spectrum,
    complete_spectrum,
    coordinate_predictor,
    factored,
    feature_predictor,
    feature_spectrum,
    leading_spectrum,
    level2,
    log_evidence,
    row_predictor,
    solve_iterative,
    solve_spectral,
    solved_by,
)
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.linalg import cholesky
from bayesvm.solvers.base import Status
from bayesvm.typing import Indices, Matrix

#: Entries of a Gram matrix that may be held; larger ones are computed again, block by block, for every product.
HELD = 1 << 28
#: Entries of such a block.
PART = 1 << 25


@dataclasses.dataclass(frozen=True)
class Approximation:
    r"""What an approximation leaves out, in numbers.

    Attributes
    ----------
    method : str
        "complete", "leading eigenpairs" or "landmarks".
    n_components : int
        Eigenpairs in use.
    left_out : float
        Share of the trace of the Gram matrix that they do not explain.
    pair_residual : float
        Largest :math:`|G v - \lambda v|` relative to the largest eigenvalue.
    solve_residual : float
        Relative residual of the linear system of level 1.
    n_products : int
        Products of the Gram matrix with vectors that its iterative solution took.
    variance_excess : float
        Bound on how much a latent variance can be overstated, as a share of the prior variance; nan for landmarks,
        where ``left_out`` is the bound of the error in the prior variance.
    """

    method: str
    n_components: int
    left_out: float = 0.0
    pair_residual: float = 0.0
    solve_residual: float = 0.0
    n_products: int = 0
    variance_excess: float = 0.0


@dataclasses.dataclass(frozen=True)
class Levels:
    """What levels 1 and 2 give at one kernel, and the evidence of level 3.

    Attributes
    ----------
    rows : array of int
        Training rows on which the predictor rests.
    predictor : Predictor
        Means and variances at new points.
    latent : array, shape (n, q)
        Latent values at all training rows.
    found : LevelTwo
        Hyperparameters.
    log_evidence : float
        (5.3).
    status : Status
        How the solution of level 1 ended.
    approximation : Approximation
        What was left out.
    """

    rows: Indices
    predictor: Predictor
    latent: Matrix
    found: LevelTwo
    log_evidence: float
    status: Status
    approximation: Approximation


class GramProduct:
    """Product of a kernel's Gram matrix with columns; the matrix is held if it is small enough."""

    def __init__(self, kernel: Kernel, X: Inputs) -> None:
        self._kernel, self._X = kernel, X
        n = len(X)
        self._K = kernel.gram(X) if n * n <= HELD else None

    def __call__(self, B: Matrix) -> Matrix:
        if self._K is not None:
            return np.asarray(self._K @ B)
        result = np.empty((len(self._X), B.shape[1]))
        for rows, part in parts(self._X, len(self._X)):
            result[rows] = self._kernel.gram(part, self._X) @ B
        return result


def parts(X: Inputs, width: int) -> Iterator[tuple[Indices, Inputs]]:
    """Cut X into parts whose Gram matrix with ``width`` other rows has a bounded number of entries."""
    n, step = len(X), max(1, PART // max(1, width))
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n))
        yield rows, X.take(rows)


def complete_levels(kernel: Kernel, X: Inputs, y: Matrix, design: Design, groups: Matrix) -> Levels:
    """Return the levels with all eigenpairs."""
    K = kernel.gram(X)
    spectrum = complete_spectrum(K, y, design)
    found = level2(spectrum)
    first = solve_spectral(K.__matmul__, spectrum, y, found.gamma)
    predictor = row_predictor(K.__matmul__, spectrum, first, found, groups)
    report = Approximation("complete", spectrum.values.size, solve_residual=first.residual)
    return Levels(
        np.arange(design.n),
        predictor,
        first.latent,
        found,
        log_evidence(design, y.shape[1], found),
        first.status,
        report,
    )


def factored_levels(kernel: Kernel, X: Inputs, y: Matrix, design: Design, groups: Matrix, log_gamma: float) -> Levels:
    """Return the levels by Cholesky factors, with the best gamma near the given one."""
    K = kernel.gram(X)
    level = factored(K, y, design, log_gamma)
    found, size = level.found, level.basis.shape[1]
    first = solved_by(level.solution, K.__matmul__, y, design, found.gamma)
    predictor = coordinate_predictor(K.__matmul__, design, level.basis, np.ones(size), first, found, groups)
    report = Approximation("complete", size, solve_residual=first.residual)
    evidence = log_evidence(design, y.shape[1], found)
    return Levels(np.arange(design.n), predictor, first.latent, found, evidence, first.status, report)


def leading_levels(
    kernel: Kernel, X: Inputs, y: Matrix, design: Design, groups: Matrix, k: int, rng: np.random.Generator
) -> Levels:
    """Return the levels with the k leading eigenpairs, its coefficients by conjugate gradients."""
    product = GramProduct(kernel, X)
    v = design.counts
    trace = whole = float(v @ kernel.diag(X))
    if design.bias:
        trace -= float(v @ product(v[:, None])[:, 0]) / design.total
    spectrum = leading_spectrum(product, trace, whole, y, design, k, rng)
    found = level2(spectrum)
    first = solve_iterative(product, spectrum, y, found.gamma)
    predictor = row_predictor(product, spectrum, first, found, groups)
    left = found.gamma * spectrum.largest_left_out
    report = Approximation(
        "leading eigenpairs",
        spectrum.values.size,
        left_out=spectrum.left_out / spectrum.trace if spectrum.trace > 0.0 else 0.0,
        pair_residual=_relative(spectrum),
        solve_residual=first.residual,
        n_products=first.n_iter,
        variance_excess=left / (1.0 + left),
    )
    return Levels(
        np.arange(design.n),
        predictor,
        first.latent,
        found,
        log_evidence(design, y.shape[1], found),
        first.status,
        report,
    )


def _relative(spectrum: Spectrum) -> float:
    return spectrum.residual / max(float(np.max(spectrum.values, initial=0.0)), np.finfo(float).tiny)


def landmark_levels(kernel: Kernel, X: Inputs, y: Matrix, design: Design, groups: Matrix, landmarks: Indices) -> Levels:
    r"""Return the levels in the features :math:`L^{-1} k(x)` of some of the rows (Nystrom), fitted to all rows."""
    Z = X.take(landmarks)
    factor = cholesky(kernel.gram(Z), jitter=True, what="the Gram matrix of the landmarks")
    m, v = len(Z), design.counts
    products, sums, cross = np.zeros((m, m)), np.zeros((m, groups.shape[1])), np.zeros((m, y.shape[1]))
    for rows, part in parts(X, m):
        phi = factor.half_solve(np.asfortranarray(kernel.gram(Z, part)))
        weighted = phi * v[rows]
        products += weighted @ phi.T
        sums += weighted @ groups[rows]
        cross += weighted @ y[rows]
    totals = v @ groups
    mean = sums.sum(axis=1) / design.total
    y_mean = (v @ y) / design.total
    square = float(np.sum(v[:, None] * y**2))
    spectrum, coordinates = feature_spectrum(FeatureSums(products, mean, cross, y_mean, square), design)
    found = level2(spectrum)
    predictor = feature_predictor(
        factor, spectrum, coordinates, found, centres=sums / totals, counts=totals, mean=mean, y_mean=y_mean
    )
    latent = np.empty_like(y)
    for rows, part in parts(X, m):
        latent[rows] = predictor.mean(kernel.gram(part, Z))
    whole = float(v @ kernel.diag(X))
    left = max(0.0, 1.0 - float(np.trace(products)) / whole) if whole > 0.0 else 0.0
    report = Approximation("landmarks", spectrum.values.size, left_out=left, variance_excess=float("nan"))
    return Levels(
        landmarks, predictor, latent, found, log_evidence(design, y.shape[1], found), Status.CONVERGED, report
    )


__all__ = [
    "Approximation",
    "Levels",
    "complete_levels",
    "factored_levels",
    "landmark_levels",
    "leading_levels",
    "parts",
]
