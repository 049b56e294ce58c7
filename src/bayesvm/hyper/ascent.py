r"""One climb of the evidence: bounded quasi-Newton ascent that can be stopped and resumed between any two steps.

Problem: maximise :math:`v(\theta)` within bounds, where one evaluation (value and gradient) costs far more than any algebra in
:math:`\theta`, values in nats have an absolute meaning, and v may jump downwards or upwards where a point enters or leaves
the support of a loss that is not twice continuously differentiable (Chu2003, footnote 5).

Method: BFGS with the dense inverse Hessian H restricted to the coordinates that no bound blocks, backtracking with
quadratic interpolation, first step of at most unit length in :math:`\theta` (a factor e), extended while the slope stays.
A step is accepted only if the value rises, so the last point is the best one seen. Where the line search fails, H is
forgotten once and steepest ascent tried; if that fails too the climb has stalled at a jump, and says so. It has converged
when the gain that the quadratic model still predicts, :math:`\tfrac12 g^\top H g`, is below ``tol`` nats. H begins as the
identity and is not rescaled by the first step, as is usual elsewhere: one nat per squared unit of a logarithm is about the
least curvature that matters, and the long flat directions of an evidence (variance of a constant, length scales of
irrelevant inputs) would otherwise look converged before they were tried.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from typing import Self

import numpy as np

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
    """

    point: Point
    H: Matrix
    fresh: bool
    evaluations: int
    status: ClimbStatus


LARGEST_STEP = 2.0
SUFFICIENT = 1e-4


def begin(evaluate: Evaluate, theta: Vector, bounds: Matrix) -> Climb:
    """Evaluate the start (moved inside the bounds) and return the state."""
    theta = np.clip(theta, bounds[:, 0], bounds[:, 1])
    point = evaluate(theta, None)
    status = ClimbStatus.RUNNING if np.isfinite(point.value) else ClimbStatus.FAILED
    if theta.size == 0 and status is ClimbStatus.RUNNING:
        status = ClimbStatus.CONVERGED
    return Climb(point, np.eye(theta.size), True, 1, status)


def advance(evaluate: Evaluate, climb: Climb, bounds: Matrix, tol: float) -> Climb:
    """Take one step (one or more evaluations) and return the new state."""
    point, g = climb.point, climb.point.gradient
    free = ~(((point.theta <= bounds[:, 0]) & (g < 0.0)) | ((point.theta >= bounds[:, 1]) & (g > 0.0)))
    direction = np.zeros_like(g)
    if climb.fresh:
        direction[free] = g[free] / max(1.0, float(np.sqrt(g[free] @ g[free])))
    else:
        direction[free] = climb.H[np.ix_(free, free)] @ g[free]
    slope = float(g @ direction)
    if 0.5 * slope < tol:
        return dataclasses.replace(climb, status=ClimbStatus.CONVERGED)
    direction *= min(1.0, LARGEST_STEP / float(np.max(np.abs(direction))))

    new, spent = _line_search(evaluate, point, direction, bounds, tol, extend=climb.fresh)
    spent += climb.evaluations
    if new is None:
        status = ClimbStatus.STALLED if climb.fresh else ClimbStatus.RUNNING
        return dataclasses.replace(climb, fresh=True, evaluations=spent, status=status)
    H, known = _update(climb, new.theta - point.theta, point.gradient - new.gradient)
    return Climb(new, H, not known, spent, ClimbStatus.RUNNING)


def _line_search(
    evaluate: Evaluate, point: Point, direction: Vector, bounds: Matrix, tol: float, *, extend: bool
) -> tuple[Point | None, int]:
    """Return a higher point along the direction (None if there is none) and the evaluations spent."""
    t, spent = 1.0, 0
    while True:
        theta = np.clip(point.theta + t * direction, bounds[:, 0], bounds[:, 1])
        expected = float(point.gradient @ (theta - point.theta))
        if expected < 0.1 * tol:
            return None, spent
        trial = evaluate(theta, point.latent)
        spent += 1
        if trial.value >= point.value + SUFFICIENT * expected:
            break
        if np.isfinite(trial.value):  # maximum of the parabola through value, slope and trial
            t *= float(np.clip(0.5 * expected / (expected + point.value - trial.value), 0.1, 0.5))
        else:
            t *= 0.2
    while extend and t < 8.0 and trial.gradient @ direction > 0.5 * (point.gradient @ direction):
        t *= 2.5
        theta = np.clip(point.theta + t * direction, bounds[:, 0], bounds[:, 1])
        farther = evaluate(theta, trial.latent)
        spent += 1
        if not farther.value > trial.value:
            break
        trial = farther
    return trial, spent


def _update(climb: Climb, s: Vector, y: Vector) -> tuple[Matrix, bool]:
    """Return the BFGS update of H for the step s and the drop y of the gradient, and whether there is one to speak of."""
    sy = float(s @ y)
    if sy <= 1e-8 * float(np.sqrt((s @ s) * (y @ y))):
        return climb.H, not climb.fresh
    H = np.eye(s.size) if climb.fresh else climb.H
    Hy = H @ y
    return H + (1.0 + float(y @ Hy) / sy) / sy * np.outer(s, s) - (np.outer(Hy, s) + np.outer(s, Hy)) / sy, True


__all__ = ["Climb", "ClimbStatus", "Evaluate", "Point", "advance", "begin"]
