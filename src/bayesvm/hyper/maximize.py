r"""Maximising the evidence from several starts: the one maximiser of all estimators.

All starts climb in rounds of a few evaluations. Between rounds, and only there, starts that cannot catch up are abandoned
and starts that reached another's optimum are merged; so the result does not depend on which start happened to run first,
however many run at the same time. The best point seen is returned, also when the user interrupts.
"""

from __future__ import annotations

import dataclasses
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper.ascent import Climb, ClimbStatus, Point, advance, begin
from bayesvm.inference.base import Evidence
from bayesvm.solvers.base import Status
from bayesvm.typing import Matrix, Vector

logger = logging.getLogger(__name__)


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
    status : ClimbStatus
        How it ended.
    seconds : float
        Time spent in evaluations.
    H : array or None
        Inverse Hessian of minus the value at ``end``, as far as the climb learnt it.
    """

    start: Vector
    end: Vector
    value: float
    evaluations: int
    status: ClimbStatus
    seconds: float
    H: Matrix | None = None


@dataclasses.dataclass(frozen=True)
class Tick:
    """What a callback is told after each evaluation."""

    start: int
    evaluation: int
    theta: Vector
    value: float
    best: float


@dataclasses.dataclass(frozen=True)
class Maximum:
    """Result of the maximisation.

    Attributes
    ----------
    theta, value : array, float
        The best point seen.
    latent : array
        Warm start for an evaluation at ``theta``.
    status : ClimbStatus
        How the best start ended.
    history : tuple of StartRecord
        One record per start, in the order given.
    """

    theta: Vector
    value: float
    latent: Vector | None
    status: ClimbStatus
    history: tuple[StartRecord, ...]

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped it before it had ended."""
        return any(record.status is ClimbStatus.INTERRUPTED for record in self.history)


@dataclasses.dataclass(frozen=True)
class Maximizer:
    """Options of the maximisation.

    Parameters
    ----------
    tol : float
        Predicted gain per hyperparameter, in nats, below which a climb has converged. The evidence at the end is then below
        its local maximum by about ``tol`` times the number of hyperparameters, where half a nat each is the size of what the
        data leave open.
    max_evaluations : int
        Number of evaluations per start after which no further step is begun.
    n_jobs : int or None
        Starts that climb at the same time (threads, one BLAS thread each); as in joblib.
    callback : callable, optional
        Called with a :class:`Tick` after every evaluation, possibly from several threads.
    """

    tol: float = 3e-3
    max_evaluations: int = 500
    n_jobs: int | None = None
    callback: Callable[[Tick], None] | None = None

    def maximize(
        self,
        objective: Objective,
        starts: Sequence[Vector],
        *,
        metrics: Sequence[Matrix | None] | None = None,
        latent: Vector | None = None,
    ) -> Maximum:
        """Climb from every start and return the best point seen.

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
        """
        if not starts:
            raise ValueError("maximize: expected at least one start, found none")
        pairs = zip(starts, metrics or [None] * len(starts), strict=True)
        runs = [Run(i, np.asarray(start, dtype=float), H, latent) for i, (start, H) in enumerate(pairs)]
        best = Best()
        try:
            self._rounds(objective, runs, best)
        except KeyboardInterrupt:
            if best.point is None:
                raise
            logger.warning("interrupted; the best point so far is kept (value %.6g)", best.point.value)
            runs[:] = [best.caught_up(run).ended(ClimbStatus.INTERRUPTED) if run.running else run for run in runs]
        if best.point is None:
            raise NotPositiveDefiniteError(runs[0].point.problem)
        history = tuple(run.record() for run in runs)
        return Maximum(best.point.theta, best.point.value, best.point.latent, history[best.start].status, history)

    def _rounds(self, objective: Objective, runs: list[Run], best: Best) -> None:
        """Let all running starts climb, round after round; ``runs`` and ``best`` are kept up to date for an interrupt."""
        alone = joblib.effective_n_jobs(self.n_jobs) == 1
        with (
            threadpool_limits(limits=None if alone else 1),
            joblib.Parallel(n_jobs=self.n_jobs, prefer="threads") as pool,
        ):
            while active := [run for run in runs if run.running]:
                moved = pool(joblib.delayed(climb_round)(objective, run, self, best) for run in active)
                for old, new in zip(active, moved):
                    best.offer(new.index, new.point, new.evaluations)
                    runs[new.index] = new
                    logger.debug(
                        "start %d: %.6g -> %.6g, %s", new.index, old.point.value, new.point.value, new.status.name
                    )
                runs[:] = thinned_out(runs, active, self.tol)


#: Evaluations per round.
ROUND = 8


