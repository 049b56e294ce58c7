"""Generators: seeded, of the stated law, with true probabilities that are true."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm

from bayesvm import datasets
from bayesvm.datasets import (
    bayes_error,
    make_checkerboard,
    make_ringnorm,
    make_ripley,
    make_simulated_1d,
    make_simulated_2d,
    make_twonorm,
    make_waveform,
)
from bayesvm.datasets.classes import RIPLEY_CENTRES, _log_segment

MAKERS = {
    "twonorm": (make_twonorm, 20),
    "ringnorm": (make_ringnorm, 20),
    "waveform": (make_waveform, 21),
    "waveform, neighbours": (lambda n, random_state: make_waveform(n, classes=(1, 2), random_state=random_state), 21),
    "simulated 1d": (make_simulated_1d, 1),
    "simulated 2d": (make_simulated_2d, 2),
    "ripley": (make_ripley, 2),
    "checkerboard": (lambda n, random_state: make_checkerboard(n, flip=0.2, random_state=random_state), 2),
}


@pytest.mark.parametrize("name", MAKERS)
@given(n=st.integers(2, 60), seed=st.integers(0, 2**32 - 1))
def test_shapes_labels_probabilities_and_seeds(name, n, seed):
    make, d = MAKERS[name]
    X, y, p = make(n, random_state=seed)
    assert X.shape == (n, d)
    assert y.shape == p.shape == (n,)
    assert set(np.unique(y)) <= {-1, 1}
    assert np.all((p >= 0.0) & (p <= 1.0))
    for first, second in zip((X, y, p), make(n, random_state=seed), strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", MAKERS)
def test_true_probabilities_are_calibrated_and_match_the_labels(name):
    make, _ = MAKERS[name]
    n = 40_000
    _, y, p = make(n, random_state=1)
    hit = (y > 0).astype(float)
    spread = np.sqrt(np.sum(p * (1.0 - p))) / n
    assert abs(np.mean(hit - p)) < 5.0 * max(spread, 1e-3)
    for low, high in ((0.0, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1.0)):
        inside = (p >= low) & (p <= high)
        if inside.sum() > 200:
            error = np.sqrt(np.sum(p[inside] * (1.0 - p[inside]))) / inside.sum() + 1e-6
            assert abs(np.mean(hit[inside] - p[inside])) < 5.0 * error


@pytest.mark.parametrize(
    ("make", "expected", "slack"),
    [
        (make_twonorm, norm.cdf(-2.0), 0.0015),
        (make_simulated_1d, norm.cdf(-2.0), 0.0015),
        (make_simulated_2d, 0.0467, 0.001),
        (make_ringnorm, 0.0123, 0.001),
        (make_ripley, 0.0894, 0.0015),
    ],
)
def test_bayes_errors(make, expected, slack):
    _, y, p = make(60_000, random_state=0)
    assert bayes_error(p) == pytest.approx(expected, abs=slack)
    assert np.mean((p > 0.5) != (y > 0)) == pytest.approx(bayes_error(p), abs=0.004)


def test_the_classes_of_the_waveforms():
    assert bayes_error(make_waveform(60_000, random_state=0)[2]) == pytest.approx(0.0485, abs=0.001)
    assert bayes_error(make_waveform(60_000, classes=(1, 2), random_state=0)[2]) == pytest.approx(0.0763, abs=0.001)
    with pytest.raises(ValueError, match=r"expected two different classes of 0, 1, 2, found \(1, 1\)"):
        make_waveform(classes=(1, 1))


def test_checkerboard_flips():
    assert bayes_error(make_checkerboard(2000, flip=0.2, random_state=0)[2]) == pytest.approx(0.2)
    with pytest.raises(ValueError, match=r"expected flip from 0 to 0\.5, found 0\.7"):
        make_checkerboard(flip=0.7)


def test_the_waveform_posterior_is_the_integral_over_the_mixing_share():
    rng = np.random.default_rng(0)
    start, end = rng.normal(size=4), rng.normal(size=4) + 2.0
    X = np.vstack([rng.normal(size=(5, 4)), 30.0 * rng.normal(size=(5, 4))])
    u = (np.arange(20_000) + 0.5) / 20_000
    path = start + u[:, None] * (end - start)
    exponents = -0.5 * np.sum((X[:, None] - path) ** 2, axis=2)
    top = exponents.max(axis=1)
    direct = top + np.log(np.mean(np.exp(exponents - top[:, None]), axis=1))
    np.testing.assert_allclose(_log_segment(X, start, end) + 0.5 * np.log(2.0 * np.pi), direct, rtol=1e-4, atol=1e-3)


def test_ripley_probability_is_bayes_rule():
    X, _, p = make_ripley(50, random_state=2)
    density = [np.mean([multivariate_normal(c, 0.03).pdf(X) for c in centres], axis=0) for centres in RIPLEY_CENTRES]
    np.testing.assert_allclose(p, density[1] / (density[0] + density[1]), rtol=1e-10)


def test_the_outlier_is_the_last_row():
    X, y, _ = make_simulated_1d(10, outlier=True, random_state=0)
    assert len(y) == 11
    assert (X[-1, 0], y[-1]) == (-2.0, -1)


def test_every_name_is_there():
    assert all(hasattr(datasets, name) for name in datasets.__all__)
