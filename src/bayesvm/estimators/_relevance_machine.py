"""A fitted relevance vector machine, one per binary problem or output."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from bayesvm.estimators._machine import Candidate
from bayesvm.hyper import ClimbStatus, Maximizer, Maximum, StartRecord
from bayesvm.hyper.relevance import RelevanceObjective
from bayesvm.inference.base import Evidence
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg import cholesky
from bayesvm.typing import Indices, Matrix, Vector


@dataclasses.dataclass(frozen=True)
class RelevanceMachine:
    """Kernel, weights and their covariance at the optimum, with the relevance vectors that prediction needs.

    Attributes
    ----------
    kernel, likelihood : Kernel, Likelihood
        With their learnt parameters; those of the likelihood are fixed.
    support : array of int
        Training rows at which active functions are centred.
    alpha : array
        Posterior means of their weights.
    intercept : float
        Posterior mean of the weight of the constant (0.0 if it is not active).
    has_intercept : bool
        Whether the constant is active; it then comes first in ``covariance``.
    precision : array
        Prior precisions of the active weights, the constant first.
    covariance : array
        Posterior covariance of the active weights, the constant first.
    inputs : Inputs
        The relevance vectors, standardised.
    evidence, objective, maximum, candidates
        As in :class:`~bayesvm.estimators._machine.Machine`.
    """

    kernel: Kernel
    likelihood: Likelihood
    support: Indices
    alpha: Vector
    intercept: float
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
    def converged(self) -> bool:
        """Whether the maximiser and the search inside it both ended well."""
        return self.maximum.status.ok and self.evidence.status.ok

    @property
    def trouble(self) -> str:
        """What did not converge, in words (empty if all did)."""
        return "; ".join(s.value for s in (self.maximum.status, self.evidence.status) if not s.ok)

    def _active(self, X: Inputs) -> Matrix:
        """Return the active basis functions at the rows of X, the constant first."""
        K = self.kernel.gram(X, self.inputs) if self.support.size else np.empty((len(X), 0))
        return np.column_stack([np.ones(len(X)), K]) if self.has_intercept else K

    def _weights(self) -> Vector:
        return np.concatenate([[self.intercept], self.alpha]) if self.has_intercept else self.alpha

    def mean(self, X: Inputs) -> Vector:
        """Return the mean of the latent function at the rows of X (standardised)."""
        return np.asarray(self._active(X) @ self._weights())

    def latent(self, X: Inputs) -> tuple[Vector, Vector]:
        r"""Return mean and variance :math:`\varphi^\top \Sigma \varphi` of the latent function."""
        phi = self._active(X)
        var = np.einsum("nm,nm->n", phi @ self.covariance, phi)
        return phi @ self._weights(), np.maximum(var, 0.0)

    def sample(self, X: Inputs, n_samples: int, rng: np.random.Generator) -> Matrix:
        """Return joint draws of the latent function at the rows of X, shape (n, n_samples)."""
        factor = cholesky(self.covariance, jitter=True, what="covariance of the weights")
        noise = rng.standard_normal((self.covariance.shape[0], n_samples))
        return np.asarray(self._active(X) @ (self._weights()[:, None] + factor.lower() @ noise))


def learn_relevance(
    objective: RelevanceObjective, starts: Sequence[Vector], maximizer: Maximizer, *, optimize: bool
) -> RelevanceMachine:
    """Find theta (or keep the first start, if not ``optimize``) and return the machine at that theta.

    At the end the precisions are searched for once more from the empty model; the better optimum is kept.
    """
    if optimize and objective.theta0.size:
        maximum = maximizer.maximize(objective, starts)
        followed, afresh = objective.evaluate(maximum.theta, maximum.latent), objective.evaluate(maximum.theta)
        final = afresh if afresh.value > followed.value else followed
    else:
        final = objective.evaluate(starts[0])
        record = StartRecord(starts[0], starts[0], final.value, 1, ClimbStatus.CONVERGED, 0.0)
        maximum = Maximum(starts[0], final.value, final.evidence.latent, ClimbStatus.CONVERGED, (record,))
    found, bare = final.relevance, dataclasses.replace(objective, X=objective.X.forget())
    has_intercept = bool(objective.bias and found.active.size and found.active[0] == 0)
    support = found.active[int(has_intercept) :] - int(objective.bias)
    return RelevanceMachine(
        objective.kernel.with_theta(maximum.theta),
        found.likelihood.fix(),
        support,
        found.weights[int(has_intercept) :],
        float(found.weights[0]) if has_intercept else 0.0,
        has_intercept,
        found.precision,
        found.covariance,
        bare.X.take(support),
        final.evidence,
        bare,
        dataclasses.replace(maximum, value=final.value, latent=final.evidence.latent),
    )


__all__ = ["RelevanceMachine", "learn_relevance"]
