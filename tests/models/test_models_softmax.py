"""Several classes as one model: fits, predictions, leave-one-out, calibration, weights, saving."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.datasets import load_iris

from bayesvm import GPClassifier, suggest
from bayesvm.hyper import LogNormal
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.models.base import SearchOptions, TrainingData, typical_distance
from bayesvm.models.candidates import ListOfKernels, OneKernel
from bayesvm.models.fit import fit_model
from bayesvm.models.probabilities import one_against_rest
from bayesvm.models.softmax_process import SoftmaxProcess, indicators
from bayesvm.onnx_export import to_onnx
from bayesvm.persistence import load, save

KERNEL = Gaussian(5.0, 2.0) + Constant(1.0)


def training(X, codes, weights=None, n_classes=None):
    inputs = Inputs(X)
    signs = one_against_rest(codes, n_classes or int(codes.max()) + 1)
    return TrainingData(inputs, signs, weights, typical_distance(inputs, weights), None, codes)


def spec(kernel=KERNEL, *, optimize=True, n_starts=2, **options):
    search = SearchOptions(optimize=optimize, n_starts=n_starts, random_state=0)
    prior = LogNormal(0.5, 2.0)
    return SoftmaxProcess(OneKernel(kernel, given=True), options=search, hyperprior=prior, shared=True, **options)


def rings(n, C, seed=0):
    """Return rows around C centres on a circle, so that every class is seen."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % C
    angle = 2.0 * np.pi * codes / C
    return 1.5 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.7 * rng.normal(size=(n, 2)), codes


def log_loss(odds, codes):
    return -float(np.mean(log_softmax(odds, axis=1)[np.arange(codes.size), codes]))


@pytest.fixture(scope="module")
def fitted():
    X, codes = rings(90, 3)
    return fit_model(spec(calibrate="auto"), training(X, codes)), X, codes


def test_what_a_fitted_model_offers(fitted):
    model, X, _ = fitted
    assert model.n_outputs == 3
    assert model.problems == ()
    assert model.candidates == ()
    assert model.support.size == model.basis.size == 90
    assert model.coefficients.shape == (3, 90)
    assert model.reduction is None
    new = Inputs(X[:7] + 0.1)
    mean, var = model.latent(new)
    np.testing.assert_allclose(mean, model.mean(new), atol=1e-12)
    np.testing.assert_allclose(mean, model.kernel.gram(new, Inputs(X)) @ model.coefficients.T, atol=1e-10)
    assert np.all(var > 0.0)
    assert np.all(var <= model.kernel.diag(new)[:, None] * (1.0 + 1e-12))
    assert model.log_evidence == pytest.approx(model.objective.evaluate(model.theta).evidence.value, abs=1e-6)


def test_draws_have_the_moments_of_the_latent_functions(fitted):
    model, X, _ = fitted
    new = Inputs(X[:4] + 0.3)
    draws, (mean, var) = model.sample(new, 100_000, np.random.default_rng(0)), model.latent(new)
    assert draws.shape == (4, 100_000, 3)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=0.05)
    np.testing.assert_allclose(draws.var(axis=1), var, rtol=0.05)


def test_averaged_probabilities_are_those_of_draws(fitted):
    _, X, codes = fitted
    model = fit_model(spec(optimize=False), training(X, codes))
    new = Inputs(X[:5] + 0.2)
    odds = model.log_odds(new)
    np.testing.assert_allclose(np.exp(odds).sum(axis=1), 1.0, atol=1e-10)  # logarithms of probabilities already
    draws = model.sample(new, 200_000, np.random.default_rng(0))
    np.testing.assert_allclose(np.exp(odds), np.exp(log_softmax(draws, axis=2)).mean(axis=1), atol=5e-3)


def test_predictions_are_good_and_leave_one_out_knows_how_good(fitted):
    model, _, codes = fitted
    X, other = rings(600, 3, seed=1)
    test, left_out = log_loss(model.log_odds(Inputs(X)), other), log_loss(model.loo_log_odds(), codes)
    assert test < 0.65 * np.log(3.0)
    assert left_out == pytest.approx(test, abs=0.12)


