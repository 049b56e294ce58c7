r"""BFGS from several starts: the one maximiser of all estimators.

All starts advance in rounds of a few evaluations. Between rounds, and only there, starts that cannot catch up are
abandoned and starts that reached another's optimum are merged; so the result does not depend on which start happened to
run first, however many run at the same time. The best point seen is returned; an interrupt is raised, or ends the
search where that was asked for (:mod:`bayesvm.hyper.interrupts`).
"""

from __future__ import annotations

import dataclasses
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol, Self

import joblib
import numpy as np

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper.bfgs import Ascent, Point, SearchStatus, advance, begin
from bayesvm.hyper.interrupts import Stop, interrupt_was_kept, keep_this_interrupt, no_interrupt_lost
from bayesvm.inference.base import Evidence
from bayesvm.linalg.blas_threads import one_blas_thread
from bayesvm.solvers.base import Status
from bayesvm.typing import Matrix, Vector

logger = logging.getLogger(__name__)

#: Evaluations per round, and while starts are screened.
ROUND = 8
SCREENING = 3


class Evaluated(Protocol):
    """What the maximiser reads of an evaluation: value, gradient, and the evidence with its status and warm start."""

    @property
    def value(self) -> float: ...  # noqa: D102

    @property
    def gradient(self) -> Vector: ...  # noqa: D102

    @property
    def evidence(self) -> Evidence: ...  # noqa: D102


class Objective(Protocol):
    """What can be maximised: a function of theta with its gradient, within bounds."""

    @property
    def bounds(self) -> Matrix:
        """Bounds of theta, one row (low, high) per entry."""

    def evaluate(self, theta: Vector, warm_start: Vector | None = None) -> Evaluated:
        """Return value, gradient and evidence at ``theta``."""


@dataclasses.dataclass(frozen=True)
class StartRecord:
    """History of one start.

    Attributes
    ----------
    start, end : array
        First and best theta.
    value : float
        Value at ``end`` (log evidence plus log hyperprior).
    evaluations : int
        Number of evaluations of the evidence with its gradient.
    status : SearchStatus
        How it ended.
    seconds : float
        Time spent in evaluations.
    H : array or None
        Inverse Hessian of minus the value at ``end``, as far as the search learnt it.
    """

    start: Vector
    end: Vector
    value: float
    evaluations: int
    status: SearchStatus
    seconds: float
    H: Matrix | None = None


@dataclasses.dataclass(frozen=True)
class SearchProgress:
    """What a callback is told after each evaluation: which start, its evaluations so far, theta, value, best value.

    ``candidate`` is the model that is being tried, where several are.
    """

    start: int
    evaluation: int
    theta: Vector
    value: float
    best: float
    candidate: str = ""