@dataclasses.dataclass(frozen=True)
class Run:
    """One start on its way: nothing but values, so that a round can be computed in any thread or process."""

    index: int
    start: Vector
    H: Matrix | None = None
    latent: Vector | None = None
    climb: Climb | None = None
    evaluations: int = 0
    seconds: float = 0.0

    @property
    def point(self) -> Point:
        """Best point so far."""
        if self.climb is None:
            return Point(self.start, -np.inf, np.zeros_like(self.start), None, "not evaluated")
        return self.climb.point

    @property
    def status(self) -> ClimbStatus:
        """How the climb stands."""
        return ClimbStatus.RUNNING if self.climb is None else self.climb.status

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        return self.status is ClimbStatus.RUNNING

    def ended(self, status: ClimbStatus) -> Run:
        """Return the run with another status (a run that never began has failed to begin, and keeps no climb)."""
        climb = self.climb or Climb(self.point, np.eye(self.start.size), True, 0, status)
        return dataclasses.replace(self, climb=dataclasses.replace(climb, status=status))

    def record(self) -> StartRecord:
        """Return what the history keeps."""
        point = self.point
        H = None if self.climb is None or self.climb.fresh else self.climb.H
        return StartRecord(self.start, point.theta, point.value, self.evaluations, self.status, self.seconds, H)


class Best:
    """Best point seen by any start; ties go to the earlier start, so that the order of threads does not matter.

    Copies that travel to another process are independent; what they saw comes back with the :class:`Run`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.point: Point | None = None
        self.start = -1
        self._by_start: dict[int, tuple[Point, int]] = {}

    def __reduce__(self) -> tuple[type[Best], tuple[()]]:
        return Best, ()

    def offer(self, start: int, point: Point, evaluations: int) -> float:
        """Take note of a point, with how many the start has evaluated so far, and return the best value."""
        with self._lock:
            own = self._by_start.get(start, (point, 0))[0]
            self._by_start[start] = (point if point.value > own.value else own, evaluations)
            if np.isfinite(point.value) and (
                self.point is None or (point.value, -start) > (self.point.value, -self.start)
            ):
                self.point, self.start = point, start
            return -np.inf if self.point is None else self.point.value

    def caught_up(self, run: Run) -> Run:
        """Return a run that was stopped in the middle of a round, with what it had found until then."""
        if run.index not in self._by_start:
            return run
        point, evaluations = self._by_start[run.index]
        climb = Climb(point, np.eye(run.start.size), True, evaluations, ClimbStatus.RUNNING)
        return dataclasses.replace(run, climb=climb, evaluations=evaluations)


def climb_round(objective: Objective, run: Run, options: Maximizer, best: Best) -> Run:
    """Let a start climb for one round and return it."""
    spent, began = run.evaluations, time.perf_counter()

    def evaluate(theta: Vector, latent: Vector | None) -> Point:
        nonlocal spent
        spent += 1
        point = evaluate_point(objective, theta, latent)
        top = best.offer(run.index, point, spent)
        if options.callback is not None:
            options.callback(Tick(run.index, spent, theta, point.value, top))
        return point

    climb = run.climb or begin(evaluate, run.start, objective.bounds, H=run.H, latent=run.latent)
    end = min(run.evaluations + ROUND, options.max_evaluations)
    while climb.status is ClimbStatus.RUNNING and spent < end:
        climb = advance(evaluate, climb, objective.bounds, options.tol * run.start.size)
    if climb.status is ClimbStatus.RUNNING and spent >= options.max_evaluations:
        climb = dataclasses.replace(climb, status=ClimbStatus.LIMIT)
    seconds = run.seconds + time.perf_counter() - began
    return dataclasses.replace(run, climb=climb, evaluations=spent, seconds=seconds)


def evaluate_point(objective: Objective, theta: Vector, latent: Vector | None, *, again: bool = True) -> Point:
    """Evaluate the objective; where it cannot be computed is a place to turn back from, not the end."""
    try:
        result = objective.evaluate(theta, latent)
    except NotPositiveDefiniteError as error:
        logger.info("evidence not computable at theta = %s: %s", np.round(theta, 3), error)
        return Point(theta, -np.inf, np.zeros_like(theta), None, str(error))
    status = result.evidence.status
    if status is Status.MAX_ITER and again:  # some modes take longer: once more, from where it stopped
        return evaluate_point(objective, theta, result.evidence.latent, again=False)
    if status is Status.MAX_ITER:  # far from the mode the value means nothing, and may be far too high
        logger.info("evidence not computable at theta = %s: solver %s", np.round(theta, 3), status.value)
        return Point(theta, -np.inf, np.zeros_like(theta), None, status.value)
    return Point(theta, result.value, result.gradient, result.evidence.latent, "" if status.ok else status.value)


def thinned_out(runs: list[Run], before: list[Run], tol: float) -> list[Run]:
    """Return the runs with those abandoned that cannot catch up, and those merged that reached the leader's optimum.

    ``before`` holds the runs that were active in the last round as they were at its beginning.
    """
    leader = max(runs, key=lambda run: (run.point.value, -run.index))
    if not np.isfinite(leader.point.value):
        return runs
    old_values = {run.index: run.point.value for run in before}
    result = []
    for run in runs:
        new = run
        if run.running and run is not leader:
            gap = leader.point.value - run.point.value
            gain = run.point.value - old_values[run.index]  # inf in the first round
            if np.max(np.abs(run.point.theta - leader.point.theta)) < 0.05 and gap < 10.0 * tol * run.start.size:
                new = run.ended(ClimbStatus.MERGED)
            elif gap > max(2.0, 4.0 * gain):
                new = run.ended(ClimbStatus.ABANDONED)
        result.append(new)
    return result


__all__ = ["Evaluated", "Maximizer", "Maximum", "Objective", "StartRecord", "Tick", "evaluate_point"]
