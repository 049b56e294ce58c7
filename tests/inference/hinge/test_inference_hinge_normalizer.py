"""The normaliser against brute force, with few samples and with many, and its gradient."""

import numpy as np
import pytest
from hinge_problems import KERNEL, problem
from scipy.special import logsumexp

from bayesvm.inference.hinge import (
    Annealing,
    Normalizer,
    log_nu,
    normalizer_path,
    planned,
    rejection,
)
from bayesvm.kernels import Constant, Gaussian
from bayesvm.testing import five_point, relative_error


@pytest.mark.parametrize("C", [0.3, np.log(2.0), 2.0, 30.0])
def test_nu_is_at_most_one(C):
    f = np.linspace(-5.0, 5.0, 1001)
    nu = np.exp(log_nu(f, C))
    direct = (np.exp(-C * np.maximum(1.0 - f, 0.0)) + np.exp(-C * np.maximum(1.0 + f, 0.0))) / (1.0 + np.exp(-2.0 * C))
    assert np.allclose(nu, direct, atol=1e-13)
    assert np.all(nu <= 1.0 + 1e-12)
    assert np.allclose(rejection(f, C), 1.0 - direct, atol=1e-12)
    assert np.exp(log_nu(np.ones(1), C))[0] == pytest.approx(1.0)


def test_below_ln_2_the_gap_inverts():
    inside, far = np.zeros(1), np.full(1, 50.0)
    assert log_nu(inside, 0.8) < log_nu(far, 0.8)
    assert log_nu(inside, 0.6) > log_nu(far, 0.6)


def test_normaliser_against_brute_force():
    K = Gaussian(1.5, 0.6).gram(np.array([[0.0], [0.5], [1.2]]))
    z = (np.arange(100) + 0.5) / 100 * 14.0 - 7.0
    w = np.exp(-0.5 * z**2) / np.sum(np.exp(-0.5 * z**2))
    Z = np.stack(np.meshgrid(z, z, z, indexing="ij")).reshape(3, -1)
    W = (w[:, None, None] * w[:, None] * w).ravel()
    N = np.mean(np.exp(log_nu(np.linalg.cholesky(K) @ Z, 2.0)), axis=0)
    truth = float(np.log(W @ N**10))
    for plan in (Annealing(4000), Annealing(1000, 16, 2, 3.0, 0.5)):
        found = Normalizer(np.full(3, 1.0 / 3.0), 10.0, plan, seed=1).estimate(K, 2.0)
        assert abs(found.value - truth) < 4.0 * found.error + 0.01
    C = np.geomspace(0.5, 2.0, 8)
    values, errors = normalizer_path(Normalizer(np.full(3, 1.0 / 3.0), 10.0, seed=1), K, 2.0, C, paths=2000)
    assert abs(values[-1] - truth) < 4.0 * errors[-1] + 0.03


def test_gradient_through_the_common_random_numbers():
    X, _ = problem(25)
    normalizer = Normalizer(np.random.default_rng(0).dirichlet(np.ones(25)), 40.0, Annealing(300))

    def estimate(theta):
        return normalizer.estimate(KERNEL.with_theta(theta[:3]).gram(X), float(np.exp(theta[3])))

    theta = np.r_[KERNEL.theta, 0.6]
    here = estimate(theta)
    gradient = np.r_[KERNEL.pullback(X, here.dK), here.dC]
    numeric = five_point(lambda t: estimate(t).value, theta, 1e-6)  # short steps: single draws have kinks
    assert relative_error(gradient, numeric) < 1e-5
    assert estimate(theta).value == here.value


PLAN = Annealing(800, 8, 2, 2.0, 0.5)


def on_a_grid(K, C, n, reach, points):
    """Return ln of the average of N^n over a Gaussian of two values, on a grid of the values."""
    f = (np.arange(points) + 0.5) / points * 2.0 * reach - reach
    F = np.stack(np.meshgrid(f, f, indexing="ij")).reshape(2, -1)
    log_p = -0.5 * np.sum(F * np.linalg.solve(K, F), axis=0) - 0.5 * np.linalg.slogdet(2.0 * np.pi * K)[1]
    log_N = logsumexp(log_nu(F, C), axis=0) - np.log(2.0)
    return float(logsumexp(log_p + n * log_N) + 2.0 * np.log(f[1] - f[0]))


@pytest.mark.parametrize(
    ("variance", "C", "n"),
    [pytest.param(1e2, 0.3, 400.0, marks=pytest.mark.slow), (1e4, 0.3, 400.0), (4.0, 2.0, 1000.0)],
)
def test_normaliser_of_many_samples_against_brute_force(variance, C, n):
    K = Gaussian(variance, 1.0).gram(np.array([[0.0], [0.8]]))
    K[np.diag_indices(2)] *= 1.0 + 1e-6
    found = Normalizer(np.full(2, 0.5), n, PLAN, seed=2).estimate(K / (1.0 + 1e-6), C)
    assert abs(found.value - on_a_grid(K, C, n, 40.0, 2000)) < 4.0 * found.error + 0.02
    assert found.error < 0.3


def test_draws_of_the_prior_that_agree_are_not_trusted_if_the_proposals_find_more():
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


def test_path_of_many_samples_agrees_with_single_estimates():
    X = np.random.default_rng(0).normal(size=(30, 2))
    K = (Gaussian(50.0, 1.0) + Constant(1.0)).gram(X)
    normalizer, C = Normalizer(np.full(30, 1.0 / 30.0), 600.0, PLAN, seed=1), np.geomspace(0.3, 4.0, 6)
    values, errors = normalizer_path(normalizer, K, 0.8, C)
    for k in (0, 3, 5):
        single = normalizer.estimate(K * 0.8 / C[k], float(C[k]), gradient=False)
        assert abs(values[k] - single.value) < 0.5 + 4.0 * np.hypot(single.error, errors[k])
