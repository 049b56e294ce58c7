r"""Climbing on some of the rows first.

An evaluation costs up to :math:`n^3`, and most evaluations of a climb are spent far from its end, where a quarter of the rows shows
the way as well as all of them. So with many rows all starts climb on a part of them (and on a part of the part, if that is still
large); only the best end climbs on with all rows. It is near its goal then, and the curvature is known: that of the part, times
:math:`n / n'`. The other ends are evaluated once, so that the history holds evidences of all the data; should one of them turn out
to be higher, it is climbed from, too. With many hyperparameters (one length scale per feature) the optimum of a part is no help,
since with fewer rows other features are ignored.

The part is drawn at random, always the same one, and holds as many rows of the rarer of two classes as of the other, as far as
there are any: a part with few of them would say that there is nothing to learn.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from bayesvm.hyper.ascent import ClimbStatus
from bayesvm.hyper.maximize import Maximizer, Maximum, StartRecord, evaluate_point
from bayesvm.hyper.objective import EvidenceObjective
from bayesvm.hyper.settle import FEW, joined, maximize_evidence, same_ends
from bayesvm.typing import Indices, Vector

#: Rows from which on the climb begins with a part of them.
MANY = 2000
#: Share of the rows in a part: its evaluations cost a sixteenth to a sixty-fourth.
SHARE = 0.25


def maximize_thinning(maximizer: Maximizer, objective: EvidenceObjective, starts: Sequence[Vector]) -> Maximum:
    """Maximise the objective from the given starts as :func:`~bayesvm.hyper.settle.maximize_evidence` does, with some rows first."""
    n = len(objective.X)
    if n < MANY or objective.theta0.size > FEW:
        return maximize_evidence(maximizer, objective, starts)
    rows = _drawn(objective.y, int(SHARE * n))
    settled = maximize_thinning(maximizer, objective.part(rows), starts)
    return _continued(maximizer, objective, settled, rows.size / n)


def _drawn(y: Vector, size: int) -> Indices:
    """Return the rows of a part, in order; two classes are balanced as far as possible."""
    order = np.random.default_rng(y.size).permutation(y.shape[0])
    if y.ndim > 1 or np.unique(y).size != 2:
        return np.sort(order[:size])
    common, rare = sorted((order[y[order] == label] for label in np.unique(y)), key=len, reverse=True)
    few = min(rare.size, size // 2)
    return np.sort(np.concatenate([common[: size - few], rare[:few]]))


def _continued(maximizer: Maximizer, objective: EvidenceObjective, settled: Maximum, share: float) -> Maximum:
    """Climb on with all rows from the best end on the part, and from any other that turns out to be higher."""
    leaders = same_ends(settled.history)
    if settled.interrupted:
        maximizer = dataclasses.replace(maximizer, max_evaluations=1)
    distinct = sorted(set(leaders), key=lambda i: (-settled.history[i].value, i))
    maximum = _climbed(maximizer, objective, settled.history[distinct[0]], share)
    ends = {distinct[0]: maximum.history[0]}
    for i in distinct[1:]:
        ends[i] = _looked_at(objective, settled.history[i])
        if ends[i].value > maximum.value and not settled.interrupted:
            maximum = _climbed(maximizer, objective, settled.history[i], share)
            ends[i] = maximum.history[0]
    pairs = enumerate(zip(settled.history, leaders))
    history = tuple(joined(record, ends[leader], own=leader == i) for i, (record, leader) in pairs)
    return dataclasses.replace(maximum, history=history)


def _climbed(maximizer: Maximizer, objective: EvidenceObjective, end: StartRecord, share: float) -> Maximum:
    """Climb on from an end, with its curvature."""
    H = None if end.H is None else share * end.H
    return maximize_evidence(maximizer, objective, [end.end], metrics=[H])


def _looked_at(objective: EvidenceObjective, record: StartRecord) -> StartRecord:
    """Return the record of an end that does not climb on."""
    value = evaluate_point(objective, record.end, None).value
    return StartRecord(record.end, record.end, value, 1, ClimbStatus.ABANDONED, 0.0)


__all__ = ["maximize_thinning"]