def test_leave_one_out_is_close_to_fits_without_the_row(fitted):
    _, X, codes = fitted
    model = fit_model(spec(optimize=False), training(X, codes))
    found = np.exp(model.loo_log_odds())
    for i in range(0, 90, 15):
        others = np.delete(np.arange(90), i)
        refit = fit_model(spec(optimize=False), training(X[others], codes[others]))
        np.testing.assert_allclose(found[i], np.exp(refit.log_odds(Inputs(X[[i]])))[0], atol=0.03)


def test_calibration_raises_the_leave_one_out_likelihood(fitted):
    _, X, codes = fitted
    plain, cautious, full = (fit_model(spec(calibrate=how), training(X, codes)) for how in (None, "auto", "loo"))
    losses = [log_loss(model.loo_log_odds(), codes) for model in (plain, cautious, full)]
    assert losses[2] <= losses[1] <= losses[0]
    assert [c.scale for c in plain.calibrations] == [1.0, 1.0, 1.0]
    assert len(cautious.calibrations) == 3


def test_blocks_of_rows_do_not_matter(fitted, monkeypatch):
    model, X, _ = fitted
    whole = model.log_odds(Inputs(X))
    monkeypatch.setattr("bayesvm.models.softmax_process.BLOCK", 90 * 3 * 7)
    np.testing.assert_allclose(model.log_odds(Inputs(X)), whole, atol=1e-10)
    np.testing.assert_allclose(model.with_scores().loo_scores, model.loo_scores, atol=1e-10)


def test_other_hyperparameters(fitted):
    model, X, codes = fitted
    theta = np.log([2.0, 1.0, 1.0])
    moved = model.at(theta)
    direct = fit_model(spec(Gaussian(2.0, 1.0) + Constant(1.0), optimize=False), training(X, codes))
    assert moved.log_evidence == pytest.approx(direct.log_evidence, abs=1e-6)
    np.testing.assert_allclose(moved.loo_scores, direct.loo_scores, atol=1e-6)
    assert moved.calibrations == model.calibrations


def test_evidence_with_theta_integrated_out(fitted):
    model, _, _ = fitted
    found = model.model_evidence
    assert np.isfinite(found.value)
    assert found.value < model.maximum.value + 5.0
    assert found.theta.shape == model.theta.shape


def test_kernels_are_compared_by_their_evidence():
    X, codes = rings(45, 3)
    search = SearchOptions(n_starts=1)
    kernels = ListOfKernels((Gaussian(1.0, 1.0), Gaussian(1.0, 1.0) + Constant(1.0)))
    model = fit_model(SoftmaxProcess(kernels, options=search, shared=True), training(X, codes))
    assert len(model.candidates) == 2
    assert sum(candidate.kept for candidate in model.candidates) == 1


def test_weight_two_is_the_row_given_twice():
    X, codes = rings(30, 3)
    weights = np.ones(30)
    weights[[3, 8]] = 2.0
    twice = np.concatenate([np.arange(30), [3, 8]])
    weighted = fit_model(spec(n_starts=1), training(X, codes, weights))
    repeated = fit_model(spec(n_starts=1), training(X[twice], codes[twice]))
    assert weighted.log_evidence == pytest.approx(repeated.log_evidence, abs=1e-5)
    new = Inputs(X[:6] + 0.2)
    np.testing.assert_allclose(weighted.log_odds(new), repeated.log_odds(new), atol=1e-3)
    np.testing.assert_allclose(weighted.loo_scores[[3, 8]], repeated.loo_scores[[3, 8]], atol=1e-3)


def test_the_order_of_the_classes_does_not_matter():
    X, codes = rings(48, 4)
    order = np.array([2, 0, 3, 1])
    here = fit_model(spec(optimize=False), training(X, codes))
    there = fit_model(spec(optimize=False), training(X, order[codes]))
    new = Inputs(X[:9] + 0.1)
    assert there.log_evidence == pytest.approx(here.log_evidence, abs=1e-8)
    np.testing.assert_allclose(there.latent(new)[0][:, order], here.latent(new)[0], atol=1e-8)
    np.testing.assert_allclose(np.exp(there.log_odds(new))[:, order], np.exp(here.log_odds(new)), atol=5e-3)


