r"""Predictors of few rows: a posterior projected onto a basis of training rows.

Let B be some of the training rows. The reduced process keeps the posterior of the latent values at B and takes the
prior's conditional elsewhere, :math:`\tilde q(f) = \int p(f | f_B)\, q(f_B)\, df_B`: of all processes that depend on
the data through :math:`f_B` alone it is the nearest to q, in the sense of the smallest
:math:`\mathrm{KL}(q \| \tilde q)`.
With :math:`\Phi = K_{\cdot B} L^{-\top}`, :math:`L L^\top = K_{BB}`, the posterior
:math:`\mathcal N(K\alpha, K - K R K)` becomes one of the same form on B,

.. math:: \tilde\alpha = L^{-\top} \Phi^\top \alpha, \qquad \tilde R = L^{-\top}\, \Phi^\top R\, \Phi\, L^{-1},

so that neither a difference of covariances nor the inverse of K appears. Predictions at the rows of B do not change.

*Choice of the rows.* The next row is the one whose own prediction changes most, counted in its posterior standard
deviations: the larger of the change of the mean, :math:`|z_i| / s_i`, :math:`z = (K - \Phi\Phi^\top)\alpha`, and of the
relative change of the standard deviation. It ends when no training row changes by more than the tolerance. All
quantities are updated as :math:`\Phi` grows by columns (a Cholesky factorisation with pivoting), at a total cost of
:math:`O(b m^2 + n b^2)` for b rows and m rows in the factor of R. Rows are chosen in batches, and what the columns of
the rows that are likely to be chosen lose to those of earlier batches is subtracted for all of them at once.

*Elsewhere.* With the residual kernel :math:`r(x, z) = k(x, z) - \phi(x)^\top \phi(z)` the change of the mean is
:math:`\sum_i \alpha_i\, r(x, x_i)`, at most :math:`\sqrt{r(x, x)}\,\sqrt{\alpha^\top z}` by Cauchy and Schwarz; and
:math:`r(x, x)`, the prior variance given :math:`f_B`, is at most the reduced variance :math:`\tilde s(x)^2`. Hence

.. math:: |\tilde m(x) - m(x)| \le \tilde s(x)\, \sqrt{\alpha^\top z}

at every x whatsoever.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

from bayesvm.inference.base import Factor, Posterior
from bayesvm.linalg import Cholesky, SupportFactor
from bayesvm.linalg.projected_factor import ProjectedFactor
from bayesvm.typing import Indices, Matrix, Vector

#: Rows chosen between two updates of the variances: this share of the basis.
BATCH = 0.2
#: Rows whose columns are prepared for a batch, in units of the rows that it takes.
AHEAD = 2
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
class _Output:
    """One posterior in the course of the choice; ``z`` and ``excess`` are updated in place."""

    alpha: Vector  #: Coefficients of all training rows.
    posterior: Posterior
    var: Vector  #: Posterior variances of the training rows.
    z: Vector  #: What the reduced mean lacks.
    excess: Vector  #: By how much the reduced variance exceeds ``var``.

    @functools.cached_property
    def std(self) -> Vector:
        """Posterior standard deviations of the training rows."""
        return np.sqrt(self.var)

    def mean_change(self) -> Vector:
        """Return the changes of the means in standard deviations."""
        return np.asarray(np.abs(self.z) / self.std)

    def std_change(self) -> Vector:
        """Return the relative changes of the standard deviations."""
        return np.asarray(np.abs(np.sqrt(np.maximum(1.0 + self.excess / self.var, 0.0)) - 1.0))


@dataclasses.dataclass(frozen=True)
class _Basis:
    """The rows chosen so far with their columns of Phi, and what every output has explained in their coordinates."""

    rows: Indices  #: In the order of choice.
    Phi: Matrix  #: Shape (n, b), Fortran order.
    removed: tuple[Matrix, ...]  #: Phi' R Phi of each output, (b, b).
    halves: tuple[Matrix, ...]  #: Its roots, L^-1 W^1/2 Phi, for factors that have them; else empty.


def reduce_posteriors(
    K: Matrix, posteriors: Sequence[Posterior], variances: Sequence[Vector], tol: float, preferred: Indices = NO_ROWS
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

    Returns
    -------
    posteriors, reduction : tuple of Posterior, Reduction
        Or None, if no basis smaller than the rows that the posteriors depend on is good enough.
    """
    outputs = [_whole(K, p, var) for p, var in zip(posteriors, variances, strict=True)]
    largest = np.unique(np.concatenate([p.support for p in posteriors])).size
    basis = _choose(K, outputs, tol, largest, preferred)
    L = Cholesky(np.asfortranarray(np.tril(basis.Phi[basis.rows])))
    reduced = tuple(_projected(basis, L, output, removed) for output, removed in zip(outputs, basis.removed))
    error = _measured(K, outputs, reduced)
    if basis.rows.size >= largest or not error <= 1.01 * tol:
        return None
    norm = max(float(output.alpha @ output.z) for output in outputs)
    return reduced, Reduction(np.sort(basis.rows), tol, error, float(np.sqrt(max(norm, 0.0))))


