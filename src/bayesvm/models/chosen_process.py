r"""Gaussian processes whose kernel and noise are chosen, by an evidence that counts hyperparameters.

1. *Search.* Every candidate maximises the evidence plus a proper hyperprior
   (:mod:`bayesvm.hyper.default_prior`). Where Laplace's evidence of the likelihood jumps along theta, and the decision
   is not its own, the search takes that of the smooth companion of the likelihood.
2. *Decision.* Laplace's evidence of a sparse likelihood is far off where the variance is large: rows beyond the margin
   have no curvature at the mode. So from its maximum a few steps lead uphill on the evidence of expectation propagation
   (unless predictions are to come from Laplace's method), and a quick estimate of the model evidence is made there
   (:mod:`bayesvm.hyper.assessment`). With many rows, or weights over many orders of magnitude, expectation propagation
   is too expensive for steps: it is run once, at the maximum of Laplace's evidence.
3. *Weights.* Candidates have weights :math:`w_j \propto \exp(\ln P(D|M_j) - \gamma_j/2)`; those with less than a share
   of the largest are dropped, and so are those whose evidence is that of an iteration that did not converge.
4. *Finish.* For labels, variance and common length scale of every kept candidate are weighted by recalibrated
   leave-one-out predictions (:mod:`bayesvm.models.places`), with many rows the form of its kernel, too
   (:mod:`bayesvm.models.forms`). Weights over many orders of magnitude leave out this step.
   With ``integrate`` the predictions at several settings of theta take its place (:mod:`bayesvm.models.integration`).
5. *Average.* The predictions of all that is left are averaged (:mod:`bayesvm.models.average`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from bayesvm.hyper import Assessment, EvidenceObjective, Maximizer, Maximum, assess, has_jumps
from bayesvm.hyper.subsample import spread_rows
from bayesvm.hyper.surrogate import with_likelihood
from bayesvm.inference import EP
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Classification
from bayesvm.models import forms
from bayesvm.models.average import AveragedLabels, AveragedModel, AveragedTargets
from bayesvm.models.base import Candidate, TrainingData, Trial
from bayesvm.models.forms import finished_forms, split_row
from bayesvm.models.gaussian_process import GaussianProcess, GaussianProcessModel, weighted_likelihood
from bayesvm.models.integration import Integration, integrated
from bayesvm.models.places import finished
from bayesvm.models.predictor import Predictor, support_union
from bayesvm.solvers.base import Status
from bayesvm.typing import Indices, Vector

#: Expectation propagation for decisions: evidences to a hundredth of a nat.
DECISIVE = EP(tol=1e-3)
#: Evaluations and predicted gain per hyperparameter, in nats, of the steps uphill on its evidence.
STEPS, GAIN = 10, 0.03
#: Rows beyond which theta and curvature are those of Laplace's evidence, and expectation propagation is run once.
MANY = 700
#: The same for the ratio of the largest weight to the smallest positive one: a hundred sweeps are needed there.
UNEVEN = 1e6
#: How an inference may end for its candidate to count: one that has stalled has converged up to rounding.
SOUND = (Status.CONVERGED, Status.STALLED)
#: Candidates with less than this share of the largest weight are dropped.
SHARE = 0.1


@dataclasses.dataclass(frozen=True)
class ChosenProcess(GaussianProcess):
    """A Gaussian process with several candidates for kernel and noise.

    Parameters
    ----------
    likelihood, inference, posterior, calibrate, reduce
        As in :class:`~bayesvm.models.gaussian_process.GaussianProcess`. The hyperprior must be proper.
    integrate : bool
        Whether predictions are averaged over theta.
    compared : tuple of Candidate
        What was compared before on a part of the rows.
    curvature_rows : int or None
        Rows from which the curvature of an evidence is estimated; None: all.
    """

    integrate: bool = False
    compared: tuple[Candidate, ...] = ()
    curvature_rows: int | None = None

    def objective(self, kernel: Kernel, data: TrainingData) -> EvidenceObjective:
        """Return the evidence that is searched: of the smooth companion, where expectation propagation decides."""
        own = super().objective(kernel, data)
        return with_likelihood(own, own.likelihood.smoothed) if self.posterior is not None and has_jumps(own) else own

    def model(self, objective: EvidenceObjective, maximum: Maximum, data: TrainingData) -> GaussianProcessModel:
        """Return the model at the maximum of the evidence that decides, with its assessment."""
        smooth = with_likelihood(objective, objective.likelihood.smoothed) if has_jumps(objective) else objective
        if self.posterior is not None:
            likelihood = weighted_likelihood(self.likelihood, data)
            objective = dataclasses.replace(objective, likelihood=likelihood, inference=DECISIVE)
            if not _costly(data):
                smooth = objective
                maximum = self._ascended(objective, maximum)
        here = objective.evaluate(maximum.theta, maximum.latent)
        curved = here if smooth is objective else smooth.evaluate(here.theta, maximum.latent)
        bare = dataclasses.replace(objective, X=objective.X.forget())
        rows = None if self.curvature_rows is None else spread_rows(data.y[:, 0], self.curvature_rows)
        return GaussianProcessModel(
            *objective.model(here.theta),
            here.posteriors,
            bare.X.take(support_union(here.posteriors)),
            here.evidence.without_dk(),
            bare,
            dataclasses.replace(maximum, theta=here.theta, value=here.value, latent=here.evidence.latent),
            self.compared,
            assessment=_trusted(assess(smooth, curved, here.value, rows), here.evidence.status),
        )

    def _ascended(self, objective: EvidenceObjective, maximum: Maximum) -> Maximum:
        """Return the maximum after a few steps uphill on the evidence that decides."""
        if not self.options.optimize:
            return maximum
        steps = Maximizer(GAIN, STEPS, callback=self.options.maximizer.callback)
        H = max(maximum.history, key=lambda record: record.value).H
        found = steps.maximize(objective, [maximum.theta], metrics=[H], latent=maximum.latent)
        status = found.status if found.interrupted else maximum.status
        return dataclasses.replace(found, status=status, history=maximum.history + found.history)

    def conclude(self, trials: Sequence[Trial], data: TrainingData) -> AveragedModel:
        """Return the average of the candidates that count; the first alone, if no evidence is to be trusted."""
        weights = candidate_weights(trials)
        best = trials[int(np.argmax(weights))].model
        chosen = self._ready(best, data)
        parts: list[tuple[float, Predictor]] = []
        integrations: list[Integration] = []
        rows = list(best.candidates)
        for weight, trial, row in zip(weights, trials, candidate_rows(trials, weights), strict=True):
            if weight == 0.0:
                rows.append(row)
                continue
            ready = chosen if trial.model is best else self._ready(trial.model, data)
            shares, own, how = self._members(ready, data)
            parts += [(float(weight) * share, member) for share, member in own]
            integrations += how
            rows += split_row(row, shares)
        parts.sort(key=lambda part: -part[0])
        average = AveragedLabels if isinstance(self.likelihood, Classification) else AveragedTargets
        weights_of_parts, X = np.array([weight for weight, _ in parts]), data.X.forget()
        chosen = chosen.reduced(self.reduce)
        members = _reduced([member for _, member in parts], X, self.reduce, chosen.basis)
        if integrations:
            chosen = dataclasses.replace(chosen, attributes={**chosen.attributes, "integration": tuple(integrations)})
        return average(chosen, members, weights_of_parts, tuple(rows))

    def _ready(self, model: GaussianProcessModel, data: TrainingData) -> GaussianProcessModel:
        """Return a candidate with the posterior that predicts, marginals and calibration."""
        return model.refined(self.posterior).calibrated(self.calibrate, data.counts, tuned=True)

    def _members(
        self, model: GaussianProcessModel, data: TrainingData
    ) -> tuple[dict[str, float], list[tuple[float, Predictor]], list[Integration]]:
        """Return what predicts for a candidate.

        Returns
        -------
        shares : dict
            Of the forms of its kernel, by name; that of the kernel itself has no name.
        members : list of (float, Predictor)
            Predictors, with shares that add up to one.
        integrations : list of Integration
            How theta was averaged over.
        """
        own = {"": 1.0}
        if self.integrate:
            members, how = integrated(model, data, self.calibrate)
            return own, members, [how]
        if self.calibrate != "auto" or not isinstance(self.likelihood, Classification) or _uneven(data):
            return own, [(1.0, model.predictor())], []
        if data.n_rows <= forms.MANY:
            return own, finished(model, data), []
        found = finished_forms(model, data)
        return {name: share for name, share, _ in found}, [(share, member) for _, share, member in found], []


def _uneven(data: TrainingData) -> bool:
    """Whether weights differ so much that expectation propagation converges slowly."""
    weights = data.counts[data.counts > 0.0]
    return bool(weights.max() > UNEVEN * weights.min())


def _costly(data: TrainingData) -> bool:
    """Whether expectation propagation is run once for a candidate, at the maximum of Laplace's evidence."""
    return data.n_rows > MANY or _uneven(data)


