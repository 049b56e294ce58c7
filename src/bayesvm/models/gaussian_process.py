"""Models with a Gaussian process prior and a Gaussian posterior of the common form, by any inference method."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from bayesvm.hyper import (
    Assessment,
    EvidenceObjective,
    Hyperprior,
    Maximum,
    ModelEvidence,
    default_hyperprior,
    has_jumps,
    integrated_evidence,
    maximize_evidence,
    nearby_maximum,
    regression_starting_points,
    starting_points,
)
from bayesvm.hyper.ard_search import WEAK
from bayesvm.inference import EP, Evidence, Inference, leave_one_out
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Classification, Likelihood, Regression
from bayesvm.likelihoods.weighted import Weighted
from bayesvm.linalg import cholesky
from bayesvm.models.base import Candidate, ModelSpec, TrainingData, typical_distance
from bayesvm.models.calibration import (
    CAUTIOUS,
    FULL,
    Calibration,
    ScaleCalibration,
    calibrate_odds,
    calibrate_scale,
)
from bayesvm.models.predictor import Predictor, support_union
from bayesvm.models.scaling import weighted_moments
from bayesvm.solvers.base import Status
from bayesvm.typing import Indices, Matrix, Vector

#: Mismatch of moments, in standard deviations, of posteriors that are averaged with others.
EASY = 1e-3


@dataclasses.dataclass(frozen=True)
class Refinement:
    """A posterior by another method than the one whose evidence was maximised: its log evidence and its status."""

    log_evidence: float
    status: Status


@dataclasses.dataclass(frozen=True)
class GaussianProcessModel(Predictor):
    """A predictor at the optimum of an evidence.

    Attributes
    ----------
    kernel, likelihood, posteriors, inputs, marginals, calibrations
        As in :class:`~bayesvm.models.predictor.Predictor`.
    evidence : Evidence
        Of all outputs, at the optimum, without its derivative in K.
    objective : EvidenceObjective
        The evidence as a function of theta.
    maximum : Maximum
        How theta was found.
    candidates : tuple of Candidate
        The kernels that were compared, if there was a choice.
    method : EP or None
        The method of the posteriors, if not the one that found theta.
    refinements : tuple of Refinement
        What that method says of its end, one per output.
    assessment : Assessment or None
        What the model is worth among other candidates, where that was asked.
    attributes : mapping
        Further fitted attributes.
    """

    evidence: Evidence
    objective: EvidenceObjective
    maximum: Maximum
    candidates: tuple[Candidate, ...] = ()
    method: EP | None = None
    refinements: tuple[Refinement, ...] = ()
    assessment: Assessment | None = None
    attributes: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def at_maximum(cls, objective: EvidenceObjective, maximum: Maximum) -> GaussianProcessModel:
        """Return the model at a maximum of the objective."""
        kernel, likelihood = objective.model(maximum.theta)
        final = objective.evaluate(maximum.theta, maximum.latent)
        bare = dataclasses.replace(objective, X=objective.X.forget())
        inputs = bare.X.take(support_union(final.posteriors))
        return cls(kernel, likelihood, final.posteriors, inputs, final.evidence.without_dk(), bare, maximum)

    def at(self, theta: Vector) -> GaussianProcessModel:
        """Return the same model with other hyperparameters; calibration and tolerance of a reduction are kept."""
        first = self.objective.evaluate(theta)
        maximum = Maximum.at(first.theta, first.value, first.evidence.latent)
        other = type(self).at_maximum(self.objective, maximum)
        model = dataclasses.replace(other.refined(self.method), calibrations=self.calibrations)
        return model.reduced(None if self.reduction is None else self.reduction.tol)

    # -- what was found -----------------------------------------------------------------------------------------------
    @property
    def theta(self) -> Vector:
        """Where the objective was maximal."""
        return self.maximum.theta

    @property
    def log_evidence(self) -> float:
        """Log evidence of the training data."""
        return self.evidence.value

    @functools.cached_property
    def model_evidence(self) -> ModelEvidence:
        r"""The evidence with theta integrated out, in the units used inside; computed when it is first asked for.

        From the learnt theta a search leads to the maximum of evidence plus hyperprior, which is the model's own if
        that is proper, and the default one (:mod:`bayesvm.hyper.default_prior`) otherwise; there follows Laplace's
        method (:mod:`bayesvm.hyper.model_evidence`). The latent values of the model begin every evaluation.
        """
        return integrated_over_theta(self.objective, self.maximum)

    @property
    def support(self) -> Indices:
        """Training rows with a coefficient that is not zero in some output, before any reduction."""
        return np.flatnonzero(np.any(self._alpha != 0.0, axis=0))

    @property
    def coefficients(self) -> Matrix:
        """Their coefficients, one row per output."""
        return self._alpha[:, self.support]

    @property
    def _alpha(self) -> Matrix:
        """Coefficients of all training rows, one row per output."""
        if self.reduction is None:
            return np.stack([p.coefficients(len(self.objective.X)) for p in self.posteriors])
        return np.stack([q.alpha for q in self.marginals])

    @property
    def problems(self) -> tuple[str, ...]:
        """What did not converge, in words."""
        inner = (self.evidence.status, *(r.status for r in self.refinements))
        found = [] if self.maximum.status.ok else [self.maximum.status.value]
        return tuple(dict.fromkeys([*found, *(status.value for status in inner if not status.ok)]))

    # -- after the search ---------------------------------------------------------------------------------------------
    def refined(self, method: EP | None, X: Inputs | None = None) -> GaussianProcessModel:
        """Return the model with marginals at its training rows, and with the posteriors of another method if given.

        X holds the training rows with their distances, where these are still known.
        """
        objective, copies = self.objective, self.likelihood.copies
        K = self.kernel.gram(objective.X.forget() if X is None else X)
        if method is None:
            own = tuple(leave_one_out(K, p, copies) for p in self.posteriors)
            return dataclasses.replace(self, marginals=own)
        posteriors, refinements, marginals = [], [], []
        for k, y in enumerate(objective.outputs):
            latent = self.evidence.latent if self.n_outputs == 1 else self.evidence.latent[k]
            posterior, log_evidence, status, marginal = method.posterior(K, y, self.likelihood, warm_start=latent)
            posteriors.append(posterior)
            marginals.append(marginal)
            # a stalled iteration has matched the moments up to rounding, which is all that predictions need
            ended = Status.CONVERGED if status is Status.STALLED else status
            refinements.append(Refinement(log_evidence, ended))
        return dataclasses.replace(
            self,
            posteriors=tuple(posteriors),
            inputs=objective.X.forget().take(support_union(posteriors)),
            method=method,
            refinements=tuple(refinements),
            marginals=tuple(marginals),
        )

    def predictor(self) -> Predictor:
        """Return what prediction needs, without the evidence and how it was maximised."""
        kept = {field.name: getattr(self, field.name) for field in dataclasses.fields(Predictor)}
        return Predictor(**kept)

    def moved(self, theta: Vector) -> Predictor:
        """Return the predictor at other hyperparameters, by the same method at ease, without an evidence."""
        objective = self.objective
        kernel, likelihood = objective.model(theta)
        K, posteriors = kernel.gram(objective.X), []
        for y in objective.outputs:
            if self.method is None:
                posteriors.append(objective.inference.infer(K, y, likelihood)[0])
            else:
                at_ease = dataclasses.replace(self.method, tol=max(EASY, self.method.tol))
                posteriors.append(at_ease.posterior(K, y, likelihood)[0])
        marginals = tuple(leave_one_out(K, p, likelihood.copies) for p in posteriors)
        inputs = objective.X.forget().take(support_union(posteriors))
        return Predictor(kernel, likelihood, tuple(posteriors), inputs, marginals=marginals)

    def calibrated(self, how: str | None, weights: Vector, *, tuned: bool) -> GaussianProcessModel:
        """Return the model with its predictions corrected on leave-one-out predictions.

        Parameters
        ----------
        how : {"auto", "loo", None}
            As far as the data justify it, in full, or not at all.
        weights : array
            Of the training rows.
        tuned : bool
            Whether theta was learnt on the same rows.
        """
        likelihood = self.likelihood.plain
        labels = isinstance(likelihood, Classification)
        if how is None:
            none: Any = Calibration() if labels else ScaleCalibration()
            return dataclasses.replace(self, calibrations=(none,) * self.n_outputs)
        found: list[Calibration | ScaleCalibration] = []
        determined = self.determined if tuned else 0.0
        for q, y in zip(self.marginals, self.objective.outputs, strict=True):
            if isinstance(likelihood, Classification):
                odds = likelihood.log_odds(q.cavity_mean, q.cavity_var)
                shrinkage = CAUTIOUS if how == "auto" else FULL
                found.append(calibrate_odds(odds, y, weights, determined=determined, shrinkage=shrinkage))
            else:
                assert isinstance(likelihood, Regression)
                options: dict[str, Any] = {"tuned": self.theta.size if tuned else 0, "cautious": how == "auto"}
                found.append(calibrate_scale(likelihood, y, q.cavity_mean, q.cavity_var, weights, **options))
        return dataclasses.replace(self, calibrations=tuple(found))

    def reduced(self, tol: float | None, X: Inputs | None = None) -> GaussianProcessModel:
        """Return the model with its posteriors carried by few training rows, as far as ``tol`` permits; X as above."""
        return self.reduced_on(self.objective.X.forget() if X is None else X, tol)

    def loo_log_density(self, weights: Vector) -> float:
        """Return the log density of the training targets, each predicted without itself, calibration included."""
        return float(np.sum(weights @ self.loo_log_densities(self.objective.outputs)))

    @property
    def determined(self) -> float:
        """How many hyperparameters the data determine: as assessed, or all but those of features switched off."""
        if self.assessment is not None:
            return self.assessment.determined
        return determined_hyperparameters(self.kernel, self.theta.size, self.objective.n_features)


def integrated_over_theta(objective: EvidenceObjective, maximum: Maximum) -> ModelEvidence:
    """Return the evidence with theta integrated out, about a maximum; see :attr:`GaussianProcessModel.model_evidence`.

    Parameters
    ----------
    objective : EvidenceObjective
        The evidence as a function of theta.
    maximum : Maximum
        Where the search begins.
    """
    prior = objective.prior if objective.prior.proper(objective.names) else _default_prior(objective)
    objective = dataclasses.replace(objective, prior=prior, X=objective.X.forget())  # distances go with it
    top = nearby_maximum(objective, maximum.theta, maximum.latent)
    found = integrated_evidence(objective, top.theta, top.latent, jumps=has_jumps(objective))
    spent = sum(record.evaluations for record in top.history)
    return dataclasses.replace(found, evaluations=found.evaluations + spent)


def _default_prior(objective: EvidenceObjective) -> Hyperprior:
    """Return the proper hyperprior on the scale of the training data."""
    likelihood, X = objective.likelihood, objective.X
    weights = np.asarray(likelihood.weights) if isinstance(likelihood, Weighted) else None
    if not isinstance(likelihood.plain, Regression):
        return default_hyperprior(typical_distance(X, weights))
    columns = np.column_stack(objective.outputs)
    spread = float(np.sqrt(np.mean(weighted_moments(columns, weights)[1])))
    return default_hyperprior(typical_distance(X, weights), spread=spread or 1.0)


def determined_hyperparameters(kernel: Kernel, size: int, n_features: int) -> float:
    """Return how many of ``size`` hyperparameters count as determined by the data: features switched off do not."""
    relevance = kernel.relevance(n_features)
    off = 0 if relevance is None else int(np.count_nonzero(relevance < WEAK * np.max(relevance)))
    return float(size - off)


def weighted_likelihood(likelihood: Likelihood, data: TrainingData) -> Likelihood:
    """Return the likelihood with the weights of the data, if there are any."""
    return likelihood if data.weights is None else Weighted(likelihood, tuple(data.weights))


@dataclasses.dataclass(frozen=True)
class GaussianProcess(ModelSpec):
    """A Gaussian process with a likelihood, fitted by an inference method.

    Parameters
    ----------
    likelihood : Likelihood
        In the units used inside, without weights.
    inference : Inference
        Gives the evidence that is maximised.
    posterior : EP or None
        Gives the posterior of the predictions; None: ``inference``.
    calibrate : {"auto", "loo", None}
        Correction of the predictions on leave-one-out predictions.
    reduce : float or None
        Largest change of a prediction, in standard deviations, for which the posterior is reduced to few rows.
    """

    search: ClassVar[Any] = staticmethod(maximize_evidence)

    likelihood: Likelihood
    inference: Inference
    posterior: EP | None = None
    calibrate: str | None = None
    reduce: float | None = None

    def objective(self, kernel: Kernel, data: TrainingData) -> EvidenceObjective:
        """Return the evidence, after checks that likelihood and kernel can be used."""
        self.inference.check(self.likelihood)
        if not kernel.always_positive:
            cholesky(kernel.gram(data.X), jitter=True, what=f"the Gram matrix of {kernel!r}")
        weighted = weighted_likelihood(self.likelihood, data)
        return EvidenceObjective(kernel, weighted, self.inference, data.X, data.targets, self.hyperprior)

    def starts(self, kernel: Kernel, data: TrainingData, missing: int) -> list[Vector]:
        """Return starts with the features tied if there are several; for noise models, one more without ties."""
        several, rng = self.options.several, self.options.rng()
        form = kernel.tied() if several else kernel
        if not isinstance(self.likelihood, Regression):
            points = starting_points(form, data.X, missing, rng, distance=data.distance)
            return [np.concatenate([point, self.likelihood.theta]) for point in points]
        starts = regression_starting_points(form, self.likelihood, data.X, missing, rng, spread=data.spread)
        if several and form.theta.size < kernel.theta.size:
            rng = self.options.rng()
            starts += regression_starting_points(kernel, self.likelihood, data.X, 1, rng, spread=data.spread)
        return starts

    def model(self, objective: EvidenceObjective, maximum: Maximum, data: TrainingData) -> GaussianProcessModel:
        """Return the model at the maximum."""
        return GaussianProcessModel.at_maximum(objective, maximum)

    def finish(self, model: GaussianProcessModel, data: TrainingData) -> GaussianProcessModel:
        """Return the model with the posterior that predicts, marginals, calibration, and few rows."""
        refined = model.refined(self.posterior, data.X)
        return refined.calibrated(self.calibrate, data.counts, tuned=self.options.optimize).reduced(self.reduce, data.X)


__all__ = [
    "GaussianProcess",
    "GaussianProcessModel",
    "Refinement",
    "determined_hyperparameters",
    "integrated_over_theta",
    "weighted_likelihood",
]
