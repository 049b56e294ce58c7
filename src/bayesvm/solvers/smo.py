r"""The mode by a working-set method on the dual problem.

Newton's method factors a matrix of the size of the support; the working-set method (:mod:`bayesvm.solvers.working_set`)
moves two coefficients at a time and needs no factor at all. At the optimum :math:`f = K\alpha` and
:math:`\alpha_i \in -\partial\ell_i(f_i)` (Chu2003 (15), Thesis (4.26)).
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from bayesvm._core import working_set as native
from bayesvm.exceptions import IncompatibleError
from bayesvm.likelihoods.base import Derivatives, Likelihood
from bayesvm.likelihoods.dual import Dual
from bayesvm.solvers.base import MAPResult, Solver, Status
from bayesvm.solvers.working_set import DualResult, WorkingSet
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class SMO(Solver):
    r"""Working-set solver for likelihoods whose dual is known (see :meth:`~bayesvm.likelihoods.base.Likelihood.dual`).

    Parameters
    ----------
    tol : float
        Relative KKT residual at which the mode counts as found, as for ``Newton``; for a loss with kinks the gap of the
        dual problem, relative to the largest target.
    max_iter : int
        Largest number of steps of two variables.
    cache_bytes : int
        Memory for columns of the Gram matrix in the order that the solver needs.

    Notes
    -----
    The residual :math:`\alpha_i + \ell'_i(f_i)` of a loss with continuous slope is at most the gap times the curvature
    of the loss. The gap is lowered until the residual is small enough; where rounding forbids it, the status says so.
    For smooth losses ``alpha`` is :math:`-\ell'(f)`; for losses with kinks it is the solution of the dual, which names
    the subgradient.
    """

    needs_smoothness: ClassVar[int] = 0
    needs_convex: ClassVar[bool] = True

    tol: float = 1e-8
    max_iter: int = 100_000_000
    cache_bytes: int = 500 * 2**20

    def check(self, likelihood: Likelihood) -> None:
        """Refuse likelihoods without a known dual."""
        super().check(likelihood)
        if likelihood.plain.dual(np.ones(1)) is None:
            raise IncompatibleError(
                f"SMO cannot treat {type(likelihood.plain).__name__}: its dual problem is not one that a working-set "
                "step can solve; use the Newton solver"
            )

    def solve(self, K: Matrix, y: Vector, likelihood: Likelihood, *, warm_start: Vector | None = None) -> MAPResult:
        """Return the mode; see :meth:`bayesvm.solvers.base.Solver.solve`."""
        self.check(likelihood)
        dual = likelihood.dual(y)
        assert dual is not None  # by check
        smooth = likelihood.traits.smoothness >= 1
        scale = max(1.0, float(np.max(np.abs(y)))) if not smooth else 1.0
        begin = None if warm_start is None else _feasible(dual, likelihood.derivatives(y, warm_start))
        columns = native.DenseColumns(np.ascontiguousarray(K))
        gap = self.tol * scale if not smooth else max(1e-3, self.tol)
        options = WorkingSet(tol=gap, max_iter=self.max_iter, cache_bytes=self.cache_bytes)
        run = options.start(columns, dual, equality=False, start=begin)
        while True:
            result = run.finish()
            d = likelihood.derivatives(y, result.f)
            kkt = _residual(result, d) if smooth else max(result.gap, 0.0) / scale
            if kkt <= self.tol or not result.status.ok:
                break
            run.sharpen(float(np.clip(0.5 * self.tol / kkt, 1e-4, 0.1)) * run.tol)
        status = Status.CONVERGED if kkt <= self.tol else result.status
        if status is Status.MAX_ITER and smooth and kkt <= _rounding(K, result.alpha, d):
            status = Status.STALLED
        return _mode(result, d, kkt, smooth, status)


def _feasible(dual: Dual, d: Derivatives) -> Vector | None:
    """Return the coefficients that belong to latent values, if these lie in the domain of the loss."""
    return np.clip(-d.gradient, dual.lower, dual.upper) if np.all(np.isfinite(d.loss)) else None


def _residual(result: DualResult, d: Derivatives) -> float:
    """Return the relative KKT residual of a loss with a continuous slope; infinite outside the domain."""
    if not np.all(np.isfinite(d.loss)):
        return np.inf
    return float(np.max(np.abs(result.alpha + d.gradient)) / max(1.0, float(np.max(np.abs(d.gradient)))))


def _rounding(K: Matrix, alpha: Vector, d: Derivatives) -> float:
    r"""Return the residual that rounding leaves: :math:`\epsilon \sum_j |K_{ij} \alpha_j|` in f times the curvature."""
    off = 4.0 * np.finfo(float).eps * (np.abs(K) @ np.abs(alpha))
    return float(np.max(d.curvature * off) / max(1.0, float(np.max(np.abs(d.gradient)))))


def _mode(result: DualResult, d: Derivatives, kkt: float, smooth: bool, status: Status) -> MAPResult:
    alpha = -d.gradient if smooth else result.alpha
    objective = float(0.5 * (alpha @ result.f) + np.sum(d.loss))
    return MAPResult(alpha, result.f, objective, d, kkt, result.n_iter, status)


__all__ = ["SMO"]
