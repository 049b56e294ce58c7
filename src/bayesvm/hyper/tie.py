r"""Learning one length scale per feature: first one for all, then each on its own.

The evidence of a kernel with d length scales has many local optima and is costly to climb from afar. With all of them tied it
has a handful of parameters and, as a rule, one optimum; the starts climb there. The best end is where the features are set
free, where features that were switched off on the way are tried once more (:mod:`bayesvm.hyper.awaken`), and where those that
turn out weak are switched off (:mod:`bayesvm.hyper.lull`). Nothing can be lost: the tied optimum is a point of the larger
space, and the climb only rises from it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from bayesvm.hyper.awaken import awaken
from bayesvm.hyper.lull import lull
from bayesvm.hyper.maximize import Maximizer, Maximum, StartRecord
from bayesvm.hyper.objective import EvidenceObjective
from bayesvm.hyper.settle import maximize_evidence
from bayesvm.kernels.base import Kernel
from bayesvm.typing import Vector


def maximize_untying(
    maximizer: Maximizer,
    objective: EvidenceObjective,
    starts: Sequence[Vector],
    *,
    climb: Callable[[Maximizer, EvidenceObjective, Sequence[Vector]], Maximum] = maximize_evidence,
) -> Maximum:
    """Maximise the objective from the given starts, first with ties between features if there are several starts.

    A start is the theta of the tied or of the untied kernel (followed by that of the likelihood); starts of the untied
    kernel climb as they are. ``climb`` is how the starts climb, before features are set free.
    """
    tied = dataclasses.replace(objective, kernel=objective.kernel.tied())
    if len(starts) == 1 or tied.theta0.size == objective.theta0.size:
        return climb(maximizer, objective, starts)
    loose = [start for start in starts if start.size == objective.theta0.size]
    bound = [start for start in starts if start.size == tied.theta0.size]
    records: tuple[StartRecord, ...] = ()
    if bound:
        first = climb(maximizer, tied, bound)
        theta = untied(objective, tied.kernel, first.theta)
        records = tuple(_untied_record(objective, tied.kernel, record) for record in first.history)
        if first.interrupted:  # the same model with ties
            return dataclasses.replace(first, theta=theta, history=records)
        loose.append(theta)
    free = maximize_evidence(maximizer, objective, loose)
    if not free.interrupted:
        free = awaken(maximizer, objective, free)
    if not free.interrupted:
        free = lull(maximizer, objective, free)
    return dataclasses.replace(free, history=records + free.history)


def untied(objective: EvidenceObjective, tied: Kernel, theta: Vector) -> Vector:
    """Return the point of the larger space that a theta of the tied kernel stands for."""
    p = tied.theta.size
    kernel = objective.kernel.matching(tied.with_theta(theta[:p]))
    return np.concatenate([kernel.theta, theta[p:]])


def _untied_record(objective: EvidenceObjective, tied: Kernel, record: StartRecord) -> StartRecord:
    start, end = (untied(objective, tied, theta) for theta in (record.start, record.end))
    return dataclasses.replace(record, start=start, end=end, H=None)


__all__ = ["maximize_untying"]
