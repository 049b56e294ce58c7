r"""Finding the hyperparameters that all blocks share.

With few blocks the maximiser of the plain estimators climbs the sum of all evidences. With many, it climbs the sum over
``SUBSET`` of them first, spread over the data: it finds the right optimum, and costs the same however many rows there are.
The curvature at its end, from differences of the gradient on the same blocks, then serves a quasi-Newton climb on all blocks:
the evidence of B blocks has about B / ``SUBSET`` times the curvature, and its optimum is near, so that a few evaluations suffice.
Where the evidence jumps (:mod:`bayesvm.hyper.settle`), that climb is on its smooth companion.

The climb on all blocks ends when the predicted gain is below ``tol`` nats per hyperparameter *for every* ``SUBSET`` *blocks*:
predictions depend on theta through machines of one block each, and what the sum could still gain beyond that moves none of them.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesvm.distributed.objective import SummedObjective
from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper import ClimbStatus, Maximizer, Maximum, maximize_untying
from bayesvm.hyper.ascent import Climb, Point, advance
from bayesvm.hyper.maximize import StartRecord, evaluate_point
from bayesvm.linalg import cholesky
from bayesvm.typing import Matrix, Vector

#: Blocks on which starts climb.
SUBSET = 8
#: Step of the differences of gradients, in the logarithm of a hyperparameter.
STEP = 1e-2
#: Least curvature, in nats: as in the climbs of the plain estimators, which begin with the identity.
LEAST_CURVATURE = 1.0


def maximize_blocks(maximizer: Maximizer, objective: SummedObjective, starts: Sequence[Vector]) -> Maximum:
    """Return the maximum over all blocks."""
    blocks: Any = objective.X
    total = len(blocks.handles)
    if total <= SUBSET:
        return maximize_untying(maximizer, objective, starts)
    subset: Any = dataclasses.replace(objective, X=blocks.spread(SUBSET))
    first = maximize_untying(maximizer, subset, starts)
    H = inverse_curvature(subset, first) * (SUBSET / total)
    return _climbed(maximizer, objective, first, H, total / SUBSET)


def _climbed(maximizer: Maximizer, objective: SummedObjective, first: Maximum, H: Matrix, blowup: float) -> Maximum:
    """Climb on all blocks from the end of the first climb, on the smooth companion; the value at the end is the evidence's own."""
    began, spent = time.perf_counter(), 0
    smooth = companion(objective)

    def evaluate(theta: Vector, latent: Any) -> Point:
        nonlocal spent
        spent += 1
        return evaluate_point(smooth, theta, latent)

    climb = Climb(_computed(evaluate(first.theta, None)), H, False, 1, ClimbStatus.RUNNING)
    tol = maximizer.tol * first.theta.size * blowup
    while climb.status is ClimbStatus.RUNNING and spent < maximizer.max_evaluations:
        climb = advance(evaluate, climb, objective.bounds, tol)
    if climb.status is ClimbStatus.RUNNING:
        climb = dataclasses.replace(climb, status=ClimbStatus.LIMIT)
    end = climb.point
    if smooth is not objective:
        end = _computed(evaluate_point(objective, end.theta, end.latent))
        spent += 1
    seconds = time.perf_counter() - began
    record = StartRecord(first.theta, end.theta, end.value, spent, climb.status, seconds)
    return Maximum(end.theta, end.value, end.latent, climb.status, (*first.history, record))


def _computed(point: Point) -> Point:
    """Return a point that could be evaluated, or say why it could not."""
    if not np.isfinite(point.value):
        raise NotPositiveDefiniteError(point.problem)
    return point


def companion(objective: SummedObjective) -> SummedObjective:
    """Return the objective with the likelihood's smooth companion: itself, if the likelihood is smooth."""
    likelihood = objective.likelihood.smoothed
    if likelihood is objective.likelihood:
        return objective
    return dataclasses.replace(objective, likelihood=likelihood, inference=objective.inference.suited(likelihood))


def inverse_curvature(objective: SummedObjective, maximum: Maximum) -> Matrix:
    """Return the inverse of minus the Hessian at a maximum, by differences of the gradient of the smooth companion.

    Directions of less than ``LEAST_CURVATURE`` are given it, as far as positive definiteness asks for.
    """
    smooth = companion(objective)
    theta, size = maximum.theta, maximum.theta.size
    low, high = objective.bounds.T
    here = smooth.evaluate(theta, maximum.latent)
    A = np.zeros((size, size))
    for j in range(size):
        step = np.zeros(size)
        step[j] = STEP if theta[j] + STEP <= high[j] else -STEP
        if theta[j] + step[j] < low[j]:
            A[j, j] = LEAST_CURVATURE
            continue
        there = smooth.evaluate(theta + step, here.evidence.latent)
        A[j] = (here.gradient - there.gradient) / step[j]
    A = 0.5 * (A + A.T)
    floor = LEAST_CURVATURE
    while True:
        try:
            return np.asarray(cholesky(A + floor * np.eye(size), what="curvature").solve(np.eye(size)))
        except NotPositiveDefiniteError:
            floor *= 4.0


__all__ = ["SUBSET", "inverse_curvature", "maximize_blocks"]
