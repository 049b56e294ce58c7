"""Conformance of an inference method."""

from __future__ import annotations

import numpy as np

from bayesvm.inference.base import Inference
from bayesvm.likelihoods.base import Likelihood
from bayesvm.testing.differences import five_point, relative_error
from bayesvm.testing.solvers import problem
from bayesvm.typing import Matrix


def check_inference(inference: Inference, likelihood: Likelihood, *, tol: float = 1e-6, seed: int = 0) -> None:
    """Check posterior and evidence of an inference method.

    The evidence is the sum of its terms; ``dK`` and ``dphi`` agree with five-point differences of the value along a
    random symmetric change of K and along each parameter of the likelihood; a warm start does not change the result;
    the posterior's variances are those of the joint covariance, not negative, and not larger than the prior's.

    Parameters
    ----------
    inference : Inference
        The method, with an inner tolerance tight enough for differences.
    likelihood : Likelihood
        One that it can treat.
    tol : float
        Largest relative error of a derivative.
    seed : int
        Seed of the problem.

    Raises
    ------
    AssertionError
        With what was expected and what was found.
    """
    who = f"{type(inference).__name__} with {likelihood!r}"
    K, y = problem(likelihood, seed=seed)
    posterior, evidence = inference.infer(K, y, likelihood)
    if not evidence.status.ok:
        raise AssertionError(f"{who}: did not converge: {evidence.status.value}")
    if not np.isclose(evidence.value, sum(evidence.terms.values()), rtol=1e-12):
        raise AssertionError(f"{who}: the evidence {evidence.value} is not the sum of its terms {evidence.terms}")

    change = _change(K, seed)
    slope = five_point(lambda t: inference.infer(K + t[0] * change, y, likelihood)[1].value, np.zeros(1))[0]
    block = change[np.ix_(evidence.rows, evidence.rows)]
    error = relative_error(np.sum(evidence.dK * block), slope)
    if error > tol:
        raise AssertionError(f"{who}: dK is off by {error:.2e} (relative) from five-point differences")

    theta = likelihood.theta
    slopes = five_point(lambda t: inference.infer(K, y, likelihood.with_theta(t))[1].value, theta)
    error = relative_error(evidence.dphi, slopes.reshape(theta.shape))
    if error > tol:
        raise AssertionError(f"{who}: dphi is off by {error:.2e} (relative) from five-point differences")

    warm = inference.infer(K, y, likelihood, warm_start=evidence.latent)[1].value
    if not np.isclose(warm, evidence.value, rtol=1e-9, atol=1e-9):
        raise AssertionError(f"{who}: a warm start changes the evidence from {evidence.value} to {warm}")

    K_s = K[:, posterior.support]
    var = posterior.var(K_s, np.diagonal(K).copy())
    joint = np.diagonal(posterior.covariance(K_s, K))
    if relative_error(var, joint) > 1e-8 or np.any(var < 0.0) or np.any(var > np.diagonal(K) * (1.0 + 1e-12)):
        raise AssertionError(f"{who}: posterior variances disagree with the joint covariance or leave [0, prior]")


def _change(K: Matrix, seed: int) -> Matrix:
    """Return a symmetric direction in the space of matrices, small against K."""
    rng = np.random.default_rng(seed + 2)
    A: Matrix = rng.normal(size=K.shape)
    change: Matrix = 0.05 * (A @ A.T) / K.shape[0]
    return change


__all__ = ["check_inference"]
