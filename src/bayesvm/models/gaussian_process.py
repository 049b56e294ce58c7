"""Models with a Gaussian process prior and a Gaussian posterior of the common form, by any inference method."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from bayesvm.hyper import (
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
from bayesvm.inference import EP, Evidence, Inference, Marginals, Posterior, leave_one_out
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Classification, Likelihood, Regression
from bayesvm.likelihoods.weighted import Weighted
from bayesvm.linalg import cholesky
from bayesvm.linalg.covariance_root import covariance_root
from bayesvm.models.base import BLOCK, Candidate, ModelSpec, TrainingData, typical_distance
from bayesvm.models.calibration import Calibration, ScaleCalibration, calibrate_odds, calibrate_scale
from bayesvm.models.scaling import weighted_moments
from bayesvm.solvers.base import Status
from bayesvm.typing import Indices, Matrix, Vector


@dataclasses.dataclass(frozen=True)
class Refinement:
    """A posterior by another method than the one whose evidence was maximised: its log evidence and its status."""

    log_evidence: float
    status: Status


@dataclasses.dataclass(frozen=True)
class GaussianProcessModel:
    """Kernel, likelihood and posteriors at the optimum, with the support rows that prediction needs.

    Attributes
    ----------
    kernel, likelihood : Kernel, Likelihood
        With their learnt parameters; the kernel acts on standardised inputs.
    posteriors : tuple of Posterior
        One per output.
    evidence : Evidence
        Of all outputs, at the optimum.
    inputs : Inputs
        Rows of the support of any posterior, standardised.
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
    marginals : tuple of Marginals
        The posteriors at the training rows, for leave-one-out predictions.
    calibrations : tuple of Calibration or ScaleCalibration
        Correction of the predictions, one per output.
    attributes : mapping
        Further fitted attributes.
    """

    kernel: Kernel
    likelihood: Likelihood
    posteriors: tuple[Posterior, ...]
    evidence: Evidence
    inputs: Inputs
    objective: EvidenceObjective
    maximum: Maximum
    candidates: tuple[Candidate, ...] = ()
    method: EP | None = None
    refinements: tuple[Refinement, ...] = ()
    marginals: tuple[Marginals, ...] = ()
    calibrations: tuple[Calibration | ScaleCalibration, ...] = ()
    attributes: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __sizeof__(self) -> int:
        """Return the size with the data; see :class:`~bayesvm.kernels.inputs.Inputs`."""
        return object.__sizeof__(self) + sys.getsizeof(self.inputs)

    @classmethod
    def at_maximum(cls, objective: EvidenceObjective, maximum: Maximum) -> GaussianProcessModel:
        """Return the model at a maximum of the objective."""
        kernel, likelihood = objective.model(maximum.theta)
        final = objective.evaluate(maximum.theta, maximum.latent)
        bare = dataclasses.replace(objective, X=objective.X.forget())
        inputs = bare.X.take(_union(final.posteriors))
        return cls(kernel, likelihood, final.posteriors, final.evidence, inputs, bare, maximum)

    def at(self, theta: Vector) -> GaussianProcessModel:
        """Return the same model with other hyperparameters; its calibration is kept."""
        first = self.objective.evaluate(theta)
        maximum = Maximum.at(first.theta, first.value, first.evidence.latent)
        other = type(self).at_maximum(self.objective, maximum)
        return dataclasses.replace(other.refined(self.method), calibrations=self.calibrations)

    # -- what was found -----------------------------------------------------------------------------------------------
    @property
    def theta(self) -> Vector:
        """Where the objective was maximal."""
        return self.maximum.theta

    @property
    def n_outputs(self) -> int:
        """Number of latent functions."""
        return len(self.posteriors)

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
        objective = self.objective
        prior = objective.prior if objective.prior.proper(objective.names) else self._default_prior()
        objective = dataclasses.replace(objective, prior=prior, X=objective.X.forget())  # distances go with it
        top = nearby_maximum(objective, self.theta, self.maximum.latent)
        found = integrated_evidence(objective, top.theta, top.latent, jumps=has_jumps(objective))
        spent = sum(record.evaluations for record in top.history)
        return dataclasses.replace(found, evaluations=found.evaluations + spent)

    def _default_prior(self) -> Hyperprior:
        """Return the proper hyperprior on the scale of the training data."""
        likelihood, X = self.objective.likelihood, self.objective.X
        weights = np.asarray(likelihood.weights) if isinstance(likelihood, Weighted) else None
        if not isinstance(likelihood.plain, Regression):
            return default_hyperprior(typical_distance(X, weights))
        columns = np.column_stack(self.objective.outputs)
        spread = float(np.sqrt(np.mean(weighted_moments(columns, weights)[1])))
        return default_hyperprior(typical_distance(X, weights), spread=spread or 1.0)

    @property
    def problems(self) -> tuple[str, ...]:
        """What did not converge, in words."""
        inner = (self.evidence.status, *(r.status for r in self.refinements))
        found = [] if self.maximum.status.ok else [self.maximum.status.value]
        return tuple(dict.fromkeys([*found, *(status.value for status in inner if not status.ok)]))

    @property
    def support(self) -> Indices:
        """Training rows with a coefficient that is not zero in some output."""
        return np.unique(np.concatenate([p.support[p.alpha != 0.0] for p in self.posteriors]))

    @property
    def coefficients(self) -> Matrix:
        """Their coefficients, one row per output."""
        support = self.support
        rows = np.zeros((self.n_outputs, support.size))
        for row, p in zip(rows, self.posteriors, strict=True):
            used = p.alpha != 0.0
            row[np.searchsorted(support, p.support[used])] = p.alpha[used]
        return rows

    # -- the latent functions -----------------------------------------------------------------------------------------
    def mean(self, X: Inputs) -> Matrix:
        """Return the means of the latent functions alone, at a lower cost than :meth:`latent`."""
        mean = np.empty((len(X), self.n_outputs))
        for rows, part in blocks(X, len(self.inputs)):
            for k, (p, K_s) in enumerate(self._cross(part)):
                mean[rows, k] = p.mean(K_s)
        return mean

    def latent(self, X: Inputs) -> tuple[Matrix, Matrix]:
        """Return means and variances of the latent functions at the rows of X (standardised), block by block."""
        mean, var = np.empty((len(X), self.n_outputs)), np.empty((len(X), self.n_outputs))
        for rows, part in blocks(X, len(self.inputs)):
            prior = self.kernel.diag(part)
            for k, (p, K_s) in enumerate(self._cross(part)):
                mean[rows, k], var[rows, k] = p.mean(K_s), p.var(K_s, prior)
        return mean, var

    def sample(self, X: Inputs, n_draws: int, rng: np.random.Generator) -> Matrix:
        """Return joint draws of the latent functions at the rows of X, shape (n, n_draws, q)."""
        K_ss, draws = self.kernel.gram(X), []
        for p, K_s in self._cross(X):
            root = covariance_root(p.covariance(K_s, K_ss), float(np.max(K_ss.diagonal())), what="posterior covariance")
            draws.append(p.mean(K_s)[:, None] + root @ rng.standard_normal((len(X), n_draws)))
        return np.stack(draws, axis=-1)

    def _cross(self, X: Inputs) -> Iterator[tuple[Posterior, Matrix]]:
        """Yield every posterior with the Gram matrix of X and its support."""
        K_s = self.kernel.gram(X, self.inputs)
        if self.n_outputs == 1:
            yield self.posteriors[0], K_s
            return
        rows = _union(self.posteriors)
        for p in self.posteriors:
            yield p, K_s[:, np.searchsorted(rows, p.support)]

    # -- predictions of labels and targets ----------------------------------------------------------------------------
    def log_odds(self, X: Inputs) -> Matrix:
        """Return log odds of the averaged (and calibrated) probabilities, one column per output."""
        mean, var = self.latent(X)
        return self._calibrated(mean, var)

    def loo_log_odds(self) -> Matrix:
        """Return the same for the training rows, each predicted without itself."""
        mean = np.column_stack([q.cavity_mean for q in self.marginals])
        var = np.column_stack([q.cavity_var for q in self.marginals])
        return self._calibrated(mean, var)

    def _calibrated(self, mean: Matrix, var: Matrix) -> Matrix:
        likelihood = self.likelihood.plain
        assert isinstance(likelihood, Classification)
        columns = [likelihood.log_odds(mean[:, k], var[:, k]) for k in range(self.n_outputs)]
        for k, correction in enumerate(self.calibrations):
            assert isinstance(correction, Calibration)
            columns[k] = correction.apply(columns[k])
        return np.column_stack(columns)

    # -- after the search ---------------------------------------------------------------------------------------------
    def refined(self, method: EP | None) -> GaussianProcessModel:
        """Return the model with marginals at its training rows, and with the posteriors of another method if given."""
        objective, copies = self.objective, self.likelihood.copies
        K = self.kernel.gram(objective.X)
        if method is None:
            marginals = tuple(leave_one_out(K, p, copies) for p in self.posteriors)
            return dataclasses.replace(self, marginals=marginals)
        posteriors, refinements = [], []
        for k, y in enumerate(objective.outputs):
            latent = self.evidence.latent if self.n_outputs == 1 else self.evidence.latent[k]
            posterior, log_evidence, status = method.posterior(K, y, self.likelihood, warm_start=latent)
            posteriors.append(posterior)
            # a stalled iteration has matched the moments up to rounding, which is all that predictions need
            ended = Status.CONVERGED if status is Status.STALLED else status
            refinements.append(Refinement(log_evidence, ended))
        return dataclasses.replace(
            self,
            posteriors=tuple(posteriors),
            inputs=objective.X.forget().take(_union(posteriors)),
            method=method,
            refinements=tuple(refinements),
            marginals=tuple(leave_one_out(K, p, copies) for p in posteriors),
        )

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
        options: dict[str, Any] = {"tuned": self.theta.size if tuned else 0, "cautious": how == "auto"}
        found: list[Calibration | ScaleCalibration] = []
        for q, y in zip(self.marginals, self.objective.outputs, strict=True):
            if isinstance(likelihood, Classification):
                odds = likelihood.log_odds(q.cavity_mean, q.cavity_var)
                found.append(calibrate_odds(odds, y, weights, **options))
            else:
                assert isinstance(likelihood, Regression)
                found.append(calibrate_scale(likelihood, y, q.cavity_mean, q.cavity_var, weights, **options))
        return dataclasses.replace(self, calibrations=tuple(found))

    def loo_log_density(self, weights: Vector) -> float:
        """Return the log density of the training targets, each predicted without itself, calibration included."""
        noise, total = self.likelihood.plain, 0.0
        assert isinstance(noise, Regression)
        for c, q, y in zip(self.calibrations, self.marginals, self.objective.outputs, strict=True):
            assert isinstance(c, ScaleCalibration)
            total += float(weights @ c.log_density(noise, y, q.cavity_mean, q.cavity_var))
        return total


def _union(posteriors: Sequence[Posterior]) -> Indices:
    """Return the training rows that some posterior needs."""
    if len(posteriors) == 1:
        return posteriors[0].support
    return np.unique(np.concatenate([p.support for p in posteriors]))


def blocks(X: Inputs, width: int) -> Iterator[tuple[Indices, Inputs]]:
    """Cut X into parts whose Gram matrix with ``width`` other rows has at most ``BLOCK`` entries."""
    n, step = len(X), max(1, BLOCK // max(1, width))
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n))
        yield rows, X if rows.size == n else X.take(rows)


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
    """

    search: ClassVar[Any] = staticmethod(maximize_evidence)

    likelihood: Likelihood
    inference: Inference
    posterior: EP | None = None
    calibrate: str | None = None

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

    def finish(self, model: GaussianProcessModel, data: TrainingData) -> GaussianProcessModel:  # type: ignore[override]
        """Return the model with the posterior that predicts, marginals and calibration."""
        refined = model.refined(self.posterior)
        return refined.calibrated(self.calibrate, data.counts, tuned=self.options.optimize)


__all__ = ["GaussianProcess", "GaussianProcessModel", "Refinement", "blocks", "weighted_likelihood"]
