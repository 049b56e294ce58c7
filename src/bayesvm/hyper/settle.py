r"""Maximising an evidence that jumps.

The Laplace evidence of a loss whose curvature jumps (trigonometric, soft insensitive) is a sawtooth along
:math:`\theta`: each point that enters or leaves the curved zone moves it by a fraction of a nat, and the gradient between two
jumps can point away from the overall trend (Chu2003, footnote 5). Such a likelihood names a twice continuously differentiable
companion of the same shape (``smoothed``). The starts climb on the companion's evidence, which has no jumps and whose optimum
lies where the sawtooth is highest, up to its teeth; from there the evidence itself is climbed, each accepted step a true
increase.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from bayesvm.hyper.maximize import Maximizer, Maximum, StartRecord
from bayesvm.hyper.objective import EvidenceObjective
from bayesvm.typing import Vector


def maximize_evidence(maximizer: Maximizer, objective: EvidenceObjective, starts: Sequence[Vector]) -> Maximum:
    """Maximise the objective from the given starts, through its smooth companion where the likelihood has one."""
    smoothed = objective.likelihood.smoothed
    if smoothed is objective.likelihood:
        return maximizer.maximize(objective, starts)
    settled = maximizer.maximize(dataclasses.replace(objective, likelihood=smoothed), starts)
    ends = _distinct([record.end for record in settled.history])
    refined = maximizer.maximize(objective, [settled.history[i].end for i in sorted(set(ends))])
    by_end = dict(zip(sorted(set(ends)), refined.history))
    history = tuple(_joined(first, by_end[end], own=end == i) for i, (first, end) in enumerate(zip(settled.history, ends)))
    return dataclasses.replace(refined, history=history)


def _distinct(ends: Sequence[Vector], distance: float = 0.05) -> list[int]:
    """Return for each end the position of the first end that is the same to within ``distance`` in every entry."""
    return [next(j for j in range(i + 1) if np.max(np.abs(ends[j] - end), initial=0.0) <= distance) for i, end in enumerate(ends)]


def _joined(first: StartRecord, second: StartRecord, *, own: bool) -> StartRecord:
    """Return the record of a start that settled on the companion and was refined (with another one, if not ``own``)."""
    return StartRecord(
        first.start,
        second.end,
        second.value,
        first.evaluations + (second.evaluations if own else 0),
        second.status if first.status.ok else first.status,
        first.seconds + (second.seconds if own else 0.0),
    )


__all__ = ["maximize_evidence"]
