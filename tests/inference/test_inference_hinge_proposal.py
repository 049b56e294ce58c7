"""The normaliser with many samples, where draws of the prior miss what counts."""

import numpy as np
import pytest
from scipy.special import logsumexp

from bayesvm.inference.hinge import Annealing, Normalizer, log_nu, normalizer_path, planned
from bayesvm.inference.hinge.proposal import nu_moments, proposal_factor, proposals
from bayesvm.kernels import Constant, Gaussian
from bayesvm.testing import five_point

PLAN = Annealing(800, 8, 2, 2.0, 0.5)


def brute_force(K, C, n, reach, points):
    """Return ln of the average of N^n over a Gaussian of two values, on a grid of the values."""
    f = (np.arange(points) + 0.5) / points * 2.0 * reach - reach
    F = np.stack(np.meshgrid(f, f, indexing="ij")).reshape(2, -1)
    log_p = -0.5 * np.sum(F * np.linalg.solve(K, F), axis=0) - 0.5 * np.linalg.slogdet(2.0 * np.pi * K)[1]
    log_N = logsumexp(log_nu(F, C), axis=0) - np.log(2.0)
    return float(logsumexp(log_p + n * log_N) + 2.0 * np.log(f[1] - f[0]))


@pytest.mark.parametrize(("variance", "C", "n"), [(1e2, 0.3, 400.0), (1e4, 0.3, 400.0), (4.0, 2.0, 1000.0)])
def test_normaliser_of_many_samples_against_brute_force(variance, C, n):
    K = Gaussian(variance, 1.0).gram(np.array([[0.0], [0.8]]))
    K[np.diag_indices(2)] *= 1.0 + 1e-6
    found = Normalizer(np.full(2, 0.5), n, PLAN, seed=2).estimate(K / (1.0 + 1e-6), C)
    assert abs(found.value - brute_force(K, C, n, 40.0, 2000)) < 4.0 * found.error + 0.02
    assert found.error < 0.3


def test_draws_of_the_prior_that_agree_are_not_trusted_if_guided_paths_find_more():
    K = Gaussian(1e12, 1.0).gram(np.array([[0.0], [0.8]]))
    plain = Normalizer(np.full(2, 0.5), 400.0, Annealing(1000), seed=0)
    blind = plain.estimate(K, 0.3, gradient=False)
    assert blind.error < 0.2
    chosen = planned(plain, K, 0.3, 0.5)
    assert chosen.annealing.resample > 0.0
    assert chosen.estimate(K, 0.3, gradient=False).value > blind.value + 100.0


def test_with_few_samples_draws_of_the_prior_do():
    K = Gaussian(2.0, 1.0).gram(np.linspace(0.0, 3.0, 10)[:, None])
    chosen = planned(Normalizer(np.full(10, 0.1), 10.0), K, 1.0, 0.2)
    assert chosen.annealing.resample == 0.0


def test_any_guides_give_the_same_integral():
    X = np.linspace(0.0, 4.0, 12)[:, None]
    L = np.linalg.cholesky((Gaussian(3.0, 1.0) + Constant(0.5)).gram(X) + 1e-6 * np.eye(12))
    normalizer = Normalizer(np.full(12, 1.0 / 12.0), 30.0)
    log_factor = normalizer.log_factor(1.5)
    rng = np.random.default_rng(0)
    truth = Annealing(200_000).run(L, log_factor, rng)
    for own in (proposals(L, 1.5, 30.0, normalizer.weights), proposals(L, 0.4, 90.0, normalizer.weights)):
        h = proposal_factor(log_factor, own)
        means = [np.exp(h(q.mean[:, None] + q.root @ rng.standard_normal((12, 40_000)))) for q in own]
        value, error = np.mean(means), np.sqrt(sum(np.var(x) / x.size for x in means)) / len(own)
        assert abs(value / np.exp(truth.log_mean) - 1.0) < 4.0 * np.hypot(error / value, truth.error)


def test_path_of_many_samples_agrees_with_single_estimates():
    X = np.random.default_rng(0).normal(size=(30, 2))
    K = (Gaussian(50.0, 1.0) + Constant(1.0)).gram(X)
    normalizer, C = Normalizer(np.full(30, 1.0 / 30.0), 600.0, PLAN, seed=1), np.geomspace(0.3, 4.0, 6)
    values, errors = normalizer_path(normalizer, K, 0.8, C)
    for k in (0, 3, 5):
        single = normalizer.estimate(K * 0.8 / C[k], float(C[k]), gradient=False)
        assert abs(values[k] - single.value) < 0.5 + 4.0 * np.hypot(single.error, errors[k])


@pytest.mark.parametrize("C", [0.2, 2.0, 15.0])
def test_moments_of_nu(C):
    rng = np.random.default_rng(3)
    mean, var = rng.normal(size=6) * 2.0, np.exp(rng.normal(size=6))
    z = np.linspace(-9.0, 9.0, 200_001)
    w = np.exp(-0.5 * z**2) / np.sum(np.exp(-0.5 * z**2))
    direct = [np.exp(log_nu(m + np.sqrt(v) * z, C)) @ w for m, v in zip(mean, var)]
    level, slope, bend = nu_moments(mean, var, C)
    assert np.allclose(level, direct, rtol=1e-6)
    rise = [five_point(lambda t, k=k: nu_moments(mean + t[0], var, C)[k], np.zeros(1), 1e-3).ravel() for k in (0, 1)]
    assert np.allclose(slope, rise[0], atol=1e-7)
    assert np.allclose(bend, rise[1], atol=1e-5)
