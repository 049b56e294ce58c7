r"""Maximising an evidence that jumps, through smooth surrogates of it.

The Laplace evidence of a loss whose curvature jumps (trigonometric, soft insensitive) is discontinuous along
:math:`\theta`: each point that enters or leaves the curved zone moves it by a fraction of a nat, and the gradient
between two jumps can point away from the overall trend (Chu2003, footnote 5). Such a likelihood names a twice
continuously differentiable likelihood of the same shape (``smoothed``). The starts search on that one's evidence, which
has no jumps and whose optimum is that of the evidence itself up to the size of the jumps; from there the evidence
itself is maximised, with the curvature learnt on the surrogate, each accepted step a true increase.

That is not enough where few points lie in the zones: Laplace's evidence is then rough on a larger scale, too, different
starts end at different optima, and a change of the data in the last digit can decide at which. A likelihood may offer
another surrogate (``eased``) with zones so wide that enough points lie in them, Huber's loss for the soft insensitive
one. Different starts agree on it. With few samples its optimum is where the search on the smooth surrogate begins,
unless that is the optimum for Gaussian noise (:mod:`bayesvm.hyper.companion`), which needs both parameters free; with
many hyperparameters (one length scale per feature), where that search would end at optima that predict badly, it is
refined on the evidence itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from bayesvm.hyper.bfgs import SearchStatus
from bayesvm.hyper.multistart import Maximizer, Maximum, StartRecord
from bayesvm.hyper.objective import EvidenceObjective
from bayesvm.inference import Laplace
from bayesvm.likelihoods.base import Likelihood
from bayesvm.typing import Matrix, Vector

#: Ends closer than this in every entry of theta are refined together.
SAME = 0.3
#: With more hyperparameters than this, the search begins with most samples in the zones, and ends with the evidence.
FEW = 6
#: Samples in the zones from which on the evidence is smooth enough, with few and with many hyperparameters.
ENOUGH = 300
PLENTY = 2000
#: Evaluations that the refinement of one end may take: between two jumps there is little to gain.
REFINEMENT = 20
#: Gain per hyperparameter, in nats, that a refinement must predict where the smooth surrogate was maximised before.
JUMP = 0.02


def surrogates(objective: EvidenceObjective) -> list[EvidenceObjective]:
    """Return the objectives that are maximised one after the other; the last is the given one."""
    likelihood, n = objective.likelihood, objective.n_rows
    if objective.theta0.size > FEW:
        eased = likelihood.eased(n, PLENTY)
        chain = [eased if eased is not likelihood else likelihood.smoothed]
    elif isinstance(objective.inference, Laplace):
        chain = [likelihood.eased(n, ENOUGH), likelihood.smoothed]
    else:
        chain = [likelihood.smoothed]
    return [*(with_likelihood(objective, other) for other in chain if other is not likelihood), objective]


def with_likelihood(objective: EvidenceObjective, likelihood: Likelihood) -> EvidenceObjective:
    """Return the evidence of another likelihood of the same parameters, with a solver that can treat it."""
    inference = objective.inference.suited(likelihood)
    return dataclasses.replace(objective, likelihood=likelihood, inference=inference)


def maximize_through_surrogates(
    maximizer: Maximizer,
    objective: EvidenceObjective,
    starts: Sequence[Vector],
    *,
    metrics: Sequence[Matrix | None] | None = None,
    latent: Vector | None = None,
) -> Maximum:
    """Maximise the objective from the given starts, through its surrogates where the likelihood has some.

    ``metrics`` are the inverse Hessians to begin with and ``latent`` is the first warm start, as in
    :meth:`Maximizer.maximize`. On every surrogate after the first the search goes on from the distinct ends of the one
    before.
    """
    first, *others = surrogates(objective)
    maximum, previous = maximizer.maximize(first, starts, metrics=metrics, latent=latent), first
    for stage in others:
        options = _stage_options(maximizer, objective, stage, previous)
        if maximum.interrupted:
            options = dataclasses.replace(options, max_evaluations=1)
        leaders = same_ends(maximum.history)
        distinct = sorted(set(leaders))
        ends = [maximum.history[i] for i in distinct]
        refined = options.maximize(stage, [e.end for e in ends], metrics=[e.H for e in ends], latent=maximum.latent)
        best, before = _best_end(refined, distinct), maximum
        maximum = _continued(maximum, refined, leaders, distinct, best)
        if before.history[best].status is SearchStatus.ABANDONED:  # abandoned on the surrogate, best on this stage
            last = maximizer.maximize(stage, [maximum.theta])
            maximum = _continued_alone(maximum, last, best)
        previous = stage
    return maximum


def _stage_options(
    maximizer: Maximizer, objective: EvidenceObjective, stage: EvidenceObjective, previous: EvidenceObjective
) -> Maximizer:
    """Return the options of a stage after the first: few evaluations where the evidence jumps."""
    smooth_end = stage is objective and objective.likelihood.smoothed is objective.likelihood
    options = maximizer if smooth_end else refinement(maximizer)
    alike = stage is objective and previous.likelihood == objective.likelihood.smoothed  # equal up to the jumps
    if alike and objective.theta0.size <= FEW:
        return dataclasses.replace(options, tol=max(JUMP, maximizer.tol))
    return options


def refinement(maximizer: Maximizer) -> Maximizer:
    """Return the options for a search on an evidence that jumps, from where a surrogate's search has ended."""
    return dataclasses.replace(maximizer, max_evaluations=min(REFINEMENT, maximizer.max_evaluations))


