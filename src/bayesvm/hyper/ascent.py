r"""One climb of the evidence: bounded quasi-Newton ascent that can be stopped and resumed between any two steps.

Problem: maximise :math:`v(\theta)` within bounds, where one evaluation (value and gradient) costs far more than any algebra in
:math:`\theta`, values in nats have an absolute meaning, and v may jump downwards or upwards where a point enters or leaves
the support of a loss that is not twice continuously differentiable (Chu2003, footnote 5).

Method: BFGS with the dense inverse Hessian H restricted to the coordinates that no bound blocks, and a limit on how far a step
may reach. A step is accepted only if the value rises, so the last point is the best one seen. A step that goes too far is not
lost: the gradient there tells the curvature along it, H is updated all the same, and the next trial goes its own way, within
the reach that a parabola through the values allows. The reach grows again with the steps that succeed. The first step is of at
most unit length in :math:`\theta` (a factor e), and extended while the slope stays. Where no step succeeds, H is forgotten and
steepest ascent tried; if that fails too, or wins next to nothing before the next time, the climb has stalled at a jump, and
says so. It has converged when the gain that the quadratic model still predicts, :math:`\tfrac12 g^\top H g`, is below ``tol``
nats. H begins as the identity and is not rescaled by the first step, as is usual elsewhere: one nat per squared unit of a
logarithm is about the least curvature that matters, and the long flat directions of an evidence (variance of a constant,
length scales of irrelevant inputs) would otherwise look converged before they were tried.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bayesvm.typing import Matrix, Vector


class ClimbStatus(enum.Enum):
    """How a climb stands; the value is the message for people."""

    RUNNING = "still climbing"
    CONVERGED = "converged: the predicted gain is below the tolerance"
    STALLED = "stalled: no step along the gradient increases the evidence, which may jump here"
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
        return self in (ClimbStatus.CONVERGED, ClimbStatus.STALLED, ClimbStatus.MERGED)


@dataclasses.dataclass(frozen=True)
class Point:
    """An evaluated point, without the matrices of the inference.

    Attributes
    ----------
    theta, value, gradient : array, float, array
        Where, how high (``-inf``: could not be computed), which way up.
    latent : array
        Warm start for the next evaluation.
    problem : str
        Why the value is ``-inf``, or how the inner solver fell short; empty if all is well.
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
#: Steps end on a grid of this width. Equal problems whose evaluations differ by rounding alone (rows in another order, weighted
#: instead of repeated, another number of threads) then climb by the same steps, and not by steps that drift apart.
GRID = 2.0**-22
#: How many times as far as the last one a step may reach.
WIDENING = 2.5
#: Share of the gain that H promises which must be won between two times it is forgotten.
WORTHWHILE = 0.1


@dataclasses.dataclass(frozen=True)
class Climb:
    """State of a climb.

    Attributes
    ----------
    point : Point
        Best point so far.
    H : array
        Inverse Hessian of minus the value, as far as it is known.
    fresh : bool
        Whether H is still the initial guess.
    evaluations : int
        How many evaluations were spent.
    status : ClimbStatus
        Whether it goes on.
    reach : float
        Largest change of a coordinate that the next step may try.
    forgotten : float
        Value at which H was forgotten last.
    """

    point: Point
    H: Matrix
    fresh: bool
    evaluations: int
    status: ClimbStatus
    reach: float = LARGEST_STEP
    forgotten: float = -np.inf


def begin(
    evaluate: Evaluate, theta: Vector, bounds: Matrix, *, H: Matrix | None = None, latent: Vector | None = None
) -> Climb:
    """Evaluate the start (moved inside the bounds) and return the state.

    ``H`` and ``latent`` may come from the end of a climb on a similar function.
    """
    theta = np.clip(theta, bounds[:, 0], bounds[:, 1])
    point = evaluate(theta, latent)
    status = ClimbStatus.RUNNING if np.isfinite(point.value) else ClimbStatus.FAILED
    if theta.size == 0 and status is ClimbStatus.RUNNING:
        status = ClimbStatus.CONVERGED
    return Climb(point, np.eye(theta.size) if H is None else H, H is None, 1, status)


def advance(evaluate: Evaluate, climb: Climb, bounds: Matrix, tol: float) -> Climb:
    """Take one step (one or more evaluations) and return the new state."""
    point, g = climb.point, climb.point.gradient
    promised = 0.5 * float(g @ _uphill(climb, _free(point, bounds)))
    if promised < tol:
        return dataclasses.replace(climb, status=ClimbStatus.CONVERGED)
    state, worthwhile = climb, max(tol, WORTHWHILE * promised)
    while True:
        theta = _aimed(state, bounds)
        expected = float(g @ (theta - point.theta))
        if expected < 0.1 * tol:
            return _given_up(climb, point, state.evaluations, worthwhile)
        trial = evaluate(theta, point.latent)
        state = dataclasses.replace(state, evaluations=state.evaluations + 1)
        if trial.value >= point.value + SUFFICIENT * expected:
            break
        state = _warned(state, trial, expected)
    first = state.evaluations == climb.evaluations + 1
    if climb.fresh and first:
        trial, extra = _extended(evaluate, point, trial, bounds)
        state = dataclasses.replace(state, evaluations=state.evaluations + extra)
    if not first and trial.value < point.value + 0.1 * tol:  # creeping along a jump
        return _given_up(climb, trial, state.evaluations, worthwhile)
    state = _learnt(state, trial)
    reach = WIDENING * float(np.max(np.abs(trial.theta - point.theta)))
    reach = min(LARGEST_STEP, max(reach, climb.reach) if first else reach)
    return dataclasses.replace(state, point=trial, reach=reach)


