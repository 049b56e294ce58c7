r"""Finding the hyperparameters that all blocks share.

With few blocks the search of the plain estimators maximises the sum of all evidences. With many, it maximises the sum
over ``SUBSET`` of them first, spread over the data: that finds the right optimum, and costs the same however many rows
there are. The curvature at its end, from differences of the gradient on the same blocks, then serves a BFGS ascent on
all blocks: the evidence of B blocks has about B / ``SUBSET`` times the curvature, and its optimum is near, so that a
few evaluations suffice. Where the evidence jumps, that ascent is on its smooth surrogate
(:mod:`bayesvm.hyper.surrogate`).

The ascent on all blocks ends when the predicted gain is below ``tol`` nats per hyperparameter *for every* ``SUBSET``
*blocks*: predictions depend on theta through posteriors of one block each, and what the sum could still gain beyond
that changes none of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper import Maximizer, Maximum, maximize_evidence
from bayesvm.hyper.surrogate import with_likelihood
from bayesvm.linalg import cholesky
from bayesvm.typing import Matrix, Vector

#: Blocks on which the starts search.
SUBSET = 8
#: Step of the differences of gradients, in the logarithm of a hyperparameter.
STEP = 1e-2
#: Least curvature, in nats: that of the identity, with which every BFGS ascent begins.
LEAST_CURVATURE = 1.0


def maximize_blocks(maximizer: Maximizer, objective: Any, starts: Sequence[Vector]) -> Maximum:
    """Return the maximum over all blocks of a :class:`~bayesvm.distributed.objective.SummedObjective`.

    It offers what the search of the plain estimators reads of an objective.
    """
    total = len(objective.blocks)
    if total <= SUBSET:
        return maximize_evidence(maximizer, objective, starts, subsample=False)
    subset = dataclasses.replace(objective, blocks=objective.blocks.spread(SUBSET))
    first = maximize_evidence(maximizer, subset, starts, subsample=False)
    if first.interrupted:  # kept: the blocks together are evaluated once, at the best point
        end = maximizer.maximize(objective, [first.theta])
        return dataclasses.replace(end.as_interrupted(), history=(*first.history, *end.history))
    H = inverse_curvature(subset, first) * (SUBSET / total)
    on_all = dataclasses.replace(maximizer, tol=maximizer.tol * total / SUBSET)
    last = on_all.maximize(_smoothed(objective), [first.theta], metrics=[H])
    record = last.history[0]
    if objective.likelihood.smoothed is not objective.likelihood:  # the value is that of the evidence itself
        once = dataclasses.replace(maximizer, max_evaluations=1)
        end = once.maximize(objective, [last.theta], latent=last.latent)
        record = dataclasses.replace(record, value=end.value, evaluations=record.evaluations + 1)
    return dataclasses.replace(last, value=record.value, history=(*first.history, record))


def _smoothed(objective: Any) -> Any:
    """Return the objective with the smooth surrogate of its likelihood."""
    return with_likelihood(objective, objective.likelihood.smoothed)


def inverse_curvature(objective: Any, maximum: Maximum) -> Matrix:
    """Return the inverse of minus the Hessian at a maximum, by differences of the gradient of the smooth surrogate.

    Directions of less than ``LEAST_CURVATURE`` are given it, as far as positive definiteness asks for.
    """
    smooth = _smoothed(objective)
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