def _whole(K: Matrix, posterior: Posterior, var: Vector) -> _Output:
    """Return an output before any row is chosen: the reduced process is the prior."""
    alpha = posterior.coefficients(K.shape[0])
    return _Output(alpha, posterior, var, K @ alpha, np.diagonal(K) - var)


def _choose(K: Matrix, outputs: Sequence[_Output], tol: float, largest: int, preferred: Indices) -> _Basis:
    """Add rows until no prediction of a training row changes by more than ``tol``, or ``largest`` rows are in use."""
    n = K.shape[0]
    prior = np.diagonal(K)
    left = prior.copy()
    none = (np.empty((0, 0)),) * len(outputs)
    halves = tuple(np.empty((output.posterior.factor.support.size, 0), order="F") for output in outputs)
    basis = _Basis(np.empty(0, dtype=np.intp), np.empty((n, 0), order="F"), none, halves)
    while basis.rows.size < largest:
        spread = functools.reduce(np.maximum, (output.std_change() for output in outputs))
        change = np.maximum(spread, _mean_change(outputs))
        free = left > INDEPENDENT * prior
        if float(np.max(change)) <= tol or not np.any(free):
            break
        size = min(1 + int(BATCH * basis.rows.size), largest - basis.rows.size)
        basis = _extended(basis, outputs, *_batch(K, basis, outputs, left, spread, size, tol, preferred))
    return basis


def _batch(
    K: Matrix,
    basis: _Basis,
    outputs: Sequence[_Output],
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


def _mean_change(outputs: Sequence[_Output]) -> Vector:
    """Return the largest change of the mean of any output."""
    return functools.reduce(np.maximum, (output.mean_change() for output in outputs))


def _prepared(K: Matrix, basis: _Basis, change: Vector, count: int) -> tuple[dict[int, int], Matrix]:
    """Return the rows that change most, each with its number, and what the basis leaves of their rows of K."""
    likely = np.argpartition(change, -min(count, change.size))[-min(count, change.size) :]
    columns = K[likely] - basis.Phi[likely] @ basis.Phi.T
    return {int(row): number for number, row in enumerate(likely)}, columns


def _extended(basis: _Basis, outputs: Sequence[_Output], rows: Indices, Phi: Matrix) -> _Basis:
    """Return the basis with further rows; updates the variances of the outputs."""
    b, removed, halves = basis.rows.size, [], []
    new = Phi[:, b:]
    for output, old, half in zip(outputs, basis.removed, basis.halves, strict=True):
        grown = np.empty((Phi.shape[1], Phi.shape[1]))
        grown[:b, :b] = old
        grown[:, b:], half = _removed(output.posterior.factor, Phi, b, half)
        grown[b:, :b] = grown[:b, b:].T
        cross = 2.0 * (Phi[:, :b] @ grown[:b, b:]) + new @ grown[b:, b:]
        output.excess[:] -= np.einsum("ij,ij->i", cross, new)
        removed.append(grown)
        halves.append(half)
    return _Basis(np.concatenate([basis.rows, rows]), Phi, tuple(removed), tuple(halves))


def _removed(factor: Factor, Phi: Matrix, b: int, half: Matrix) -> tuple[Matrix, Matrix]:
    """Return the columns of Phi' R Phi from the b-th on, and the root of R times Phi if the factor has one."""
    new = np.asfortranarray(Phi[factor.support, b:])
    if not isinstance(factor, SupportFactor):
        return Phi[factor.support].T @ factor.apply(new), half
    added = factor.half_apply(new)
    half = np.concatenate([half, added], axis=1)
    return half.T @ added, half


def _projected(basis: _Basis, L: Cholesky, output: _Output, removed: Matrix) -> Posterior:
    """Return the posterior of an output on the basis."""
    factor = ProjectedFactor.of(basis.rows, L, removed)
    alpha = L.back_solve(basis.Phi.T @ output.alpha)
    return Posterior(factor.support, alpha[np.argsort(basis.rows)], factor)


def _measured(K: Matrix, outputs: Sequence[_Output], reduced: Sequence[Posterior]) -> float:
    """Return the largest change at a training row, computed from the reduced posteriors as they are."""
    worst = 0.0
    for output, posterior in zip(outputs, reduced, strict=True):
        K_s = K[:, posterior.support]
        mean = K @ output.alpha - posterior.mean(K_s)
        now = dataclasses.replace(output, z=mean, excess=posterior.var(K_s, np.diagonal(K)) - output.var)
        worst = max(worst, float(np.max(now.mean_change())), float(np.max(now.std_change())))
    return worst


__all__ = ["Reduction", "reduce_posteriors"]
