r"""Gaussian noise first: where the search for another noise model begins.

The evidence of Gaussian noise is exact and smooth, an evaluation is one factorisation, and what it says of the kernel
and of the size of the noise is nearly what a robust noise model says. So with few hyperparameters the starts search on
it. They are screened, on some of the rows: after every few evaluations the lower half is abandoned, since the surface
has as a rule one optimum. From the best end the search goes on with the noise model itself, from the likeliest of a few
shapes of its density with the same variance (:meth:`~bayesvm.likelihoods.base.Likelihood.matching`). If its evidence
jumps, it begins with a few steps on the smooth surrogate (:mod:`bayesvm.hyper.surrogate`), whose modes are far apart
(:mod:`bayesvm.hyper.approached`), and then predicts the jumps (:mod:`bayesvm.hyper.jumps`). The ends of abandoned
starts are evaluated once, so that the history holds evidences of the model; should one of them be higher, the search
goes on from there, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from bayesvm.hyper.approached import far_from_modes
from bayesvm.hyper.bfgs import SearchStatus
from bayesvm.hyper.jumps import climb
from bayesvm.hyper.low_rank import LowRankObjective
from bayesvm.hyper.multistart import Maximizer, Maximum, StartRecord, evaluate_point
from bayesvm.hyper.objective import EvidenceObjective
from bayesvm.hyper.priors import Flat
from bayesvm.hyper.subsample import drawn_rows
from bayesvm.hyper.surrogate import JUMP, SAME, joined, same_ends, with_likelihood
from bayesvm.inference import Exact
from bayesvm.typing import Vector

#: Evaluations of the best start on the companion: its end is where another search begins.
SCREENED = 20
#: Shapes that are searched from: those with the largest evidence.
LIKELY = 2
#: Evaluations from each shape on a smooth surrogate of an evidence that jumps.
SMOOTH = 6
#: Rows from which on the starts are screened on some of them, the share of these, and evaluations of each start there.
ENOUGH = 300
SHARE = 0.7
ROUNDS = 9
#: Evaluations in all of a search on an evidence that jumps.
BUDGET = 80


def companion_of(objective: EvidenceObjective) -> EvidenceObjective | None:
    """Return the evidence of Gaussian noise on the same data, None if the likelihood has no such companion.

    The hyperprior is left out, since it may be about parameters that the companion does not have.
    """
    companion = objective.likelihood.companion
    if companion is objective.likelihood:
        return None
    return dataclasses.replace(objective, likelihood=companion, inference=Exact(), prior=Flat())


def maximize_from_companion(
    maximizer: Maximizer, objective: EvidenceObjective, companion: EvidenceObjective, starts: Sequence[Vector]
) -> Maximum:
    """Maximise the objective from the best end of a search on its companion."""
    first = _screened(maximizer, companion, [_on_companion(objective, start) for start in starts])
    best = max(range(len(starts)), key=lambda i: (first.history[i].value, -i))
    leader = first.history[best]
    if first.interrupted:
        maximizer = dataclasses.replace(maximizer, max_evaluations=1)
    near = [bool(np.max(np.abs(record.end - leader.end)) <= SAME) for record in first.history]
    budget = BUDGET - sum(record.evaluations for record in first.history) - near.count(False)
    shapes = _matching(objective, companion, leader.end)
    maximum = _from_shapes(maximizer, objective, shapes, first.latent, budget)
    history: list[StartRecord] = []
    for i, record in enumerate(first.history):
        if i == best or near[i]:
            history.append(_joined(starts[i], record, maximum.history[0], own=i == best))
            continue
        end = _matching(objective, companion, record.end)[0]
        value = evaluate_point(far_from_modes(objective), end, maximum.latent).value
        ended = StartRecord(starts[i], end, value, record.evaluations + 1, record.status, record.seconds)
        if value > maximum.value and not first.interrupted:
            maximum = _from_shapes(maximizer, objective, [end], None, budget)
            ended = _joined(starts[i], ended, maximum.history[0], own=True)
        history.append(ended)
    maximum = dataclasses.replace(maximum, history=tuple(history))
    return maximum.as_interrupted() if first.interrupted else maximum


def _screened(maximizer: Maximizer, companion: EvidenceObjective, starts: Sequence[Vector]) -> Maximum:
    """Return the best end on the companion: the starts are screened, on a part of the rows, and the best goes on.

    With all rows if there are few of them, or if evaluations are cheap by a low rank.
    The values of the others are ``-inf`` if they are those of a part, which cannot be compared.
    """
    most = min(SCREENED, maximizer.max_evaluations)
    options = dataclasses.replace(maximizer, screening=True, max_evaluations=most, tol=max(JUMP, maximizer.tol))
    if len(starts) == 1 or companion.n_rows < ENOUGH or isinstance(companion, LowRankObjective):
        return options.maximize(companion, starts)
    part = companion.part(drawn_rows(companion.y, int(SHARE * companion.n_rows)))
    first = dataclasses.replace(options, max_evaluations=min(ROUNDS, most)).maximize(part, starts)
    best = max(range(len(starts)), key=lambda i: (first.history[i].value, -i))
    before = first.history[best]
    left = 1 if first.interrupted else max(1, most - before.evaluations)
    metric = None if before.H is None else SHARE * before.H
    rest = dataclasses.replace(options, screening=False, max_evaluations=left)
    found = rest.maximize(companion, [before.end], metrics=[metric])
    history = [dataclasses.replace(record, value=-np.inf) for record in first.history]
    history[best] = joined(before, found.history[0], own=True)
    return dataclasses.replace(found, history=tuple(history))


def _on_companion(objective: EvidenceObjective, theta: Vector) -> Vector:
    """Return the point of the companion with the same kernel and the same variance of the noise."""
    kernel, likelihood = objective.model(theta)
    return np.concatenate([kernel.theta, likelihood.companion.theta])


def _matching(objective: EvidenceObjective, companion: EvidenceObjective, theta: Vector) -> list[Vector]:
    """Return the points of the objective, one per shape, that match a point of the companion."""
    kernel, gaussian = companion.model(theta)
    return [np.concatenate([kernel.theta, shape.theta]) for shape in objective.likelihood.matching(gaussian)]


def _from_shapes(
    maximizer: Maximizer, objective: EvidenceObjective, starts: Sequence[Vector], latent: Vector | None, budget: int
) -> Maximum:
    """Maximise the objective from the given points, which are one start, and return its record alone."""
    smoothed = objective.likelihood.smoothed
    smooth = objective if smoothed is objective.likelihood else far_from_modes(with_likelihood(objective, smoothed))
    once, stages = dataclasses.replace(maximizer, max_evaluations=1), []
    if len(starts) > LIKELY:
        shapes = once.maximize(smooth, starts, latent=latent)
        ranked = sorted(shapes.history, key=lambda record: -record.value)
        starts, latent, stages = [record.end for record in ranked[:LIKELY]], shapes.latent, [shapes]
        maximizer = once if shapes.interrupted else maximizer
    if smooth is not objective:
        short = dataclasses.replace(maximizer, max_evaluations=min(SMOOTH, maximizer.max_evaluations))
        first = short.maximize(smooth, starts, latent=latent)
        ends = sorted(first.history, key=lambda record: -record.value)
        starts, latent = [ends[i].end for i in sorted(set(same_ends(ends)))], first.latent
        stages.append(first)
    interrupted = any(stage.interrupted for stage in stages)
    if smooth is objective:
        found = maximizer.maximize(objective, starts, latent=latent)
    else:
        spent = sum(record.evaluations for stage in stages for record in stage.history)
        found = climb(maximizer, objective, starts, latent, budget - spent)
    return _as_one([*stages, found], SearchStatus.INTERRUPTED if interrupted else found.status)


def _as_one(stages: Sequence[Maximum], status: SearchStatus) -> Maximum:
    """Return the maximum of the last stage with one record for all starts of all stages."""
    found, records = stages[-1], [record for stage in stages for record in stage.history]
    best = max(found.history, key=lambda record: record.value)
    record = dataclasses.replace(
        best,
        evaluations=sum(record.evaluations for record in records),
        status=status,
        seconds=sum(record.seconds for record in records),
    )
    return dataclasses.replace(found, status=status, history=(record,))


def _joined(start: Vector, first: StartRecord, second: StartRecord, *, own: bool) -> StartRecord:
    """Return the record of a start that went on, by itself or together with a better one near it."""
    interrupted = SearchStatus.INTERRUPTED in (first.status, second.status)
    status = second.status if own else SearchStatus.MERGED
    return dataclasses.replace(
        second,
        start=start,
        evaluations=first.evaluations + (second.evaluations if own else 0),
        status=SearchStatus.INTERRUPTED if interrupted else status,
        seconds=first.seconds + (second.seconds if own else 0.0),
    )


__all__ = ["companion_of", "maximize_from_companion"]
