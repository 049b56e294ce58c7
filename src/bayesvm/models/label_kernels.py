r"""The kernels among which a classifier chooses, each begun where an earlier one ended.

1. *gaussian*: one length scale for all features, plus a constant; two starts.
2. *gaussian + linear*: with a linear part, begun at a share of the variance.
3. *matern52*: a rougher function.
4. *gaussian, common scale*: inputs divided by one number instead of one each, as pixels and spectra want it, if the
   features differ in scale.
5. *gaussian, ard*: one length scale per feature; logarithms vary about their common level with a deviation of one.
6. *gaussian, ard, wide*: the same with a deviation of two, if the features were worth it.

*What cannot win is not tried.* The third and the fourth are looked at once, at the hyperparameters of the first. For
the fifth, gradient and curvature of the evidence at the optimum of the first predict what one Newton step would gain,
and so the model evidence; if that is far below the best so far, the search is left out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper import EvidenceObjective, default_hyperprior, predict_assessment
from bayesvm.hyper.ard_search import untied
from bayesvm.hyper.subsample import spread_rows
from bayesvm.kernels import Constant, Gaussian, Linear, Matern52, Rescaled
from bayesvm.kernels.base import Kernel
from bayesvm.models.base import KernelCandidate, ModelSpec, TrainingData
from bayesvm.models.gaussian_process import GaussianProcessModel
from bayesvm.typing import Vector

#: Nats by which a model evidence that was only predicted may be below the best for the candidate to be tried.
HOPE = 2.0
#: Share of the rows, in nats, by which a kernel at another's hyperparameters may be below it to be tried.
FAR = 0.05
#: Ratio of the largest to the smallest scale of a feature from which on a common scale is another model.
UNEQUAL = 1.5
#: Ratio of the smallest to the largest scale of a feature below which a common scale is not tried.
LEAST = 1e-100
#: Rows from which the curvature of a prediction is estimated.
SOME = 200
#: Starts of the first candidate.
STARTS = 2
#: Grid of the start of the last candidate. The end of the one before is known to the tolerance of expectation
#: propagation alone, and a search with jumps that begins elsewhere by that little may end elsewhere by tenths of a nat:
#: rows with weights would not be the same rows repeated.
COARSE = 1.0 / 32.0


@dataclasses.dataclass(frozen=True)
class LabelKernels:
    """Candidates of a classifier.

    Parameters
    ----------
    strengths : tuple of float
        Deviations of the logarithms of length scales per feature; the first is the one of the specification's
        hyperprior, and the only one if that was given by the user.
    """

    strengths: tuple[float, ...] = (1.0, 2.0)

    def __call__(self, spec: ModelSpec, data: TrainingData, tried: Sequence[Any]) -> Iterator[KernelCandidate]:
        """Yield the kernels."""
        yield KernelCandidate(Gaussian() + Constant(), "gaussian", n_starts=min(STARTS, spec.options.n_starts))
        if not tried:
            return
        first: GaussianProcessModel = tried[0]
        gaussian, constant = first.kernel.leaves()
        linear = Linear(float(np.exp(-1.0)) * _variance(gaussian) / data.n_features)
        wider = (gaussian + linear + constant).bind(data.n_features)
        yield KernelCandidate(wider, "gaussian + linear", [start_at(wider, first)])
        rough = (Matern52(_variance(gaussian), _lengthscale(gaussian)) + constant).bind(data.n_features)
        if worth_a_search(first, rough, data):
            yield KernelCandidate(rough, "matern52", [first.theta])
        common = common_scale(first.kernel, data)
        if common is not None and worth_a_search(first, common, data):
            yield KernelCandidate(common, "gaussian, common scale", [first.theta])
        if data.n_features > 1:
            yield from self._per_feature(data, first, tried)

    def _per_feature(
        self, data: TrainingData, first: GaussianProcessModel, tried: Sequence[Any]
    ) -> Iterator[KernelCandidate]:
        """Yield the kernels with one length scale per feature."""
        kernel = first.kernel.with_ard().bind(data.n_features)
        best = max(model.assessment.score for model in tried)
        if _predicted_score(first, kernel) < best - HOPE:
            return
        before, (_, *wider) = len(tried), self.strengths
        higher = first.theta + 2.0 * np.array([name == "gaussian.variance" for name in first.objective.names])
        yield KernelCandidate(kernel, "gaussian, ard", [first.theta, higher], n_starts=2)
        for strength in wider:
            if len(tried) == before or tried[-1].assessment.score <= tried[0].assessment.score:
                return
            before = len(tried)
            prior = default_hyperprior(data.distance, strength=strength)
            start = COARSE * np.round(tried[-1].theta / COARSE)
            yield KernelCandidate(kernel, "gaussian, ard, wide", [start], changes={"hyperprior": prior})


def common_scale(kernel: Kernel, data: TrainingData) -> Kernel | None:
    r"""Return the kernel on inputs divided by one common scale.

    None if all features have the same, or if one has less than LEAST of the largest: it would be a constant.

    The training data are standardised, each feature by its own scale :math:`s_l`; the inputs of the kernel are
    multiplied by :math:`s_l / \bar s`, with the root mean square :math:`\bar s`, so that typical distances stay.
    """
    if data.standardizer is None:
        return None
    scale = data.standardizer.scale
    if np.max(scale) < UNEQUAL * np.min(scale):
        return None
    relative = scale / np.max(scale)  # which can be squared
    if np.min(relative) < LEAST:
        return None
    ratio = float(np.sqrt(np.mean(relative**2))) / relative
    return Rescaled(kernel, (0.0,) * scale.size, tuple(ratio))


def start_at(kernel: Kernel, model: GaussianProcessModel) -> Vector:
    """Return a start with the given kernel and the likelihood of a model."""
    return np.concatenate([kernel.theta, model.likelihood.theta])


def _variance(kernel: Any) -> float:
    return float(kernel.variance)


def _lengthscale(kernel: Any) -> float:
    return float(kernel.lengthscale)


def worth_a_search(first: GaussianProcessModel, kernel: Kernel, data: TrainingData) -> bool:
    """Whether another kernel of the same parameters is not far below the first at the hyperparameters of that."""
    objective = dataclasses.replace(first.objective, kernel=kernel)
    try:
        value = objective.evaluate(first.theta, first.evidence.latent).value
    except NotPositiveDefiniteError:
        return False
    return bool(value > first.maximum.value - FAR * data.counts.sum())


def _predicted_score(first: GaussianProcessModel, kernel: Kernel) -> float:
    """Return the score that a kernel with one length scale per feature promises."""
    objective: EvidenceObjective = dataclasses.replace(first.objective, kernel=kernel)
    theta: Vector = untied(objective, first.kernel, first.theta)
    rows = spread_rows(objective.outputs[0], SOME) if objective.n_rows > 1.5 * SOME else None
    return predict_assessment(objective, objective.evaluate(theta, first.evidence.latent), rows).score


__all__ = ["LabelKernels", "common_scale", "start_at", "worth_a_search"]