@dataclasses.dataclass(frozen=True)
class Maximum:
    """Result of the maximisation.

    Attributes
    ----------
    theta, value : array, float
        The best point seen.
    latent : array
        Warm start for an evaluation at ``theta``.
    status : SearchStatus
        How the best start ended.
    history : tuple of StartRecord
        One record per start, in the order given.
    """

    theta: Vector
    value: float
    latent: Vector | None
    status: SearchStatus
    history: tuple[StartRecord, ...]

    @classmethod
    def at(cls, theta: Vector, value: float, latent: Vector | None) -> Maximum:
        """Return the result of a search that had nothing to vary: the given point, evaluated once."""
        record = StartRecord(theta, theta, value, 1, SearchStatus.CONVERGED, 0.0)
        return cls(theta, value, latent, SearchStatus.CONVERGED, (record,))

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped it before it had ended."""
        records = (record.status for record in self.history)
        return SearchStatus.INTERRUPTED in (self.status, *records)

    def as_interrupted(self) -> Self:
        """Return the same result of a search that the user stopped."""
        return dataclasses.replace(self, status=SearchStatus.INTERRUPTED)


@dataclasses.dataclass(frozen=True)
class Maximizer:
    """Options of the maximisation.

    Parameters
    ----------
    tol : float
        Predicted gain per hyperparameter, in nats, below which a search has converged. The evidence at the end is then
        below its local maximum by about ``tol`` times the number of hyperparameters, where half a nat each is the size
        of what the data leave open.
    max_evaluations : int
        Number of evaluations per start after which no further step is begun.
    n_jobs : int or None
        Starts that advance at the same time (threads, one BLAS thread each); as in joblib.
    callback : callable, optional
        Called with a :class:`SearchProgress` after every evaluation, possibly from several threads.
    screening : bool
        Whether rounds are short and the lower half of the starts is abandoned after each: for a function that has as a
        rule one optimum.
    near : bool
        Whether the starts are near their goals, so that no long step is tried where the evidence jumps.
    """

    tol: float = 3e-3
    max_evaluations: int = 500
    n_jobs: int | None = None
    callback: Callable[[SearchProgress], None] | None = None
    screening: bool = False
    near: bool = False

    def maximize(
        self,
        objective: Objective,
        starts: Sequence[Vector],
        *,
        metrics: Sequence[Matrix | None] | None = None,
        latent: Vector | None = None,
    ) -> Maximum:
        """Search from every start and return the best point seen.

        Parameters
        ----------
        objective : Objective
            What is maximised.
        starts : sequence of array
            Values of theta.
        metrics : sequence of array or None, optional
            The inverse Hessian H to begin with at each start, where it is known from a similar objective.
        latent : array, optional
            Warm start for the first evaluations.

        Raises
        ------
        NotPositiveDefiniteError
            If the evidence could be computed at none of the starts; the message is that of the first failure.
        KeyboardInterrupt
            If the user interrupts, unless :func:`~bayesvm.hyper.interrupts.keep_best_on_interrupt` is in force.
        """
        once = interrupt_was_kept()  # during an earlier search of the same fit
        options = dataclasses.replace(self, max_evaluations=1) if once else self
        states = _first_states(starts, metrics, latent)
        best = Best()
        alone = joblib.effective_n_jobs(self.n_jobs) == 1
        try:
            with one_blas_thread(not alone), no_interrupt_lost():
                while active := [state for state in states if state.running]:
                    if alone:
                        for state in active:
                            states[state.index] = run_round(objective, state, options, best)
                    else:
                        _round_in_threads(objective, states, active, options, best)
                    states[:] = halved(states) if self.screening else pruned(states, active, self.tol)
        except KeyboardInterrupt:
            best.stop.set()
            if not keep_this_interrupt():
                raise
            if best.point is None:  # nothing yet: the starts are evaluated once
                return self.maximize(objective, starts, metrics=metrics, latent=latent).as_interrupted()
            logger.warning("interrupted; the best point so far is kept (value %.6g)", best.point.value)
            states[:] = [best.caught_up(state) for state in states]
        return _result(states, best)


def _first_states(
    starts: Sequence[Vector], metrics: Sequence[Matrix | None] | None, latent: Vector | None
) -> list[StartState]:
    """Return the starts before the first evaluation."""
    if not starts:
        raise ValueError("maximize: expected at least one start, found none")
    pairs = zip(starts, metrics or [None] * len(starts), strict=True)
    return [StartState(i, np.asarray(start, dtype=float), H, latent) for i, (start, H) in enumerate(pairs)]


def _round_in_threads(
    objective: Objective, states: list[StartState], active: Sequence[StartState], options: Maximizer, best: Best
) -> None:
    """Advance the active starts by one round, at the same time."""
    pool = joblib.Parallel(n_jobs=options.n_jobs, prefer="threads")
    for state in pool(joblib.delayed(run_round)(objective, state, options, best) for state in active):
        best.offer(state.index, state.point, state.evaluations)  # what another process saw comes back with the state
        states[state.index] = state


def _result(states: Sequence[StartState], best: Best) -> Maximum:
    """Return the best point with the history of all starts; a search that was interrupted says so."""
    if best.point is None:
        raise NotPositiveDefiniteError(states[0].point.problem)
    history = tuple(state.record() for state in states)
    interrupted = any(record.status is SearchStatus.INTERRUPTED for record in history)
    status = SearchStatus.INTERRUPTED if interrupted else history[best.start].status
    return Maximum(best.point.theta, best.point.value, best.point.latent, status, history)


@dataclasses.dataclass(frozen=True)
class StartState:
    """One start on its way: nothing but values, so that a round can be computed in any thread."""

    index: int
    start: Vector
    H: Matrix | None = None
    latent: Vector | None = None
    ascent: Ascent | None = None
    evaluations: int = 0
    seconds: float = 0.0

    @property
    def point(self) -> Point:
        """Best point so far."""
        if self.ascent is None:
            return Point(self.start, -np.inf, np.zeros_like(self.start), None, "not evaluated")
        return self.ascent.point

    @property
    def status(self) -> SearchStatus:
        """How the search stands."""
        return SearchStatus.RUNNING if self.ascent is None else self.ascent.status

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        return self.status is SearchStatus.RUNNING

    def ended(self, status: SearchStatus) -> StartState:
        """Return the state with another status (a start that was never evaluated keeps its first point)."""
        ascent = self.ascent or Ascent(self.point, np.eye(self.start.size), True, 0, status)
        return dataclasses.replace(self, ascent=dataclasses.replace(ascent, status=status))

    def record(self) -> StartRecord:
        """Return what the history keeps."""
        point = self.point
        H = None if self.ascent is None or self.ascent.fresh else self.ascent.H
        return StartRecord(self.start, point.theta, point.value, self.evaluations, self.status, self.seconds, H)


class Best:
    """Best point seen by any start; ties go to the earlier start, so that the order of threads does not matter.

    Copies that travel to another process are independent. Once ``stop`` is set no further point is taken, and threads
    that are still evaluating end.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.point: Point | None = None
        self.start = -1
        self.stop = Stop()
        self._by_start: dict[int, tuple[Point, int]] = {}

    def __reduce__(self) -> tuple[type[Best], tuple[()]]:
        return Best, ()

    def offer(self, start: int, point: Point, evaluations: int) -> float:
        """Take note of a point, with how many the start has evaluated so far, and return the best value."""
        with self._lock:
            self.stop.check()
            own = self._by_start.get(start, (point, 0))[0]
            self._by_start[start] = (point if point.value > own.value else own, evaluations)
            if np.isfinite(point.value) and (
                self.point is None or (point.value, -start) > (self.point.value, -self.start)
            ):
                self.point, self.start = point, start
            return -np.inf if self.point is None else self.point.value

    def caught_up(self, state: StartState) -> StartState:
        """Return a start after an interrupt: one that was running has ended with what it had found until then."""
        if not state.running:
            return state
        if state.index in self._by_start:
            point, evaluations = self._by_start[state.index]
            ascent = Ascent(point, np.eye(state.start.size), True, evaluations, SearchStatus.RUNNING)
            state = dataclasses.replace(state, ascent=ascent, evaluations=evaluations)
        return state.ended(SearchStatus.INTERRUPTED)