def _free(point: Point, bounds: Matrix) -> NDArray[np.bool_]:
    """Return which coordinates are not held by a bound that the gradient points beyond."""
    low = (point.theta <= bounds[:, 0]) & (point.gradient < 0.0)
    high = (point.theta >= bounds[:, 1]) & (point.gradient > 0.0)
    return np.asarray(~(low | high))


def _aimed(climb: Climb, bounds: Matrix) -> Vector:
    """Return where the next trial is to be.

    A coordinate that would cross a bound goes to it, if that is uphill, or stays; H is then restricted to the others, so that
    every part of the step is uphill.
    """
    theta, g = climb.point.theta, climb.point.gradient
    free, held = _free(climb.point, bounds), theta
    while True:
        step = _uphill(climb, free)
        step *= min(1.0, climb.reach / max(float(np.max(np.abs(step))), np.finfo(float).tiny))
        aim = np.where(free, theta + step, held)
        inside = np.clip(aim, bounds[:, 0], bounds[:, 1])
        crossing = free & (aim != inside)
        if not crossing.any():
            return _on_grid(aim, bounds)
        held = np.where(crossing, np.where(step * g > 0.0, inside, theta), held)
        free = free & ~crossing


def _on_grid(theta: Vector, bounds: Matrix) -> Vector:
    """Return the nearest point of the grid, within the bounds."""
    return np.clip(np.round(theta / GRID) * GRID, bounds[:, 0], bounds[:, 1])


def _given_up(climb: Climb, point: Point, evaluations: int, least: float) -> Climb:
    """Return the state at a point where H leads no further.

    Steepest ascent is tried next, unless it was the last, or less than ``least`` has been won since H was forgotten before.
    """
    vain = climb.fresh or point.value - climb.forgotten < least
    status = ClimbStatus.STALLED if vain else ClimbStatus.RUNNING
    return Climb(point, climb.H, True, evaluations, status, forgotten=point.value)


def _uphill(climb: Climb, free: NDArray[np.bool_]) -> Vector:
    """Return the step that H and the gradient suggest to the free coordinates, of at most unit length if H is still the initial guess."""
    g = np.where(free, climb.point.gradient, 0.0)
    if climb.fresh:
        return np.asarray(g / max(1.0, float(np.sqrt(g @ g))))
    return np.where(free, climb.H @ g, 0.0)


def _warned(climb: Climb, trial: Point, expected: float) -> Climb:
    """Return the state after a trial that did not rise as ``expected``: it reaches less far, and knows the curvature along it."""
    length = float(np.max(np.abs(trial.theta - climb.point.theta)))
    if not np.isfinite(trial.value):
        return dataclasses.replace(climb, reach=0.2 * length)
    # where the parabola through value, slope and trial is highest, as a share of the step
    vertex = 0.5 * expected / (expected + climb.point.value - trial.value)
    return dataclasses.replace(_learnt(climb, trial), reach=length * float(np.clip(vertex, 0.1, 0.5)))


def _extended(evaluate: Evaluate, point: Point, trial: Point, bounds: Matrix) -> tuple[Point, int]:
    """Return the highest point farther along a first step whose slope stays, and the evaluations spent."""
    direction, t, spent = trial.theta - point.theta, 1.0, 0
    while t < 8.0 and trial.gradient @ direction > 0.5 * (point.gradient @ direction):
        t *= 2.5
        farther = evaluate(_on_grid(point.theta + t * direction, bounds), trial.latent)
        spent += 1
        if not farther.value > trial.value:
            break
        trial = farther
    return trial, spent


def _learnt(climb: Climb, trial: Point) -> Climb:
    """Return the state with the BFGS update of H for the step to a trial, if the gradient falls along it.

    Coordinates that a bound held back do not count: H must be right for the others alone.
    """
    s = trial.theta - climb.point.theta
    y = np.where(s == 0.0, 0.0, climb.point.gradient - trial.gradient)
    sy = float(s @ y)
    if sy <= 1e-8 * float(np.sqrt((s @ s) * (y @ y))):
        return climb
    H = np.eye(s.size) if climb.fresh else climb.H
    Hy = H @ y
    H = H + (1.0 + float(y @ Hy) / sy) / sy * np.outer(s, s) - (np.outer(Hy, s) + np.outer(s, Hy)) / sy
    return dataclasses.replace(climb, H=H, fresh=False)


__all__ = ["Climb", "ClimbStatus", "Evaluate", "Point", "advance", "begin"]