def _trusted(assessment: Assessment, status: Status) -> Assessment:
    """Return the assessment, as one of no worth where the evidence is that of an iteration without an end."""
    if status in SOUND:
        return assessment
    return dataclasses.replace(assessment, log_model_evidence=-np.inf)


def _reduced(members: list[Predictor], X: Inputs, tol: float | None, basis: Indices) -> tuple[Predictor, ...]:
    """Return the members carried by few rows, as many of them the same ones as possible."""
    done = []
    for member in members:
        done.append(member.reduced_on(X, tol, basis))
        basis = np.union1d(basis, done[-1].basis)
    return tuple(done)


def candidate_weights(trials: Sequence[Trial]) -> Vector:
    """Return the weights of candidates, which add up to one, zero for those that do not count.

    If no evidence is to be trusted, the first candidate has all the weight.
    """
    scores = np.array([-np.inf if trial.model is None else trial.model.assessment.score for trial in trials])
    sound = scores > -np.inf
    if np.count_nonzero(sound) > 1:
        weights = np.where(sound, np.exp(scores - logsumexp(scores[sound])), 0.0)
        weights[weights < SHARE * np.max(weights)] = 0.0
        return np.asarray(weights / weights.sum())
    usable = sound if np.any(sound) else np.array([trial.model is not None for trial in trials])
    return np.asarray(np.arange(len(trials)) == np.argmax(usable), dtype=float)


def candidate_rows(trials: Sequence[Trial], weights: Vector) -> tuple[Candidate, ...]:
    """Return what was tried, in the order of trial."""
    rows = []
    for trial, weight in zip(trials, weights, strict=True):
        evidence = -np.inf if trial.model is None else float(trial.model.assessment.log_model_evidence)
        row = trial.row(kept=bool(weight > 0.0), log_model_evidence=evidence, weight=float(weight))
        rows.append(row if evidence > -np.inf else dataclasses.replace(row, log_evidence=-np.inf))
    return tuple(rows)


__all__ = ["ChosenProcess", "candidate_rows", "candidate_weights"]
