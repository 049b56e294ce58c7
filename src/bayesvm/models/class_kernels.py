"""The kernels among which a classifier of several classes chooses, each begun where the best one so far ended.

1. *gaussian*: one length scale for all features, plus a constant; two starts.
2. *gaussian, common scale*: inputs divided by one number instead of one each, as pixels and spectra want it, if the
   features differ in scale.
3. *matern52*: a rougher function, in the better of both scalings.
4. *gaussian + linear*: with a linear part, in the same scaling.
5. *gaussian, ard*: one length scale per feature, in the same scaling.

*What cannot win is not tried*: each is looked at once, at the hyperparameters of the kernel that it begins from; for
the last, after one step uphill on the evidence.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper.ard_search import untied
from bayesvm.kernels import Constant, Gaussian, Linear, Matern52, Rescaled
from bayesvm.kernels.base import Kernel
from bayesvm.models.base import KernelCandidate, ModelSpec, TrainingData
from bayesvm.models.joint_calibration import CAUTIOUS_CLASSES
from bayesvm.models.label_kernels import common_scale, start_at
from bayesvm.models.shared_process import Judge, JudgedModel

#: Share of the rows, in nats, by which a kernel that is only looked at may be below the best to be searched.
FAR = 0.01
#: Nats by which the first step with one length scale per feature must improve the judgement.
HOPE = 2.0
#: Features up to which each may have its own length scale.
ARD_FEATURES = 100
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
        base: JudgedModel = max(tried, key=lambda model: model.best.score)
        gaussian: Any
        gaussian, constant = base.kernel.leaves()
        rough = Matern52(gaussian.variance, gaussian.lengthscale) + constant
        yield from _if_worth(data, tried, base, _like(base.kernel, rough), "matern52")
        linear = Linear(float(np.exp(-1.0)) * gaussian.variance / data.n_features)
        yield from _if_worth(data, tried, base, _like(base.kernel, gaussian + linear + constant), "gaussian + linear")
        kernel = base.kernel.with_ard().bind(data.n_features)
        if 1 < data.n_features <= ARD_FEATURES and _promise(base, data, kernel) > HOPE:
            start = untied(dataclasses.replace(base.objective, kernel=kernel), base.kernel, base.theta)
            yield KernelCandidate(kernel, "gaussian, ard", [start], changes={"start": base.best.place})


def _if_worth(
    data: TrainingData, tried: Sequence[JudgedModel], base: JudgedModel, kernel: Kernel | None, name: str
) -> Iterator[KernelCandidate]:
    """Yield a kernel if it is not far below the best so far at the hyperparameters of the one that it begins from."""
    if kernel is None:
        return
    bound = kernel.bind(data.n_features)
    maximum = dataclasses.replace(base.maximum, theta=start_at(bound, base))
    begun = dataclasses.replace(base, objective=dataclasses.replace(base.objective, kernel=bound), maximum=maximum)
    best = max(model.best.score for model in tried)
    if _looked(begun, data) > best - FAR * data.counts.sum():
        yield KernelCandidate(bound, name, [maximum.theta], changes={"start": base.best.place})


def _looked(begun: JudgedModel, data: TrainingData) -> float:
    """Return what a candidate is worth at the best place of the one that it begins from, if that can be told."""
    try:
        return Judge(begun, data, begun.best.solution).score(begun.best.place)
    except NotPositiveDefiniteError:
        return -np.inf


def _like(kernel: Kernel, inner: Kernel) -> Kernel:
    """Return the inner kernel on inputs in the scaling of another."""
    return dataclasses.replace(kernel, kernel=inner) if isinstance(kernel, Rescaled) else inner


def _promise(base: JudgedModel, data: TrainingData, kernel: Kernel) -> float:
    """Return by how much a step uphill on the evidence, with one length scale per feature, improves the judgement.

    The step of each logarithm is the gradient over one plus its size, so that none is longer than one.
    """
    smooth = dataclasses.replace(base.objective, likelihood=base.objective.likelihood.smoothed, kernel=kernel)
    theta = untied(smooth, base.kernel, base.theta)
    gradient = smooth.evaluate(theta).gradient
    moved = np.clip(theta + gradient / (1.0 + np.abs(gradient)), smooth.bounds[:, 0], smooth.bounds[:, 1])
    maximum = dataclasses.replace(base.maximum, theta=moved)
    begun = dataclasses.replace(base, objective=dataclasses.replace(base.objective, kernel=kernel), maximum=maximum)
    penalty = CAUTIOUS_CLASSES.optimism * (begun.determined - base.determined)
    return _looked(begun, data) + penalty - base.best.score


__all__ = ["ClassKernels"]
