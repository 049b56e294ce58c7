r"""The choice of kernel and likelihood on a part of the rows, for exact machines of some thousand labels.

An exact fit of n rows takes time of order :math:`n^3`, and a choice fits every candidate. Which of them is best is
known from a part of the rows as well: all are tried there, and the best goes on with all rows, from where it has
ended. What n rows promise if they are like the :math:`n'` of the part,

.. math:: \frac{n}{n'} \ln P(D'|\hat\theta) + \Bigl[\ln P(D'|M) - \ln P(D'|\hat\theta)\Bigr]
          - \frac\gamma2 \ln\frac{n}{n'} - \frac\gamma2 ,

(:mod:`bayesvm.hyper.assessment`: the curvature grows with the rows, the hyperprior does not, and the evidence per row,
which falls with every candidate as more is learnt, is taken as it is) is what they are judged by. Each candidate
changes one thing of the best so far, and begins where that has ended:

1. *gaussian*: one length scale for all features, plus a constant.
2. The other likelihoods.
3. *matern32*: a rougher function.
4. *common scale*: inputs divided by one number instead of one each, if features differ in scale.
5. *ard*: one length scale per feature; logarithms vary about their common level with a deviation of one.
6. *linear*: with a linear part.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bayesvm.hyper.ard_search import untied
from bayesvm.hyper.large import GAIN, typical_curvature
from bayesvm.hyper.subsample import spread_rows
from bayesvm.kernels import Constant, Gaussian, Linear, Matern32
from bayesvm.kernels.base import Kernel
from bayesvm.likelihoods.base import Likelihood
from bayesvm.models.base import Candidates, KernelCandidate, ModelSpec, TrainingData
from bayesvm.models.chosen_process import ChosenProcess, candidate_rows, candidate_weights
from bayesvm.models.fit import try_candidates
from bayesvm.models.label_kernels import STARTS, common_scale
from bayesvm.models.large_choice import ARD_FEATURES, LINEAR
from bayesvm.typing import Vector

logger = logging.getLogger(__name__)

#: Rows beyond which candidates are tried on a part of them, how many these are, and those that tell the curvature of
#: the evidence.
MANY, PART, CURVATURE = 3000, 1500, 500


@dataclasses.dataclass(frozen=True)
class ChoiceOnPart:
    """Candidates of which the best on a part of the rows is fitted to all rows.

    Parameters
    ----------
    few : callable
        Yields the candidates if the rows are few.
    likelihoods : tuple of Likelihood
        That are tried beside the specification's, if the rows are many.
    """

    few: Candidates
    likelihoods: tuple[Likelihood, ...] = ()

    def __call__(self, spec: ModelSpec, data: TrainingData, tried: Sequence[Any]) -> Iterator[KernelCandidate]:
        """Yield the best candidate, or all if the rows are few."""
        if data.n_rows <= MANY:
            yield from self.few(spec, data, tried)
            return
        assert isinstance(spec, ChosenProcess)
        part = data.part(spread_rows(data.y[:, 0], PART))
        ladder = functools.partial(self.on_part, ratio=data.n_rows / part.n_rows)
        trials = try_candidates(dataclasses.replace(spec, candidates=ladder, curvature_rows=CURVATURE), part)
        compared = tuple(
            dataclasses.replace(row, kernel=f"{row.kernel} ({part.n_rows} rows)", kept=False, weight=0.0)
            for row in candidate_rows(trials, candidate_weights(trials))
        )
        ratio = data.n_rows / part.n_rows
        best = max((t for t in trials if t.model is not None), key=lambda t: promised_score(t.model, ratio))
        model, maximizer = best.model, spec.options.maximizer
        message = "%s: %d of the rows promise a score of %.5g, goes on with all"
        logger.info(message, best.name, part.n_rows, promised_score(model, ratio))
        coarse = dataclasses.replace(maximizer, tol=max(maximizer.tol, GAIN * data.n_rows))
        changes = {
            **_changes(model, model.likelihood.plain, spec),
            "compared": compared,
            "curvature_rows": CURVATURE,
            "options": dataclasses.replace(spec.options, maximizer=coarse),
        }
        yield KernelCandidate(model.objective.kernel, best.name, [model.theta], changes=changes)

    def on_part(
        self, spec: ModelSpec, data: TrainingData, tried: Sequence[Any], ratio: float = 1.0
    ) -> Iterator[KernelCandidate]:
        """Yield the candidates of the part; ``ratio`` is the number of all rows over that of the part."""
        assert isinstance(spec, ChosenProcess)
        d, ladder = data.n_features, _Ladder(spec, tried, ratio)
        form = (Gaussian() + Constant()).bind(d)
        yield KernelCandidate(form, ladder.name("gaussian"), n_starts=min(STARTS, spec.options.n_starts))
        if not tried:
            return
        for likelihood in self.likelihoods:
            yield ladder.with_likelihood(likelihood)
        yield ladder.step("matern32", (Matern32() + Constant()).bind(d), ladder.best.theta)
        common = common_scale(ladder.best.objective.kernel, data)
        if common is not None:
            yield ladder.step(f"{ladder.form}, common scale", common, ladder.best.theta)
        if 1 < d <= ARD_FEATURES:
            best = ladder.best.objective
            relevant = best.kernel.with_ard().bind(d)
            theta = untied(dataclasses.replace(best, kernel=relevant), best.kernel, ladder.best.theta)
            yield ladder.step(f"{ladder.form}, ard", relevant, theta)
        best = ladder.best
        variance = float(np.mean(best.kernel.leaves()[0].diag(data.X.take(np.arange(1)))))
        wider = (best.kernel + Linear(LINEAR * variance / d)).bind(d)
        yield ladder.step(f"{ladder.form} + linear", wider, np.concatenate([wider.theta, best.likelihood.theta]))


class _Ladder:
    """The models tried so far with their names, and steps from the best of them."""

    def __init__(self, spec: ChosenProcess, tried: Sequence[Any], ratio: float) -> None:
        self._spec, self._tried, self._ratio = spec, tried, ratio
        self._forms: dict[int, str] = {}

    def name(self, form: str, likelihood: Likelihood | None = None) -> str:
        """Return the name of the candidate that comes next."""
        self._forms[len(self._tried)] = form
        own = likelihood is None or type(likelihood) is type(self._spec.likelihood)
        return form if own else f"{form}, {type(likelihood).__name__.lower()}"

    @property
    def _number(self) -> int:
        return max(range(len(self._tried)), key=lambda k: promised_score(self._tried[k], self._ratio))

    @property
    def best(self) -> Any:
        """The best model so far."""
        return self._tried[self._number]

    @property
    def form(self) -> str:
        """The form of its kernel."""
        return self._forms[self._number]

    def step(self, form: str, kernel: Kernel, theta: Vector) -> KernelCandidate:
        """Return another kernel with the likelihood of the best model."""
        likelihood = self.best.likelihood.plain
        changes = _changes(self.best, likelihood, self._spec)
        return KernelCandidate(kernel, self.name(form, likelihood), [theta], changes=changes)

    def with_likelihood(self, likelihood: Likelihood) -> KernelCandidate:
        """Return the kernel of the best model with another likelihood, begun with the same curvature at zero."""
        objective, form = self.best.objective, self.form
        ratio = typical_curvature(self.best.likelihood) / typical_curvature(likelihood)
        variances = np.array(["variance" in name for name in objective.kernel.names])
        theta = self.best.theta[: objective.kernel.theta.size] + np.log(ratio) * variances
        theta = np.concatenate([np.clip(theta, *objective.kernel.bounds.T), likelihood.theta])
        changes = _changes(self.best, likelihood, self._spec)
        return KernelCandidate(objective.kernel, self.name(form, likelihood), [theta], changes=changes)


def promised_score(model: Any, ratio: float) -> float:
    """Return the score that a model of a part of the rows promises for all, ``ratio`` times as many; see the module."""
    assessment = model.assessment
    more = (ratio - 1.0) * model.log_evidence - 0.5 * assessment.determined * np.log(ratio)
    return float(assessment.score + more)


def _changes(model: Any, likelihood: Likelihood, spec: ChosenProcess) -> dict[str, Any]:
    """Return the fields of the specification of a kernel with a likelihood, beside those of a model."""
    inference = spec.inference.suited(likelihood)
    return {"likelihood": likelihood, "inference": inference, "hyperprior": model.objective.prior}


__all__ = ["ChoiceOnPart", "promised_score"]
