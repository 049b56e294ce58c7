"""Draws of the posterior of the hinge model against quadrature, and how many of them are independent."""

import numpy as np
import pytest
from hinge_problems import KERNEL, problem

from bayesvm.inference.hinge import HingeExactOrEP, NaiveHinge, SliceSampling
from bayesvm.inference.hinge.sampling import effective_size, spread_normals
from bayesvm.likelihoods import Hinge


@pytest.mark.parametrize("method", [NaiveHinge(), HingeExactOrEP()], ids=["naive", "exact"])
def test_draws_have_the_moments_of_the_posterior(method):
    K, y, bound = np.array([[2.0, 0.8], [0.8, 1.0]]), np.array([1.0, -1.0]), np.array([1.5, 3.0])
    posterior, _ = method.infer(K, y, Hinge(2.0))  # any Gaussian will do, even one for another loss
    draws = SliceSampling(20_000, 200, 20, 5).run(K, y, bound, posterior, np.random.default_rng(0))
    f = (K + 2e-6 * np.eye(2) * 0.75) @ draws.coefficients
    x = np.linspace(-8.0, 8.0, 801)
    F = np.stack(np.meshgrid(x, x, indexing="ij")).reshape(2, -1)
    log_p = -0.5 * np.sum(F * np.linalg.solve(K, F), axis=0) - bound @ np.maximum(1.0 - y[:, None] * F, 0.0)
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean = F @ p
    covariance = (F * p) @ F.T - np.outer(mean, mean)
    error = np.sqrt(np.diagonal(covariance) / draws.ess)
    assert np.all(np.abs(f.mean(axis=1) - mean) < 4.0 * error + 1e-3)
    np.testing.assert_allclose(np.cov(f), covariance, atol=0.04)


def test_draws_at_other_points_have_the_conditional_moments():
    X, y = problem(15)
    K = KERNEL.gram(X)
    posterior, _ = NaiveHinge().infer(K, y, Hinge(1.0))
    draws = SliceSampling(4000, 40, 10, 2).run(K, y, np.ones(15), posterior, np.random.default_rng(0))
    new = np.array([[0.3, -0.2], [2.0, 1.0], [9.0, 9.0]])
    K_s, k_ss = KERNEL.gram(new, X), KERNEL.diag(new)
    found = draws.at(K_s, k_ss)
    given = K_s @ draws.coefficients
    L = draws.factor.lower()
    left = k_ss - np.einsum("ij,ji->i", K_s, np.linalg.solve(L @ L.T, K_s.T))
    np.testing.assert_allclose(found.mean(axis=1), given.mean(axis=1), atol=0.02)
    np.testing.assert_allclose(found.var(axis=1), given.var(axis=1) + left, rtol=0.05)
    np.testing.assert_allclose(found[1], draws.at(K_s[[1]], k_ss[[1]])[0], atol=1e-10)  # whatever else is asked for
    np.testing.assert_allclose(draws.at(K[:4], np.diagonal(K)[:4]), K[:4] @ draws.coefficients, atol=0.02)


@pytest.mark.parametrize("count", [50, 1000])
def test_spread_normals_are_normal_and_without_trend(count):
    z = spread_normals(count)
    assert np.unique(z).size == count
    assert abs(z.mean()) < 1e-9
    assert z.var() == pytest.approx(1.0, abs=0.06)
    assert abs(np.corrcoef(np.arange(count), z)[0, 1]) < 0.1


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_effective_size_of_an_autoregressive_chain(rho):
    rng = np.random.default_rng(1)
    steps, chains = 4000, 10
    noise = rng.standard_normal((steps, 3, chains))
    kept = np.empty_like(noise)
    kept[0] = noise[0]
    for t in range(1, steps):
        kept[t] = rho * kept[t - 1] + np.sqrt(1.0 - rho**2) * noise[t]
    exact = steps * chains * (1.0 - rho) / (1.0 + rho)
    np.testing.assert_allclose(effective_size(kept), exact, rtol=0.2)


def test_chains_that_disagree_have_a_small_effective_size():
    rng = np.random.default_rng(2)
    kept = rng.standard_normal((200, 1, 4)) + np.array([-10.0, -3.0, 3.0, 10.0])
    assert effective_size(kept)[0] < 20.0


def test_too_few_draws_to_be_correlated_count_in_full():
    kept = np.zeros((3, 2, 5))
    np.testing.assert_array_equal(effective_size(kept), [15.0, 15.0])


def test_draws_are_kept_from_the_first_after_the_burn_in_on():
    """Every draw, and every other one of the same chains, beginning one sweep earlier or later."""
    X, y = problem(8)
    K, chains = KERNEL.gram(X), 3
    posterior, _ = NaiveHinge().infer(K, y, Hinge(1.0))

    def kept(keep, burn_in, thin):
        draws = SliceSampling(keep * chains, chains, burn_in, thin)
        found = draws.run(K, y, np.ones(8), posterior, np.random.default_rng(0)).coefficients
        return found.reshape(8, keep, chains)

    every = kept(12, 4, 1)
    assert np.unique(every[0]).size > 20
    np.testing.assert_allclose(kept(6, 4, 2), every[:, 1::2], rtol=1e-12)
    np.testing.assert_allclose(kept(6, 3, 2)[:, :6], every[:, ::2], rtol=1e-12)
    np.testing.assert_allclose(kept(16, 0, 1)[:, 4:], every, rtol=1e-12)
