"""Support vector machines with given hyperparameters: dual problems on common rows, solved by working sets."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from bayesvm._core import working_set
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.dual import Dual
from bayesvm.linalg.blas_threads import one_blas_thread
from bayesvm.models.gram_columns import columns_of
from bayesvm.models.predictor import blocks
from bayesvm.solvers.working_set import DualResult, WorkingSet, WorkingSetProgress, WorkingSetRun
from bayesvm.typing import Indices, Matrix, Vector

#: With no tolerance given: the gap asked for up to, and beyond, this number of rows.
SMALL, FINE, COARSE = 200, 1e-9, 1e-3


@dataclasses.dataclass(frozen=True)
class DualProblem:
    """One binary or regression problem: the rows that take part, and the dual of their losses."""

    rows: Indices
    dual: Dual


class ReportGap(Protocol):
    """Is told how far the gap of one of several problems has come down."""

    def __call__(self, problem: int, tick: WorkingSetProgress, *, done: bool) -> None:
        """Show it."""


@dataclasses.dataclass(frozen=True)
class DualOptions:
    """How dual problems are solved.

    Parameters
    ----------
    tol : float or None
        Largest violation of the optimality conditions; None: 1e-9 for few rows, 1e-3 beyond, times ``scale``.
    scale : float
        Size of the targets, to which the automatic tolerance is relative.
    max_sweeps : int
        Largest number of sweeps per problem; a sweep is as many steps as there are rows.
    cache : int
        Bytes for columns of the Gram matrix.
    shrinking : bool
        Whether variables that seem settled are set aside for a while.
    workers : int
        Problems that are solved at the same time, in threads.
    """

    tol: float | None = None
    scale: float = 1.0
    max_sweeps: int = 10_000
    cache: int = 500 * 2**20
    shrinking: bool = True
    workers: int = 1

    @property
    def accepted_gap(self) -> float:
        """The gap up to which a solution counts as converged."""
        return COARSE * self.scale if self.tol is None else self.tol

    def working_set(self, n: int, shares: int) -> WorkingSet:
        """Return the solver's options for n rows, with the cache divided."""
        tol = self.tol if self.tol is not None else (FINE if n <= SMALL else COARSE) * self.scale
        return WorkingSet(float(tol), 1, self.cache // shares, self.shrinking)


@dataclasses.dataclass(frozen=True)
class SupportVectorModel:
    """Solutions of several dual problems over one kernel.

    Attributes
    ----------
    kernel : Kernel
        The kernel.
    support : array of int
        Rows with a coefficient that is not zero in some problem.
    inputs : Inputs
        Those rows.
    coefficients : array, shape (n_problems, n_support)
        Coefficients, zero where a problem does not need the row.
    intercept : array, shape (n_problems,)
        Biases.
    results : tuple of DualResult
        What the solver says of its end.
    accepted_gap : float
        The gap up to which a solution counts as converged.
    """

    kernel: Kernel
    support: Indices
    inputs: Inputs
    coefficients: Matrix
    intercept: Vector
    results: tuple[DualResult, ...]
    accepted_gap: float = COARSE

    def values(self, X: Inputs) -> Matrix:
        """Return K a + b at the rows of X, one column per problem."""
        out = np.tile(self.intercept, (len(X), 1))
        if self.support.size:
            for rows, part in blocks(X, len(self.inputs)):
                out[rows] += self.kernel.gram(part, self.inputs) @ self.coefficients.T
        return out


def solve_duals(
    kernel: Kernel,
    X: Inputs,
    problems: Sequence[DualProblem],
    options: DualOptions,
    *,
    starts: Sequence[Vector | None],
    reached: list[Vector],
    report: ReportGap,
) -> SupportVectorModel:
    """Solve all problems on the rows of X.

    Parameters
    ----------
    kernel, X, problems, options : Kernel, Inputs, sequence of DualProblem, DualOptions
        What is solved, and how.
    starts : sequence of array or None
        Coefficients to begin with.
    reached : list
        Is given the coefficients of every problem, those of an interrupted one too, from which a later call may start.
    report : callable
        Is told about the progress.
    """
    source = _Columns(kernel, X, problems, options.cache)
    solver = options.working_set(len(X), options.workers + int(source.shared is not None))
    reached[:] = [np.zeros(p.rows.size) for p in problems]

    def solve(k: int, stop: threading.Event) -> DualResult:
        limited = dataclasses.replace(solver, max_iter=options.max_sweeps * problems[k].rows.size)
        run = limited.start(source.columns(k), problems[k].dual, equality=True, start=starts[k])
        try:
            return _finish(run, stop, lambda done: report(k, run.progress(), done=done))
        finally:
            reached[k] = run.alpha

    results = _in_threads(solve, len(problems), options.workers)
    carried = [p.rows[np.flatnonzero(r.alpha)] for p, r in zip(problems, results, strict=True)]
    support = np.unique(np.concatenate([np.empty(0, dtype=np.intp), *carried]))
    coefficients = np.zeros((len(problems), support.size))
    for row, rows, result in zip(coefficients, carried, results, strict=True):
        row[np.searchsorted(support, rows)] = result.alpha[np.flatnonzero(result.alpha)]
    bias = np.array([r.bias for r in results])
    inputs, limit = X.take(support), options.accepted_gap
    return SupportVectorModel(kernel, support, inputs, coefficients, bias, tuple(results), limit)


def usable_starts(old: Sequence[Vector] | None, problems: Sequence[DualProblem]) -> list[Vector | None]:
    """Return the coefficients of an earlier fit where they are a point of the new problem."""
    if old is None or len(old) != len(problems):
        return [None] * len(problems)
    return [_usable(start, p.dual) for start, p in zip(old, problems, strict=True)]


def _usable(start: Vector, dual: Dual) -> Vector | None:
    """Return the start if it is a point of the problem: as long, within the bounds, with sum zero."""
    if start.shape != dual.target.shape:
        return None
    inside: Vector = np.clip(start, dual.lower, dual.upper)
    balanced = abs(float(np.sum(inside))) <= 1e-12 * max(1.0, float(np.sum(np.abs(inside))))
    return inside if balanced else None


class _Columns:
    """Columns of the Gram matrix for every problem: shared if there are several and the matrix fits half the cache."""

    def __init__(self, kernel: Kernel, X: Inputs, problems: Sequence[DualProblem], budget: int) -> None:
        self._kernel, self._X, self._problems = kernel, X, problems
        n = len(X)
        self._whole = columns_of(kernel, X) if n == problems[0].rows.size else None
        self.shared: working_set.SharedColumns | None = None
        if len(problems) > 1 and 8 * n * n <= budget // 2:
            self.shared = working_set.SharedColumns(self._whole or columns_of(kernel, X))

    def columns(self, k: int) -> working_set.Columns:
        rows = self._problems[k].rows
        if self.shared is not None:
            return self.shared.take(rows.astype(np.int64))
        if rows.size == len(self._X) and self._whole is not None:
            return self._whole
        return columns_of(self._kernel, self._X.take(rows))


def _finish(run: WorkingSetRun, stop: threading.Event, report: Callable[[bool], None]) -> DualResult:
    """Advance a run to its end, or until another thread says stop."""
    while not run.advance():
        report(False)
        if stop.is_set():
            raise KeyboardInterrupt
    report(True)
    return run.result()


def _in_threads(solve: Callable[[int, threading.Event], DualResult], count: int, workers: int) -> list[DualResult]:
    """Solve all problems; an exception in one, or Ctrl-C, stops the others within a slice."""
    stop = threading.Event()
    if workers == 1:
        return [solve(k, stop) for k in range(count)]
    with one_blas_thread(), concurrent.futures.ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(solve, k, stop) for k in range(count)]
        try:
            return [future.result() for future in futures]
        finally:
            stop.set()
            for future in futures:
                future.cancel()


__all__ = ["COARSE", "DualOptions", "DualProblem", "SupportVectorModel", "solve_duals", "usable_starts"]
