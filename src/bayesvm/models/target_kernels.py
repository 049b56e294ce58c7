r"""The kernels and noise models among which a regressor chooses, each begun where an earlier one ended.

Kernels, with the noise of the specification:

1. *gaussian*: one length scale for all features, plus a constant; two starts;
2. *matern52*, *matern32*: rougher functions;
3. *common scale*: the best so far on inputs divided by one number instead of one each, if the features differ in scale
   and the evidence at the same hyperparameters is not far lower;
4. *ard*: one length scale per feature, of the best so far and, if that pays, of the other two; then with a larger
   deviation of the length scales about their common level;
5. *linear*: the best so far with a linear part.

Noise, with the best kernel: Gaussian noise is exact and cheap, so kernels are compared with it. If the excess kurtosis
of the leave-one-out residuals differs from zero by more than its standard error :math:`\sqrt{24/n}`, and there is noise
at all, the other noise models are tried by expectation propagation, begun with the same standard deviation. If one of
them wins and its kernel has one length scale for all features, one per feature is tried again with it: outliers can
hide which features matter.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bayesvm.hyper import default_hyperprior
from bayesvm.hyper.ard_search import untied
from bayesvm.inference import EP, leave_one_out
from bayesvm.kernels import Constant, Gaussian, Linear, Matern32, Matern52
from bayesvm.kernels.base import Kernel
from bayesvm.likelihoods.base import Regression
from bayesvm.models.base import KernelCandidate, ModelSpec, TrainingData
from bayesvm.models.gaussian_process import GaussianProcessModel
from bayesvm.models.label_kernels import STARTS, common_scale, start_at, worth_a_search
from bayesvm.typing import Vector

#: Deviation of the logarithms of length scales in the candidate with the wider hyperprior.
WIDE = 2.0
#: Expectation propagation for noise models: evidences to a hundredth of a nat.
NOISE = EP(tol=1e-3)
#: Standard deviation of the noise, in units of that of the targets, below which there is none whose form to ask for.
NONE = 1e-3
#: Evaluations and predicted gain per hyperparameter, in nats, of the search with another noise.
STEPS, GAIN = 20, 0.03


@dataclasses.dataclass(frozen=True)
class TargetKernels:
    """Candidates of a regressor.

    Parameters
    ----------
    kernel : Kernel or None
        The only kernel; None: it is chosen.
    given : bool
        Whether its own parameters are the first start.
    noise : tuple of Regression
        Noise models to try beside the specification's.
    wide : bool
        Whether a hyperprior with a larger deviation of length scales is tried.
    """

    kernel: Kernel | None = None
    given: bool = False
    noise: tuple[Regression, ...] = ()
    wide: bool = True

    def __call__(self, spec: ModelSpec, data: TrainingData, tried: Sequence[Any]) -> Iterator[KernelCandidate]:
        """Yield the candidates."""
        if self.kernel is not None:
            yield KernelCandidate(self.kernel, given=self.given, n_starts=spec.options.n_starts)
        else:
            yield from self._kernels(spec, data, tried)
        if self.noise and tried:
            yield from self._noises(spec, data, tried)

    def _kernels(self, spec: ModelSpec, data: TrainingData, tried: Sequence[Any]) -> Iterator[KernelCandidate]:
        d, n_starts = data.n_features, min(STARTS, spec.options.n_starts)
        yield KernelCandidate(Gaussian() + Constant(), "gaussian", n_starts=n_starts)
        if not tried:
            return
        first: GaussianProcessModel = tried[0]
        for name, rougher in (("matern52", Matern52()), ("matern32", Matern32())):
            yield KernelCandidate((rougher + Constant()).bind(d), name, [_best(tried).theta])
        common = common_scale(first.kernel, data)
        if common is not None and worth_a_search(first, common, data):
            yield KernelCandidate(common, "gaussian, common scale", [first.theta])
        if d > 1:
            yield from self._per_feature(data, tried)
        best = _best(tried)
        wider = (best.kernel + Linear(float(np.exp(-2.0)) * data.spread**2 / d)).bind(d)
        yield KernelCandidate(wider, f"{_name(best)} + linear", [start_at(wider, best)], changes=_own(best))

    def _per_feature(self, data: TrainingData, tried: Sequence[Any]) -> Iterator[KernelCandidate]:
        """Yield the kernels with one length scale per feature."""
        d, plain = data.n_features, list(tried[:3])
        first = max(plain, key=_score)
        before = len(tried)
        kernel = first.kernel.with_ard().bind(d)
        yield KernelCandidate(kernel, f"{_name(first)}, ard", [_untied(first, kernel)])
        if len(tried) == before or _score(tried[-1]) <= _score(first):
            return
        start = tried[-1].theta
        for other in plain:
            if other is not first:
                own = other.kernel.with_ard().bind(d)
                yield KernelCandidate(own, f"{_name(other)}, ard", [start, _untied(other, own)], n_starts=2)
        best = _best(tried)
        if self.wide:
            prior = default_hyperprior(data.distance, spread=data.spread, strength=WIDE)
            yield KernelCandidate(best.kernel, f"{_name(best)}, wide", [best.theta], changes={"hyperprior": prior})

    def _noises(self, spec: ModelSpec, data: TrainingData, tried: Sequence[Any]) -> Iterator[KernelCandidate]:
        """Yield the best kernel with other noise models."""
        best = _best(tried)
        deviation = float(np.sqrt(_noise_variance(best)))
        if not unusual_residuals(best, data.counts, data.spread):
            return
        steps = dataclasses.replace(spec.options.maximizer, tol=GAIN, max_evaluations=STEPS)
        options = dataclasses.replace(spec.options, maximizer=steps)
        for noise in self.noise:
            same = noise.rescaled(deviation / float(np.sqrt(noise.noise_variance)))
            start = np.concatenate([best.kernel.theta, same.theta])
            changes = {**_own(best), "likelihood": same, "inference": NOISE, "options": options}
            yield KernelCandidate(best.kernel, f"{_name(best)}, {noise_name(noise)} noise", [start], changes=changes)
        heavy = _best(tried)
        if heavy is not best and self.kernel is None and _name(best) == _name(heavy) and ", ard" not in _name(best):
            yield from self._per_feature_again(heavy, data, options)

    def _per_feature_again(
        self, best: GaussianProcessModel, data: TrainingData, options: Any
    ) -> Iterator[KernelCandidate]:
        """Yield one length scale per feature with the noise that was chosen."""
        if data.n_features > 1:
            kernel = best.kernel.with_ard().bind(data.n_features)
            noise = best.likelihood.plain
            assert isinstance(noise, Regression)
            changes = {**_own(best), "likelihood": noise, "inference": NOISE, "options": options}
            name = f"{_name(best)}, ard, {noise_name(noise)} noise"
            yield KernelCandidate(kernel, name, [_untied(best, kernel)], changes=changes)


def _score(model: Any) -> float:
    return float(model.assessment.score)


def _best(tried: Sequence[GaussianProcessModel]) -> GaussianProcessModel:
    return max(tried, key=_score)


def _own(model: GaussianProcessModel) -> dict[str, Any]:
    """Return what of the specification was changed for a model."""
    return {"hyperprior": model.objective.prior}


def _name(model: GaussianProcessModel) -> str:
    """Return the form of a kernel in words."""
    leaves = [type(leaf).__name__.lower() for leaf in model.kernel.leaves() if not isinstance(leaf, Constant)]
    return " + ".join(leaves) + ("" if model.kernel.relevance(model.objective.n_features) is None else ", ard")


def _noise_variance(model: GaussianProcessModel) -> float:
    noise = model.likelihood.plain
    assert isinstance(noise, Regression)
    return float(noise.noise_variance)


def noise_name(noise: Regression) -> str:
    """Return the kind of noise in words."""
    return re.sub("(?<=[a-z])(?=[A-Z])", " ", type(noise).__name__).lower()


def _untied(model: GaussianProcessModel, kernel: Kernel) -> Vector:
    """Return the theta of a kernel with one length scale per feature that equals a model's."""
    return untied(dataclasses.replace(model.objective, kernel=kernel), model.kernel, model.theta)


def unusual_residuals(model: GaussianProcessModel, counts: Vector, spread: float) -> bool:
    """Whether there is noise, and the leave-one-out residuals are not those of a Gaussian one.

    ``spread`` is the standard deviation of the targets, and ``counts`` is how often each row occurs.
    """
    K, noise = model.kernel.gram(model.objective.X), model.likelihood.plain
    assert isinstance(noise, Regression)
    if noise.noise_variance < (NONE * spread) ** 2:
        return False
    for posterior, y in zip(model.posteriors, model.objective.outputs, strict=True):
        q = leave_one_out(K, posterior, model.likelihood.copies)
        z = (y - q.cavity_mean) / np.sqrt(q.cavity_var + noise.noise_variance)
        z = z - np.average(z, weights=counts)
        square = float(np.average(z**2, weights=counts))
        if square > 0.0 and abs(float(np.average(z**4, weights=counts)) / square**2 - 3.0) > np.sqrt(
            24.0 / counts.sum()
        ):
            return True
    return False


__all__ = ["TargetKernels", "noise_name", "unusual_residuals"]