class Evaluator:
    """Evaluates an objective for one start: counts, keeps the best point, tells the callback.

    ``last`` is the last evaluation with all it gave, None if the evidence could not be computed.
    """

    def __init__(self, objective: Objective, state: StartState, options: Maximizer, best: Best) -> None:
        self._objective, self._index, self._callback, self._best = objective, state.index, options.callback, best
        self.spent = state.evaluations
        self.last: Evaluated | None = None

    def __call__(self, theta: Vector, latent: Vector | None) -> Point:
        """Return the point at theta; where the evidence cannot be computed, its value is ``-inf``."""
        self.spent += 1
        self.last = None
        try:
            result = self._objective.evaluate(theta, latent)
            if result.evidence.status is Status.MAX_ITER:  # some modes take longer: once more, from where it stopped
                result = self._objective.evaluate(theta, result.evidence.latent)
        except NotPositiveDefiniteError as error:
            point = _failed(theta, str(error))
        else:
            point, self.last = _as_point(theta, result), result
        top = self._best.offer(self._index, point, self.spent)
        if self._callback is not None:
            self._callback(SearchProgress(self._index, self.spent, theta, point.value, top))
        return point


def evaluate_point(objective: Objective, theta: Vector, latent: Vector | None) -> Point:
    """Return the point at theta; where the evidence cannot be computed its value is ``-inf``, so a step is rejected."""
    return Evaluator(objective, StartState(0, theta), Maximizer(), Best())(theta, latent)


