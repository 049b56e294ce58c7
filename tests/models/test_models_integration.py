"""Averaging over theta: shares, what is reported, and the average against a lattice over theta."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import softmax

from bayesvm import BayesianSVC, GPRegressor
from bayesvm.kernels import Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import Logistic
from bayesvm.models.base import TrainingData
from bayesvm.models.integration import SHARE, _left_out, integrated


@pytest.fixture(scope="module")
def regression():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(25, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=25)
    machine = GPRegressor(Gaussian(), theta="integrate").fit(X, y)
    model = machine.models_[0]
    return machine, model, TrainingData(model.objective.X, model.objective.y[:, None])


def test_shares_and_report(regression):
    machine, model, data = regression
    members, found = integrated(model.chosen, data, None)
    shares = np.array([share for share, _ in members])
    assert shares.sum() == pytest.approx(1.0)
    assert shares.min() >= SHARE * shares.max()
    assert found.points == len(members) == len(model.members)
    assert 1.0 <= found.effective <= 32.0
    assert found.disagreement > 0.0
    assert machine.integration_ == (found,)
    left_out = np.stack([member.marginals[0].cavity_mean for _, member in members])
    spread = shares @ (left_out - shares @ left_out) ** 2
    assert found.disagreement == pytest.approx(np.sqrt(np.mean(spread)))


def test_the_same_each_time(regression):
    _, model, data = regression
    first, second = (integrated(model.chosen, data, "auto") for _ in range(2))
    assert first[1] == second[1]
    for (share, member), (other, twin) in zip(first[0], second[0], strict=True):
        assert share == other
        assert np.array_equal(member.kernel.theta, twin.kernel.theta)
        assert member.calibrations == twin.calibrations


def test_the_average_is_close_to_that_over_a_lattice(regression):
    _, model, _ = regression
    objective, theta = model.objective, model.theta
    X = Inputs(np.linspace(-2.5, 2.5, 11)[:, None])
    values, means, variances = [], [], []
    for step in itertools.product(np.linspace(-2.5, 2.5, 11), repeat=3):
        here = objective.evaluate(np.clip(theta + step, *objective.bounds.T))
        kernel, _ = objective.model(here.theta)
        K_s = kernel.gram(X, objective.X.take(here.posteriors[0].support))
        values.append(here.value)
        means.append(here.posteriors[0].mean(K_s))
        variances.append(here.posteriors[0].var(K_s, kernel.diag(X)))
    weights = softmax(values)
    mean = weights @ np.array(means)
    deviation = np.sqrt(weights @ (np.array(variances) + (np.array(means) - mean) ** 2))
    found, var = model.latent(X)
    _, alone = model.chosen.latent(X)
    assert np.all(np.abs(found[:, 0] - mean) < 0.2 * deviation)
    errors = [np.sqrt(np.mean(np.log(np.sqrt(v[:, 0]) / deviation) ** 2)) for v in (var, alone)]
    assert errors[0] < errors[1]  # closer than one theta is
    assert errors[0] < 0.15


def test_labels():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=50) > 0.0, 1, -1)
    machine = BayesianSVC(kernel=None, theta="integrate").fit(X, y)
    (found,) = machine.integration_
    model = machine.models_[0]
    assert found.points == len(model.members) > 1
    assert 0.0 < found.disagreement < 0.5
    assert model.weights.sum() == pytest.approx(1.0)


@pytest.mark.filterwarnings("error")
def test_probabilities_of_log_odds_beyond_the_range_of_exp():
    beyond = np.array([[-1e4], [0.0], [1e4]])
    member = SimpleNamespace(likelihood=Logistic(), loo_log_odds=lambda: beyond)
    np.testing.assert_array_equal(_left_out(member), [[0.0], [0.5], [1.0]])
