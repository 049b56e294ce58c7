r"""The search for the hyperparameters, from starts to the maximum of the evidence, top to bottom.

1. *Ties.* With one length scale per feature, starts with one common length scale search with the features tied.
2. *Subsample.* With many rows and few hyperparameters the starts search on some of the rows
   (:mod:`bayesvm.hyper.subsample`).
3. *Scouts.* With a few hundred rows, a start with most of them in the support goes ahead on some of them
   (:mod:`bayesvm.hyper.scouts`).
4. *Surrogate and multistart.* All starts search together by BFGS (:mod:`bayesvm.hyper.multistart`), first on smooth
   surrogates of an evidence that jumps, then on the evidence itself (:mod:`bayesvm.hyper.surrogate`). For robust noise
   models and few hyperparameters they search with Gaussian noise, and the best of them goes on
   (:mod:`bayesvm.hyper.companion`).
5. *All rows.* The best end goes on with more rows, up to all of them.
6. *ARD search.* The features are set free at the best end; features that were switched off on the way are tried once
   more, and those that turn out weak are switched off (:mod:`bayesvm.hyper.ard_search`). Nothing can be lost: the tied
   optimum is a point of the larger space, and the value only rises from it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from bayesvm.hyper.ard_search import switch_off, switch_on, tied, untied, untied_records, with_and_without_ties
from bayesvm.hyper.companion import companion_of, maximize_from_companion
from bayesvm.hyper.interrupts import keep_this_interrupt
from bayesvm.hyper.low_rank import with_low_rank
from bayesvm.hyper.multistart import Maximizer, Maximum, StartRecord
from bayesvm.hyper.objective import EvidenceObjective
from bayesvm.hyper.scouts import maximize_from_scouts
from bayesvm.hyper.subsample import maximize_on_more_rows, subsamples
from bayesvm.hyper.surrogate import FEW, maximize_through_surrogates
from bayesvm.inference import Laplace
from bayesvm.typing import Vector


def maximize_evidence(
    maximizer: Maximizer, objective: EvidenceObjective, starts: Sequence[Vector], *, subsample: bool = True
) -> Maximum:
    """Maximise the evidence from the given starts.

    Parameters
    ----------
    maximizer : Maximizer
        Options of the searches.
    objective : EvidenceObjective
        What is maximised.
    starts : sequence of arrays
        Each a theta of the kernel (followed by that of the likelihood), or of the kernel with its features tied. A
        single start searches as it is, with no ARD search after it.
    subsample : bool
        Whether the search may begin on some of the rows.
    """
    common = tied(objective)
    has_ties = len(starts) > 1 and common.theta0.size < objective.theta0.size
    begun, own = with_and_without_ties(starts, common.theta0.size) if has_ties else (list(starts), [])
    records: tuple[StartRecord, ...] = ()
    if begun:
        first = with_low_rank(common if has_ties else objective, begun)
        smallest, *larger = subsamples(first) if subsample else [first]
        maximum, rows = _from_starts(maximizer, smallest, begun), smallest.n_rows
        for part in larger:
            maximum = maximize_on_more_rows(maximizer, part, maximum, rows / part.n_rows)
            rows = part.n_rows
        if not has_ties:
            return maximum
        records = untied_records(objective, common.kernel, maximum.history)
        theta = untied(objective, common.kernel, maximum.theta)
        if maximum.interrupted:
            return dataclasses.replace(maximum, theta=theta, history=records)
        own.append(theta)
    maximum = maximize_through_surrogates(maximizer, objective, own)
    for step in (switch_on, switch_off):
        if not maximum.interrupted:
            try:
                maximum = step(maximizer, objective, maximum)
            except KeyboardInterrupt:
                if not keep_this_interrupt():
                    raise
                maximum = maximum.as_interrupted()
    return dataclasses.replace(maximum, history=records + maximum.history)


def _from_starts(maximizer: Maximizer, objective: EvidenceObjective, starts: Sequence[Vector]) -> Maximum:
    """Return the maximum from the first starts, through a companion where there is one, else through surrogates."""
    few = objective.theta0.size <= FEW and isinstance(objective.inference, Laplace)
    companion = companion_of(objective) if few else None
    if companion is None:
        return maximize_from_scouts(maximizer, objective, starts)
    return maximize_from_companion(maximizer, objective, companion, starts)


__all__ = ["maximize_evidence"]
