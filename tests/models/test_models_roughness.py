"""Roughness and scale by leave-one-out predictions."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit

from bayesvm import BayesianSVC
from bayesvm.kernels import Constant, Gaussian, Linear, Matern32, OrnsteinUhlenbeck
from bayesvm.models import choice_on_part, chosen_process, roughness
from bayesvm.models.base import Candidate, TrainingData
from bayesvm.models.calibration import calibrate_odds
from bayesvm.models.roughness import HALF_WIDTHS, finished_roughness, rougher, split_row

QUICK = {"random_state": 0, "evidence_tol": 0.1, "likelihood": "logistic"}


def problem(n=240):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    return X, np.where(rng.uniform(size=n) < expit(3.0 * X[:, 0]), 1.0, -1.0)


def model_of(X, y):
    """Return a model with one length scale, as Laplace's method finds it, and its data."""
    model = BayesianSVC("rbf + constant", posterior="laplace", reduce=None, **QUICK).fit(X, y).models_[0]
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


def test_members_are_calibrated_by_leave_one_out_predictions_of_all_rows():
    model, data = model_of(*problem())
    members = finished_roughness(model, data)
    assert sum(weight for weight, _ in members) == pytest.approx(1.0)
    origin = dataclasses.replace(model.predictor(), calibrations=()).loo_log_odds()[:, 0]
    for _, member in members:
        assert member.marginals[0].cavity_mean.size == data.n_rows
        own = dataclasses.replace(member, calibrations=()).loo_log_odds()[:, 0]
        options = {"determined": model.determined, "reference": float(np.mean(np.abs(origin)))}
        assert member.calibrations == (calibrate_odds(own, data.y[:, 0], np.ones(data.n_rows), **options),)


def test_the_model_itself_predicts_where_no_place_can_be_computed_on_all_rows(monkeypatch):
    model, data = model_of(*problem())
    monkeypatch.setattr(roughness, "moved_to", lambda model, variance, lengthscale: None)
    ((weight, member),) = finished_roughness(model, data)
    assert weight == 1.0
    assert member.kernel == model.kernel
    np.testing.assert_array_equal(member.posteriors[0].alpha, model.posteriors[0].alpha)


@pytest.mark.parametrize(("truth", "rough"), [(OrnsteinUhlenbeck(60.0, 3.0), True), (Gaussian(60.0, 1.0), False)])
def test_most_draws_of_a_prior_are_given_its_roughness(truth, rough):
    share = 0.0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = np.sort(rng.uniform(0.0, 20.0, (400, 1)), axis=0)
        root = np.linalg.cholesky(truth.bind(1).gram(X) + 1e-8 * np.eye(400))
        y = np.where(rng.uniform(size=400) < expit(root @ rng.normal(size=400)), 1.0, -1.0)
        members = finished_roughness(*model_of(X, y))
        share += sum(weight for weight, member in members if is_rough(member))
    assert (share > 2.0) == rough


def is_rough(member):
    return any(type(leaf) is OrnsteinUhlenbeck for leaf in member.kernel.leaves())


@pytest.mark.parametrize(("n", "compared"), [(200, False), (201, True)])
def test_many_rows_compare_the_roughness(n, compared, monkeypatch):
    calls = []

    def watched(model, data):
        calls.append(data.n_rows)
        return finished_roughness(model, data)

    monkeypatch.setattr(chosen_process, "finished_roughness", watched)
    monkeypatch.setattr(choice_on_part, "MANY", 200)
    monkeypatch.setattr(choice_on_part, "PART", 120)
    monkeypatch.setattr(roughness, "MANY", 200)
    machine = BayesianSVC("auto", **QUICK).fit(*problem(n))
    assert calls == ([n] if compared else [])
    assert (machine.models_[0].chosen.method is None) == compared


@pytest.mark.parametrize(
    ("shares", "expected"), [((1.0, 0.0), (0.6,)), ((0.75, 0.25), (0.45, 0.15)), ((0.0, 1.0), (0.0, 0.6))]
)
def test_a_rougher_kernel_that_predicts_is_listed_with_its_share(shares, expected):
    kernel = (Gaussian() + Constant()).bind(1)
    members = [(share, SimpleNamespace(kernel=k)) for share, k in zip(shares, (kernel, rougher(kernel)), strict=True)]
    rows = split_row(Candidate("gaussian", -3.0, True, weight=0.6), kernel, members)
    assert [row.weight for row in rows] == pytest.approx(expected)
    assert [row.kept for row in rows] == [weight > 0.0 for weight in expected]
    assert [row.kernel for row in rows] == ["gaussian", "gaussian, rougher"][: len(rows)]


def test_the_summary_shows_that_a_rougher_kernel_predicts(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0.0, 20.0, (400, 1)), axis=0)
    root = np.linalg.cholesky(OrnsteinUhlenbeck(60.0, 3.0).bind(1).gram(X) + 1e-8 * np.eye(400))
    y = np.where(rng.uniform(size=400) < expit(root @ rng.normal(size=400)), 1.0, -1.0)
    for module in (choice_on_part, roughness):
        monkeypatch.setattr(module, "MANY", 200)
    monkeypatch.setattr(choice_on_part, "PART", 150)
    machine = BayesianSVC("auto", **QUICK).fit(X, y)
    row = machine.candidates_[-1]
    model = machine.models_[0]
    share = sum(w for w, member in zip(model.weights, model.members, strict=True) if is_rough(member))
    assert row.kernel.endswith(", rougher")
    assert row.weight == pytest.approx(share)
    assert sum(other.weight for other in machine.candidates_) == pytest.approx(1.0)
    assert f"{row.kernel} (weight {share:.1%})" in str(machine.summary())
    assert "nan" not in str(machine.summary())
