r"""Switching weak features off for good.

The length scale of an irrelevant feature grows without end under the evidence, but more and more slowly: a climb stops where
the gain is below its tolerance, and an evidence that jumps holds it at a tooth before that. What is left is a small relevance
that means nothing. So, at the end of a climb, the weakest features are switched off together (relevance zero, as far as the
bounds allow), half as many if the evidence would fall, and so on. The question is put to the companion of the evidence that
does not jump (:mod:`bayesvm.hyper.settle`), where less than half a nat says nothing in favour of a feature; the answer counts
only if the evidence itself, climbed on from there, is not lower than before.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.hyper.awaken import WORTH
from bayesvm.hyper.maximize import Maximizer, Maximum, evaluate_point
from bayesvm.hyper.objective import EvidenceObjective
from bayesvm.hyper.settle import refining, stages
from bayesvm.typing import Indices, Vector

#: A feature is weak if its relevance is below this share of the largest.
WEAK = 1e-2
#: Relevance of a feature that is off, before the bounds of the kernel are applied.
OFF = 1e-12


def lull(maximizer: Maximizer, objective: EvidenceObjective, maximum: Maximum) -> Maximum:
    """Return the maximum with weak features switched off, if that does not lower it, or the given one."""
    theta = _quiet(stages(objective)[0], maximum, _weak(objective, maximum.theta))
    if theta is None:
        return maximum
    H = max(maximum.history, key=lambda record: record.value).H
    new = refining(maximizer).maximize(objective, [theta], metrics=[H])
    history = maximum.history + new.history
    if new.value < maximum.value:
        return dataclasses.replace(maximum, history=history)
    status = new.status if new.interrupted or not maximum.status.ok else maximum.status
    return dataclasses.replace(new, status=status, history=history)


def _weak(objective: EvidenceObjective, theta: Vector) -> Indices:
    """Return the features of small relevance that could be smaller, the weakest first."""
    relevance = objective.model(theta)[0].relevance(objective.X.n_features)
    if relevance is None:
        return np.empty(0, dtype=np.intp)
    weak = np.flatnonzero(relevance < WEAK * np.max(relevance))
    weak = weak[np.argsort(relevance[weak], kind="stable")]
    return np.array([j for j in weak if not np.array_equal(_without(objective, theta, [int(j)]), theta)], dtype=np.intp)


def _without(objective: EvidenceObjective, theta: Vector, features: Indices | list[int]) -> Vector:
    """Return theta with the given features switched off."""
    kernel, likelihood = objective.model(theta)
    for feature in features:
        kernel = kernel.with_relevance(int(feature), OFF)
    low, high = objective.bounds.T
    quiet: Vector = np.clip(np.concatenate([kernel.theta, likelihood.theta]), low, high)
    return quiet


def _quiet(companion: EvidenceObjective, maximum: Maximum, weak: Indices) -> Vector | None:
    """Return theta with as many of the weak features off, by halves, as the companion's evidence lets go; None if none."""
    if not weak.size:
        return None
    here = evaluate_point(companion, maximum.theta, maximum.latent)
    while weak.size:
        theta = _without(companion, maximum.theta, weak)
        if evaluate_point(companion, theta, here.latent).value >= here.value - WORTH:
            return theta
        weak = weak[: weak.size // 2]
    return None


__all__ = ["lull"]
