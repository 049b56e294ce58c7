"""Weights of predictors that predict best together."""

import numpy as np
import pytest
from scipy.optimize import minimize

from bayesvm.models.stacking import SHARE, stacked_weights


def log_likelihoods(m=3, n=300, seed=0):
    """Predictors of labels that see different features, and no one sees all."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    y = np.where(X.sum(axis=1) + rng.logistic(size=n) > 0.0, 1.0, -1.0)
    return -np.logaddexp(0.0, -y * X.T * np.linspace(1.0, 2.0, m)[:, None])


@pytest.mark.parametrize("seed", range(3))
def test_the_mixture_is_the_best_one(seed):
    L, counts = log_likelihoods(seed=seed), np.random.default_rng(seed).uniform(0.5, 3.0, size=300)
    found = stacked_weights(L, counts)

    def loss(u):
        w = np.exp(u - np.logaddexp.reduce(u))
        return -counts @ np.log(w @ np.exp(L))

    best = minimize(loss, np.zeros(3), tol=1e-10)
    assert found.sum() == pytest.approx(1.0)
    assert np.all(found > SHARE)  # otherwise the two are different problems
    assert loss(np.log(found)) <= best.fun + 0.011


def test_predictors_with_a_small_weight_are_left_out_and_the_others_weighed_again():
    L = log_likelihoods()
    worse = L[0] - 0.2
    found = stacked_weights(np.vstack([L, worse]), np.ones(300))
    assert found[3] == 0.0
    np.testing.assert_allclose(found[:3], stacked_weights(L, np.ones(300)), atol=1e-12)


def test_counts_are_repetitions():
    L, counts = log_likelihoods(), np.arange(300) % 4
    repeated = stacked_weights(np.repeat(L, counts, axis=1), np.ones(counts.sum()))
    np.testing.assert_allclose(stacked_weights(L, counts.astype(float)), repeated, rtol=1e-10)


def test_one_predictor_has_all_the_weight():
    np.testing.assert_array_equal(stacked_weights(log_likelihoods(1), np.ones(300)), [1.0])


def test_equal_predictors_share_it():
    L = log_likelihoods(1)
    np.testing.assert_allclose(stacked_weights(np.vstack([L, L]), np.ones(300)), [0.5, 0.5])


def test_rows_that_no_predictor_expects_do_not_underflow():
    L = log_likelihoods() - 1e5
    np.testing.assert_allclose(stacked_weights(L, np.ones(300)), stacked_weights(L + 1e5, np.ones(300)), rtol=1e-6)


def test_rows_that_only_a_left_out_predictor_expects_do_not_underflow():
    L = np.vstack([log_likelihoods(), np.full(300, -5.0)])
    L[:3, 0] -= 1e4
    found = stacked_weights(L, np.full(300, 1.0) * (np.arange(300) > 0))
    assert found[3] == 0.0
    assert found.sum() == pytest.approx(1.0)
