"""Roughness and scale by leave-one-out predictions of rows that did not tune the hyperparameters."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.special import expit, log_expit

from bayesvm import BayesianSVC
from bayesvm.kernels import Constant, Gaussian, Linear, Matern32, OrnsteinUhlenbeck
from bayesvm.models import choice_on_part, places
from bayesvm.models.base import TrainingData
from bayesvm.models.calibration import calibrate_odds
from bayesvm.models.roughness import HALF_WIDTHS, finished_apart, rougher

QUICK = {"random_state": 0, "evidence_tol": 0.1, "likelihood": "logistic"}


def problem(n=240, rough=False):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    latent = 6.0 * np.where(np.floor(3.0 * X[:, 0]) % 2 == 0, 1.0, -1.0) if rough else 3.0 * X[:, 0]
    return X, np.where(rng.uniform(size=n) < expit(latent), 1.0, -1.0)


@pytest.fixture(scope="module")
def fitted():
    X, y = problem()
    model = BayesianSVC("rbf + constant", posterior="laplace", **QUICK).fit(X, y).models_[0]
    model = dataclasses.replace(model.refined(None), apart=np.arange(1, 240, 2))
    return model, TrainingData(model.objective.X, y[:, None])


@pytest.mark.parametrize("kind", [Gaussian, Matern32])
def test_correlations_of_both_kernels_are_one_half_at_the_same_distance(kind):
    kernel = (kind(4.0, (0.5, 2.0)) + Constant(0.3)).bind(2)
    rough = rougher(kernel)
    assert [type(leaf) for leaf in rough.leaves()] == [OrnsteinUhlenbeck, Constant]
    at = np.array([[0.0, 0.0], [0.5 * HALF_WIDTHS[kind], 0.0], [0.0, 2.0 * HALF_WIDTHS[kind]]])
    for k in (kernel, rough):
        np.testing.assert_allclose(k.gram(at)[0], [4.3, 2.3, 2.3], rtol=1e-5)
    assert len(rough.theta) == len(kernel.theta)


def test_a_kernel_without_smooth_parts_has_no_rougher_one():
    assert rougher((OrnsteinUhlenbeck() + Linear()).bind(2)) is None


def test_members_are_calibrated_on_the_rows_apart_alone(fitted):
    model, data = fitted
    members = finished_apart(model, data)
    assert sum(weight for weight, _ in members) == pytest.approx(1.0)
    origin = dataclasses.replace(model.predictor(), calibrations=()).loo_log_odds()[model.apart, 0]
    for _, member in members:
        assert member.marginals[0].cavity_mean.size == data.n_rows
        own = dataclasses.replace(member, calibrations=()).loo_log_odds()[model.apart, 0]
        size = float(np.mean(np.abs(origin)))
        y = data.y[model.apart, 0]
        expected = calibrate_odds(own, y, np.ones(y.size), determined=0.0, reference=size)
        assert member.calibrations == (expected,)


def test_the_models_own_calibration_sees_the_rows_apart_alone(fitted):
    model, data = fitted
    odds = dataclasses.replace(model.predictor(), calibrations=()).loo_log_odds()[model.apart, 0]
    y = data.y[model.apart, 0]
    expected = calibrate_odds(odds, y, np.ones(y.size), determined=0.0)
    assert model.calibrated("auto", data.counts, tuned=True).calibrations == (expected,)


def test_honest_predictions_decide_on_the_roughness(monkeypatch):
    monkeypatch.setattr(choice_on_part, "MANY", 200)
    monkeypatch.setattr(choice_on_part, "PART", 120)
    monkeypatch.setattr(places, "PART", 100)
    X, y = problem(400, rough=True)
    machine = BayesianSVC("auto", **QUICK).fit(X[:300], y[:300])
    average = machine.models_[0]
    assert average.chosen.apart.size == 180
    assert any(type(leaf) is OrnsteinUhlenbeck for leaf in average.members[0].kernel.leaves())
    assert not any(type(leaf) is OrnsteinUhlenbeck for leaf in average.chosen.kernel.leaves())
    own = average.chosen.log_odds(machine._inputs(X[300:]))[:, 0]
    both = average.log_odds(machine._inputs(X[300:]))[:, 0]
    assert np.mean(log_expit(y[300:] * both)) > np.mean(log_expit(y[300:] * own))
