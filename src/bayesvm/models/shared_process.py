r"""Several classes as one model: one against the rest, with one kernel for all, finished by joint predictions.

1. *Search.* Every candidate kernel maximises the sum of the one-against-rest evidences (one Gram matrix and one
   pullback per evaluation) plus the hyperprior; where Laplace's evidence of the likelihood jumps along theta, that of
   its smooth companion.
2. *Judgement.* The evidence of answers to C questions that are not independent finds the relation of the length scales
   well, and their common level and the variance badly. So these two are chosen on a lattice about the maximum
   (:mod:`bayesvm.models.lattice`), by what the left-out scores of all classes are worth together
   (:mod:`bayesvm.models.joint_calibration`), plus the lattice's prior:

   .. math:: \ln w(M, s, a, l) = \ln E(M, s, a, l) - \frac{a^2}{2 \sigma_a^2} - \frac{l^2}{2 \sigma_l^2}
             + \text{const} .

   Every kernel M is judged with two solutions s (:mod:`bayesvm.models.class_scores`): the posterior means of the
   likelihood, and least squares. Kernels that were searched later begin where the best one so far ended.
3. *Average.* The same numbers weigh kernels, solutions and places. Places that differ in the variance alone predict
   nearly the same: the best of them stands for all, with their weights together. What has a small weight is dropped,
   and the probabilities of the rest are averaged.

*Many rows.* Search and judgement use a part of the rows, of which each stands for several. Posteriors, calibration and
the evidence that is reported are those of all rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper import EvidenceObjective, Maximum, has_jumps
from bayesvm.hyper.subsample import spread_rows
from bayesvm.hyper.surrogate import with_likelihood
from bayesvm.kernels.base import Kernel
from bayesvm.models.average import AveragedClasses
from bayesvm.models.base import Candidate, TrainingData, Trial
from bayesvm.models.class_scores import MeanFunctions, PosteriorMeans, ScoredClasses, Scores, SignRegression, Solution
from bayesvm.models.gaussian_process import GaussianProcess, GaussianProcessModel, weighted_likelihood
from bayesvm.models.joint_calibration import calibrate_classes
from bayesvm.models.joint_process import class_numbers, scored
from bayesvm.models.lattice import ORIGIN, LatticePlace, climb, log_prior, shifted, shifts
from bayesvm.typing import Indices, Vector

#: Rows beyond which kernels are searched and judged on a part of them; how many these are, and of each class at least.
MANY, PART, OF_EACH = 700, 500, 5
#: What has a weight below this share of the largest is dropped, and how many are kept at most.
SHARE, MOST = 0.3, 4
#: The lattice ends after so many steps in each direction.
FARTHEST = 5


@dataclasses.dataclass(frozen=True)
class Judgement:
    """What a solution of a candidate is worth at a place of the lattice."""

    solution: Solution
    place: LatticePlace
    score: float


@dataclasses.dataclass(frozen=True)
class JudgedModel(GaussianProcessModel):
    """A candidate at the maximum of its evidence, on the rows that it was searched on.

    Attributes
    ----------
    judgements : tuple of Judgement
        Of every solution and place that was looked at, the best first.
    """

    judgements: tuple[Judgement, ...] = ()

    @property
    def best(self) -> Judgement:
        """The best judgement."""
        return self.judgements[0]


@dataclasses.dataclass(frozen=True)
class SharedProcess(GaussianProcess):
    """Gaussian processes of several classes with a common kernel, whose probabilities are found together.

    Parameters
    ----------
    likelihood, inference, posterior, reduce
        As in :class:`~bayesvm.models.gaussian_process.GaussianProcess`.
    start : LatticePlace
        Where the judgement of a candidate begins.
    """

    start: LatticePlace = ORIGIN

    @property
    def solutions(self) -> tuple[Solution, ...]:
        """The solutions with which kernels are judged."""
        return PosteriorMeans(self.posterior or self.inference), SignRegression()

    def objective(self, kernel: Kernel, data: TrainingData) -> EvidenceObjective:
        """Return the evidence that is searched: on some of the rows if they are many, smooth where it can be."""
        own = super().objective(kernel, data)
        rows = judged_rows(data)
        own = own if rows.size == data.n_rows else own.part(rows)
        return with_likelihood(own, own.likelihood.smoothed) if has_jumps(own) else own

    def model(self, objective: EvidenceObjective, maximum: Maximum, data: TrainingData) -> JudgedModel:
        """Return the candidate with its own likelihood, and what it is worth on the lattice."""
        likelihood = weighted_likelihood(self.likelihood, data).part(judged_rows(data))
        own = dataclasses.replace(objective, likelihood=likelihood, inference=self.inference)
        plain = GaussianProcessModel.at_maximum(own, maximum)
        found: list[Judgement] = []
        start = self.start
        for solution in self.solutions:
            scores = Judge(plain, data, solution).climb(start)
            found += [Judgement(solution, place, score) for place, score in scores.items()]
            start = max(scores, key=lambda place: scores[place])
        found.sort(key=lambda item: -item.score)
        fields = {field.name: getattr(plain, field.name) for field in dataclasses.fields(plain)}
        return JudgedModel(**fields, judgements=tuple(found))

    def conclude(self, trials: Sequence[Trial], data: TrainingData) -> AveragedClasses:
        """Return the average over all kernels, solutions and places that count."""
        found = [(item, t.model) for t in trials if t.model is not None for item in _summed(t.model.judgements)]
        found.sort(key=lambda pair: -pair[0].score)
        kept = [pair for pair in found if pair[0].score >= found[0][0].score + np.log(SHARE)][:MOST]
        scores = np.array([judgement.score for judgement, _ in kept])
        weights = np.exp(scores - logsumexp(scores))
        chosen = self._on_all_rows(kept[0][1], data)
        members = tuple(self._member(judgement, model, data) for judgement, model in kept)
        return AveragedClasses(chosen, members, weights, _rows(trials, [model for _, model in kept], weights))

    def _on_all_rows(self, model: JudgedModel, data: TrainingData) -> GaussianProcessModel:
        """Return a candidate with evidence, posteriors and marginals of all rows, at the maximum of its evidence."""
        own = GaussianProcess.objective(self, model.objective.kernel, data)
        whole = GaussianProcessModel.at_maximum(own, dataclasses.replace(model.maximum, latent=None))
        return whole.refined(self.posterior).reduced(self.reduce)

    def _member(self, judgement: Judgement, model: JudgedModel, data: TrainingData) -> ScoredClasses:
        """Return what predicts for a solution of a kernel at a place, found and calibrated on all rows."""
        kernel = kernel_at(model, judgement.place)
        likelihood = weighted_likelihood(self.likelihood, data)
        scores = judgement.solution.scores(kernel.gram(data.X), data.y, likelihood)
        functions = MeanFunctions.of(kernel, data.X.forget(), scores.coefficients)
        return scored(functions, scores.left_out, data, self.calibrate, model.determined)


def _summed(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Return the best judgement of every solution and length scale, with the weights of all variances together."""
    groups: dict[tuple[Solution, int], list[Judgement]] = {}
    for judgement in judgements:
        groups.setdefault((judgement.solution, judgement.place[1]), []).append(judgement)
    return [
        dataclasses.replace(group[0], score=float(logsumexp([judgement.score for judgement in group])))
        for group in groups.values()
    ]


