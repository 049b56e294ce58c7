r"""The choice of kernel and noise model for many rows, on a sample of them.

Every candidate is searched on samples, and judged by the evidence of as many rows as tell kernels apart, with the
approximation that suits it (:meth:`~bayesvm.hyper.large.LargeProblem.judged_at`), less one nat for each of its p
hyperparameters: on the rows on which they were tuned these raise the evidence by half a nat each, and they lower that
of other rows by as much. The score per row,

.. math:: \frac{\ln P(D_s | \hat\theta) - p}{|D_s|},

is what the evidence of all rows would be, whatever their number; the best candidate alone is fitted to them.

1. *gaussian* and *matern32*, a smooth and a rough function, with one length scale per feature unless these are too
   many: the whole search of :func:`~bayesvm.hyper.large.maximize_on_blocks`, each from its own starts. All others begin
   where the best so far has ended.
2. *matern52*, between the two, if the rough one is not far below the smooth one.
3. *laplacian*, for targets with several dense features, a function that may bend along one axis and be constant along
   the others: begun where it is worth as much at typical distances as the best so far (:mod:`bayesvm.models.forms`).
   Evidences of labels, which are approximated more coarsely for rougher functions, are too high for it.
4. *one length scale* for all features.
5. *common scale*: inputs divided by one number instead of one each, if features differ in scale and one length scale is
   enough for them.
6. *linear*: the best so far with a linear part.
7. *noise*: the best kernel with the other likelihoods; begun with the same curvature at zero, or the same variance. For
   targets they are tried only if the leave-one-out residuals of the sample are not those of Gaussian noise.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper import Maximum
from bayesvm.hyper.inducing import InducingObjective
from bayesvm.hyper.large import (
    FIRST,
    LargeProblem,
    covered,
    maximize_on_blocks,
    search_rounds,
    typical_curvature,
)
from bayesvm.kernels import Constant, Gaussian, Linear, Matern32, Matern52
from bayesvm.kernels.base import Kernel
from bayesvm.likelihoods.base import Likelihood, Regression
from bayesvm.models.base import Candidate, FittedModel, KernelCandidate, ModelSpec, TrainingData, no_evidence
from bayesvm.models.forms import LAPLACIAN, other_forms
from bayesvm.models.gaussian_process import GaussianProcessModel
from bayesvm.models.label_kernels import common_scale
from bayesvm.models.large import LargeProcess
from bayesvm.models.target_kernels import noise_name, unusual_residuals
from bayesvm.typing import Vector

logger = logging.getLogger(__name__)

#: Features up to which kernels with one length scale for each are tried: the time of an evaluation grows with them.
ARD_FEATURES = 256
#: Nats per row by which the rougher of two kernels may be below the smooth one for the kernel between them to be tried.
FAR = 0.05
#: Share of the variance with which a linear part begins.
LINEAR = float(np.exp(-2.0))


@dataclasses.dataclass(frozen=True)
class SampleTrial:
    """A candidate after its search on samples.

    Attributes
    ----------
    name : str
        In words.
    spec : LargeProcess
        The specification with its likelihood.
    problem : LargeProblem
        With its kernel.
    maximum : Maximum
        Where its search has ended.
    score : float
        Log evidence per row, less one nat for each hyperparameter.
    rows : int
        Rows whose evidence it is.
    low_rank : bool
        Whether it is that of inducing inputs alone.
    seconds : float
        Time spent on it.
    """

    name: str
    spec: LargeProcess
    problem: LargeProblem
    maximum: Maximum
    score: float
    rows: int
    low_rank: bool
    seconds: float

    @property
    def theta(self) -> Vector:
        """Its hyperparameters."""
        return self.maximum.theta

    @property
    def kernel(self) -> Kernel:
        """Its kernel with the learnt parameters."""
        return self.problem.model(self.theta)[0]

    @property
    def likelihood(self) -> Likelihood:
        """Its likelihood with the learnt parameters, without weights."""
        return self.problem.model(self.theta)[1].plain

    def row(self, *, kept: bool) -> Candidate:
        """Return the candidate as it is listed."""
        spent = sum(record.evaluations for record in self.maximum.history)
        return Candidate(self.name, self.score * self.rows, kept, seconds=self.seconds, evaluations=spent)


@dataclasses.dataclass(frozen=True)
class ChoiceOnSample:
    """Candidates for many rows, of which the best on a sample is fitted to all of them.

    Parameters
    ----------
    kernel : Kernel or None
        The only kernel; None: it is chosen.
    given : bool
        Whether its own parameters are the first start.
    likelihoods : tuple of Likelihood
        Noise models to try beside the specification's.
    """

    kernel: Kernel | None = None
    given: bool = False
    likelihoods: tuple[Likelihood, ...] = ()

    def __call__(self, spec: ModelSpec, data: TrainingData, tried: Sequence[FittedModel]) -> Iterator[KernelCandidate]:
        """Yield the best candidate."""
        assert isinstance(spec, LargeProcess)
        search = _Search(spec, data)
        with contextlib.suppress(_InterruptedSearchError):
            self._try_all(search)
        best = search.best
        rows = (*(trial.row(kept=trial is best) for trial in search.trials), *search.failed_rows())
        changes: dict[str, Any] = {
            "likelihood": best.spec.likelihood,
            "inference": best.spec.inference,
            "compared": rows if len(rows) > 1 else (),
            "begun": best.maximum.history,
        }
        yield KernelCandidate(best.problem.kernel, best.name, starts=[best.theta], changes=changes)

    def _try_all(self, search: _Search) -> None:
        if self.kernel is None:
            search.kernels()
        else:
            search.whole("", self.kernel, search.spec.options.n_starts, given=self.given)
        if self.likelihoods and search.worth_other_noise():
            for likelihood in self.likelihoods:
                search.noise(likelihood)


class _InterruptedSearchError(Exception):
    """An interrupt has ended a search whose best point is kept: nothing else is tried."""


class _Search:
    """The candidates of one choice, one after the other."""

    def __init__(self, spec: LargeProcess, data: TrainingData) -> None:
        self.spec, self.data = spec, data
        self.trials: list[SampleTrial] = []
        self.failures: list[tuple[str, float, NotPositiveDefiniteError]] = []

    @property
    def best(self) -> SampleTrial:
        if not self.trials:
            name, _, reason = self.failures[0]
            raise no_evidence(name, reason) from reason
        return max(self.trials, key=lambda trial: trial.score)

    def failed_rows(self) -> list[Candidate]:
        """Return the candidates without an evidence as they are listed."""
        return [Candidate(name, -np.inf, False, seconds=seconds) for name, seconds, _ in self.failures]

    def kernels(self) -> None:
        """Try all kernels with the likelihood of the specification."""
        d = self.data.n_features
        ard = 1 < d <= ARD_FEATURES
        smooth, rough = Gaussian(ard=ard) + Constant(), Matern32(ard=ard) + Constant()
        suffix = ", ard" if ard else ""
        self.whole(f"gaussian{suffix}", smooth, self.spec.options.n_starts)
        self.whole(f"matern32{suffix}", rough, 2)
        scores = {trial.name: trial.score for trial in self.trials}
        if scores.get(f"matern32{suffix}", -np.inf) > scores.get(f"gaussian{suffix}", -np.inf) - FAR:
            between = Matern52(ard=ard) + Constant()
            self.begun_at(f"matern52{suffix}", between, self.best.theta)
        self.manhattan(suffix)
        if ard:
            self.tied()
        if self.best.kernel.relevance(d) is None:
            common = common_scale(self.best.kernel, self.data)
            if common is not None:
                self.begun_at(f"{self.best.name}, common scale", common, self.best.theta)
        self.linear()

    def whole(self, name: str, kernel: Kernel, n_starts: int, *, given: bool = False) -> None:
        """Try a kernel by the whole search on samples, from two starts or more."""
        began, name = time.perf_counter(), name or _form(kernel)
        with self._left_out_if_impossible(name):
            problem = self._problem(self.spec, kernel)
            starts = [problem.theta0] if given else []
            starts += self.spec.starts(problem.kernel, self.data, max(2, n_starts) - len(starts))
            maximum = maximize_on_blocks(self.spec.options.maximizer, problem, starts)
            self._judged(name, self.spec, problem, maximum, began)

    def begun_at(
        self, name: str, kernel: Kernel, theta: Vector, spec: LargeProcess | None = None, *, n_rounds: int = 1
    ) -> None:
        """Try a kernel from a theta that is known, with one round or more on a sample of blocks or rows."""
        began, spec = time.perf_counter(), spec or self.spec
        with self._left_out_if_impossible(name):
            problem = self._problem(spec, kernel)
            smooth = problem.smoothed()
            choose = smooth.some_rows if smooth.either and self.best.low_rank else smooth.some_blocks
            maximum = search_rounds(spec.options.maximizer, [theta], FIRST[:n_rounds], choose)
            self._judged(name, spec, problem, maximum, began)

    def manhattan(self, suffix: str) -> None:
        """Try the kernel of the Manhattan distance for targets, where there is one."""
        best = self.best
        kernel = other_forms(best.kernel, self.data.X).get(LAPLACIAN)
        if kernel is not None and isinstance(best.likelihood, Regression):
            likelihood = best.theta[best.problem.kernel.theta.size :]
            theta = np.concatenate([kernel.theta, likelihood])  # farther from its best than those of the other variants
            self.begun_at(f"{LAPLACIAN}{suffix}", kernel, theta, n_rounds=2)

    def tied(self) -> None:
        """Try one length scale for all features."""
        first = self.best
        name = first.name.removesuffix(", ard")
        scales = np.array(["lengthscale" in name for name in first.problem.names])
        common = -0.5 * np.log(np.mean(np.exp(-2.0 * first.theta[scales])))
        where = int(np.argmax(scales))
        theta = np.insert(first.theta[~scales], where, common)
        self.begun_at(name, first.problem.kernel.tied(), theta)

    def linear(self) -> None:
        """Try the best kernel with a linear part."""
        best, d = self.best, self.data.n_features
        variance = float(np.mean(best.kernel.leaves()[0].diag(self.data.X.take(np.arange(1)))))
        wider = best.kernel + Linear(LINEAR * variance / d)
        likelihood = best.theta[best.problem.kernel.theta.size :]
        theta = np.concatenate([wider.bind(d, self.data.names).theta, likelihood])
        self.begun_at(f"{best.name} + linear", wider, theta)

    def worth_other_noise(self) -> bool:
        """Whether the noise can be another than the specification's: residuals of the sample tell, labels do not."""
        best = self.best
        if not isinstance(best.likelihood, Regression):
            return True
        sample = best.problem.sample()
        try:
            first = sample.evaluate(best.theta)
            model = GaussianProcessModel.at_maximum(sample, Maximum.at(best.theta, first.value, first.evidence.latent))
        except NotPositiveDefiniteError as error:
            logger.warning("the residuals of the sample are not known, other noise is tried: %s", error)
            return True
        return unusual_residuals(model, self.data.counts[best.problem.sample_rows], self.data.spread)

    def noise(self, likelihood: Likelihood) -> None:
        """Try the best kernel with another likelihood."""
        best, kernel = self.best, self.best.problem.kernel
        theta, old = best.theta[: kernel.theta.size].copy(), best.likelihood
        if isinstance(likelihood, Regression):
            assert isinstance(old, Regression)
            likelihood = likelihood.rescaled(float(np.sqrt(old.noise_variance / likelihood.noise_variance)))
            name = noise_name(likelihood)
        else:
            ratio = typical_curvature(old) / typical_curvature(likelihood)
            theta += np.log(ratio) * np.array(["variance" in name for name in kernel.names])
            name = type(likelihood).__name__.lower()
        theta = np.clip(theta, kernel.bounds[:, 0], kernel.bounds[:, 1])
        spec = dataclasses.replace(best.spec, likelihood=likelihood, inference=best.spec.inference.suited(likelihood))
        self.begun_at(f"{best.name}, {name} noise", kernel, np.concatenate([theta, likelihood.theta]), spec)

    @contextlib.contextmanager
    def _left_out_if_impossible(self, name: str) -> Iterator[None]:
        """Go on without a candidate whose evidence cannot be computed; it is listed as one."""
        began = time.perf_counter()
        try:
            yield
        except NotPositiveDefiniteError as error:
            logger.warning("kernel %s is left out: %s", name, error)
            self.failures.append((name, time.perf_counter() - began, error))

    def _problem(self, spec: LargeProcess, kernel: Kernel) -> LargeProblem:
        problem = spec.objective(kernel.bind(self.data.n_features, self.data.names), self.data)
        assert isinstance(problem, LargeProblem)
        return problem

    def _judged(self, name: str, spec: LargeProcess, problem: LargeProblem, maximum: Maximum, began: float) -> None:
        """Add a trial; leave the choice if it was interrupted and is to keep what it has."""
        objective = problem.judged_at(maximum.theta)
        value, rows = objective.evaluate(maximum.theta).value, covered(objective)
        score, seconds = (value - maximum.theta.size) / rows, time.perf_counter() - began
        logger.info("%s: log evidence per row %.4g, corrected %.4g, in %.3g s", name, value / rows, score, seconds)
        low_rank = isinstance(objective, InducingObjective)
        self.trials.append(SampleTrial(name, spec, problem, maximum, score, rows, low_rank, seconds))
        if maximum.interrupted:
            raise _InterruptedSearchError


def _form(kernel: Kernel) -> str:
    return " + ".join(type(leaf).__name__.lower() for leaf in kernel.leaves())


__all__ = ["ARD_FEATURES", "ChoiceOnSample", "SampleTrial"]
