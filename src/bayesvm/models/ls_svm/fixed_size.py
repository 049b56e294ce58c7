r"""Least-squares machines of many rows, in the span of a few of them: fixed-size LS-SVM, with the evidence to guide it.

Given :math:`\mu` and :math:`\zeta` a least-squares machine is a Gaussian process with the covariance :math:`k/\mu`
(plus a constant, for the bias) and noise of variance :math:`1/\zeta`. The kernel is learnt by the evidence of that
process with inducing inputs (:mod:`bayesvm.hyper.large`), a lower bound of the exact one, on a sample of rows and then
on as many as are enough. At the learnt kernel inducing inputs are chosen by greedy conditional variance, and levels 1
and 2 follow from all rows, in the span of the inducing inputs
(:func:`~bayesvm.models.ls_svm.levels.landmark_levels`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from bayesvm.hyper import Maximizer, Maximum
from bayesvm.hyper.inducing import GreedyChoice, greedy_rows
from bayesvm.hyper.large import ENOUGH, MOST, POOL, LargeProblem, maximize_large
from bayesvm.hyper.ls_svm import LevelsObjective
from bayesvm.hyper.multistart import Evaluated, StartRecord
from bayesvm.hyper.objective import Evaluation, KernelParameters
from bayesvm.inference import Exact
from bayesvm.inference.ls_svm import Design
from bayesvm.kernels import Constant
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import GaussianNoise, Weighted
from bayesvm.models.base import TrainingData
from bayesvm.models.ls_svm.levels import Levels, landmark_levels
from bayesvm.models.ls_svm.model import LeastSquares, LeastSquaresModel, class_groups
from bayesvm.models.scaling import weighted_moments
from bayesvm.typing import Indices, Vector

#: Variance of the noise with which a search begins, relative to that of the targets.
NOISE = 0.2
#: Rows, and the step of logarithms, by which it is found out whether a kernel has a scale of its own.
PROBES = 5
STEP = 0.1


@dataclasses.dataclass(frozen=True)
class FixedSizeProblem(KernelParameters):
    r"""The evidence with inducing inputs as a function of the kernel, its scales :math:`1/\mu`, :math:`1/\zeta` free.

    Parameters
    ----------
    kernel : Kernel
        Bound to the data; its parameters are ``theta0``.
    levels : LevelsObjective
        The evidence of level 3 on the rows on which it can be computed.
    data : TrainingData
        All rows.
    size : int or None
        Number of inducing inputs; None: as many as are needed.
    seed : int
        Of the samples.
    """

    kernel: Kernel
    levels: LevelsObjective
    data: TrainingData
    size: int | None
    seed: int

    def process(self, kernel: Kernel) -> LargeProblem:
        """Return the Gaussian process of standardised targets whose covariance is a multiple of the kernel.

        A kernel with a variance of its own is not multiplied once more: the evidence could not tell the two apart.
        """
        data, bias = self.data, self.levels.design.bias
        mean, var = weighted_moments(data.y, data.weights)
        square = var if bias else var + mean**2
        targets = (data.y - (mean if bias else 0.0)) / (float(np.sqrt(np.mean(square))) or 1.0)
        noise = GaussianNoise(NOISE)
        likelihood = noise if data.weights is None else Weighted(noise, tuple(data.weights))
        y = targets[:, 0] if targets.shape[1] == 1 else targets
        covariance = kernel if scales_itself(kernel, data.X) else Constant() * kernel
        covariance = covariance + Constant() if bias else covariance
        return LargeProblem(
            covariance, likelihood, Exact(), data.X, y, self.size, self.levels.prior, self.seed, neighbours=False
        )

    def evaluate(self, theta: Vector, warm_start: Vector | None = None) -> Evaluated:
        """Return the evidence at a kernel, with the best scales; there is no gradient, and no warm start."""
        theta = np.asarray(theta, dtype=float)
        process = self.process(self.kernel.with_theta(theta).fix())
        found = maximize_large(Maximizer(), process, [process.theta0])
        evidence = process.at(found.theta, most=POOL).evaluate(found.theta).evidence
        return Evaluation(theta, found.value, np.zeros(theta.size), (), evidence)


def maximize_fixed_size(maximizer: Maximizer, problem: FixedSizeProblem, starts: Sequence[Vector]) -> Maximum:
    """Maximise the evidence with inducing inputs over the kernel and its scales, and return the result without these.

    Parameters
    ----------
    maximizer : Maximizer
        Options of the searches.
    problem : FixedSizeProblem
        What is maximised.
    starts : sequence of arrays
        Each a theta of the kernel, or of the kernel with its features tied.
    """
    process = problem.process(problem.kernel)
    first = 0 if scales_itself(problem.kernel, problem.data.X) else 1
    own, theta0 = slice(first, first + problem.theta0.size), process.theta0
    found = maximize_large(
        maximizer, process, [np.concatenate([theta0[:first], start, theta0[own.stop :]]) for start in starts]
    )
    history = tuple(_without_scales(record, own) for record in found.history)
    return dataclasses.replace(found, theta=found.theta[own], history=history, latent=None)


def scales_itself(kernel: Kernel, X: Inputs) -> bool:
    """Whether free variances of the kernel can multiply it as a whole, as the scale of a process does."""
    variances = np.array(["variance" in name for name in kernel.names], dtype=float)
    if not np.any(variances):
        return False
    few = X.take(np.arange(min(PROBES, len(X))))
    before, after = kernel.gram(few), kernel.with_theta(kernel.theta + STEP * variances).gram(few)
    used = np.abs(before) > np.finfo(float).eps * np.max(np.abs(before))
    ratios = after[used] / before[used]
    return bool(np.ptp(ratios) < 1e-9 * np.max(ratios))


def _without_scales(record: StartRecord, own: slice) -> StartRecord:
    return dataclasses.replace(record, start=record.start[own], end=record.end[own], H=None)


@dataclasses.dataclass(frozen=True)
class FixedSizeLeastSquares(LeastSquares):
    """A least-squares machine in the span of inducing inputs; the other parameters are those of its base.

    Parameters
    ----------
    size : int or None
        Number of inducing inputs; None: as many as are needed.
    """

    search: ClassVar[Any] = staticmethod(maximize_fixed_size)

    size: int | None = None

    def objective(self, kernel: Kernel, data: TrainingData) -> Any:
        """Return the evidence with inducing inputs."""
        levels = super().objective(kernel, data)
        return FixedSizeProblem(kernel, levels, data, self.size, self.options.random_state or 0)

    def model(self, objective: Any, maximum: Maximum, data: TrainingData) -> LeastSquaresModel:
        """Return the levels on all rows at the learnt theta; the model keeps the evidence of level 3."""
        return super().model(getattr(objective, "levels", objective), maximum, data)

    def _levels(self, kernel: Kernel, data: TrainingData, design: Design, log_gamma: Vector | None) -> Levels:
        """Return the levels in the span of inducing inputs: of as many as the noise that they find makes useful."""
        choice, pool = self._chosen(kernel, data)
        rest = (kernel, data.X, data.y, design, class_groups(data))
        levels = landmark_levels(*rest, np.sort(pool[choice.rows]))
        if self.size is not None:
            return levels
        per_row = 0.5 * levels.found.gamma * float(np.mean(kernel.diag(data.X.take(pool))))
        needed = int(np.count_nonzero(per_row * choice.left > ENOUGH)) + 1
        return levels if needed >= choice.rows.size else landmark_levels(*rest, np.sort(pool[choice.rows[:needed]]))

    def _chosen(self, kernel: Kernel, data: TrainingData) -> tuple[GreedyChoice, Indices]:
        """Return inducing inputs as rows of a sample, and the sample."""
        n = data.n_rows
        pool = np.arange(n) if n <= POOL else np.sort(self.options.rng().choice(n, POOL, replace=False))
        return greedy_rows(kernel, data.X.take(pool), MOST if self.size is None else self.size), pool


__all__ = ["FixedSizeLeastSquares", "FixedSizeProblem", "maximize_fixed_size"]
