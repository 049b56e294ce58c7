"""The evidence of several classes as one model, as a function of the kernel's parameters."""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.hyper.objective import Evaluation, EvidenceObjective
from bayesvm.inference.softmax import TOL, softmax_evidence
from bayesvm.likelihoods.base import Likelihood
from bayesvm.likelihoods.weighted import Weighted
from bayesvm.typing import Vector


@dataclasses.dataclass(frozen=True)
class SoftmaxObjective(EvidenceObjective):
    """Log evidence of the softmax model (:mod:`bayesvm.inference.softmax`) plus log hyperprior.

    Parameters
    ----------
    kernel, X, prior
        As in :class:`~bayesvm.hyper.objective.EvidenceObjective`; all classes share the kernel.
    likelihood : Likelihood
        Logistic, with sample weights if there are any: the softmax of one class against another. It has no parameters.
    inference : Inference
        Laplace's method, whatever its solver.
    y : array, shape (n, C)
        Indicators of the classes, one column per class.
    tol : float
        How well the mode is found; see :func:`~bayesvm.inference.softmax.softmax_evidence`.
    """

    tol: float = TOL

    @property
    def n_factors(self) -> int:
        """One matrix per class."""
        return int(self.y.shape[1])

    def evaluate(self, theta: Vector, warm_start: Vector | None = None) -> Evaluation:
        """Return value, gradient and evidence at ``theta``; the posterior follows from ``evidence.latent``."""
        theta = np.asarray(theta, dtype=float)
        kernel, likelihood = self.model(theta)
        weights = row_weights(likelihood, self.n_rows)
        evidence = softmax_evidence(kernel.gram(self.X), self.y, weights, warm_start=warm_start, tol=self.tol)
        log_prior, prior_gradient = self.prior.log_density(theta, self.names)
        gradient = kernel.pullback(self.X, evidence.dK) + prior_gradient
        return Evaluation(theta, evidence.value + log_prior, gradient, (), evidence)


def row_weights(likelihood: Likelihood, n: int) -> Vector:
    """Return the sample weights that a likelihood carries, ones if it has none."""
    return likelihood.checked(n) if isinstance(likelihood, Weighted) else np.ones(n)


__all__ = ["SoftmaxObjective", "row_weights"]
