r"""Maximisation of the evidence by BFGS within bounds, a step at a time.

Problem: maximise :math:`v(\theta)` within bounds, where one evaluation (value and gradient) costs far more than any
algebra in :math:`\theta`, values in nats have an absolute meaning, and v may jump where a point enters or leaves the
support of a loss that is not twice continuously differentiable (Chu2003, footnote 5).

Method: BFGS with the dense inverse Hessian H restricted to the coordinates that no bound blocks, and a largest step
length. A step is accepted only if the value rises, so the last point is the best one seen. A rejected step is not lost:
its gradient tells the curvature along it, H is updated, and the next trial is at most as long as a parabola through the
values allows. The largest step grows again with the steps that succeed. The first step is of at most unit length in
:math:`\theta` (a factor e), and extended while the slope stays. Where no step succeeds, H is reset and steepest ascent
tried; if that fails too, or gains next to nothing before the next reset, the search has stalled at a jump, and says so.
It has converged when the gain that the quadratic model still predicts, :math:`\tfrac12 g^\top H g`, is below ``tol``
nats. H begins as the identity and is not rescaled by the first step, as is usual elsewhere: one nat per squared unit of
a logarithm is about the least curvature that matters, and the long flat directions of an evidence (variance of a
constant, length scales of irrelevant inputs) would otherwise look converged before they were tried.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bayesvm.typing import Matrix, Vector


class SearchStatus(enum.Enum):
    """How a search stands; the value is the message for people."""

    RUNNING = "still rising"
    CONVERGED = "converged: the predicted gain is below the tolerance"
    STALLED = "stalled: no step along the gradient increases the evidence, which may jump here"
    REFINED = "refined: the evidence jumps by more than further steps would gain"
    LIMIT = "stopped at the maximal number of evaluations"
    ABANDONED = "abandoned: too far below the best start to catch up"
    MERGED = "merged: it reached the optimum of another start"
    FAILED = "failed: the evidence could not be computed at the start"
    INTERRUPTED = "interrupted: the best point so far was kept"

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:  # some readers of stored models look for this alone
        return type(self), (self.value,)

    @property
    def ok(self) -> bool:
        """Whether the end point is a local optimum as far as could be told."""
        return self in (SearchStatus.CONVERGED, SearchStatus.STALLED, SearchStatus.REFINED, SearchStatus.MERGED)


@dataclasses.dataclass(frozen=True)
class Point:
    """An evaluated point, without the matrices of the inference.

    Attributes
    ----------
    theta, value, gradient : array, float, array
        Parameters, objective (``-inf``: could not be computed), gradient.
    latent : array
        Warm start for the next evaluation.
    problem : str
        Why the value is ``-inf``, or how the inner solver ended short of convergence; empty if it converged.
    """

    theta: Vector
    value: float
    gradient: Vector
    latent: Vector | None
    problem: str = ""


#: Evaluates a point, starting from the latent values of an earlier one.
Evaluate = Callable[[Vector, "Vector | None"], Point]


#: Largest change of a coordinate in one step.
LARGEST_STEP = 2.0
#: Share of the gain that the slope promises which makes a step acceptable.
SUFFICIENT = 1e-4
#: Steps end on a grid of this width. Equal problems whose evaluations differ by rounding alone (rows in another order,
#: weighted instead of repeated, another number of threads) then take the same steps, not steps that drift apart.
GRID = 2.0**-22
#: Largest number of trials of one step. Halving the largest step leads to the grid in fewer; more are needed only where
#: a gradient is so large that its products are no numbers.
TRIALS = 50
#: How many times as long as the last step the next one may be.
GROWTH = 2.5
#: Share of the gain predicted by H that must be realised between two resets of H.
LEAST_GAIN = 0.1


@dataclasses.dataclass(frozen=True)
class Ascent:
    """State of a ascent.

    Attributes
    ----------
    point : Point
        Best point so far.
    H : array
        Approximate inverse Hessian of minus the value.
    fresh : bool
        Whether H is still the initial guess.
    evaluations : int
        How many evaluations were spent.
    status : SearchStatus
        Whether it goes on.
    longest : float
        Largest change of a coordinate in the next step.
    reset_value : float
        Value at the last reset of H.
    """

    point: Point
    H: Matrix
    fresh: bool
    evaluations: int
    status: SearchStatus
    longest: float = LARGEST_STEP
    reset_value: float = -np.inf


def begin(
    evaluate: Evaluate, theta: Vector, bounds: Matrix, *, H: Matrix | None = None, latent: Vector | None = None
) -> Ascent:
    """Evaluate the start (moved inside the bounds) and return the state.

    ``H`` and ``latent`` may come from the end of a search on a similar function.
    """
    theta = np.clip(theta, bounds[:, 0], bounds[:, 1])
    point = evaluate(theta, latent)
    status = SearchStatus.RUNNING if np.isfinite(point.value) else SearchStatus.FAILED
    if theta.size == 0 and status is SearchStatus.RUNNING:
        status = SearchStatus.CONVERGED
    return Ascent(point, np.eye(theta.size) if H is None else H, H is None, 1, status)


def advance(evaluate: Evaluate, ascent: Ascent, bounds: Matrix, tol: float, *, near: bool = False) -> Ascent:
    """Take one step (one or more evaluations) and return the new state.

    ``near`` says that the search began near its goal: after a reset of H steps are no longer than before it.
    """
    point, g = ascent.point, ascent.point.gradient
    promised = 0.5 * float(g @ _direction(ascent, unblocked(point.theta, g, bounds)))
    if promised < tol:
        return dataclasses.replace(ascent, status=SearchStatus.CONVERGED)
    state, least = ascent, max(tol, LEAST_GAIN * promised)
    while True:
        theta = _trial_point(state, bounds)
        expected = float(g @ (theta - point.theta))
        if expected < 0.1 * tol or state.evaluations >= ascent.evaluations + TRIALS:
            return _without_progress(ascent, point, state.evaluations, least, near=near)
        trial = evaluate(theta, point.latent)
        state = dataclasses.replace(state, evaluations=state.evaluations + 1)
        if trial.value >= point.value + SUFFICIENT * expected:
            break
        state = _after_rejection(state, trial, expected)
    first = state.evaluations == ascent.evaluations + 1
    if ascent.fresh and first:
        trial, extra = _extended_step(evaluate, point, trial, bounds)
        state = dataclasses.replace(state, evaluations=state.evaluations + extra)
    if not first and trial.value < point.value + 0.1 * tol:  # small steps along a jump
        return _without_progress(ascent, trial, state.evaluations, least, near=near)
    state = _updated(state, trial)
    longest = GROWTH * float(np.max(np.abs(trial.theta - point.theta)))
    longest = min(LARGEST_STEP, max(longest, ascent.longest) if first else longest)
    return dataclasses.replace(state, point=trial, longest=longest)


def unblocked(theta: Vector, gradient: Vector, bounds: Matrix) -> NDArray[np.bool_]:
    """Return which coordinates are not held by a bound that the gradient points beyond."""
    low = (theta <= bounds[:, 0]) & (gradient < 0.0)
    high = (theta >= bounds[:, 1]) & (gradient > 0.0)
    return np.asarray(~(low | high))


def _trial_point(ascent: Ascent, bounds: Matrix) -> Vector:
    """Return where the next trial is to be.

    A coordinate that would cross a bound goes to it, if that is uphill, or stays; H is then restricted to the others,
    so that every part of the step is uphill.
    """
    theta, g = ascent.point.theta, ascent.point.gradient
    free, held = unblocked(theta, g, bounds), theta
    while True:
        step = _direction(ascent, free)
        step *= min(1.0, ascent.longest / max(float(np.max(np.abs(step))), np.finfo(float).tiny))
        aim = np.where(free, theta + step, held)
        inside = np.clip(aim, bounds[:, 0], bounds[:, 1])
        crossing = free & (aim != inside)
        if not crossing.any():
            return on_grid(aim, bounds)
        held = np.where(crossing, np.where(step * g > 0.0, inside, theta), held)
        free = free & ~crossing


def on_grid(theta: Vector, bounds: Matrix) -> Vector:
    """Return the nearest point of the grid, within the bounds."""
    return np.clip(np.round(theta / GRID) * GRID, bounds[:, 0], bounds[:, 1])


def _without_progress(ascent: Ascent, point: Point, evaluations: int, least: float, *, near: bool) -> Ascent:
    """Return the state at a point where steps along H gain nothing.

    Steepest ascent is tried next, unless it was tried last, or the gain since the last reset of H is below ``least``.
    """
    in_vain = ascent.fresh or point.value - ascent.reset_value < least
    status = SearchStatus.STALLED if in_vain else SearchStatus.RUNNING
    longest = ascent.longest if near else LARGEST_STEP
    return Ascent(point, ascent.H, True, evaluations, status, longest, reset_value=point.value)


def _direction(ascent: Ascent, free: NDArray[np.bool_]) -> Vector:
    """Return the step H g in the free coordinates, of at most unit length if H is still the initial guess."""
    g = np.where(free, ascent.point.gradient, 0.0)
    if ascent.fresh:
        return np.asarray(g / max(1.0, float(np.sqrt(g @ g))))
    return np.where(free, ascent.H @ g, 0.0)


def _after_rejection(ascent: Ascent, trial: Point, expected: float) -> Ascent:
    """Return the state after a rejected trial: a shorter largest step, and H with the curvature along the trial."""
    length = float(np.max(np.abs(trial.theta - ascent.point.theta)))
    if not np.isfinite(trial.value):
        return dataclasses.replace(ascent, longest=0.2 * length)
    # maximum of the parabola through value, slope and trial, as a share of the step
    vertex = 0.5 * expected / (expected + ascent.point.value - trial.value)
    return dataclasses.replace(_updated(ascent, trial), longest=length * float(np.clip(vertex, 0.1, 0.5)))


def _extended_step(evaluate: Evaluate, point: Point, trial: Point, bounds: Matrix) -> tuple[Point, int]:
    """Return the best point farther along a first step whose slope stays, and the evaluations spent."""
    direction, t, spent = trial.theta - point.theta, 1.0, 0
    while t < 8.0 and trial.gradient @ direction > 0.5 * (point.gradient @ direction):
        t *= 2.5
        farther = evaluate(on_grid(point.theta + t * direction, bounds), trial.latent)
        spent += 1
        if not farther.value > trial.value:
            break
        trial = farther
    return trial, spent


def _updated(ascent: Ascent, trial: Point) -> Ascent:
    """Return the state with the BFGS update of H for the step to a trial, if the gradient falls along it.

    Coordinates that a bound held back do not count: H must be right for the others alone.
    """
    s = trial.theta - ascent.point.theta
    y = np.where(s == 0.0, 0.0, ascent.point.gradient - trial.gradient)
    sy = float(s @ y)
    if sy <= 1e-8 * float(np.sqrt((s @ s) * (y @ y))):
        return ascent
    H = np.eye(s.size) if ascent.fresh else ascent.H
    Hy = H @ y
    H = H + (1.0 + float(y @ Hy) / sy) / sy * np.outer(s, s) - (np.outer(Hy, s) + np.outer(s, Hy)) / sy
    return dataclasses.replace(ascent, H=H, fresh=False)


__all__ = ["Ascent", "Evaluate", "Point", "SearchStatus", "advance", "begin", "on_grid", "unblocked"]
