"""The table of models."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from bayesvm import BayesianSVC
from bayesvm.comparison import Comparison, Row, compare
from bayesvm.comparison.judge import _calibration_error
from bayesvm.estimators.gaussian_process import GPClassifier, GPRegressor
from bayesvm.kernels import Constant, Gaussian, Matern32

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def result():
    X, y = make_moons(60, noise=0.2, random_state=0)
    models = {
        "svc": BayesianSVC(None, n_starts=1),
        "gp": GPClassifier(None, n_starts=1),
        "weighted": BayesianSVC(None, n_starts=1, class_weight={0: 2.0, 1: 1.0}),
        "plain": SVC(),
    }
    return compare(models, X, y, test=make_moons(100, noise=0.2, random_state=1))


def test_probabilities_of_comparable_models_sum_to_one(result):
    assert isinstance(result, Comparison)
    probabilities = [row.probability for row in result.rows]
    assert np.nansum(probabilities) == pytest.approx(1.0)
    factors = {row.name: row.log_bayes_factor for row in result.rows}
    assert max(factors["svc"], factors["gp"]) == 0.0
    assert result.basis == "log_model_evidence"
    gap = result["svc"].log_model_evidence - result["gp"].log_model_evidence
    assert abs(factors["svc"] - factors["gp"]) == pytest.approx(abs(gap))


def test_hyperparameters_are_integrated_out(result):
    machine = result.models["gp"]
    assert result["gp"].log_model_evidence == machine.log_model_evidence_
    assert result["gp"].log_model_evidence_error == machine.log_model_evidence_error_
    assert "log model evidence" in str(result)
    assert "hyperparameters integrated out" in str(result)
    assert np.isnan(result["plain"].log_model_evidence)
    assert np.isnan(result["weighted"].log_model_evidence)


def test_without_a_model_evidence_all_rest_on_the_evidence():
    X, y = make_moons(50, noise=0.2, random_state=0)
    bare = type("Bare", (GPClassifier,), {"log_model_evidence_": np.nan})
    result = compare({"bare": bare(n_starts=1), "svc": BayesianSVC(None, n_starts=1)}, X, y)
    assert result.basis == "log_evidence"
    assert "at the learnt hyperparameters" in str(result)
    gap = result["svc"].log_evidence - result["bare"].log_evidence
    assert abs(result["svc"].log_bayes_factor - result["bare"].log_bayes_factor) == pytest.approx(abs(gap))


def test_a_coarse_model_evidence_is_named():
    X, y = make_moons(50, noise=0.2, random_state=0)
    coarse = type("Coarse", (GPClassifier,), {"log_model_evidence_error_": 3.0})
    assert "within 3.0 nats" in compare([coarse(n_starts=1)], X, y).rows[0].notes[-1]


def test_says_where_evidences_cannot_be_compared(result):
    assert np.isnan(result["plain"].log_evidence)
    assert "no evidence" in result["plain"].notes[0]
    assert np.isfinite(result["weighted"].log_evidence)
    assert np.isnan(result["weighted"].log_bayes_factor)
    assert "class weights" in result["weighted"].notes[0]


def test_best_leave_one_out_comes_first(result):
    known = [row.loo_nll for row in result.rows if np.isfinite(row.loo_nll)]
    assert known == sorted(known)
    model = result.models["svc"]
    assert result["svc"].loo_nll == pytest.approx(-model.loo_log_likelihood_ / 60)
    assert result["svc"].n_support == model.support_.size
    assert result["svc"].seconds > 0.0


def test_predictions_are_judged_on_the_test_data(result):
    X, y = make_moons(100, noise=0.2, random_state=1)
    model = result.models["gp"]
    nll = -np.mean(np.log(model.predict_proba(X)[np.arange(100), y]))
    assert result["gp"].test_nll == pytest.approx(nll)
    assert result["gp"].error == pytest.approx(np.mean(model.predict(X) != y))
    assert np.isnan(result["plain"].test_nll)
    assert 0.0 <= result["gp"].calibration_error <= 1.0


def test_renderings(result):
    text = str(result)
    assert "log evidence" in text
    assert all(row.name in text for row in result.rows)
    assert "no Bayes factor" in text
    frame = result.to_frame()
    assert list(frame.index) == [row.name for row in result.rows]
    assert {"loo_nll", "log_model_evidence", "log_model_evidence_error"} <= set(frame.columns)
    ax = result.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == [row.name for row in result.rows]
    assert result.plot(ax=ax) is ax
    matplotlib.pyplot.close("all")


def test_kernels_are_compared_in_the_same_way():
    X, y = make_moons(50, noise=0.2, random_state=0)
    result = compare([Gaussian() + Constant(), Matern32() + Constant()], X, y)
    assert len(result) == 2
    assert any("Matern32" in row.name for row in result.rows)
    assert "test NLL" not in str(result)


def test_regressors():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (50, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=50)
    result = compare(
        [GPRegressor(None, n_starts=1), GPRegressor(Matern32() + Constant(), n_starts=1)], X, y, test=(X, y)
    )
    assert [row.name for row in sorted(result.rows, key=lambda r: r.name)] == ["GPRegressor (1)", "GPRegressor (2)"]
    assert all(row.error < 0.2 and row.calibration_error < 0.2 for row in result.rows)


def test_warns_when_laplace_is_far_from_expectation_propagation():
    rng = np.random.default_rng(0)
    n = 120
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.normal(size=(n, 20)) * np.where(y > 0, 2.0, 1.0)[:, None] + np.where(y > 0, 0.0, 2.0 / np.sqrt(20))[:, None]
    kernel = (Gaussian(30.0, 6.0) + Constant()).fix()
    machine = BayesianSVC(kernel, optimizer=None, likelihood="raised-cosine")
    row = compare([machine], X, y).rows[0]
    refined = compare([machine], X, y).models["BayesianSVC"].models_[0]
    gap = abs(refined.refinements[0].log_evidence - refined.evidence.value)
    assert (gap > 0.01 * n) == any("not to be trusted" in note for note in row.notes)
    assert gap > 0.01 * n
    exact = compare([GPRegressor(None, n_starts=1)], X[:, :1], X[:, 1]).rows[0]
    assert exact.notes == ()


def test_calibration_error():
    assert _calibration_error(np.array([0.75, 0.75, 0.75, 0.75]), np.array([True, True, True, False])) == 0.0
    assert _calibration_error(np.array([1.0, 1.0]), np.array([True, False])) == 0.5


@pytest.mark.parametrize(("models", "error"), [([], ValueError), ("svc", TypeError), (BayesianSVC(None), TypeError)])
def test_bad_models(models, error):
    with pytest.raises(error):
        compare(models, np.zeros((4, 1)), [0, 1, 0, 1])


def test_unknown_name(result):
    with pytest.raises(KeyError, match="svc"):
        result["nothing"]
    assert isinstance(result["svc"], Row)
