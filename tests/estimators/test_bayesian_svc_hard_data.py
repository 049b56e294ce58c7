"""Data that breaks other machines: BayesianSVC fits, with finite probabilities and no surprising warnings."""

import numpy as np
import pytest

from bayesvm import BayesianSVC

RNG = np.random.default_rng(0)


def blobs(n=40, d=2, gap=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, d)) + gap * y[:, None], y


def constant_features():
    X, y = blobs()
    return np.column_stack([X, np.full(len(y), 3.7), np.zeros(len(y))]), y


def contradictions():
    X, y = blobs()
    return np.vstack([X, X]), np.r_[y, 1 - y]


def separable():
    X, y = blobs(gap=0.0)
    X[:, 0] = np.where(y == 1, 5.0, -5.0) + 0.1 * X[:, 0]
    return X, y


def more_features_than_rows():
    return blobs(n=20, d=60)


def wild_scales():
    X, y = blobs(d=4)
    return X * np.array([1e-9, 1.0, 1e4, 1e9]), y


def one_member():
    X, _ = blobs(n=15)
    return X, np.where(np.arange(15) == 4, 1, 0)


def all_rows_equal():
    return np.ones((10, 2)), np.arange(10) % 2


def two_rows():
    return np.array([[0.0], [1.0]]), np.array([0, 1])


CASES = [
    constant_features,
    contradictions,
    separable,
    more_features_than_rows,
    wild_scales,
    one_member,
    all_rows_equal,
    two_rows,
]


@pytest.mark.parametrize("likelihood", ["trigonometric", "logistic"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_hard_data(case, likelihood):
    X, y = case()
    machine = BayesianSVC(None, likelihood=likelihood).fit(X, y)
    proba = machine.predict_proba(X)
    assert np.all(np.isfinite(proba))
    assert np.all((proba >= 0.0) & (proba <= 1.0))
    assert np.isfinite(machine.log_evidence_)
    assert np.isfinite(machine.predict_latent(X)[1]).all()


def test_contradictory_rows_have_probability_one_half():
    X, y = contradictions()
    proba = BayesianSVC(None).fit(X, y).predict_proba(X)[:, 1]
    np.testing.assert_allclose(proba, 0.5, atol=0.02)


def test_pure_noise_is_not_fitted():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(100, 5)), rng.integers(2, size=100)
    proba = BayesianSVC(None).fit(X, y).predict_proba(rng.normal(size=(500, 5)))[:, 1]
    assert np.abs(proba - y.mean()).max() < 0.35
