r"""Maximising on some of the rows first.

An evaluation costs up to :math:`n^3`, and most evaluations of a search are spent far from its end, where a quarter of
the rows shows the way as well as all of them. So with many rows all starts search on a subsample (and on a subsample of
that, if it is still large); only the best end goes on with all rows. It is near its goal then, and the curvature is
known: that of the subsample, times :math:`n / n'`. The other ends are evaluated once, so that the history holds
evidences of all the data; should one of them turn out to be higher, the search goes on from there, too. With many
hyperparameters (one length scale per feature) the optimum of a subsample is no help, since with fewer rows other
features are ignored.

The subsample is drawn at random, always the same one, and holds as many rows of the rarer of two classes as of the
other, as far as there are any: a subsample with few of them would say that there is nothing to learn.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.hyper.bfgs import SearchStatus
from bayesvm.hyper.multistart import Maximizer, Maximum, StartRecord, evaluate_point
from bayesvm.hyper.objective import EvidenceObjective
from bayesvm.hyper.surrogate import FEW, joined, maximize_through_surrogates, same_ends
from bayesvm.typing import Indices, Matrix, Vector

#: Rows from which on the search begins with a subsample: fewer where an inference factors several matrices of their
#: order, so that the cost of an evaluation is the same.
MANY = 2000
#: Share of the rows in a subsample: its evaluations cost a sixteenth to a sixty-fourth.
SHARE = 0.25


def subsamples(objective: EvidenceObjective) -> list[EvidenceObjective]:
    """Return the objectives of growing numbers of rows; the last is the given one."""
    chain, many = [objective], MANY / objective.n_factors ** (1.0 / 3.0)
    while chain[0].n_rows >= many and objective.theta0.size <= FEW:
        rows = drawn_rows(chain[0].y, int(SHARE * chain[0].n_rows))
        chain.insert(0, chain[0].part(rows))
    return chain


def drawn_rows(y: Matrix, size: int) -> Indices:
    """Return the rows of a subsample, in order; two classes are balanced as far as possible."""
    order = np.random.default_rng(y.size).permutation(y.shape[0])
    if y.ndim > 1 or np.unique(y).size != 2:
        return np.sort(order[:size])
    common, rare = sorted((order[y[order] == label] for label in np.unique(y)), key=len, reverse=True)
    few = min(rare.size, size // 2)
    return np.sort(np.concatenate([common[: size - few], rare[:few]]))


def spread_rows(y: Vector, size: int) -> Indices:
    """Return about ``size`` rows in order, evenly spaced among all, sorted by their label or target."""
    order = np.argsort(y, kind="stable")
    return np.sort(order[np.unique(np.linspace(0, y.size - 1, min(size, y.size)).round().astype(np.intp))])


def maximize_on_more_rows(maximizer: Maximizer, objective: EvidenceObjective, before: Maximum, share: float) -> Maximum:
    """Go on with more rows from the best end on a subsample, and from any other that turns out to be higher.

    ``share`` is the number of rows of the subsample over that of the objective.
    """
    leaders = same_ends(before.history)
    if before.interrupted:
        maximizer = dataclasses.replace(maximizer, max_evaluations=1)
    distinct = sorted(set(leaders), key=lambda i: (-before.history[i].value, i))
    maximum = _from_end(maximizer, objective, before.history[distinct[0]], share)
    ends = {distinct[0]: maximum.history[0]}
    for i in distinct[1:]:
        ends[i] = _evaluated(objective, before.history[i])
        if ends[i].value > maximum.value and not before.interrupted:
            maximum = _from_end(maximizer, objective, before.history[i], share)
            ends[i] = maximum.history[0]
    pairs = enumerate(zip(before.history, leaders, strict=True))
    history = tuple(joined(record, ends[leader], own=leader == i) for i, (record, leader) in pairs)
    return dataclasses.replace(maximum, history=history)


def _from_end(maximizer: Maximizer, objective: EvidenceObjective, end: StartRecord, share: float) -> Maximum:
    """Go on from an end, with its curvature."""
    H = None if end.H is None else share * end.H
    return maximize_through_surrogates(maximizer, objective, [end.end], metrics=[H])


def _evaluated(objective: EvidenceObjective, record: StartRecord) -> StartRecord:
    """Return the record of an end from which the search does not go on."""
    value = evaluate_point(objective, record.end, None).value
    return StartRecord(record.end, record.end, value, 1, SearchStatus.ABANDONED, 0.0)


__all__ = ["maximize_on_more_rows", "subsamples"]
