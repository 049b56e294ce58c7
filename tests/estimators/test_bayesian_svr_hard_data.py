"""Data that breaks other machines: the right answer or one clear error."""

import numpy as np
import pytest
import scipy.sparse as sp

from bayesvm.datasets import make_sinc
from bayesvm.estimators.bayesian_svr import BayesianSVR

#: The noise model of the thesis.
SOFT = "soft-insensitive"

X, Y, F = make_sinc(80, random_state=0)


@pytest.mark.parametrize("value", [0.0, 5.0, -1e9])
def test_constant_targets(value):
    machine = BayesianSVR(None, likelihood=SOFT, n_starts=2).fit(X, np.full(80, value))
    mean, std = machine.predict(np.array([[0.0], [50.0]]), return_std=True)
    size = abs(value) or 1.0
    np.testing.assert_allclose(mean, value, atol=1e-6 * size)
    assert np.all((std > 0.0) & (std < 1e-6 * size))  # the function varies no more than the targets do
    low, high = machine.predict_interval(X[:3])
    assert np.all((low < mean[0]) & (mean[0] < high))
    assert np.all(np.isfinite(machine.log_density(X[:3], np.full(3, value + 1.0))))


def test_one_constant_output_of_two():
    both = BayesianSVR(None, likelihood=SOFT, n_starts=1).fit(X, np.column_stack([np.full(80, 3.0), Y]))
    alone = BayesianSVR(None, likelihood=SOFT, n_starts=1).fit(X, Y)
    mean = both.predict(X[:5])
    np.testing.assert_allclose(mean[:, 0], 3.0, atol=1e-6)
    np.testing.assert_allclose(mean[:, 1], alone.predict(X[:5]), atol=1e-9)


def test_one_sample():
    with pytest.raises(ValueError, match="1 sample"):
        BayesianSVR(None, likelihood=SOFT).fit(X[:1], Y[:1])


def test_two_samples():
    mean, std = BayesianSVR(None, likelihood=SOFT).fit(X[:2], Y[:2]).predict(X[:2], return_std=True)
    assert np.all(np.isfinite(mean))
    assert np.all(std > 0.0)


def test_huge_offset():
    plain = BayesianSVR(None, likelihood=SOFT, n_starts=1).fit(X, Y)
    moved = BayesianSVR(None, likelihood=SOFT, n_starts=1).fit(X, 1e9 + Y)
    Xt = np.linspace(-9.0, 9.0, 7)[:, None]
    np.testing.assert_allclose(moved.predict(Xt) - 1e9, plain.predict(Xt), atol=1e-3)
    np.testing.assert_allclose(moved.predict(Xt, return_std=True)[1], plain.predict(Xt, return_std=True)[1], rtol=1e-2)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_extreme_units(scale):
    machine = BayesianSVR(None, likelihood=SOFT, n_starts=1).fit(X, scale * Y)
    np.testing.assert_allclose(
        machine.predict(X) / scale,
        BayesianSVR(None, likelihood=SOFT, n_starts=1).fit(X, Y).predict(X),
        atol=1e-5,
    )


def test_duplicated_rows():
    rng = np.random.default_rng(1)
    machine = BayesianSVR(None, likelihood=SOFT, n_starts=1).fit(
        np.vstack([X, X, X]), np.tile(F, 3) + 0.1 * rng.normal(size=240)
    )
    assert np.mean((machine.predict(X) - F) ** 2) < 0.002
    same = BayesianSVR(None, likelihood=SOFT, n_starts=1).fit(np.zeros((20, 1)), Y[:20])
    assert same.predict([[0.0]])[0] == pytest.approx(np.mean(Y[:20]), abs=0.5 * np.std(Y[:20]))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_targets_that_are_no_numbers(bad):
    y = Y.copy()
    y[5] = bad
    with pytest.raises(ValueError, match="Input y contains"):
        BayesianSVR(None, likelihood=SOFT).fit(X, y)


def test_noise_free_targets():
    machine = BayesianSVR(None, likelihood=SOFT, n_starts=2).fit(X, F)
    assert np.sqrt(np.mean((machine.predict(X) - F) ** 2)) < 5e-3


def test_more_features_than_rows():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(20, 60))
    mean, std = BayesianSVR(None, likelihood=SOFT, n_starts=2).fit(Z, Z[:, 0]).predict(Z, return_std=True)
    assert np.all(np.isfinite(mean))
    assert np.all(std > 0.0)


def test_sparse_inputs():
    rng = np.random.default_rng(0)
    Z = sp.csr_array(np.where(rng.random((60, 5)) < 0.4, rng.random((60, 5)), 0.0))
    y = np.asarray(Z.sum(axis=1)).ravel() + 0.1 * rng.normal(size=60)
    sparse = BayesianSVR(None, likelihood=SOFT, n_starts=1).fit(Z, y)
    assert sparse.score(Z, y) > 0.7
    with pytest.raises(ValueError, match="dense array of targets"):
        BayesianSVR(None, likelihood=SOFT).fit(Z, sp.csr_array(y[:, None]))
