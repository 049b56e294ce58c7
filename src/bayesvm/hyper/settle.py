r"""Maximising an evidence that jumps.

The Laplace evidence of a loss whose curvature jumps (trigonometric, soft insensitive) is a sawtooth along
:math:`\theta`: each point that enters or leaves the curved zone moves it by a fraction of a nat, and the gradient between two
jumps can point away from the overall trend (Chu2003, footnote 5). Such a likelihood names a twice continuously differentiable
companion of the same shape (``smoothed``). The starts climb on the companion's evidence, which has no jumps and whose optimum
lies where the sawtooth is highest, up to its teeth; from there the evidence itself is climbed, with the curvature that the
companion taught, each accepted step a true increase.

That is not enough where few points lie in the zones: Laplace's evidence is then rough on a larger scale, too, different
starts end at different optima, and a change of the data in the last digit can decide at which. A likelihood may offer another
companion (``eased``) with zones so wide that enough points lie in them, Huber's loss for the soft insensitive one. Different
starts agree on it. With few samples its optimum is where the smooth companion is climbed from; with many hyperparameters (one
length scale per feature), where the climb on the smooth companion would end at optima that predict badly, it is refined on
the evidence itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from bayesvm.hyper.ascent import ClimbStatus
from bayesvm.hyper.maximize import Maximizer, Maximum, StartRecord
from bayesvm.hyper.objective import EvidenceObjective
from bayesvm.inference import Laplace
from bayesvm.likelihoods.base import Likelihood
from bayesvm.typing import Matrix, Vector

#: Ends closer than this in every entry of theta are refined together.
SAME = 0.3
#: With more hyperparameters than this, the climb begins with most samples in the zones, and ends with the evidence itself.
FEW = 6
#: Samples in the zones from which on the evidence is smooth enough to be climbed, with few and with many hyperparameters.
ENOUGH = 300
PLENTY = 2000
#: Evaluations that the refinement of one end may take: between the teeth of the sawtooth there is little to win.
REFINEMENT = 20
#: Nats per hyperparameter that the refinement must promise where there are few and the smooth companion was climbed before.
TOOTH = 0.02


def maximize_evidence(
    maximizer: Maximizer,
    objective: EvidenceObjective,
    starts: Sequence[Vector],
    *,
    metrics: Sequence[Matrix | None] | None = None,
) -> Maximum:
    """Maximise the objective from the given starts, through its companions where the likelihood has some.

    ``metrics`` are the inverse Hessians to begin with, as in :meth:`Maximizer.maximize`.
    """
    first, *others = stages(objective)
    maximum, previous = maximizer.maximize(first, starts, metrics=metrics), first
    for stage in others:
        smooth_end = stage is objective and objective.likelihood.smoothed is objective.likelihood
        brief = maximizer if smooth_end else refining(maximizer)
        alike = stage is objective and previous.likelihood == objective.likelihood.smoothed  # up to its teeth
        if alike and objective.theta0.size <= FEW:
            brief = dataclasses.replace(brief, tol=max(TOOTH, maximizer.tol))
        maximum, previous = _continued(maximizer, stage, maximum, brief), stage
    return maximum


def stages(objective: EvidenceObjective) -> list[EvidenceObjective]:
    """Return the objectives that are climbed one after the other; the last is the given one."""
    likelihood, n = objective.likelihood, len(objective.X)
    if objective.theta0.size > FEW:
        eased = likelihood.eased(n, PLENTY)
        chain = [eased if eased is not likelihood else likelihood.smoothed]
    elif isinstance(objective.inference, Laplace):
        chain = [likelihood.eased(n, ENOUGH), likelihood.smoothed]
    else:
        chain = [likelihood.smoothed]
    return [*(_with(objective, companion) for companion in chain if companion is not likelihood), objective]


def _with(objective: EvidenceObjective, companion: Likelihood) -> EvidenceObjective:
    """Return the evidence of a companion, with a solver that can treat it."""
    return dataclasses.replace(objective, likelihood=companion, inference=objective.inference.suited(companion))


def refining(maximizer: Maximizer) -> Maximizer:
    """Return the options for a climb on an evidence that jumps, from where a companion's climb has ended."""
    return dataclasses.replace(maximizer, max_evaluations=min(REFINEMENT, maximizer.max_evaluations))


def _continued(maximizer: Maximizer, objective: EvidenceObjective, settled: Maximum, brief: Maximizer) -> Maximum:
    """Climb on from the distinct ends of a companion with the ``brief`` options, and with all if one was abandoned too early."""
    leaders = same_ends(settled.history)
    short = dataclasses.replace(brief, max_evaluations=1) if settled.interrupted else brief
    distinct = sorted(set(leaders))
    ends = [settled.history[i] for i in distinct]
    refined = short.maximize(objective, [e.end for e in ends], metrics=[e.H for e in ends], latent=settled.latent)
    by_leader = dict(zip(distinct, refined.history))
    history = tuple(
        joined(record, by_leader[leader], own=leader == i)
        for i, (record, leader) in enumerate(zip(settled.history, leaders))
    )
    best = max(distinct, key=lambda i: (history[i].value, -i))
    result = dataclasses.replace(refined, status=history[best].status, history=history)
    return _finished(maximizer, objective, result, best) if _unfinished(settled.history[best]) else result


def _unfinished(record: StartRecord) -> bool:
    """Whether a start was abandoned on the companion, although its end is the best on the evidence itself."""
    return record.status is ClimbStatus.ABANDONED


def _finished(maximizer: Maximizer, objective: EvidenceObjective, result: Maximum, best: int) -> Maximum:
    """Climb on from the end of a start that was abandoned too early."""
    last = maximizer.maximize(objective, [result.theta])
    history = list(result.history)
    history[best] = joined(history[best], last.history[0], own=True)
    history[best] = dataclasses.replace(history[best], status=last.status)
    return dataclasses.replace(last, history=tuple(history))


def same_ends(history: Sequence[StartRecord]) -> list[int]:
    """Return for each start the highest one that ended at about the same theta."""
    order = sorted(range(len(history)), key=lambda i: (-history[i].value, i))
    leaders: list[int] = []
    for record in history:
        near = (i for i in order if np.max(np.abs(history[i].end - record.end), initial=0.0) <= SAME)
        leaders.append(next(near))
    return leaders


def joined(first: StartRecord, second: StartRecord, *, own: bool) -> StartRecord:
    """Return the record of a start that settled elsewhere and was climbed on from (with its leader, if not ``own``)."""
    interrupted = ClimbStatus.INTERRUPTED in (first.status, second.status)
    status = first.status if first.status.ok else second.status
    return StartRecord(
        first.start,
        second.end,
        second.value,
        first.evaluations + (second.evaluations if own else 0),
        ClimbStatus.INTERRUPTED if interrupted else status,
        first.seconds + (second.seconds if own else 0.0),
        second.H,
    )


__all__ = ["FEW", "joined", "maximize_evidence", "refining", "same_ends", "stages"]
