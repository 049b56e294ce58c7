"""Relevance vector machines: few basis functions, each with a precision of its own (Thesis section 3.1.3.2)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from bayesvm.hyper import Maximizer, Maximum
from bayesvm.hyper.rvm import RelevanceObjective
from bayesvm.inference.base import Evidence
from bayesvm.inference.rvm import SequentialRVM
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.scale import Scale
from bayesvm.likelihoods.base import Classification, Likelihood
from bayesvm.linalg import cholesky
from bayesvm.models.base import Candidate, ModelSpec, TrainingData
from bayesvm.models.gaussian_process import weighted_likelihood
from bayesvm.typing import Indices, Matrix, Vector

#: Length scales of the first starts, relative to the typical distance of two rows.
RELATIVE_SCALES = (0.35, 0.8, 0.18, 1.6)


@dataclasses.dataclass(frozen=True)
class RelevanceVectorModel:
    """Kernel, weights and their covariance at the optimum, with the relevance vectors that prediction needs.

    Attributes
    ----------
    kernel, likelihood : Kernel, Likelihood
        With their learnt parameters; those of the likelihood are fixed.
    support : array of int
        Training rows at which active functions are centred.
    weights : array
        Posterior means of the weights of the active functions, the constant first if it is active.
    has_intercept : bool
        Whether the constant is active.
    precision : array
        Prior precisions of the active weights.
    covariance : array
        Posterior covariance of the active weights.
    inputs : Inputs
        The relevance vectors, standardised.
    evidence, objective, maximum, candidates
        As in :class:`~bayesvm.models.gaussian_process.GaussianProcessModel`.
    """

    kernel: Kernel
    likelihood: Likelihood
    support: Indices
    weights: Vector
    has_intercept: bool
    precision: Vector
    covariance: Matrix
    inputs: Inputs
    evidence: Evidence
    objective: RelevanceObjective
    maximum: Maximum
    candidates: tuple[Candidate, ...] = ()

    @property
    def theta(self) -> Vector:
        """Where the objective was maximal."""
        return self.maximum.theta

    @property
    def n_outputs(self) -> int:
        """One latent function."""
        return 1

    @property
    def log_evidence(self) -> float:
        """Log evidence with the Occam factors of the active functions."""
        return self.evidence.value

    @property
    def problems(self) -> tuple[str, ...]:
        """What did not converge, in words."""
        return tuple(s.value for s in (self.maximum.status, self.evidence.status) if not s.ok)

    @property
    def coefficients(self) -> Matrix:
        """Weights of the relevance vectors, one row."""
        return self.weights[None, int(self.has_intercept) :]

    @property
    def intercept(self) -> float:
        """Weight of the constant, 0.0 if it is not active."""
        return float(self.weights[0]) if self.has_intercept else 0.0

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The intercept, the number of relevance vectors, the precisions, and the evidence without Occam factors."""
        return {
            "intercept": np.array([self.intercept]),
            "n_relevance": np.array([self.support.size]),
            "precisions": (self.precision,),
            "log_marginal_likelihood": self.evidence.terms["maximum"],
        }

    def _active(self, X: Inputs) -> Matrix:
        """Return the active basis functions at the rows of X, the constant first."""
        K = self.kernel.gram(X, self.inputs) if self.support.size else np.empty((len(X), 0))
        return np.column_stack([np.ones(len(X)), K]) if self.has_intercept else K

    def mean(self, X: Inputs) -> Matrix:
        """Return the mean of the latent function at the rows of X."""
        return np.asarray(self._active(X) @ self.weights)[:, None]

    def latent(self, X: Inputs) -> tuple[Matrix, Matrix]:
        r"""Return mean and variance :math:`\varphi^\top \Sigma \varphi` of the latent function."""
        phi = self._active(X)
        var = np.einsum("nm,nm->n", phi @ self.covariance, phi)
        return (phi @ self.weights)[:, None], np.maximum(var, 0.0)[:, None]

    def sample(self, X: Inputs, n_draws: int, rng: np.random.Generator) -> Matrix:
        """Return joint draws of the latent function at the rows of X, shape (n, n_draws, 1)."""
        factor = cholesky(self.covariance, jitter=True, what="covariance of the weights")
        noise = rng.standard_normal((self.covariance.shape[0], n_draws))
        return np.asarray(self._active(X) @ (self.weights[:, None] + factor.lower() @ noise))[:, :, None]

    def log_odds(self, X: Inputs) -> Matrix:
        """Return log odds of the averaged probability."""
        assert isinstance(self.likelihood.plain, Classification)
        mean, var = self.latent(X)
        return self.likelihood.plain.log_odds(mean[:, 0], var[:, 0])[:, None]