def kernel_at(model: GaussianProcessModel, place: LatticePlace) -> Kernel:
    """Return the kernel of a candidate at a place of the lattice."""
    objective = model.objective
    return objective.model(shifted(model.theta, objective.names, objective.bounds, *shifts(place)))[0]


def _rows(trials: Sequence[Trial], kept: Sequence[JudgedModel], weights: Vector) -> tuple[Candidate, ...]:
    """Return what was tried, with the weight of all its solutions and places together."""
    shares = [float(sum(w for model, w in zip(kept, weights, strict=True) if model is t.model)) for t in trials]
    return tuple(t.row(kept=share > 0.0, weight=share) for t, share in zip(trials, shares, strict=True))


@dataclasses.dataclass(frozen=True)
class Judge:
    """What a solution of a candidate is worth on a lattice of variances and length scales.

    Parameters
    ----------
    model : GaussianProcessModel
        The candidate at the maximum of its evidence, on the rows that judge.
    data : TrainingData
        All rows.
    solution : Solution
        What is judged.
    looked : dict
        Scores of the places that were looked at.
    """

    model: GaussianProcessModel
    data: TrainingData
    solution: Solution
    looked: dict[LatticePlace, Scores] = dataclasses.field(default_factory=dict)

    def climb(self, start: LatticePlace) -> dict[LatticePlace, float]:
        """Return the worth of the places on the way from a start, where there must be a solution, to the best one."""

        def look(place: LatticePlace) -> float | None:
            try:
                return self.score(place)
            except NotPositiveDefiniteError:
                if place == start:
                    raise
                return None

        return climb(look, start, FARTHEST)

    def score(self, place: LatticePlace) -> float:
        """Return the worth of a place.

        Raises
        ------
        NotPositiveDefiniteError
            If there is no solution.
        """
        near = min(self.looked, key=lambda p: abs(p[0] - place[0]) + abs(p[1] - place[1]), default=None)
        objective, rows, counts = self.model.objective, judged_rows(self.data), self.data.counts
        K = kernel_at(self.model, place).gram(objective.X)
        begin = None if near is None else self.looked[near]
        scores = self.looked[place] = self.solution.scores(K, self.data.y[rows], objective.likelihood, begin)
        count = float(counts.sum() / counts[rows].sum())  # rows for which each of them stands
        codes, determined = class_numbers(self.data)[rows], self.model.determined / count
        fit = calibrate_classes(scores.left_out, codes, counts[rows], determined=determined)
        return count * fit.log_evidence + log_prior(place)


def judged_rows(data: TrainingData) -> Indices:
    """Return the rows on which candidates are searched and judged, all classes in proportion."""
    if data.n_rows <= MANY:
        return np.arange(data.n_rows)
    return spread_rows(class_numbers(data).astype(float), max(PART, OF_EACH * data.n_outputs))


__all__ = ["Judge", "JudgedModel", "Judgement", "SharedProcess", "judged_rows"]
