r"""One length scale per feature: from a common length scale to one each, and which features to switch on or off.

The evidence of a kernel with d length scales has many local optima and is costly to maximise from afar. With all length
scales equal (*tied*) it has a handful of parameters and, as a rule, one optimum, from which the features are set free
(:func:`untied`).

*Switching on.* Once the length scale of a feature has grown large, the evidence no longer depends on it: its gradient
is zero, and a search by gradients cannot bring the feature back, however much a short length scale would explain. So,
at the end, the gain from a shorter length scale is estimated for every feature that is switched off. To first order the
log evidence changes by

.. math:: \Big\langle \frac{\partial \ln Z}{\partial K},\; K(\theta') - K(\theta) \Big\rangle,

which costs one Gram matrix of the support rows and no inference. The most promising trials are evaluated in full, and
the search goes on from the best of them; this is repeated while it pays.

*Switching off.* The length scale of an irrelevant feature grows without end under the evidence, but more and more
slowly: a search stops where the gain is below its tolerance, and an evidence that jumps stops it before that. What is
left is a small relevance that means nothing. So the weakest features are switched off together (relevance zero, as far
as the bounds allow), half as many if the evidence would fall, and so on. Whether it falls is asked of the smooth
surrogate of the evidence (:mod:`bayesvm.hyper.surrogate`), where less than half a nat says nothing in favour of a
feature; the answer counts only if the evidence itself, maximised from there, is not lower than before.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper.multistart import Maximizer, Maximum, StartRecord, evaluate_point
from bayesvm.hyper.objective import Evaluation, EvidenceObjective
from bayesvm.hyper.surrogate import maximize_through_surrogates, refinement, surrogates, with_likelihood
from bayesvm.kernels.base import Kernel
from bayesvm.typing import Indices, Vector

#: A feature is switched off if its relevance is below this share of the largest.
SWITCHED_OFF = 0.1
#: Relevances that are tried when a feature is switched on: length scales from one to three of its standard deviations.
LEVELS = (1.0, 0.3, 0.1)
#: How many trials per relevance are evaluated in full.
TRIALS = 2
#: Nats by which switching a feature on must raise the evidence, and by which switching it off may lower it.
HALF_NAT = 0.5
#: A feature is weak if its relevance is below this share of the largest.
WEAK = 1e-2
#: Relevance of a feature that is switched off, before the bounds of the kernel are applied.
OFF = 1e-12


def tied(objective: EvidenceObjective) -> EvidenceObjective:
    """Return the objective with one length scale for all features of each part of the kernel."""
    return dataclasses.replace(objective, kernel=objective.kernel.tied())


def untied(objective: EvidenceObjective, kernel: Kernel, theta: Vector) -> Vector:
    """Return the theta of the objective that equals a theta of the tied ``kernel`` followed by the likelihood's."""
    p = kernel.theta.size
    return np.concatenate([objective.kernel.matching(kernel.with_theta(theta[:p])).theta, theta[p:]])


def untied_records(
    objective: EvidenceObjective, kernel: Kernel, history: Sequence[StartRecord]
) -> tuple[StartRecord, ...]:
    """Return the history of a search with ties as one without; the curvatures are lost."""
    return tuple(
        dataclasses.replace(
            record, start=untied(objective, kernel, record.start), end=untied(objective, kernel, record.end), H=None
        )
        for record in history
    )


def with_and_without_ties(starts: Sequence[Vector], n_tied: int) -> tuple[list[Vector], list[Vector]]:
    """Return the starts of the tied kernel, which has ``n_tied`` parameters, and those of the untied one."""
    return [s for s in starts if s.size == n_tied], [s for s in starts if s.size != n_tied]


def switch_on(maximizer: Maximizer, objective: EvidenceObjective, maximum: Maximum) -> Maximum:
    """Return the maximum reached by switching features on, one after the other, or the given one."""
    smooth = with_likelihood(objective, objective.likelihood.smoothed)
    for _ in range(objective.n_features):
        here = smooth.evaluate(maximum.theta, maximum.latent)
        trial = _best_trial(smooth, here)
        if trial is None:
            break
        new = maximize_through_surrogates(maximizer, objective, [trial])
        history = maximum.history + new.history
        if new.value < maximum.value + HALF_NAT:
            return dataclasses.replace(maximum, history=history) if new.interrupted else maximum
        maximum = dataclasses.replace(new, history=history)
        if new.interrupted:
            break
    return maximum


