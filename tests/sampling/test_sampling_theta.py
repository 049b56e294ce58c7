"""Draws of the hyperparameters: the target's gradient, recovery of a known posterior, averages, messages."""

import importlib.util
import sys

import numpy as np
import pytest

from bayesvm.datasets import make_sinc
from bayesvm.estimators.bayesian_svc import BayesianSVC
from bayesvm.estimators.gaussian_process import GPRegressor
from bayesvm.estimators.relevance_vector import RelevanceVectorRegressor
from bayesvm.hyper import LogNormal
from bayesvm.kernels import Gaussian
from bayesvm.sampling import Target, sample_theta
from bayesvm.testing import five_point, relative_error

MISSING = [name for name in ("arviz", "emcee", "nutpie") if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.filterwarnings("ignore:.*chains have not mixed:sklearn.exceptions.ConvergenceWarning")
needs_extra = pytest.mark.skipif(bool(MISSING), reason=f"packages not installed: {', '.join(MISSING)}")


@pytest.fixture(scope="module")
def machine():
    X, y, _ = make_sinc(40, noise=0.2, random_state=0)
    return GPRegressor(None, n_starts=1).fit(X, y), X, y


def test_target_has_the_right_gradient(machine):
    target = Target(machine[0].models_[0].objective)
    u = target.coordinates(machine[0].models_[0].theta) + 0.1
    _, gradient, _ = target.log_density(u)
    assert relative_error(gradient, five_point(lambda u: target.log_density(u)[0], u)) < 1e-6
    np.testing.assert_allclose(target.coordinates(target.theta(u)), u, atol=1e-9)


def test_missing_extra_is_named(machine, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match=r"bayesvm\[sampling\]"):
        sample_theta(machine[0])


def test_machines_without_an_evidence_of_this_kind_are_refused():
    X, y, _ = make_sinc(30, noise=0.1, random_state=0)
    with pytest.raises(TypeError, match="RelevanceVectorRegressor"):
        sample_theta(RelevanceVectorRegressor(n_starts=1).fit(X, y))


@pytest.mark.slow
@needs_extra
def test_nuts_and_ensemble_agree_with_a_grid():
    X, y, _ = make_sinc(30, noise=0.2, random_state=0)
    fitted = GPRegressor(Gaussian(1.0, 0.3).fix("variance"), n_starts=1, hyperprior=LogNormal(-1.0, 1.0)).fit(X, y)
    objective = fitted.models_[0].objective
    grid = [np.linspace(t - 2.0, t + 2.5, 40) for t in fitted.models_[0].theta]
    points = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, 2)
    logs = np.array([objective.evaluate(p).value for p in points])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = weights @ points
    std = np.sqrt(weights @ (points - mean) ** 2)
    for method in ("nuts", "ensemble"):
        found = sample_theta(fitted, method=method, draws=300, tune=200, chains=2, random_state=0).draws()
        assert np.all(np.abs(found.mean(axis=0) - mean) < 0.25 * std)
        np.testing.assert_allclose(found.std(axis=0), std, rtol=0.3)


@needs_extra
def test_average_over_draws(machine):
    fitted, X, _ = machine
    samples = sample_theta(fitted, draws=60, tune=60, chains=2, random_state=0)
    assert samples.method == "nuts"
    assert samples.data[0].posterior["theta"].shape == (2, 60, len(fitted.theta_names_))
    assert len(samples.diagnostics[0].rhat) == len(fitted.theta_names_)
    mean, std = samples.committee(10).predict(X, return_std=True)
    assert np.corrcoef(mean, fitted.predict(X))[0, 1] > 0.98
    assert np.all(std > 0.0)
    again = sample_theta(fitted, draws=60, tune=60, chains=2, random_state=0)
    np.testing.assert_array_equal(samples.draws(), again.draws())


@needs_extra
def test_jumping_evidence_takes_the_ensemble():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 1))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=30) > 0.0, 1, 0)
    fitted = BayesianSVC(None, likelihood="trigonometric", n_starts=1).fit(X, y)
    samples = sample_theta(fitted, draws=4, tune=2, chains=2, random_state=0)
    assert samples.method == "ensemble"
    np.testing.assert_allclose(samples.committee(3).predict_proba(X).sum(axis=1), 1.0)
