r"""The dual problem of a support vector machine, solved by a working-set method (sequential minimal optimisation).

.. math:: \min_a \; \tfrac12 a^\top K a + \sum_i h_i(a_i), \quad l_i \le a_i \le u_i, \quad \Bigl[\sum_i a_i = 0\Bigr]

with the :math:`h_i` of a :class:`~bayesvm.likelihoods.dual.Dual`. The equality constraint belongs to machines with a
bias :math:`f = K a + b`; the Gaussian process machines have none. With :math:`D^\pm = K a + h'(a^\pm)` a point is
optimal if :math:`\max_i D_i^- \le \min_i D_i^+` (Thesis (C.7), (C.18)), or without the constraint
:math:`D_i^- \le 0 \le D_i^+` for every i (Thesis (4.33), (5.31)). The *gap* by which this fails is what ``tol`` bounds.

The work is native (:mod:`bayesvm._core.working_set`); it is done in slices of a fraction of a second, between which
Python runs: signals are served, progress is reported, other threads can ask it to stop.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from bayesvm._core import working_set as native
from bayesvm.likelihoods.dual import Dual
from bayesvm.solvers.base import Status
from bayesvm.typing import Vector

#: Seconds of native work between two returns to Python.
SLICE = 0.1

#: Largest number of steps per row: few rows with a Gram matrix of large entries would else keep it busy for minutes.
SWEEPS = 20_000
_STATUS = {1: Status.CONVERGED, 2: Status.STALLED, 3: Status.MAX_ITER}


@dataclasses.dataclass(frozen=True)
class DualResult:
    r"""A solution of the dual problem."""

    alpha: Vector  #: Coefficients :math:`a`; exactly zero for samples that are not support vectors; shape (n,).
    f: Vector  #: :math:`K a`; shape (n,).
    #: :math:`\max_i D_i^-` and :math:`\min_i D_i^+`: the multiplier of the constraint lies between them at the optimum.
    multiplier: tuple[float, float]
    gap: float  #: Violation of the optimality conditions.
    objective: float  #: Value of the dual objective.
    n_iter: int  #: Steps, each of one or two variables.
    status: Status  #: How the solver stopped.

    @property
    def bias(self) -> float:
        """The middle of the interval that the optimality conditions leave to the bias, Thesis C.1."""
        low, high = self.multiplier
        return -0.5 * (low + high)


@dataclasses.dataclass(frozen=True)
class WorkingSetProgress:
    """Where a run is: gap, gap asked for, steps so far, variables that are not set aside."""

    gap: float
    tol: float
    n_iter: int
    active: int


class WorkingSetRun:
    """A dual problem on its way to the optimum.

    It can be stopped at any time (an exception of the caller, KeyboardInterrupt) and be continued by :meth:`advance`;
    ``alpha`` is a feasible point throughout.
    """

    def __init__(self, solver: native.Solver, tol: float) -> None:
        self._solver = solver
        self._code = 0
        self.tol = tol

    @property
    def done(self) -> bool:
        """Whether the solver has stopped."""
        return self._code != 0

    @property
    def alpha(self) -> Vector:
        """The coefficients so far."""
        return self._solver.alpha

    def progress(self) -> WorkingSetProgress:
        """Return where the run is."""
        return WorkingSetProgress(self._solver.gap, self.tol, self._solver.iterations, self._solver.active)

    def advance(self, seconds: float = SLICE) -> bool:
        """Work for about the given time; return whether the solver has stopped."""
        if not self.done:
            self._code = self._solver.run(seconds)
        return self.done

    def sharpen(self, tol: float) -> None:
        """Ask for a smaller gap; the run goes on from where it is."""
        self.tol = tol
        self._solver.set_tol(tol)
        if self._code == 1:
            self._code = 0

    def finish(self, callback: Callable[[WorkingSetProgress], None] | None = None) -> DualResult:
        """Advance to the end, with a call of ``callback`` after every slice, and return the result."""
        while not self.advance():
            if callback is not None:
                callback(self.progress())
        return self.result()

    def result(self) -> DualResult:
        """Return the result of a run that has stopped."""
        s = self._solver
        return DualResult(s.alpha, s.gradient, s.multiplier, s.gap, s.objective, s.iterations, _STATUS[self._code])


@dataclasses.dataclass(frozen=True)
class WorkingSet:
    """Options of the working-set method.

    Parameters
    ----------
    tol : float
        Largest gap.
    max_iter : int
        Largest number of steps; ``SWEEPS`` times the number of rows, if that is less.
    cache_bytes : int
        Memory for columns of K; two columns are kept in any case.
    shrink : bool
        Whether variables that seem settled are set aside for a while.
    """

    tol: float = 1e-3
    max_iter: int = 10_000_000
    cache_bytes: int = 500 * 2**20
    shrink: bool = True

    def start(
        self, columns: native.Columns, dual: Dual, *, equality: bool, start: Vector | None = None
    ) -> WorkingSetRun:
        """Return a run from the feasible point ``start`` (zero if None)."""
        begin = np.zeros_like(dual.target) if start is None else np.clip(start, dual.lower, dual.upper)
        target, kink, bend, weight, lower, upper = (
            np.ascontiguousarray(getattr(dual, f.name), dtype=float) for f in dataclasses.fields(dual)
        )
        steps = min(self.max_iter, SWEEPS * dual.target.size)
        solver = native.Solver(
            columns, target, kink, bend, weight, lower, upper, begin,
            equality=equality, shrink=self.shrink, tol=self.tol, max_iter=steps, cache_bytes=self.cache_bytes,
        )  # fmt: skip
        return WorkingSetRun(solver, self.tol)


__all__ = ["DualResult", "WorkingSet", "WorkingSetProgress", "WorkingSetRun"]