def _best_trial(objective: EvidenceObjective, here: Evaluation) -> Vector | None:
    """Return the best of the most promising points with one feature switched on, None if none is good enough."""
    values = []
    for theta in _promising(objective, here):
        try:
            values.append((objective.evaluate(theta, here.evidence.latent).value, theta))
        except NotPositiveDefiniteError:
            continue
    if not values:
        return None
    value, theta = max(values, key=lambda pair: pair[0])
    return theta if value > here.value + HALF_NAT else None


def _promising(objective: EvidenceObjective, here: Evaluation) -> list[Vector]:
    """Return the trials with the largest first-order gains at each relevance (large changes exaggerate them)."""
    kernel, likelihood = objective.model(here.theta)
    relevance = kernel.relevance(objective.n_features)
    if relevance is None:
        return []
    off = np.flatnonzero(relevance < SWITCHED_OFF * np.max(relevance))
    if not off.size:
        return []
    low, high = objective.bounds.T
    on = [kernel.with_relevance(int(feature), level).theta for level in LEVELS for feature in off]
    thetas = [np.clip(np.concatenate([theta, likelihood.theta]), low, high) for theta in on]
    gains = objective.gains(here, thetas)
    chosen = []
    for k in range(len(LEVELS)):
        level = range(k * off.size, (k + 1) * off.size)
        chosen += sorted(level, key=lambda i: -gains[i])[:TRIALS]
    return [thetas[i] for i in chosen]


def switch_off(maximizer: Maximizer, objective: EvidenceObjective, maximum: Maximum) -> Maximum:
    """Return the maximum with weak features switched off, if that does not lower it, or the given one."""
    theta = _without_weak(surrogates(objective)[0], maximum, _weak(objective, maximum.theta))
    if theta is None:
        return maximum
    H = max(maximum.history, key=lambda record: record.value).H
    new = refinement(maximizer).maximize(objective, [theta], metrics=[H])
    history = maximum.history + new.history
    if new.value < maximum.value:
        return dataclasses.replace(maximum, history=history)
    status = new.status if new.interrupted or not maximum.status.ok else maximum.status
    return dataclasses.replace(new, status=status, history=history)


def _weak(objective: EvidenceObjective, theta: Vector) -> Indices:
    """Return the features of small relevance that could be smaller, the weakest first."""
    relevance = objective.model(theta)[0].relevance(objective.n_features)
    if relevance is None:
        return np.empty(0, dtype=np.intp)
    weak = np.flatnonzero(relevance < WEAK * np.max(relevance))
    weak = weak[np.argsort(relevance[weak], kind="stable")]
    return np.array([j for j in weak if not np.array_equal(_without(objective, theta, [int(j)]), theta)], dtype=np.intp)


def _without(objective: EvidenceObjective, theta: Vector, features: Indices | Sequence[int]) -> Vector:
    """Return theta with the given features switched off."""
    kernel, likelihood = objective.model(theta)
    for feature in features:
        kernel = kernel.with_relevance(int(feature), OFF)
    low, high = objective.bounds.T
    without: Vector = np.clip(np.concatenate([kernel.theta, likelihood.theta]), low, high)
    return without


def _without_weak(surrogate: EvidenceObjective, maximum: Maximum, weak: Indices) -> Vector | None:
    """Return theta with as many weak features off, by halves, as the surrogate's evidence permits; None if none."""
    if not weak.size:
        return None
    here = evaluate_point(surrogate, maximum.theta, maximum.latent)
    while weak.size:
        theta = _without(surrogate, maximum.theta, weak)
        if evaluate_point(surrogate, theta, here.latent).value >= here.value - HALF_NAT:
            return theta
        weak = weak[: weak.size // 2]
    return None


__all__ = ["switch_off", "switch_on", "tied", "untied", "untied_records", "with_and_without_ties"]
