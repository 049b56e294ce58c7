"""``inference="variational"`` of Gaussian processes: the bound, VariationalSVC as a special case, leave-one-out."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from bayesvm.estimators.gaussian_process import GPClassifier, GPRegressor
from bayesvm.estimators.variational_svc import VariationalSVC
from bayesvm.exceptions import IncompatibleError
from bayesvm.inference import Variational
from bayesvm.kernels import Constant, Gaussian
from bayesvm.likelihoods import Laplace, Logistic

KERNEL = Gaussian(3.0, 0.8) + Constant(1.0)


@pytest.fixture(scope="module")
def moons():
    return make_moons(60, noise=0.25, random_state=0)


@pytest.fixture(scope="module")
def line():
    X = np.linspace(-2.0, 2.0, 40)[:, None]
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * np.random.default_rng(0).laplace(size=40)


def test_the_classifier_is_that_of_variational_svc(moons):
    X, y = moons
    a = GPClassifier(None, inference="variational", n_starts=1).fit(X, y)
    b = VariationalSVC(likelihood="logistic", n_starts=1).fit(X, y)
    assert a.converged_
    np.testing.assert_allclose(a.log_evidence_, b.log_evidence_, rtol=1e-12)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-10)
    np.testing.assert_allclose(a.loo_proba_, b.loo_proba_, rtol=1e-10)


@pytest.mark.parametrize("likelihood", ["logistic", "probit", "normalized-hinge"])
def test_the_bound_is_below_the_evidence_of_expectation_propagation(moons, likelihood):
    X, y = moons
    bound, close = (
        GPClassifier(KERNEL, likelihood=likelihood, inference=name, optimizer=None).fit(X, y).log_evidence_
        for name in ("variational", "ep")
    )
    assert close - 1.0 < bound < close


def test_predictions_by_another_posterior(moons):
    X, y = moons
    refined = GPClassifier(KERNEL, inference="variational", posterior="ep", optimizer=None).fit(X, y)
    ep = GPClassifier(KERNEL, inference="ep", optimizer=None).fit(X, y)
    np.testing.assert_allclose(refined.predict_proba(X), ep.predict_proba(X), atol=5e-3)
    same = GPClassifier(KERNEL, inference="variational", posterior="variational", optimizer=None).fit(X, y)
    plain = GPClassifier(KERNEL, inference="variational", optimizer=None).fit(X, y)
    np.testing.assert_array_equal(same.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("likelihood", ["logistic", "normalized-hinge"])
def test_leave_one_out_is_close_to_leaving_out(moons, likelihood):
    X, y = moons
    model = GPClassifier(KERNEL, likelihood=likelihood, inference="variational", optimizer=None, standardize=False)
    quick = model.fit(X, y).loo_proba_[:, 1].copy()
    slow = np.empty(60)
    for i in range(60):
        rest = np.arange(60) != i
        slow[i] = model.fit(X[rest], y[rest]).predict_proba(X[[i]])[0, 1]
    inside = model.fit(X, y).predict_proba(X)[:, 1]
    np.testing.assert_allclose(quick, slow, atol=0.02)
    assert np.abs(quick - slow).max() < 0.2 * np.abs(inside - slow).max()


def test_regression_with_kinks(line):
    X, y = line
    with pytest.raises(IncompatibleError):
        GPRegressor(None, likelihood="laplace").fit(X, y)
    machine = GPRegressor(None, likelihood="laplace", inference="variational", n_starts=1).fit(X, y)
    assert machine.converged_
    mean, std = machine.predict(X, return_std=True)
    assert np.sqrt(np.mean((mean - np.sin(2.0 * X[:, 0])) ** 2)) < 0.1
    assert np.all(std > 0.0)
    assert np.isfinite(machine.loo_log_likelihood_)


def test_regression_gives_the_bound_of_the_inference(line):
    X, y = line
    likelihood = Laplace(5.0)
    machine = GPRegressor(
        KERNEL, likelihood=likelihood.fix(), inference="variational", optimizer=None, standardize=False
    ).fit(X, y)
    evidence = Variational().infer(KERNEL.gram(X), y, likelihood)[1]
    np.testing.assert_allclose(machine.log_evidence_, evidence.value, rtol=1e-9)


def test_gaussian_noise_stays_exact(line):
    X, y = line
    a, b = (GPRegressor(None, inference=name, n_starts=1).fit(X, y) for name in ("variational", "laplace"))
    assert a.log_evidence_ == b.log_evidence_


def test_refusals(moons):
    X, y = moons
    with pytest.raises(IncompatibleError, match="under a Gaussian is infinite"):
        GPClassifier(None, likelihood="raised-cosine", inference="variational").fit(X, y)
    with pytest.raises(ValueError, match="posterior: expected None, 'ep' or the method of inference, 'variational'"):
        GPClassifier(None, inference="variational", posterior="laplace").fit(X, y)
    with pytest.raises(ValueError, match="inference: expected one of 'laplace', 'ep', 'variational', found 'sampling'"):
        GPClassifier(Gaussian(), likelihood=Logistic(), inference="sampling").fit(X, y)
