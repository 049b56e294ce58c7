"""Relevance vector estimators: the scikit-learn contract, units, sparseness, published figures."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayesvm.datasets import make_sinc
from bayesvm.estimators.relevance_vector import RelevanceVectorClassifier, RelevanceVectorRegressor
from bayesvm.kernels import BSpline, Gaussian

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
DATA = Path(os.environ.get("BAYESVM_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))


@pytest.mark.slow
@parametrize_with_checks([RelevanceVectorClassifier(), RelevanceVectorRegressor()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_sinc_needs_few_vectors():
    X, y, f = make_sinc(100, noise=0.1, random_state=0)
    machine = RelevanceVectorRegressor().fit(X, y)
    assert machine.converged_
    assert machine.n_relevance_[0] <= 12
    assert np.sqrt(np.mean((machine.predict(X) - f) ** 2)) < 0.06
    assert machine.noise_std_ == pytest.approx(0.1, rel=0.25)


def test_fitted_attributes_give_the_predictions():
    X, y, _ = make_sinc(80, noise=0.1, random_state=1)
    machine = RelevanceVectorRegressor(n_starts=1).fit(X, 5.0 + 3.0 * y)
    by_hand = machine.kernel_.gram(X, machine.relevance_vectors_) @ machine.dual_coef_[0] + machine.intercept_[0]
    np.testing.assert_allclose(machine.predict(X), by_hand, atol=1e-9)
    np.testing.assert_array_equal(machine.relevance_vectors_, X[machine.support_])


def test_units_of_the_targets_do_not_matter():
    X, y, _ = make_sinc(60, noise=0.1, random_state=2)
    a = RelevanceVectorRegressor(n_starts=1).fit(X, y)
    b = RelevanceVectorRegressor(n_starts=1).fit(X, 1e3 * y - 50.0)
    np.testing.assert_allclose(b.predict(X), 1e3 * a.predict(X) - 50.0, rtol=1e-5, atol=1e-3)
    assert b.log_marginal_likelihood_ == pytest.approx(a.log_marginal_likelihood_ - 60 * np.log(1e3), abs=1e-3)


def test_probabilities_of_separable_classes_are_not_under_confident():
    X, y = make_moons(60, noise=0.2, random_state=0)
    T, t = make_moons(500, noise=0.2, random_state=9)
    machine = RelevanceVectorClassifier(n_starts=1).fit(X, y)
    assert np.mean(-machine.predict_log_proba(T)[np.arange(500), t]) < 0.25


def test_exact_linear_targets():
    X = np.random.default_rng(0).normal(size=(30, 4))
    machine = RelevanceVectorRegressor(n_starts=1).fit(X, X[:, 0])
    assert machine.score(X, X[:, 0]) > 0.999


def test_standard_deviation_contains_the_noise():
    X, y, _ = make_sinc(60, noise=0.2, random_state=3)
    machine = RelevanceVectorRegressor(n_starts=1).fit(X, y)
    _, whole = machine.predict(X, return_std=True)
    _, latent = machine.predict(X, return_std=True, return_noise=False)
    np.testing.assert_allclose(whole**2, latent**2 + machine.noise_std_**2)


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    machine = RelevanceVectorClassifier(n_starts=1).fit(X, y)
    proba = machine.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(machine.predict(X), machine.classes_[proba.argmax(axis=1)])
    assert machine.score(X, y) > 0.94
    assert machine.n_relevance_.shape == (3,)


def test_repeated_rows_and_refits():
    X, y = make_moons(60, noise=0.2, random_state=0)
    machine = RelevanceVectorClassifier(n_starts=1).fit(np.vstack([X, X]), np.append(y, y))
    again = clone(machine).fit(np.vstack([X, X]), np.append(y, y))
    np.testing.assert_array_equal(machine.predict_proba(X), again.predict_proba(X))
    assert machine.score(X, y) > 0.9


def test_given_kernel_is_kept():
    X, y = make_moons(60, noise=0.2, random_state=0)
    machine = RelevanceVectorClassifier(Gaussian(1.0, 0.8), optimizer=None).fit(X, y)
    np.testing.assert_allclose(machine.models_[0].kernel.lengthscale, 0.8)
    assert len(machine.relevance_vectors_) < 20


@pytest.mark.parametrize("bad", [{"kernel": "auto"}, {"n_starts": 0}, {"likelihood": "hinge"}])
def test_bad_arguments(bad):
    X, y = make_moons(20, random_state=0)
    with pytest.raises(ValueError, match=next(iter(bad))):
        RelevanceVectorClassifier(**bad).fit(X, y)


@pytest.mark.skipif(not (DATA / "rsy.npz").exists(), reason="data set rsy.npz not found")
def test_ripley():
    """Tipping2001, Figure 3: 9.3 % and 4 vectors, with 100 of the 250 training points and a width of 0.5."""
    with np.load(DATA / "rsy.npz") as file:
        X, y, train, test = (file[k] for k in ("X", "y", "train", "test"))
    errors, vectors = [], []
    for seed in range(5):
        rows = np.random.default_rng(seed).choice(train, 100, replace=False)
        machine = RelevanceVectorClassifier(Gaussian(1.0, 0.5 / np.sqrt(2.0)), optimizer=None, standardize=False)
        machine.fit(X[rows], y[rows])
        errors.append(1.0 - machine.score(X[test], y[test]))
        vectors.append(machine.n_relevance_[0])
    assert np.mean(errors) < 0.12
    assert np.mean(vectors) < 8


def test_sinc_with_the_spline_kernel():
    """Tipping2001, Table 1: on average 6.7 vectors and a root mean square error of 0.033 at noise 0.1."""
    errors, vectors = [], []
    for seed in range(3):
        X, y, f = make_sinc(100, noise=0.1, random_state=seed)
        machine = RelevanceVectorRegressor(BSpline(3), optimizer=None, standardize=True).fit(X, y)
        errors.append(np.sqrt(np.mean((machine.predict(X) - f) ** 2)))
        vectors.append(machine.n_relevance_[0])
    assert np.mean(errors) < 0.06
    assert np.mean(vectors) < 15
