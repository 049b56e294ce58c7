r"""Predictors of few rows: a posterior projected onto a basis of training rows.

Let B be some of the training rows. The projected process keeps the posterior of the latent values at B and takes the
prior's conditional elsewhere, :math:`\tilde q(f) = \int p(f | f_B)\, q(f_B)\, df_B`: of all processes that depend on
the data through :math:`f_B` alone it is the nearest to q, in the sense of the smallest
:math:`\mathrm{KL}(q \| \tilde q)`.
With :math:`\Phi = K_{\cdot B} L^{-\top}`, :math:`L L^\top = K_{BB}`, the posterior
:math:`\mathcal N(K\alpha, K - K R K)` becomes one of the same form on B,

.. math:: \tilde\alpha = L^{-\top} \Phi^\top \alpha, \qquad \tilde R = L^{-\top}\, G\, L^{-1}, \quad
          G = \Phi^\top R\, \Phi ,

so that neither a difference of covariances nor the inverse of K appears. Then mean and variance are fitted to those of
all training rows (:mod:`bayesvm.inference.basis_fit`): :math:`\Phi^\top\alpha` becomes :math:`\Phi^\top\alpha + \delta`
by least squares, and G becomes :math:`G + t (I - G)` with one number t, since the projection's variances are too large.

*Choice of the rows.* The next row is the one whose own projected prediction changes most, counted in its posterior
standard deviations: the larger of the change of the mean, :math:`|z_i| / s_i`, :math:`z = (K - \Phi\Phi^\top)\alpha`,
and of the relative change of the standard deviation. It ends when, after the fit, no training row changes by more than
the tolerance. All quantities are updated as :math:`\Phi` grows by columns (a Cholesky factorisation with pivoting), at
a total cost of :math:`O(b m^2 + n b^2)` for b rows and m rows in the factor of R. Rows are chosen in batches, and what
the columns of the rows that are likely to be chosen lose to those of earlier batches is subtracted for all of them at
once. Of the last batch only as many rows are kept as the tolerance needs.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

from bayesvm.inference.base import Factor, Posterior
from bayesvm.inference.basis_fit import BasisFit, Output, factor_of, fit_on, squared_bound
from bayesvm.linalg import Cholesky, SupportFactor
from bayesvm.linalg.projected_factor import ProjectedFactor
from bayesvm.typing import Indices, Matrix, Vector

#: Rows chosen between two updates of the variances: this share of the basis.
BATCH = 0.2
#: Rows whose columns are prepared for a batch, in units of the rows that it takes.
AHEAD = 2
#: A fit to the training rows is tried once the projection changes predictions by at most as many tolerances.
NEAR = 4.0
#: No preference among rows.
NO_ROWS = np.empty(0, dtype=np.intp)
#: Least prior variance of a new row given the basis, relative to its own: with less it would add rounding only.
INDEPENDENT = 1e-10


@dataclasses.dataclass(frozen=True)
class Reduction:
    """A basis of training rows, and by how much predictions change.

    Attributes
    ----------
    basis : array of int
        Row numbers, increasing.
    tol : float
        The tolerance of the error.
    error : float
        Largest change at a training row of any output: of the mean in posterior standard deviations, or of the standard
        deviation relative to itself.
    mean_bound : float
        No mean changes by more than this many (reduced) standard deviations at any point, training row or not.
    """

    basis: Indices
    tol: float
    error: float
    mean_bound: float


@dataclasses.dataclass(frozen=True)
class _Basis:
    """The rows chosen so far with their columns of Phi, and what every output has explained in their coordinates."""

    rows: Indices  #: In the order of choice.
    Phi: Matrix  #: Shape (n, b), Fortran order.
    removed: tuple[Matrix, ...]  #: G = Phi' R Phi of each output, (b, b).
    halves: tuple[Matrix, ...]  #: Its roots, L^-1 W^1/2 Phi, for factors that have them; else empty.
    products: tuple[Matrix, ...]  #: Equations of the fit to the training rows, (b, b).

    def first(self, count: int) -> _Basis:
        """Return the rows that were chosen first."""
        removed = tuple(G[:count, :count] for G in self.removed)
        products = tuple(A[:count, :count] for A in self.products)
        return _Basis(
            self.rows[:count], self.Phi[:, :count], removed, tuple(h[:, :count] for h in self.halves), products
        )


def reduce_posteriors(
    K: Matrix,
    posteriors: Sequence[Posterior],
    variances: Sequence[Vector],
    tol: float,
    preferred: Indices = NO_ROWS,
    weights: Vector | None = None,
) -> tuple[tuple[Posterior, ...], Reduction] | None:
    """Project the posteriors of one or several outputs onto a common basis.

    Parameters
    ----------
    K : array, shape (n, n)
        Gram matrix of the training rows.
    posteriors : sequence of Posterior
        One per output, all with this prior.
    variances : sequence of arrays, shape (n,)
        Their variances at the training rows.
    tol : float
        Largest change at a training row, in standard deviations.
    preferred : array of int
        Rows that are chosen before any other, as long as their own predictions change by more than ``tol``: those that
        other posteriors of an average depend on.
    weights : array, shape (n,), or None
        How often a row counts in the fit of mean and variance; None: once.

    Returns
    -------
    posteriors, reduction : tuple of Posterior, Reduction
        Or None, if no basis smaller than the rows that the posteriors depend on is good enough.
    """
    counts = np.ones(K.shape[0]) if weights is None else weights
    outputs = [Output.before(K, p, var, counts) for p, var in zip(posteriors, variances, strict=True)]
    largest = np.unique(np.concatenate([p.support for p in posteriors])).size
    found = _choose(K, outputs, tol, largest, preferred)
    if found is None:
        return None
    basis, fits = found
    L = Cholesky(np.asfortranarray(np.tril(basis.Phi[basis.rows])))
    reduced = tuple(_projected(basis.rows, L, *of) for of in zip(fits, basis.removed, strict=True))
    error = _measured(K, outputs, reduced)
    if not error <= 1.01 * tol:
        return None
    each = zip(outputs, fits, basis.removed, strict=True)
    bound = max(squared_bound(output, fit, basis.Phi, removed) for output, fit, removed in each)
    return reduced, Reduction(np.sort(basis.rows), tol, error, float(np.sqrt(bound)))


def _choose(
    K: Matrix, outputs: Sequence[Output], tol: float, largest: int, preferred: Indices
) -> tuple[_Basis, list[BasisFit]] | None:
    """Add rows until no prediction of a training row changes by more than ``tol``; None if ``largest`` are needed."""
    n = K.shape[0]
    left = np.diagonal(K).copy()
    none = (np.empty((0, 0)),) * len(outputs)
    halves = tuple(np.empty((output.posterior.factor.support.size, 0), order="F") for output in outputs)
    basis = _Basis(np.empty(0, dtype=np.intp), np.empty((n, 0), order="F"), none, halves, none)
    while basis.rows.size < largest - 1:
        spread = functools.reduce(np.maximum, (output.std_change() for output in outputs))
        size = min(1 + int(BATCH * basis.rows.size), largest - 1 - basis.rows.size)
        rows, Phi = _batch(K, basis, outputs, left, spread, size, tol, preferred)
        if not rows.size:
            break
        basis, excesses = _extended(basis, outputs, rows, Phi)
        if max(output.change() for output in outputs) <= NEAR * tol:
            found = _enough(basis, outputs, left, excesses, tol)
            if found is not None:
                return found
    return None


def _batch(
    K: Matrix,
    basis: _Basis,
    outputs: Sequence[Output],
    left: Vector,
    spread: Vector,
    size: int,
    tol: float,
    preferred: Indices,
) -> tuple[Indices, Matrix]:
    """Return up to ``size`` further rows and their columns of Phi; updates ``left`` and the means of the outputs.

    Within the batch the change of a standard deviation is taken to fall with the prior variance that is left.
    """
    b, least = basis.rows.size, INDEPENDENT * np.diagonal(K)
    rate = spread / np.maximum(left, least)
    Phi = np.empty((K.shape[0], b + size), order="F")
    Phi[:, :b] = basis.Phi
    likely, columns = _prepared(K, basis, np.maximum(_mean_change(outputs), rate * left), AHEAD * size)
    rows: list[int] = []
    for k in range(b, Phi.shape[1]):
        change = np.maximum(_mean_change(outputs), rate * left)
        change[left <= least] = 0.0
        known = bool(np.max(change[preferred], initial=0.0) > tol)
        row = int(preferred[np.argmax(change[preferred])]) if known else int(np.argmax(change))
        if change[row] == 0.0 or (rows and change[row] <= tol):
            break
        at = likely.get(row)
        column = K[:, row] - basis.Phi @ basis.Phi[row] if at is None else columns[at]
        column = (column - Phi[:, b:k] @ Phi[row, b:k]) / np.sqrt(left[row])
        Phi[:, k] = column
        np.maximum(left - column**2, 0.0, out=left)
        left[row] = 0.0
        for output in outputs:
            output.z[:] -= column * (column @ output.alpha)
        rows.append(row)
    return np.array(rows, dtype=np.intp), Phi[:, : b + len(rows)]


def _mean_change(outputs: Sequence[Output]) -> Vector:
    """Return the largest change of the mean of any output."""
    return functools.reduce(np.maximum, (output.mean_change() for output in outputs))


def _prepared(K: Matrix, basis: _Basis, change: Vector, count: int) -> tuple[dict[int, int], Matrix]:
    """Return the rows that change most, each with its number, and what the basis leaves of their rows of K."""
    likely = np.argpartition(change, -min(count, change.size))[-min(count, change.size) :]
    columns = K[likely] - basis.Phi[likely] @ basis.Phi.T
    return {int(row): number for number, row in enumerate(likely)}, columns


def _extended(basis: _Basis, outputs: Sequence[Output], rows: Indices, Phi: Matrix) -> tuple[_Basis, list[Matrix]]:
    """Return the basis with further rows, and for each output the excesses of its variances after each of them.

    Updates the variances of the outputs.
    """
    b, removed, halves, products, excesses = basis.rows.size, [], [], [], []
    new = Phi[:, b:]
    for k, output in enumerate(outputs):
        added, half = _removed(output.posterior.factor, Phi, b, basis.halves[k])
        within = 2.0 * np.triu(added[b:], 1) + np.diag(np.diagonal(added[b:]))
        cross = 2.0 * (Phi[:, :b] @ added[:b]) + new @ within
        excesses.append(output.excess[:, None] - np.cumsum(cross * new, axis=1))
        output.excess[:] = excesses[-1][:, -1]
        removed.append(_grown(basis.removed[k], added))
        products.append(_grown(basis.products[k], output.products(Phi, new)))
        halves.append(half)
    rows = np.concatenate([basis.rows, rows])
    return _Basis(rows, Phi, tuple(removed), tuple(halves), tuple(products)), excesses


def _grown(old: Matrix, added: Matrix) -> Matrix:
    """Return a symmetric matrix with further columns, and the rows that follow from them."""
    b = old.shape[0]
    grown = np.empty((added.shape[0], added.shape[0]))
    grown[:b, :b] = old
    grown[:, b:] = added
    grown[b:, :b] = added[:b].T
    return grown


def _removed(factor: Factor, Phi: Matrix, b: int, half: Matrix) -> tuple[Matrix, Matrix]:
    """Return the columns of Phi' R Phi from the b-th on, and the root of R times Phi if the factor has one."""
    new = np.asfortranarray(Phi[factor.support, b:])
    if not isinstance(factor, SupportFactor):
        return Phi[factor.support].T @ factor.apply(new), half
    added = factor.half_apply(new)
    half = np.concatenate([half, added], axis=1)
    return half.T @ added, half