def _search(maximizer: Maximizer, objective: RelevanceObjective, starts: Sequence[Vector]) -> Maximum:
    return maximizer.maximize(objective, starts)


@dataclasses.dataclass(frozen=True)
class RelevanceVectors(ModelSpec):
    """A relevance vector machine.

    Parameters
    ----------
    likelihood : Likelihood
        In the units used inside, without weights.
    fit_intercept : bool
        Whether a constant is among the basis functions.
    max_vectors : int
        Largest number of additions of basis functions that one search may try.
    """

    search: ClassVar[Any] = staticmethod(_search)

    likelihood: Likelihood
    fit_intercept: bool = True
    max_vectors: int = 1000

    def objective(self, kernel: Kernel, data: TrainingData) -> RelevanceObjective:
        """Return the evidence as a function of the kernel's parameters."""
        likelihood = weighted_likelihood(self.likelihood, data)
        search = SequentialRVM(max_iter=self.max_vectors)
        distinct = _distinct_rows(data.X)
        return RelevanceObjective(
            kernel, likelihood, search, data.X, data.targets, self.fit_intercept, distinct, self.hyperprior
        )

    def starts(self, kernel: Kernel, data: TrainingData, missing: int) -> list[Vector]:
        """Return different length scales; those of the kernel's parameters that have none are left out."""
        drawn = self.options.rng().lognormal(np.log(0.4), 0.8, size=max(0, missing - len(RELATIVE_SCALES)))
        scales = [*RELATIVE_SCALES, *drawn][:missing]
        return distinct_starts(kernel, data, scales)

    def model(self, objective: RelevanceObjective, maximum: Maximum, data: TrainingData) -> RelevanceVectorModel:
        """Return the model at the maximum; the precisions are searched once more from the empty model."""
        final = objective.evaluate(maximum.theta, maximum.latent)
        if self.options.optimize and objective.theta0.size:
            afresh = objective.evaluate(maximum.theta)
            final = afresh if afresh.value > final.value else final
        found, bare = final.relevance, dataclasses.replace(objective, X=objective.X.forget())
        has_intercept = bool(objective.bias and found.active.size and found.active[0] == 0)
        support = found.active[int(has_intercept) :] - int(objective.bias)
        return RelevanceVectorModel(
            objective.kernel.with_theta(maximum.theta),
            found.likelihood.fix(),
            support,
            found.weights,
            has_intercept,
            found.precision,
            found.covariance,
            bare.X.take(support),
            final.evidence,
            bare,
            dataclasses.replace(maximum, value=final.value, latent=final.evidence.latent),
        )


def distinct_starts(kernel: Kernel, data: TrainingData, scales: Sequence[float]) -> list[Vector]:
    """Return thetas at several length scales, relative to the typical distance of two rows, each once."""
    points: list[Vector] = []
    for scale in scales:
        point = kernel.at_scale(Scale(1.0, float(scale) * data.distance, 1.0, data.n_features)).theta
        if not any(np.array_equal(point, other) for other in points):
            points.append(point)
    return points


def _distinct_rows(X: Inputs) -> int:
    """Return the number of different rows, told apart by a random projection."""
    direction = np.random.default_rng(0).standard_normal(X.n_features)
    values = np.sort(np.asarray(X.X @ direction).ravel())
    return 1 + int(np.count_nonzero(np.diff(values) > 1e-9 * (1.0 + np.abs(values[1:]))))


__all__ = ["RelevanceVectorModel", "RelevanceVectors", "distinct_starts"]
