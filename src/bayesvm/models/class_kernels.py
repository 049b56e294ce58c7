"""The kernels among which a classifier of several classes chooses, each begun where the best one so far ended.

1. *gaussian*: one length scale for all features, plus a constant; two starts.
2. *gaussian, common scale*: inputs divided by one number instead of one each, as pixels and spectra want it, if the
   features differ in scale.
3. *matern52*: a rougher function, in the better of both scalings.
4. *gaussian + linear*: with a linear part, in the same scaling.
5. *gaussian, ard*: one length scale per feature, in the same scaling.

*What cannot win is not tried*: each is looked at once, at the hyperparameters of the kernel that it begins from; for
the last, gradient and curvature of the evidence predict what one Newton step would gain.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bayesvm.hyper import predict_assessment
from bayesvm.hyper.ard_search import untied
from bayesvm.hyper.subsample import spread_rows
from bayesvm.kernels import Constant, Gaussian, Linear, Matern52, Rescaled
from bayesvm.kernels.base import Kernel
from bayesvm.models.base import KernelCandidate, ModelSpec, TrainingData
from bayesvm.models.label_kernels import common_scale, start_at
from bayesvm.models.shared_process import Judge, JudgedModel, judged_rows

#: Share of the rows, in nats, by which a kernel that is only looked at may be below the best to be searched.
FAR = 0.02
#: Nats that one length scale per feature must promise.
HOPE = 2.0
#: Features up to which each may have its own length scale, and rows from which its promise is estimated.
ARD_FEATURES, SOME = 100, 200
#: Starts of the first candidate.
STARTS = 2


@dataclasses.dataclass(frozen=True)
class ClassKernels:
    """Candidates of a classifier of several classes with one kernel for all."""

    def __call__(self, spec: ModelSpec, data: TrainingData, tried: Sequence[Any]) -> Iterator[KernelCandidate]:
        """Yield the kernels."""
        yield KernelCandidate(Gaussian() + Constant(), "gaussian", n_starts=min(STARTS, spec.options.n_starts))
        if not tried:
            return
        common = common_scale(tried[0].kernel, data)
        yield from _if_worth(data, tried, tried[0], common, "gaussian, common scale")
        base: JudgedModel = max(tried, key=lambda model: model.score)
        gaussian, constant = base.kernel.leaves()
        rough = Matern52(gaussian.variance, gaussian.lengthscale) + constant
        yield from _if_worth(data, tried, base, _like(base.kernel, rough), "matern52")
        linear = Linear(float(np.exp(-1.0)) * gaussian.variance / data.n_features)
        yield from _if_worth(data, tried, base, _like(base.kernel, gaussian + linear + constant), "gaussian + linear")
        if 1 < data.n_features <= ARD_FEATURES and _promise(base, data) > HOPE:
            kernel = base.kernel.with_ard().bind(data.n_features)
            start = untied(dataclasses.replace(base.objective, kernel=kernel), base.kernel, base.theta)
            yield KernelCandidate(kernel, "gaussian, ard", [start], changes={"start": base.best_place})


def _if_worth(
    data: TrainingData, tried: Sequence[JudgedModel], base: JudgedModel, kernel: Kernel | None, name: str
) -> Iterator[KernelCandidate]:
    """Yield a kernel if it is not far below the best so far at the hyperparameters of the one that it begins from."""
    if kernel is None:
        return
    bound = kernel.bind(data.n_features)
    maximum = dataclasses.replace(base.maximum, theta=start_at(bound, base))
    begun = dataclasses.replace(base, objective=dataclasses.replace(base.objective, kernel=bound), maximum=maximum)
    score = Judge(begun, data, judged_rows(data)).score(base.best_place)
    best = max(model.score for model in tried)
    if score is not None and score > best - FAR * data.counts.sum():
        yield KernelCandidate(bound, name, [maximum.theta], changes={"start": base.best_place})


def _like(kernel: Kernel, inner: Kernel) -> Kernel:
    """Return the inner kernel on inputs in the scaling of another."""
    return dataclasses.replace(kernel, kernel=inner) if isinstance(kernel, Rescaled) else inner


def _promise(base: JudgedModel, data: TrainingData) -> float:
    """Return by how much one length scale per feature promises to raise the model evidence."""
    objective = base.objective
    assert data.codes is not None
    rows = spread_rows(data.codes[judged_rows(data)].astype(float), SOME)
    smooth = dataclasses.replace(objective, likelihood=objective.likelihood.smoothed).part(rows)
    scores = []
    for kernel in (base.kernel, base.kernel.with_ard().bind(data.n_features)):
        own = dataclasses.replace(smooth, kernel=kernel)
        theta = untied(own, base.kernel, base.theta)
        scores.append(predict_assessment(own, own.evaluate(theta)).score)
    return float(scores[1] - scores[0]) * objective.n_rows / rows.size


__all__ = ["ClassKernels"]
