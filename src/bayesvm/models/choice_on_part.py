r"""The choice of a kernel on a part of the rows, for exact machines of some thousand rows.

An exact fit of n rows takes time of order :math:`n^3`, and a choice fits every candidate. Which kernels count is known
from a part of the rows as well. So all candidates are tried there, and those that have a share in the predictions go
on with all rows, from where they have ended, and are weighed by what all rows say.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator, Sequence

from bayesvm.hyper.subsample import spread_rows
from bayesvm.models.base import Candidates, FittedModel, KernelCandidate, ModelSpec, TrainingData
from bayesvm.models.chosen_process import ChosenProcess, candidate_rows, candidate_weights
from bayesvm.models.fit import try_candidates

logger = logging.getLogger(__name__)

#: Rows beyond which candidates are tried on a part of them, and how many these are.
MANY, PART = 3000, 1500


@dataclasses.dataclass(frozen=True)
class ChoiceOnPart:
    """Candidates of which those that count on a part of the rows are tried with all rows.

    Parameters
    ----------
    kernels : callable
        Yields the candidates.
    """

    kernels: Candidates

    def __call__(self, spec: ModelSpec, data: TrainingData, tried: Sequence[FittedModel]) -> Iterator[KernelCandidate]:
        """Yield the candidates that count, the best first; all of them, if the rows are not many."""
        if data.n_rows <= MANY:
            yield from self.kernels(spec, data, tried)
            return
        assert isinstance(spec, ChosenProcess)
        part = data.part(spread_rows(data.y[:, 0], PART))
        trials = try_candidates(dataclasses.replace(spec, candidates=self.kernels), part)
        weights = candidate_weights(trials)
        compared = tuple(
            dataclasses.replace(row, kernel=f"{row.kernel} ({part.n_rows} rows)", kept=False, weight=0.0)
            for row in candidate_rows(trials, weights)
        )
        for weight, trial in sorted(zip(weights, trials, strict=True), key=lambda pair: -pair[0]):
            if weight > 0.0:
                logger.info("%s has a weight of %.2g on %d rows: all rows", trial.name, weight, part.n_rows)
                objective, changes = trial.model.objective, {"compared": compared}
                changes["hyperprior"] = objective.prior
                yield KernelCandidate(objective.kernel, trial.name, [trial.model.theta], changes=changes)


__all__ = ["ChoiceOnPart"]
