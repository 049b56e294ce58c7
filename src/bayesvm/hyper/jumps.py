r"""Maximising an evidence that jumps, by predicting its jumps.

Near its optimum an evidence that jumps is a sawtooth: within a standard deviation of :math:`\theta` it varies by some
nats, and a quasi-Newton step, which knows nothing of the jumps, ends on some tooth. Here every step is chosen among
hundreds by what the last evaluation predicts (:mod:`bayesvm.hyper.outlook`), jumps included, as in a trust region: the
steps may go as far, and may move as many rows into other zones, as the predictions have held so far. The warm start of
an evaluation is the predicted mode, in which the right rows have curvature, so that it takes one or two factorisations.
Where no step promises a gain, the search hops: it takes the best of the steps that move several rows, whether it gains
or not, and climbs from there. The best point seen is the result.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence

import numpy as np

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper.bfgs import SearchStatus, on_grid
from bayesvm.hyper.interrupts import interrupt_was_kept, keep_this_interrupt, no_interrupt_lost
from bayesvm.hyper.multistart import Best, Evaluator, Maximizer, Maximum, StartRecord, StartState
from bayesvm.hyper.objective import Evaluation, EvidenceObjective
from bayesvm.hyper.outlook import Outlook
from bayesvm.typing import Vector

#: Steps that are looked at before each evaluation.
CANDIDATES = 400
#: Predicted gain, in nats, below which a climb has ended.
LEAST_GAIN = 0.05
#: Share of the rows that a step may move into other zones at first, and at least so many.
SHARE, ROWS = 0.03, 6.0
#: Radius of a climb at its beginning and at most, and of a hop, in standard deviations of theta.
RADIUS, LARGEST, HOP = 1.0, 10.0, 3.0
#: Share of that number of rows that a hop moves at least and at most.
HOPPED = (0.5, 1.5)
#: A search that is this many nats below the best point goes back to it.
LOST = 15.0
#: Share of the predicted gain above which the next step may go farther, and below which it is shorter.
GOOD, BAD = 0.7, 0.25
#: Hops in vain after which the search ends.
PATIENCE = 5
#: Evaluations of the climb from each start; the best goes on.
EACH = 10


def climb(
    maximizer: Maximizer, objective: EvidenceObjective, starts: Sequence[Vector], latent: Vector | None, budget: int
) -> Maximum:
    """Return the best point that climbs from the given starts, and hops from the best of them, have seen.

    Parameters
    ----------
    maximizer : Maximizer
        Its callback is called; its largest number of evaluations holds, if it is smaller than ``budget``.
    objective : EvidenceObjective
        By Laplace's method.
    starts : sequence of array
        Where the climbs begin.
    latent : array or None
        Warm start of the first evaluations.
    budget : int
        Evaluations in all.
    """
    budget = 1 if interrupt_was_kept() else max(1, min(budget, maximizer.max_evaluations))
    walk, began, status = _Walk(objective, maximizer, starts[0]), time.perf_counter(), SearchStatus.LIMIT
    try:
        with no_interrupt_lost():
            for start in starts:
                if walk.spent < budget and walk.begin(start, latent):
                    walk.climb(min(budget, walk.spent + EACH))
            walk.return_to_best()
            hops, value = 0, -np.inf
            while walk.climb(budget):
                status = SearchStatus.REFINED
                hops, value = (hops, value) if walk.found.value < value + LEAST_GAIN else (0, walk.found.value)
                if hops >= PATIENCE or not walk.hop():
                    break
                hops += 1
    except KeyboardInterrupt:
        if walk.best is None or not keep_this_interrupt():
            raise
        status = SearchStatus.INTERRUPTED
    best = walk.found
    record = StartRecord(starts[0], best.theta, best.value, walk.spent, status, time.perf_counter() - began)
    return Maximum(best.theta, best.value, best.evidence.latent, status, (record,))


class _Walk:
    """A point on its way, how far its steps may go, and the best point seen."""

    def __init__(self, objective: EvidenceObjective, maximizer: Maximizer, start: Vector) -> None:
        self._objective, self._rng = objective, np.random.default_rng(0)
        self._evaluate = Evaluator(objective, StartState(0, start), maximizer, Best())
        self._rows = max(ROWS, SHARE * float(np.sum(objective.likelihood.copies * np.ones(objective.n_rows))))
        self._problem = ""
        self._here: Evaluation
        self._outlook: Outlook | None = None
        self._radius, self._most = RADIUS, self._rows
        self.best: Evaluation | None = None

    @property
    def spent(self) -> int:
        """Evaluations so far."""
        return self._evaluate.spent

    @property
    def found(self) -> Evaluation:
        """The best point seen; an error if the evidence could be computed at none of the starts."""
        if self.best is None:
            raise NotPositiveDefiniteError(self._problem)
        return self.best

    def begin(self, theta: Vector, latent: Vector | None) -> bool:
        """Go to a start; return whether the evidence could be computed there."""
        bounds = self._objective.bounds
        here = self._at(np.clip(theta, bounds[:, 0], bounds[:, 1]), latent)
        if here is not None:
            self._move(here)
        return here is not None

    def return_to_best(self) -> None:
        """Go to the best point seen."""
        self._move(self.found)

    def climb(self, budget: int) -> bool:
        """Take steps that gain; return whether none is left, as far as can be predicted, within the budget."""
        while self.spent < budget:
            choice = self._choose(self._radius, 0.0, self._most)
            if choice.gain < LEAST_GAIN:
                return True
            after = self._after(choice.step)
            gain = -np.inf if after is None else after.value - self._here.value
            if gain < BAD * choice.gain:
                self._radius, self._most = 0.4 * self._radius, max(0.5 * min(self._most, choice.rows), FEWEST)
            elif gain > GOOD * choice.gain:
                self._radius, self._most = min(1.5 * self._radius, LARGEST), 1.5 * self._most
            if after is not None and gain > 0.0:
                self._here, self._outlook = after, None
            elif self._radius < SHORTEST:
                return True
        return False

    def hop(self) -> bool:
        """Take the best step that moves several rows, even if it loses; return whether there is one."""
        if self._here.value < self.found.value - LOST:
            self.return_to_best()
        least, most = (share * self._rows for share in HOPPED)
        radius = HOP
        for _ in range(TRIALS):
            choice = self._choose(radius, least, most)
            if np.isfinite(choice.gain):
                after = self._after(choice.step)
                if after is not None:
                    self._move(after)
                return after is not None
            radius *= 2.0 if choice.typical < least else 0.5
        return False

    def _move(self, here: Evaluation) -> None:
        """Go to a point, with steps as far as at a beginning."""
        self._here, self._outlook, self._radius, self._most = here, None, RADIUS, self._rows

    def _choose(self, radius: float, least: float, most: float) -> _Choice:
        """Return the step with the best prospects."""
        if self._outlook is None:
            self._outlook = Outlook.of(self._objective, self._here)
        theta = self._here.theta
        steps = on_grid(theta + self._outlook.steps(self._rng, CANDIDATES, radius), self._objective.bounds) - theta
        gains, rows = self._outlook.gains(steps, least, most)
        k = int(np.argmax(gains))
        return _Choice(float(gains[k]), steps[k], float(rows[k]), float(np.mean(rows)))

    def _after(self, step: Vector) -> Evaluation | None:
        """Evaluate a step from the mode that is predicted; None if the evidence cannot be computed."""
        assert self._outlook is not None
        return self._at(on_grid(self._here.theta + step, self._objective.bounds), self._outlook.latent(step))

    def _at(self, theta: Vector, latent: Vector | None) -> Evaluation | None:
        point = self._evaluate(theta, latent)
        if not np.isfinite(point.value):
            self._problem = self._problem or point.problem
            return None
        here = self._evaluate.last
        assert isinstance(here, Evaluation)
        if self.best is None or here.value > self.best.value:
            self.best = here
        return here


@dataclasses.dataclass(frozen=True)
class _Choice:
    """A step, its predicted gain, the rows that it moves, and those that a typical step moves."""

    gain: float
    step: Vector
    rows: float
    typical: float


#: Least radius of a climb, and least number of rows that its steps may move.
SHORTEST, FEWEST = 0.02, 3.0
#: Radii that are tried for a hop.
TRIALS = 10

__all__ = ["climb"]
