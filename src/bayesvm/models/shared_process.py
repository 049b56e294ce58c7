r"""Several classes as one model: one against the rest, with one kernel for all, finished by joint predictions.

1. *Search.* Every candidate kernel maximises the sum of the one-against-rest evidences (one Gram matrix and one
   pullback per evaluation) plus a proper hyperprior; where Laplace's evidence of the likelihood jumps along theta, that
   of its smooth companion.
2. *Judgement.* The evidence of answers to C questions that are not independent finds the relation of the length scales
   well, and their common level and the variance badly. So these two are chosen on a lattice about the maximum
   (:mod:`bayesvm.models.lattice`), by what the leave-one-out means of all classes are worth together
   (:mod:`bayesvm.models.joint_calibration`), plus the lattice's prior:

   .. math:: \ln w(M, a, l) = \ln E(M, a, l) - \frac{a^2}{2 \sigma_a^2} - \frac{l^2}{2 \sigma_l^2} + \text{const} .

   Kernels that were searched later begin where the best one so far ended.
3. *Average.* The same numbers weigh kernels and places; all with a small weight are dropped, and the probabilities of
   the others are averaged.

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
from bayesvm.models.gaussian_process import GaussianProcess, GaussianProcessModel, weighted_likelihood
from bayesvm.models.joint_calibration import JointCalibration, calibrate_classes
from bayesvm.models.lattice import ORIGIN, LatticePlace, climb, log_prior, shifted, shifts
from bayesvm.models.predictor import Predictor
from bayesvm.typing import Indices, Vector

#: Rows beyond which kernels are searched and judged on a part of them; how many these are, and of each class at least.
MANY, PART, OF_EACH = 700, 500, 5
#: Kernels and places whose weight is below this share of the largest are dropped, and how many are kept at most.
SHARE, MOST = 0.3, 4


@dataclasses.dataclass(frozen=True)
class JudgedModel(GaussianProcessModel):
    """A candidate at the maximum of its evidence, on the rows that it was searched on.

    Attributes
    ----------
    scores : tuple of (LatticePlace, float)
        What it is worth at every place that was looked at, the best first.
    """

    scores: tuple[tuple[LatticePlace, float], ...] = ()

    @property
    def best_place(self) -> LatticePlace:
        """Where it is worth most."""
        return self.scores[0][0]

    @property
    def score(self) -> float:
        """What it is worth there."""
        return self.scores[0][1]


@dataclasses.dataclass(frozen=True)
class SharedProcess(GaussianProcess):
    """Gaussian processes of several classes with a common kernel; ``calibrate`` must not be None.

    Parameters
    ----------
    likelihood, inference, calibrate, reduce
        As in :class:`~bayesvm.models.gaussian_process.GaussianProcess`. The hyperprior must be proper.
    start : LatticePlace
        Where the judgement of a candidate begins.
    """

    start: LatticePlace = ORIGIN

    def objective(self, kernel: Kernel, data: TrainingData) -> EvidenceObjective:
        """Return the evidence that is searched: on some of the rows if they are many, smooth where it can be."""
        own = super().objective(kernel, data)
        rows = judged_rows(data)
        own = own if rows.size == data.n_rows else own.part(rows)
        return with_likelihood(own, own.likelihood.smoothed) if has_jumps(own) else own

    def model(self, objective: EvidenceObjective, maximum: Maximum, data: TrainingData) -> JudgedModel:
        """Return the candidate with its own likelihood, and what it is worth on the lattice."""
        rows = judged_rows(data)
        likelihood = weighted_likelihood(self.likelihood, data).part(rows)
        own = dataclasses.replace(objective, likelihood=likelihood, inference=self.inference)
        plain = dataclasses.replace(GaussianProcessModel.at_maximum(own, maximum), method=self.posterior)
        judge = Judge(plain, data, rows)
        scores = sorted(climb(judge.score, self.start).items(), key=lambda item: (-item[1], item[0]))
        fields = {field.name: getattr(plain, field.name) for field in dataclasses.fields(plain)}
        return JudgedModel(**fields, scores=tuple(scores))

    def conclude(self, trials: Sequence[Trial], data: TrainingData) -> AveragedClasses:
        """Return the average over all kernels and places that count."""
        found = [
            (score, model, place) for model in (t.model for t in trials if t.model) for place, score in model.scores
        ]
        found.sort(key=lambda item: -item[0])
        kept = [item for item in found if item[0] >= found[0][0] + np.log(SHARE)][:MOST]
        scores = np.array([score for score, _, _ in kept])
        weights = np.exp(scores - logsumexp(scores))
        chosen = self._on_all_rows(kept[0][1], data)
        members = tuple(self._member(chosen, model, place, data) for _, model, place in kept)
        shares = {id(t.model): 0.0 for t in trials}
        for weight, (_, model, _) in zip(weights, kept, strict=True):
            shares[id(model)] += float(weight)
        rows: tuple[Candidate, ...] = tuple(t.row(kept=shares[id(t.model)] > 0.0, weight=shares[id(t.model)]) for t in trials)
        return AveragedClasses(chosen, members, weights, rows if len(trials) > 1 else ())

    def _on_all_rows(self, model: JudgedModel, data: TrainingData) -> GaussianProcessModel:
        """Return a candidate with evidence, posteriors and marginals of all rows, at the maximum of its evidence."""
        own = GaussianProcess.objective(self, model.objective.kernel, data)
        whole = GaussianProcessModel.at_maximum(own, dataclasses.replace(model.maximum, latent=None))
        return whole.refined(self.posterior).reduced(self.reduce)

    def _member(
        self, chosen: GaussianProcessModel, model: JudgedModel, place: LatticePlace, data: TrainingData
    ) -> Predictor:
        """Return what predicts for a kernel at a place, calibrated on all rows."""
        whole = dataclasses.replace(chosen, objective=dataclasses.replace(chosen.objective, kernel=model.objective.kernel))
        theta = shifted(model.theta, model.objective.names, model.objective.bounds, *shifts(place))
        member = whole.moved(theta)
        fit = calibrated_jointly(member, data.codes, data.counts, model.determined)
        return dataclasses.replace(member, calibrations=fit.parts(), joint=True).reduced_on(
            data.X.forget(), self.reduce, chosen.basis
        )


@dataclasses.dataclass(frozen=True)
class Judge:
    """What a candidate is worth on a lattice of variances and length scales, by leave-one-out means of the rows."""

    model: GaussianProcessModel
    data: TrainingData
    rows: Indices

    def score(self, place: LatticePlace) -> float | None:
        """Return the worth of a place, None where its posteriors cannot be computed."""
        objective, counts = self.model.objective, self.data.counts
        theta = shifted(self.model.theta, objective.names, objective.bounds, *shifts(place))
        try:
            member = self.model.moved(theta)
        except NotPositiveDefiniteError:
            return None
        assert self.data.codes is not None
        fit = calibrated_jointly(member, self.data.codes[self.rows], counts[self.rows], self.model.determined)
        return float(counts.sum() / counts[self.rows].sum()) * fit.log_evidence + log_prior(place)


def calibrated_jointly(
    member: Predictor, codes: Indices | None, weights: Vector, determined: float
) -> JointCalibration:
    """Return the calibration of all classes by the leave-one-out means of a predictor."""
    assert codes is not None
    return calibrate_classes(member.loo_latent()[0], codes, weights, determined=determined)


def judged_rows(data: TrainingData) -> Indices:
    """Return the rows on which candidates are searched and judged, all classes in proportion."""
    if data.n_rows <= MANY:
        return np.arange(data.n_rows)
    assert data.codes is not None
    return spread_rows(data.codes.astype(float), max(PART, OF_EACH * data.n_outputs))


__all__ = ["Judge", "JudgedModel", "SharedProcess", "judged_rows"]
