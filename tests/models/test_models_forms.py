"""Form and scale by leave-one-out predictions."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit

from bayesvm import BayesianSVC
from bayesvm.kernels import Constant, Gaussian, Laplacian, Linear, Matern32, OrnsteinUhlenbeck
from bayesvm.kernels.inputs import Inputs
from bayesvm.models import choice_on_part, chosen_process, forms
from bayesvm.models.base import Candidate, TrainingData
from bayesvm.models.calibration import calibrate_odds
from bayesvm.models.forms import HALF_WIDTHS, POWERS, finished_forms, other_forms, split_row
from bayesvm.models.stacking import stacked_weights

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
def test_the_exponential_kernel_is_one_half_at_the_same_distance(kind):
    kernel = (kind(4.0, (0.5, 2.0)) + Constant(0.3)).bind(2)
    rough = other_forms(kernel, Inputs(np.zeros((1, 2))))["exponential"]
    assert [type(leaf) for leaf in rough.leaves()] == [OrnsteinUhlenbeck, Constant]
    at = np.array([[0.0, 0.0], [0.5 * HALF_WIDTHS[kind], 0.0], [0.0, 2.0 * HALF_WIDTHS[kind]]])
    for k in (kernel, rough):
        np.testing.assert_allclose(k.gram(at)[0], [4.3, 2.3, 2.3], rtol=1e-5)
    assert len(rough.theta) == len(kernel.theta)


@pytest.mark.parametrize("lengthscale", [30.0, tuple(np.linspace(20.0, 60.0, 40))])
def test_laplacian_kernels_are_worth_as_much_as_the_exponential_one_at_typical_distances(lengthscale):
    X = np.random.default_rng(0).normal(size=(200, 40))
    forms = other_forms(Gaussian(4.0, lengthscale).bind(40), Inputs(X))
    expected = np.median(forms["exponential"].gram(X))
    for name, power in POWERS.items():
        (leaf,) = forms[name].leaves()
        assert (type(leaf), leaf.power, leaf.variance) == (Laplacian, power, 4.0)
        assert np.median(leaf.gram(X)) == pytest.approx(expected, rel=0.02)


def test_length_scales_keep_their_ratios():
    kernel = (Gaussian(4.0, (0.5, 2.0)) + Constant(0.3)).bind(2)
    for rough in other_forms(kernel, Inputs(np.zeros((1, 2)))).values():
        first, second = next(iter(rough.leaves())).lengthscale
        assert second / first == pytest.approx(4.0)


def test_a_kernel_without_smooth_parts_has_no_other_forms():
    assert other_forms((OrnsteinUhlenbeck() + Linear()).bind(2), Inputs(np.zeros((1, 2)))) == {}


@pytest.mark.parametrize("X", [np.zeros((3, 1)), sp.csr_array(np.zeros((3, 2)))], ids=["one feature", "sparse"])
def test_no_manhattan_distance_for_one_feature_or_sparse_inputs(X):
    assert list(other_forms((Gaussian() + Linear()).bind(X.shape[1]), Inputs(X))) == ["exponential"]


def test_members_are_calibrated_by_leave_one_out_predictions_of_all_rows():
    model, data = model_of(*problem())
    members = finished_forms(model, data)
    assert sum(weight for _, weight, _ in members) == pytest.approx(1.0)
    origin = dataclasses.replace(model.predictor(), calibrations=()).loo_log_odds()[:, 0]
    for _, _, member in members:
        assert member.marginals[0].cavity_mean.size == data.n_rows
        own = dataclasses.replace(member, calibrations=()).loo_log_odds()[:, 0]
        options = {"determined": model.determined, "reference": float(np.mean(np.abs(origin)))}
        assert member.calibrations == (calibrate_odds(own, data.y[:, 0], np.ones(data.n_rows), **options),)


def test_weights_are_those_of_stacking_with_rows_counted():
    model, data = model_of(*problem())
    data = dataclasses.replace(data, weights=np.where(data.y[:, 0] > 0.0, 3.0, 1.0))
    members = finished_forms(model, data)
    assert len(members) > 1
    odds = np.stack([member.loo_log_odds()[:, 0] for _, _, member in members])
    expected = stacked_weights(-np.logaddexp(0.0, -data.y[:, 0] * odds), data.counts)
    np.testing.assert_allclose([weight for _, weight, _ in members], expected, rtol=1e-3)


def test_the_model_itself_predicts_where_no_place_can_be_computed_on_all_rows(monkeypatch):
    model, data = model_of(*problem())
    monkeypatch.setattr(forms, "moved_to", lambda model, variance, lengthscale: None)
    ((name, weight, member),) = finished_forms(model, data)
    assert (name, weight) == ("", 1.0)
    assert member.kernel == model.kernel
    np.testing.assert_array_equal(member.posteriors[0].alpha, model.posteriors[0].alpha)


@pytest.mark.parametrize(("truth", "rough"), [(OrnsteinUhlenbeck(60.0, 3.0), True), (Gaussian(60.0, 1.0), False)])
def test_most_draws_of_a_prior_are_given_its_form(truth, rough):
    share = 0.0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = np.sort(rng.uniform(0.0, 20.0, (400, 1)), axis=0)
        root = np.linalg.cholesky(truth.bind(1).gram(X) + 1e-8 * np.eye(400))
        y = np.where(rng.uniform(size=400) < expit(root @ rng.normal(size=400)), 1.0, -1.0)
        share += sum(weight for name, weight, _ in finished_forms(*model_of(X, y)) if name)
    assert (share > 2.0) == rough


def test_labels_by_thresholds_are_given_manhattan_distances():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 4))
    odds = 4.0 * (X[:, 0] > 0.5) + 3.0 * (X[:, 1] > 0.3) * (X[:, 2] < 0.7) - 3.5
    y = np.where(rng.uniform(size=400) < expit(odds), 1.0, -1.0)
    shares = {name: weight for name, weight, _ in finished_forms(*model_of(X, y))}
    assert sum(shares.get(name, 0.0) for name in POWERS) > 0.7


def is_rough(member):
    return any(type(leaf) is OrnsteinUhlenbeck for leaf in member.kernel.leaves())


@pytest.mark.parametrize(("n", "compared"), [(200, False), (201, True)])
def test_many_rows_compare_forms(n, compared, monkeypatch):
    calls = []

    def watched(model, data):
        calls.append(data.n_rows)
        return finished_forms(model, data)

    monkeypatch.setattr(chosen_process, "finished_forms", watched)
    monkeypatch.setattr(choice_on_part, "MANY", 200)
    monkeypatch.setattr(choice_on_part, "PART", 120)
    monkeypatch.setattr(forms, "MANY", 200)
    machine = BayesianSVC("auto", **QUICK).fit(*problem(n))
    assert calls == ([n] if compared else [])
    assert (machine.models_[0].chosen.method is None) == compared


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ({"": 1.0}, {"gaussian": 0.6}),
        ({"exponential": 0.25, "": 0.75}, {"gaussian": 0.45, "gaussian, exponential": 0.15}),
        (
            {"laplacian": 0.8, "exponential": 0.2},
            {"gaussian": 0.0, "gaussian, laplacian": 0.48, "gaussian, exponential": 0.12},
        ),
    ],
)
def test_forms_that_predict_are_listed_with_their_shares(shares, expected):
    rows = split_row(Candidate("gaussian", -3.0, True, weight=0.6), shares)
    assert {row.kernel: row.weight for row in rows} == pytest.approx(expected)
    assert [row.kept for row in rows] == [weight > 0.0 for weight in expected.values()]


def test_the_summary_shows_that_another_form_predicts(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0.0, 20.0, (400, 1)), axis=0)
    root = np.linalg.cholesky(OrnsteinUhlenbeck(60.0, 3.0).bind(1).gram(X) + 1e-8 * np.eye(400))
    y = np.where(rng.uniform(size=400) < expit(root @ rng.normal(size=400)), 1.0, -1.0)
    for module in (choice_on_part, forms):
        monkeypatch.setattr(module, "MANY", 200)
    monkeypatch.setattr(choice_on_part, "PART", 150)
    machine = BayesianSVC("auto", **QUICK).fit(X, y)
    row = machine.candidates_[-1]
    model = machine.models_[0]
    share = sum(w for w, member in zip(model.weights, model.members, strict=True) if is_rough(member))
    assert row.kernel.endswith(", exponential")
    assert row.weight == pytest.approx(share)
    assert sum(other.weight for other in machine.candidates_) == pytest.approx(1.0)
    assert f"{row.kernel} (weight {share:.1%})" in " ".join(str(machine.summary()).split())
    assert "nan" not in str(machine.summary())