def _as_point(theta: Vector, result: Evaluated) -> Point:
    status = result.evidence.status
    if status is Status.MAX_ITER:  # far from the mode the value means nothing, and may be far too high
        return _failed(theta, status.value)
    return Point(theta, result.value, result.gradient, result.evidence.latent, "" if status.ok else status.value)


def _failed(theta: Vector, problem: str) -> Point:
    logger.info("evidence not computable at theta = %s: %s", np.round(theta, 3), problem)
    return Point(theta, -np.inf, np.zeros_like(theta), None, problem)


def run_round(objective: Objective, state: StartState, options: Maximizer, best: Best) -> StartState:
    """Advance a start by one round of evaluations and return it."""
    began = time.perf_counter()
    evaluate = Evaluator(objective, state, options, best)
    bounds, tol = objective.bounds, options.tol * state.start.size
    ascent = state.ascent or begin(evaluate, state.start, bounds, H=state.H, latent=state.latent)
    end = min(state.evaluations + (SCREENING if options.screening else ROUND), options.max_evaluations)
    while ascent.status is SearchStatus.RUNNING and evaluate.spent < end:
        ascent = advance(evaluate, ascent, bounds, tol, near=options.near)
    if ascent.status is SearchStatus.RUNNING and evaluate.spent >= options.max_evaluations:
        ascent = dataclasses.replace(ascent, status=SearchStatus.LIMIT)
    seconds = state.seconds + time.perf_counter() - began
    return dataclasses.replace(state, ascent=ascent, evaluations=evaluate.spent, seconds=seconds)


def halved(states: Sequence[StartState]) -> list[StartState]:
    """Return the starts with the lower half of those that were not abandoned before abandoned, if still running."""
    left = [state for state in states if state.status is not SearchStatus.ABANDONED]
    order = sorted(left, key=lambda state: (-state.point.value, state.index))
    lower = {state.index for state in order[(len(order) + 1) // 2 :] if state.running}
    return [state.ended(SearchStatus.ABANDONED) if state.index in lower else state for state in states]


def pruned(states: Sequence[StartState], before: Sequence[StartState], tol: float) -> list[StartState]:
    """Return the starts: abandoned if they cannot catch up, merged if they reached the best one's optimum.

    ``before`` holds the starts that were active in the last round as they were at its beginning.
    """
    leader = max(states, key=lambda state: (state.point.value, -state.index))
    if not np.isfinite(leader.point.value):
        return list(states)
    old_values = {state.index: state.point.value for state in before}
    result = []
    for state in states:
        new = state
        if state.running and state is not leader:
            gap = leader.point.value - state.point.value
            gain = state.point.value - old_values[state.index]  # inf in the first round
            if np.max(np.abs(state.point.theta - leader.point.theta)) < 0.05 and gap < 10.0 * tol * state.start.size:
                new = state.ended(SearchStatus.MERGED)
            elif gap > max(2.0, 4.0 * gain):
                new = state.ended(SearchStatus.ABANDONED)
        result.append(new)
    return result


__all__ = ["Evaluated", "Maximizer", "Maximum", "Objective", "SearchProgress", "StartRecord", "evaluate_point"]
