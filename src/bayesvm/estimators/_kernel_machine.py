"""What the machines with given hyperparameters share: from duals to fitted coefficients, and prediction."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import numbers
import threading
import warnings
from abc import ABC
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from bayesvm._core import working_set as _smo
from bayesvm.estimators._columns import columns_of
from bayesvm.estimators._gap_bar import GapBar
from bayesvm.estimators._standardize import weighted_moments
from bayesvm.exceptions import ConvergenceWarning
from bayesvm.kernels import Gaussian, Kernel, from_sklearn
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.dual import Dual
from bayesvm.solvers.working_set import DualResult, WorkingSet, WorkingSetRun
from bayesvm.typing import Indices, Matrix, Vector

#: Entries of the cross Gram matrix that prediction holds at a time.
BLOCK = 1 << 22
#: With ``tol=None``: the gap asked for up to, and beyond, this number of rows.
SMALL, FINE, COARSE = 200, 1e-9, 1e-3


@dataclasses.dataclass(frozen=True)
class Problem:
    """One binary or regression problem: the rows that take part, and the dual of their losses."""

    rows: Indices
    dual: Dual


class KernelMachine(BaseEstimator, ABC):
    """Base of the machines with given hyperparameters; see the subclasses for arguments and attributes."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # -- from arguments to objects ------------------------------------------------------------------------------------
    def _check_arguments(self) -> None:
        """Refuse constructor arguments out of range, each with what was expected and what was found."""
        if self.tol is not None:
            check_number("tol", self.tol, least=0.0, strict=True)
        if not (_is_integer(self.max_iter) and self.max_iter >= 1):
            raise ValueError(f"max_iter: expected an integer of at least 1, found {self.max_iter!r}")
        check_number("cache_size", self.cache_size, least=0.0, strict=True)

    def _kernel(self, X: Any, weights: Vector | None) -> Kernel:
        """Return the kernel that the constructor arguments ask for, ready for the data."""
        if self.kernel is None:
            spread = float(np.mean(weighted_moments(X, weights)[1])) if X.shape[0] else 0.0
            return Gaussian(lengthscale=float(np.sqrt(0.5 * X.shape[1] * spread)) if spread > 0.0 else 1.0)
        kernel = self.kernel if isinstance(self.kernel, Kernel) else None
        if kernel is None and hasattr(self.kernel, "clone_with_theta"):
            kernel = from_sklearn(self.kernel)
        if kernel is None:
            raise ValueError(
                "kernel: expected None, a bayesvm kernel or a scikit-learn Gaussian process kernel, "
                f"found {self.kernel!r}"
            )
        return kernel.bind(X.shape[1], list(getattr(self, "feature_names_in_", [])) or None)

    def _options(self, n: int, scale: float, workers: int) -> WorkingSet:
        tol = self.tol if self.tol is not None else (FINE if n <= SMALL else COARSE) * scale
        return WorkingSet(float(tol), 1, int(self.cache_size * 2**20 / workers), bool(self.shrinking))

    # -- fitting ------------------------------------------------------------------------------------------------------
    def _fit_problems(self, X: Any, weights: Vector | None, problems: Sequence[Problem], scale: float = 1.0) -> None:
        """Solve all problems on the rows of X, in parallel threads, and set the fitted attributes.

        ``scale`` is the size of the targets, to which the automatic tolerance is relative.
        """
        self.kernel_ = self._kernel(X, weights)
        inputs = Inputs(X)
        workers = max(1, min(joblib.effective_n_jobs(self.n_jobs), len(problems)))
        source = _Source(self.kernel_, inputs, problems, int(self.cache_size * 2**20))
        options = self._options(inputs.X.shape[0], scale, workers + int(source.shared is not None))
        starts = self._starts(problems)
        self._coefficients: list[Vector] = [np.zeros(p.rows.size) for p in problems]
        with self._progress(len(problems)) as report:

            def solve(k: int, stop: threading.Event) -> DualResult:
                limited = dataclasses.replace(options, max_iter=int(self.max_iter) * problems[k].rows.size)
                run = limited.start(source.columns(k), problems[k].dual, equality=True, start=starts[k])
                try:
                    return _finish(run, stop, lambda done: report(k, run.progress(), done=done))
                finally:
                    self._coefficients[k] = run.alpha

            results = _in_threads(solve, len(problems), workers)
        self._finish(X, inputs, problems, results, scale)

    def _starts(self, problems: Sequence[Problem]) -> list[Vector | None]:
        """Return the coefficients of the last fit (also of an interrupted one), where they are a point of the new problem."""
        old = getattr(self, "_coefficients", None) if self.warm_start else None
        if old is None or len(old) != len(problems):
            return [None] * len(problems)
        return [_usable(start, p.dual) for start, p in zip(old, problems)]

    @contextlib.contextmanager
    def _progress(self, runs: int) -> Iterator[Callable[..., None]]:
        if not self.verbose:
            yield lambda *args, **kwargs: None
            return
        with GapBar(type(self).__name__, runs) as bar:
            yield bar

    def _finish(
        self, X: Any, inputs: Inputs, problems: Sequence[Problem], results: Sequence[DualResult], scale: float
    ) -> None:
        carried = [p.rows[np.flatnonzero(r.alpha)] for p, r in zip(problems, results)]
        support = np.unique(np.concatenate([np.empty(0, dtype=np.intp), *carried]))
        self.dual_coef_ = np.zeros((len(problems), support.size))
        for row, rows, result in zip(self.dual_coef_, carried, results):
            row[np.searchsorted(support, rows)] = result.alpha[np.flatnonzero(result.alpha)]
        self._support_inputs = inputs.take(support)
        self.support_ = support
        self.support_vectors_ = X[support]
        self.intercept_ = np.array([r.bias for r in results])
        self.gap_ = np.array([r.gap for r in results])
        self.dual_objective_ = np.array([r.objective for r in results])
        self.n_steps_ = np.array([r.n_iter for r in results])
        self.n_iter_ = np.array([max(1, -(-r.n_iter // p.rows.size)) for r, p in zip(results, problems)])
        limit = COARSE * scale if self.tol is None else self.tol
        failed = [r for r in results if not r.status.ok and r.gap > limit]
        self.converged_ = not failed
        if failed:
            worst = max(failed, key=lambda r: r.gap)
            warnings.warn(
                f"{type(self).__name__} did not converge: {worst.status.value}; the optimality conditions hold to a gap of "
                f"{worst.gap:.3g} only (tol={limit:.3g})",
                ConvergenceWarning,
                stacklevel=4,
            )

    # -- prediction ---------------------------------------------------------------------------------------------------
    def _values(self, X: Any) -> Matrix:
        """Return K a + b at the rows of X, one column per machine."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        out = np.tile(self.intercept_, (X.shape[0], 1))
        step = max(1, BLOCK // max(1, self.support_.size))
        for start in range(0, X.shape[0] if self.support_.size else 0, step):
            K = self.kernel_.gram(Inputs(X[start : start + step]), self._support_inputs)
            out[start : start + step] += K @ self.dual_coef_.T
        return out


class _Source:
    """Columns for every problem: shared between them if there are several and the whole matrix fits into half the budget."""

    def __init__(self, kernel: Kernel, inputs: Inputs, problems: Sequence[Problem], budget: int) -> None:
        self._kernel, self._inputs, self._problems = kernel, inputs, problems
        n = len(inputs)
        self._whole = columns_of(kernel, inputs) if n == problems[0].rows.size else None
        self.shared: _smo.SharedColumns | None = None
        if len(problems) > 1 and 8 * n * n <= budget // 2:
            self.shared = _smo.SharedColumns(self._whole or columns_of(kernel, inputs))

    def columns(self, k: int) -> _smo.Columns:
        rows = self._problems[k].rows
        if self.shared is not None:
            return self.shared.take(rows.astype(np.int64))
        if rows.size == len(self._inputs) and self._whole is not None:
            return self._whole
        return columns_of(self._kernel, self._inputs.take(rows))


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
    with threadpool_limits(limits=1, user_api="blas"), concurrent.futures.ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(solve, k, stop) for k in range(count)]
        try:
            return [future.result() for future in futures]
        finally:
            stop.set()
            for future in futures:
                future.cancel()


def _usable(start: Vector, dual: Dual) -> Vector | None:
    """Return the start if it is a point of the problem: as long, within the bounds, with sum zero."""
    if start.shape != dual.target.shape:
        return None
    inside = np.clip(start, dual.lower, dual.upper)
    balanced = abs(float(np.sum(inside))) <= 1e-12 * max(1.0, float(np.sum(np.abs(inside))))
    return inside if balanced else None


def _is_integer(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_number(name: str, value: Any, *, least: float, strict: bool = False, most: float = np.inf) -> float:
    """Return a number within its range, or say what was expected and found."""
    ok = isinstance(value, numbers.Real) and not isinstance(value, bool) and np.isfinite(float(value))
    if not ok or value < least or (strict and value == least) or value > most:
        range_ = f"above {least:g}" if strict else f"of at least {least:g}"
        upper = "" if most == np.inf else f" and at most {most:g}"
        raise ValueError(f"{name}: expected a number {range_}{upper}, found {value!r}")
    return float(value)


__all__ = ["KernelMachine", "Problem", "check_number"]
