"""Estimators whose predictions are carried by few training rows."""

from __future__ import annotations

import io

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons

from bayesvm import BayesianSVC, BayesianSVR, GPClassifier, GPRegressor
from bayesvm.persistence import load, save

FAST = {"n_starts": 1}


@pytest.fixture(scope="module")
def moons():
    return make_moons(150, noise=0.25, random_state=0)


@pytest.fixture(scope="module")
def sine():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (150, 1))
    return X, np.sin(X[:, 0]) + 0.15 * rng.standard_normal(150)


def largest_change(few, full, X):
    """Return the largest change of latent mean and deviation at the rows of X, in standard deviations."""
    (mean, std), (m, s) = few.predict_latent(X), full.predict_latent(X)
    return max(np.max(np.abs(mean - m) / s), np.max(np.abs(std / s - 1.0)))


def test_default_classifier_predicts_from_few_rows(moons):
    X, y = moons
    few, full = BayesianSVC(None, **FAST).fit(X, y), BayesianSVC(None, **FAST, reduce=None).fit(X, y)
    assert few.n_basis_ == few.basis_.size < full.n_basis_ / 3
    assert full.reduction_error_ == 0.0
    np.testing.assert_array_equal(full.basis_, full.support_)
    assert 0.0 < few.reduction_error_ <= 1.01 * 0.003 * np.sqrt(150)
    assert largest_change(few, full, X) == pytest.approx(few.reduction_error_, rel=1e-6)
    np.testing.assert_allclose(few.predict_proba(X), full.predict_proba(X), atol=0.02)
    # what is known of the posterior itself is that of the whole one
    np.testing.assert_array_equal(few.support_, full.support_)
    np.testing.assert_array_equal(few.dual_coef_, full.dual_coef_)
    np.testing.assert_array_equal(few.loo_proba_, full.loo_proba_)
    assert few.log_evidence_ == full.log_evidence_


@pytest.mark.parametrize(("n", "tol"), [(40, 0.02), (100, 0.03), (450, 0.06)])
def test_the_tolerance_grows_with_the_root_of_the_number_of_rows(n, tol):
    X, y = make_moons(n, noise=0.25, random_state=0)
    fitted = BayesianSVC(None, **FAST, optimizer=None).fit(X, y)
    assert fitted.models_[0].reduction.tol == pytest.approx(tol)
    weighted = BayesianSVC(None, **FAST, optimizer=None).fit(X, y, sample_weight=np.full(n, 4.0))
    assert weighted.models_[0].reduction.tol == pytest.approx(min(max(0.02, 0.006 * np.sqrt(n)), 0.06))


def test_machines_of_the_papers_are_not_reduced(moons, sine):
    for machine in (BayesianSVC(None, **FAST, posterior="laplace", calibrate=None), GPClassifier(None, **FAST)):
        fitted = machine.fit(*moons)
        np.testing.assert_array_equal(fitted.basis_, fitted.support_)
        assert fitted.reduction_error_ == 0.0
    for machine in (BayesianSVR(None, likelihood="soft-insensitive", **FAST), GPRegressor(None, **FAST)):
        assert machine.fit(*sine).reduction_error_ == 0.0


@pytest.mark.parametrize("machine", [GPRegressor, BayesianSVR])
def test_regressor_with_a_tolerance(machine, sine):
    X, y = sine
    few, full = machine(**FAST, reduce=0.05).fit(X, y), machine(**FAST).fit(X, y)
    assert few.n_basis_ < full.n_basis_ / 2
    assert largest_change(few, full, X) <= 0.0505
    np.testing.assert_array_equal(few.predict(X), few.predict(X, return_std=True)[0])


def test_several_classes(moons):
    X, y = load_iris(return_X_y=True)
    few = BayesianSVC(None, multi_class="ovr", **FAST).fit(X, y)
    full = BayesianSVC(None, multi_class="ovr", **FAST, reduce=None).fit(X, y)
    assert few.n_basis_ < full.n_basis_
    np.testing.assert_allclose(few.predict_proba(X), full.predict_proba(X), atol=0.02)
    shared = BayesianSVC(None, **FAST, reduce=0.02).fit(X, y)
    assert shared.n_basis_ <= shared.support_.size
    whole = BayesianSVC(None, **FAST).fit(X, y)
    np.testing.assert_allclose(shared.predict_proba(X), whole.predict_proba(X), atol=0.02)


def test_basis_counts_all_rows_that_were_given(moons):
    X, y = moons
    weights = np.ones(len(y))
    weights[:50] = 0.0
    machine = BayesianSVC(None, **FAST).fit(X, y, sample_weight=weights)
    assert machine.basis_.min() >= 50


def test_draws_have_the_moments_of_the_reduced_process(moons):
    X, y = moons
    machine = BayesianSVC(None, **FAST).fit(X, y)
    draws = machine.sample(X[:3], n_draws=20000, random_state=0)
    mean, std = machine.predict_latent(X[:3])
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=0.05 * std.max())
    np.testing.assert_allclose(draws.std(axis=1), std, rtol=0.03)


def test_a_saved_machine_is_small_and_predicts_the_same(moons):
    X, y = moons
    files = []
    for reduce in ("auto", None):
        machine = BayesianSVC(None, **FAST, reduce=reduce).fit(X, y)
        file = io.BytesIO()
        save(machine, file)
        files.append(file.tell())
        file.seek(0)
        np.testing.assert_array_equal(load(file).predict_proba(X), machine.predict_proba(X))
    assert files[0] < files[1]


@pytest.mark.parametrize("reduce", [0.0, -1.0, "all", np.nan, True])
def test_what_the_tolerance_may_be(reduce, moons):
    with pytest.raises(
        ValueError, match=r"reduce: expected 'auto' or None or a positive number of standard deviations"
    ):
        BayesianSVC(None, reduce=reduce).fit(*moons)


def test_the_members_of_an_average_share_their_rows():
    X, y = make_moons(150, noise=0.3, random_state=0)
    model = BayesianSVC(n_starts=1).fit(X, y).models_[0]
    sizes = [member.basis.size for member in model.members]
    assert len(sizes) > 1
    assert model.basis.size < 0.5 * sum(sizes)
    assert (
        max(member.reduction.error for member in model.members) == model.reduction.error <= 1.01 * 0.003 * np.sqrt(150)
    )