def _enough(
    basis: _Basis, outputs: Sequence[Output], left: Vector, excesses: Sequence[Matrix], tol: float
) -> tuple[_Basis, list[BasisFit]] | None:
    """Return the rows that the tolerance needs, by bisection of the last batch, and the fits; None if more are needed.

    ``left`` and the last columns of ``excesses`` belong to all rows.
    """
    factors = [factor_of(products) for products in basis.products]
    total = basis.rows.size
    offset = before = total - excesses[0].shape[1]

    def fits(count: int) -> list[BasisFit]:
        Phi, prior = basis.Phi[:, :count], left + np.sum(basis.Phi[:, count:] ** 2, axis=1)
        each = zip(outputs, factors, excesses, strict=True)
        return [fit_on(output, Phi, factor, prior, excess[:, count - offset - 1]) for output, factor, excess in each]

    def good(found: Sequence[BasisFit]) -> bool:
        return all(fit.output.change() <= tol for fit in found)

    best = fits(total)
    if not good(best):
        return None
    while total - before > 1:
        middle = (before + total) // 2
        found = fits(middle)
        if good(found):
            total, best = middle, found
        else:
            before = middle
    return basis.first(total), best


def _projected(rows: Indices, L: Cholesky, fit: BasisFit, removed: Matrix) -> Posterior:
    """Return the posterior of an output on the basis."""
    shrunk = (1.0 - fit.shrinkage) * removed + fit.shrinkage * np.eye(rows.size)
    factor = ProjectedFactor.of(rows, L, shrunk)
    return Posterior(factor.support, L.back_solve(fit.coefficients)[np.argsort(rows)], factor)


def _measured(K: Matrix, outputs: Sequence[Output], reduced: Sequence[Posterior]) -> float:
    """Return the largest change at a training row, computed from the reduced posteriors as they are."""
    worst = 0.0
    for output, posterior in zip(outputs, reduced, strict=True):
        K_s = K[:, posterior.support]
        excess = posterior.var(K_s, np.diagonal(K)) - output.var
        worst = max(worst, dataclasses.replace(output, z=output.mean - posterior.mean(K_s), excess=excess).change())
    return worst


__all__ = ["Reduction", "reduce_posteriors"]
