r"""Waking features that were switched off too early.

Once the length scale of a feature has grown large, the evidence no longer depends on it: its gradient is zero, and a climb
cannot bring the feature back, however much a short length scale would explain. So, at the end of a climb, every feature that
sleeps is given a finite relevance in thought. To first order the log evidence changes by

.. math:: \Big\langle \frac{\partial \ln Z}{\partial K},\; K(\theta') - K(\theta) \Big\rangle,

which costs one Gram matrix of the support rows and no inference. The most promising ones are evaluated in full, and the best of
them is climbed from; this is repeated while it pays.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper.maximize import Maximizer, Maximum
from bayesvm.hyper.objective import Evaluation, EvidenceObjective
from bayesvm.hyper.settle import maximize_evidence
from bayesvm.typing import Vector

#: A feature sleeps if its relevance is below this share of the largest.
ASLEEP = 0.1
#: Relevances that are tried: length scales from one to three standard deviations of the feature.
LEVELS = (1.0, 0.3, 0.1)
#: How many trials per relevance are evaluated in full, and how many nats one must win to be climbed from.
TRIALS = 2
WORTH = 0.5


def awaken(maximizer: Maximizer, objective: EvidenceObjective, maximum: Maximum) -> Maximum:
    """Return the maximum that is reached by waking sleeping features one after the other, or the given one."""
    smoothed = objective.likelihood.smoothed
    smooth = dataclasses.replace(objective, likelihood=smoothed, inference=objective.inference.suited(smoothed))
    for _ in range(objective.X.n_features):
        here = smooth.evaluate(maximum.theta, maximum.latent)
        trial = _best_trial(smooth, here)
        if trial is None:
            break
        new = maximize_evidence(maximizer, objective, [trial])
        history = maximum.history + new.history
        if new.value >= maximum.value + WORTH:
            maximum = dataclasses.replace(new, history=history)
        elif new.interrupted:
            maximum = dataclasses.replace(maximum, history=history)
        else:
            break
        if new.interrupted:
            break
    return maximum


def _best_trial(objective: EvidenceObjective, here: Evaluation) -> Vector | None:
    """Return the highest of the most promising points with one feature awake, None if it does not rise enough."""
    values = []
    for theta in _promising(objective, here):
        try:
            values.append((objective.evaluate(theta, here.evidence.latent).value, theta))
        except NotPositiveDefiniteError:
            continue
    if not values:
        return None
    value, theta = max(values, key=lambda pair: pair[0])
    return theta if value > here.value + WORTH else None


def _promising(objective: EvidenceObjective, here: Evaluation) -> list[Vector]:
    """Return the trials with the largest first-order gains at each relevance (large changes exaggerate them)."""
    kernel, likelihood = objective.model(here.theta)
    relevance = kernel.relevance(objective.X.n_features)
    if relevance is None:
        return []
    asleep = np.flatnonzero(relevance < ASLEEP * np.max(relevance))
    if not asleep.size:
        return []
    low, high = objective.bounds.T
    woken = [kernel.with_relevance(int(feature), level).theta for level in LEVELS for feature in asleep]
    thetas = [np.clip(np.concatenate([theta, likelihood.theta]), low, high) for theta in woken]
    gains = objective.gains(here, thetas)
    chosen = []
    for k in range(len(LEVELS)):
        level = range(k * asleep.size, (k + 1) * asleep.size)
        chosen += sorted(level, key=lambda i: -gains[i])[:TRIALS]
    return [thetas[i] for i in chosen]


__all__ = ["awaken"]
