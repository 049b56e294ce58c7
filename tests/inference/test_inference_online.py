"""One sample at a time: moments of a single update, and projections that are closest in relative entropy."""

import numpy as np
import pytest
from scipy.integrate import quad

from bayesvm.inference.online import OnlineState, OnlineUpdate, removal_scores
from bayesvm.kernels import Gaussian
from bayesvm.likelihoods import GaussianNoise, Laplace, Logistic, Probit
from bayesvm.linalg import cholesky


def state_of(m=4, seed=0):
    """Return a state on m basis vectors with a proper covariance K + K C K."""
    rng = np.random.default_rng(seed)
    K = Gaussian(1.0, 1.0).gram(rng.normal(size=(m, 2))) + 1e-3 * np.eye(m)
    B = rng.normal(size=(m, m))
    C = -np.linalg.inv(K + B @ B.T + 0.1 * np.eye(m))
    return OnlineState(rng.normal(size=m), C, K, cholesky(K.copy()))


def divergence(mean, cov, other_mean, other_cov):
    gap = other_mean - mean
    inner = np.trace(np.linalg.solve(other_cov, cov)) + gap @ np.linalg.solve(other_cov, gap) - mean.size
    return 0.5 * (inner + np.linalg.slogdet(other_cov)[1] - np.linalg.slogdet(cov)[1])


@pytest.mark.parametrize("likelihood", [Logistic(), Probit(), GaussianNoise(0.3), Laplace(0.5)], ids=repr)
def test_one_update_has_the_moments_of_the_tilted_distribution(likelihood):
    rng = np.random.default_rng(1)
    K, y = Gaussian(2.0, 1.0).gram(rng.normal(size=(3, 1))), np.array([1.0, -1.0, 1.0])
    options, state = OnlineUpdate(), OnlineUpdate().empty()
    for i in range(3):
        before = state.log_evidence
        (mean,), (var,) = state.predict(K[[i], :i], K[[i], [i]])
        state, kept = options.observe(state, K[i, :i], float(K[i, i]), y[i], likelihood)
        assert kept.tolist() == list(range(i + 1))

        def tilted(f, power, mean=mean, var=var, i=i):
            loss = likelihood.derivatives(np.array([y[i]]), np.array([f])).loss[0]
            return f**power * np.exp(-loss - 0.5 * (f - mean) ** 2 / var) / np.sqrt(2.0 * np.pi * var)

        reach = 12.0 * np.sqrt(var)
        z, first, second = (
            quad(tilted, mean - reach, mean + reach, args=(p,), points=[y[i]], epsabs=1e-12, limit=200)[0]
            for p in range(3)
        )
        (found,), (spread,) = state.predict(K[[i], : i + 1], K[[i], [i]])
        assert found == pytest.approx(first / z, abs=1e-7)
        assert spread == pytest.approx(second / z - (first / z) ** 2, abs=1e-7)
        assert state.log_evidence - before == pytest.approx(np.log(z), abs=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_removal_is_the_projection_that_is_closest_in_relative_entropy(seed):
    grown = state_of(4, seed)
    options = OnlineUpdate(budget=4, novelty=1e-9)
    X = np.random.default_rng(seed + 50).normal(size=(1, 4))
    k, k_self = 0.3 * X[0], 1.5
    likelihood = GaussianNoise(0.5)
    full, _ = OnlineUpdate(budget=5, novelty=1e-9).observe(grown, k, k_self, 0.7, likelihood)
    small, kept = options.observe(grown, k, k_self, 0.7, likelihood)
    assert (full.size, small.size) == (5, 4)
    K = full.K
    mean, cov = K @ full.alpha, K + K @ full.C @ K

    def distance(alpha, C):
        a, c = np.zeros(5), np.zeros((5, 5))
        a[kept], c[np.ix_(kept, kept)] = alpha, C
        return divergence(K @ a, K + K @ c @ K, mean, cov)

    best, rng = distance(small.alpha, small.C), np.random.default_rng(0)
    for size in (1e-3, 1e-2):
        for _ in range(30):
            change = size * rng.normal(size=(4, 4))
            assert distance(small.alpha + size * rng.normal(size=4), small.C + change + change.T) > best
    np.testing.assert_allclose(small.K, K[np.ix_(kept, kept)])


def test_removal_scores_are_the_distances_of_the_means():
    state = state_of(5, 3)
    Q = np.linalg.inv(state.K)
    cov = state.K + state.K @ state.C @ state.K
    scores = removal_scores(state, Q)
    for i in range(5):
        total = Q[i, i] + state.C[i, i]
        alpha = state.alpha - state.alpha[i] / total * (Q[:, i] + state.C[:, i])
        assert alpha[i] == pytest.approx(0.0, abs=1e-12)
        gap = state.K @ (alpha - state.alpha)
        assert gap @ np.linalg.solve(cov, gap) == pytest.approx(scores[i], rel=1e-6)


def test_a_sample_that_the_basis_explains_does_not_join():
    K = Gaussian(1.0, 1.0).gram(np.array([[0.0], [1.0], [0.0]]))
    options, likelihood = OnlineUpdate(budget=10, novelty=1e-6), GaussianNoise(0.1)
    state, _ = options.observe(options.empty(), K[0, :0], 1.0, 0.5, likelihood)
    state, _ = options.observe(state, K[1, :1], 1.0, -0.2, likelihood)
    np.testing.assert_allclose(state.novelty(K[[2], :2], np.ones(1)), 0.0, atol=1e-9)
    state, kept = options.observe(state, K[2, :2], 1.0, 0.7, likelihood)
    assert kept.tolist() == [0, 1]
    noise, y = np.diag([0.1, 0.1, 0.1]), np.array([0.5, -0.2, 0.7])
    mean, var = state.predict(K[:, :2], np.ones(3))
    np.testing.assert_allclose(mean, K @ np.linalg.solve(K + noise, y), atol=1e-9)
    np.testing.assert_allclose(var, np.diagonal(K - K @ np.linalg.solve(K + noise, K)), atol=1e-9)
    assert state.novelty(np.array([[0.0, 0.0]]), np.ones(1))[0] == 1.0


def test_everything_is_new_to_an_empty_basis():
    state = OnlineUpdate().empty()
    np.testing.assert_array_equal(state.novelty(np.empty((3, 0)), np.array([1.0, 2.0, 5.0])), np.ones(3))
    K = Gaussian(2.0, 1.0).gram(np.array([[0.0], [0.5]]))
    state, _ = OnlineUpdate().observe(state, K[0, :0], 2.0, 1.0, Logistic())
    assert state.novelty(K[[1], :1], K[[1], [1]]) == pytest.approx(1.0 - K[0, 1] ** 2 / 4.0, rel=1e-6)
