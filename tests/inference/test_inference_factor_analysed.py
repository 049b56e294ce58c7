"""Factor-analysed Gaussians: nested families, gradient, brute force."""

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm.inference import FactorAnalysed, Variational
from bayesvm.solvers import Status
from bayesvm.testing import five_point, relative_error
from bayesvm.testing.solvers import problem


@pytest.mark.parametrize("likelihood", [lib.Logistic(), lib.NormalizedHinge()], ids=lambda x: type(x).__name__)
def test_families_are_nested(likelihood):
    K, y = problem(likelihood, n=20)
    K = K + 0.3 * np.eye(20)
    values = [FactorAnalysed(m).infer(K, y, likelihood)[1].value for m in (0, 1, 3)]
    full = Variational().infer(K, y, likelihood)[1].value
    assert values[0] < values[1] < values[2] < full


@pytest.mark.parametrize("rank", [0, 1])
def test_factor_gradient(rank):
    likelihood = lib.NormalizedHinge(2.0)
    K, y = problem(likelihood, n=15)
    K = K + 0.3 * np.eye(15)
    change = np.cov(np.random.default_rng(0).normal(size=(15, 30)))
    method = FactorAnalysed(rank, tol=1e-9)
    posterior, evidence = method.infer(K, y, likelihood)

    def value(K, likelihood):
        return method.infer(K, y, likelihood, warm_start=evidence.latent)[1].value

    in_k = five_point(lambda t: value(K + t[0] * change, likelihood), np.zeros(1), 1e-3)
    in_phi = five_point(lambda t: value(K, likelihood.with_theta(t)), likelihood.theta, 1e-3)
    assert relative_error(np.sum(evidence.dK * change), in_k[0]) < 1e-6
    assert relative_error(evidence.dphi, in_phi) < 1e-6
    np.testing.assert_allclose(evidence.value, sum(evidence.terms.values()), rtol=1e-12)
    joint = posterior.covariance(K, K)
    np.testing.assert_allclose(np.diagonal(joint), posterior.var(K, np.diagonal(K).copy()), rtol=1e-8)
    sigma = np.diag(posterior.factor.d) + posterior.factor.C @ posterior.factor.C.T
    np.testing.assert_allclose(joint, sigma, atol=1e-9)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_no_other_member_of_the_family_has_a_higher_bound(rank):
    """The bound of any diagonal plus factors, from the definition with a dense divergence."""
    likelihood = lib.Logistic()
    K, y = problem(likelihood, n=8)
    K = K + 0.3 * np.eye(8)
    posterior, evidence = FactorAnalysed(rank, tol=1e-9).infer(K, y, likelihood)

    def bound(mean, log_d, C):
        sigma = np.diag(np.exp(log_d)) + C @ C.T
        divergence = np.trace(np.linalg.solve(K, sigma)) + mean @ np.linalg.solve(K, mean) - 8.0
        divergence += np.linalg.slogdet(K)[1] - np.linalg.slogdet(sigma)[1]
        return -float(np.sum(likelihood.expected(y, mean, np.diagonal(sigma)).loss)) - 0.5 * divergence

    best = K @ posterior.coefficients(8), np.log(posterior.factor.d), posterior.factor.C
    assert bound(*best) == pytest.approx(evidence.value, abs=1e-9)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(20):
            assert bound(*(part + size * rng.normal(size=part.shape) for part in best)) < evidence.value + 1e-9


def test_running_out_of_steps_is_reported():
    likelihood = lib.Logistic()
    K, y = problem(likelihood, n=20)
    assert FactorAnalysed(2, max_iter=2).infer(K, y, likelihood)[1].status is Status.MAX_ITER