def test_two_classes_are_the_logistic_process_with_twice_the_kernel():
    X, codes = rings(40, 2)
    model = fit_model(spec(optimize=False), training(X, codes))
    twice = Gaussian(10.0, 2.0) + Constant(2.0)
    binary = GPClassifier(twice, inference="laplace", optimizer=None, calibrate=None, standardize=False).fit(X, codes)
    new = X[:8] + 0.3
    assert model.n_outputs == 2
    assert model.log_evidence == pytest.approx(binary.log_evidence_, abs=1e-8)
    mean, _ = model.latent(Inputs(new))
    np.testing.assert_allclose(mean[:, 1] - mean[:, 0], binary.predict_latent(new, return_std=False), atol=1e-8)
    np.testing.assert_allclose(np.exp(model.log_odds(Inputs(new))), binary.predict_proba(new), atol=1e-8)


@pytest.mark.parametrize("C", [2, 5, 20])
def test_two_to_twenty_classes(C):
    X, codes = rings(5 * C, C)
    model = fit_model(spec(n_starts=1, calibrate="auto"), training(4.0 * X, codes))
    odds = model.log_odds(Inputs(4.0 * X))
    assert odds.shape == (5 * C, C)
    assert log_loss(odds, codes) < np.log(C)
    assert log_loss(model.loo_log_odds(), codes) < np.log(C)


def test_a_class_with_one_row():
    X, codes = rings(31, 3)
    codes = np.where(codes == 2, 0, codes)
    codes[5], X[5] = 2, (4.0, 4.0)
    model = fit_model(spec(calibrate="auto"), training(X, codes))
    p = np.exp(log_softmax(model.log_odds(Inputs(X)), axis=1))
    assert p[5].argmax() == 2
    assert np.all(np.isfinite(model.loo_log_odds()))
    assert np.exp(log_softmax(model.loo_log_odds(), axis=1))[5, 2] < 0.5  # nothing else says that there is such a class


def test_indicators():
    codes = np.array([0, 2, 1, 1])
    np.testing.assert_array_equal(indicators(one_against_rest(codes, 3)), np.eye(3)[codes])
    np.testing.assert_array_equal(indicators(one_against_rest(codes[2:] - 1, 2)), np.eye(2)[codes[2:] - 1])


# -- within an estimator ----------------------------------------------------------------------------------------------
class SoftmaxMachine(GPClassifier):
    """A classifier with the softmax model inside."""

    def _spec(self, data):
        return spec(calibrate="auto", n_starts=1)


@pytest.fixture(scope="module")
def machine():
    X, y = load_iris(return_X_y=True)
    return SoftmaxMachine().fit(X[::2], np.array(["a", "b", "c"])[y[::2]])


@pytest.fixture
def iris():
    return load_iris().data[1::2]


def test_an_estimator_with_the_model_inside(machine, iris):
    proba = machine.predict_proba(iris)
    assert np.mean(machine.predict(iris) == np.array(["a", "b", "c"])[load_iris().target[1::2]]) > 0.93
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert machine.loo_proba_.shape == (75, 3)
    assert machine.dual_coef_.shape == (3, 75)
    assert machine.sample(iris, 2, random_state=0).shape == (75, 2, 3)
    assert machine.n_basis_ == 75
    value, gradient = machine.log_evidence(gradient=True)
    assert value == pytest.approx(machine.models_[0].maximum.value, abs=1e-6)
    assert gradient.shape == machine.models_[0].theta.shape


def test_suggestions_are_where_the_class_would_tell_most(machine, iris):
    gain = machine.models_[0].mutual_information(machine._inputs(iris))
    assert suggest(machine, iris, 1)[0] == np.argmax(gain)
    assert machine.predict_proba(iris)[np.argmax(gain)].max() < 0.9
    assert len(set(suggest(machine, iris, 4))) == 4


def test_a_saved_model_predicts_the_same(machine, iris):
    file = io.BytesIO()
    save(machine, file, classes=[SoftmaxMachine])
    size = file.tell()
    loaded = load(file, classes=[SoftmaxMachine])
    np.testing.assert_array_equal(loaded.predict_proba(iris), machine.predict_proba(iris))
    assert loaded.log_evidence() == machine.log_evidence()
    pickled = pickle.dumps(machine)
    np.testing.assert_array_equal(pickle.loads(pickled).predict_proba(iris), machine.predict_proba(iris))
    assert max(size, len(pickled)) < 60_000  # the factor, 3 matrices of 75 x 75, is not among it


def test_export_says_that_it_cannot(machine):
    pytest.importorskip("onnx")
    with pytest.raises(TypeError, match="SoftmaxModel cannot be exported"):
        to_onnx(machine)