def _best_end(refined: Maximum, distinct: Sequence[int]) -> int:
    """Return the start, among the distinct ones, whose end is the best after refinement (the earlier of equal ones)."""
    values = {i: record.value for i, record in zip(distinct, refined.history, strict=True)}
    return max(distinct, key=lambda i: (values[i], -i))


def _continued(
    before: Maximum, refined: Maximum, leaders: Sequence[int], distinct: Sequence[int], best: int
) -> Maximum:
    """Return the refined maximum with the history of all starts, those that were refined together included."""
    by_leader = dict(zip(distinct, refined.history, strict=True))
    history = tuple(
        joined(record, by_leader[leader], own=leader == i)
        for i, (record, leader) in enumerate(zip(before.history, leaders, strict=True))
    )
    status = refined.status if refined.interrupted else history[best].status
    return dataclasses.replace(refined, status=status, history=history)


def _continued_alone(before: Maximum, last: Maximum, best: int) -> Maximum:
    """Return the maximum after one start has gone on by itself."""
    history = list(before.history)
    history[best] = dataclasses.replace(joined(history[best], last.history[0], own=True), status=last.status)
    return dataclasses.replace(last, history=tuple(history))


def same_ends(history: Sequence[StartRecord]) -> list[int]:
    """Return for each start the best one that ended at about the same theta."""
    order = sorted(range(len(history)), key=lambda i: (-history[i].value, i))
    leaders: list[int] = []
    for record in history:
        near = (i for i in order if np.max(np.abs(history[i].end - record.end), initial=0.0) <= SAME)
        leaders.append(next(near))
    return leaders


def joined(first: StartRecord, second: StartRecord, *, own: bool) -> StartRecord:
    """Return the record of a start that went on (together with a better one of the same end, if not ``own``)."""
    interrupted = SearchStatus.INTERRUPTED in (first.status, second.status)
    status = first.status if first.status.ok else second.status
    return StartRecord(
        first.start,
        second.end,
        second.value,
        first.evaluations + (second.evaluations if own else 0),
        SearchStatus.INTERRUPTED if interrupted else status,
        first.seconds + (second.seconds if own else 0.0),
        second.H,
    )


__all__ = [
    "FEW",
    "joined",
    "maximize_through_surrogates",
    "refinement",
    "same_ends",
    "surrogates",
    "with_likelihood",
]
