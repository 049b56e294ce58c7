"""Posterior by expectation propagation, leave-one-out, calibration and the Gaussian process faces of the estimators."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import make_moons
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.utils.estimator_checks import parametrize_with_checks

import bayesvm.likelihoods as lib
from bayesvm import BayesianSVC
from bayesvm.estimators.bayesian_svr import BayesianSVR
from bayesvm.estimators.gaussian_process import GPClassifier, GPRegressor
from bayesvm.exceptions import IncompatibleError
from bayesvm.kernels import Constant, Gaussian
from bayesvm.likelihoods import GaussianNoise
from bayesvm.models.calibration import FULL, calibrate_odds, calibrate_scale
from bayesvm.testing import five_point, relative_error

FAST = {"n_starts": 1}


@pytest.fixture(scope="module")
def moons():
    return make_moons(80, noise=0.25, random_state=0)


@pytest.fixture(scope="module")
def noisy_sine():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (60, 1))
    return X, np.sin(X[:, 0]) + 0.15 * rng.standard_normal(60)


#: scikit-learn repeats rows whose targets have no noise. At the smallest noise of this likelihood rounding changes the
#: evidence of repeated rows by 1e-6 nats and predictions by 1e-7, which is all that the check permits.
NOISY = lib.Laplace().bounded(C=(1e-3, 1e3))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [
        GPClassifier(None, n_starts=1, likelihood="probit", inference="ep"),
        BayesianSVC(None, n_starts=1, inference="ep", calibrate="loo"),
        GPRegressor(None, n_starts=1, likelihood=NOISY, inference="ep", calibrate="auto"),
    ]
)
def test_scikit_learn_contract_with_expectation_propagation(estimator, check):
    check(estimator)


# -- classifiers -------------------------------------------------------------------------------------------------------
def test_posterior_by_expectation_propagation_at_the_hyperparameters_of_laplace(moons):
    X, y = moons
    paper = BayesianSVC(None, **FAST, posterior="laplace", calibrate=None).fit(X, y)
    ours = BayesianSVC(None, **FAST, calibrate=None, reduce=None).fit(X, y)
    assert ours.log_evidence_ == pytest.approx(paper.log_evidence_, abs=1e-12)
    assert paper.support_.size < ours.support_.size < len(X) + 1
    for m in (paper, ours):
        K = m.kernel_.gram(X, m.support_vectors_)
        np.testing.assert_allclose(K @ m.dual_coef_[0], m.predict_latent(X)[0], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("likelihood", ["trigonometric", "raised-cosine", "logistic", "probit"])
def test_evidence_of_expectation_propagation_is_maximised(moons, likelihood):
    X, y = moons
    machine = BayesianSVC(None, **FAST, likelihood=likelihood, inference="ep").fit(X, y)
    theta = machine.models_[0].theta
    value, gradient = machine.log_evidence(theta, gradient=True)
    assert value == pytest.approx(machine.log_evidence_, abs=1e-6)
    assert relative_error(gradient, five_point(machine.log_evidence, theta)) < 1e-6
    assert machine.converged_


def test_leave_one_out_probabilities(moons):
    X, y = moons
    machine = BayesianSVC(None, **FAST).fit(X, y)
    assert machine.loo_proba_.shape == (80, 2)
    np.testing.assert_allclose(machine.loo_proba_.sum(axis=1), 1.0)
    total = np.sum(np.log(machine.loo_proba_[np.arange(80), y]))
    assert machine.loo_log_likelihood_ == pytest.approx(total)
    inside = np.mean(np.log(machine.predict_proba(X)[np.arange(80), y]))
    assert machine.loo_log_likelihood_ / 80 < inside  # leaving the row out cannot look better on average


def test_rows_of_weight_zero_are_predicted_in_the_ordinary_way(moons):
    X, y = moons
    weights = np.ones(80)
    weights[:5] = 0.0
    machine = BayesianSVC(None, **FAST).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(machine.loo_proba_[:5], machine.predict_proba(X[:5]), atol=1e-9)


def test_calibration_is_monotone_and_predict_is_the_argmax(moons):
    X, y = moons
    plain, full = (BayesianSVC(None, **FAST, calibrate=c).fit(X, y) for c in (None, "loo"))
    p, q = plain.predict_proba(X)[:, 1], full.predict_proba(X)[:, 1]
    order = np.argsort(p)
    assert np.all(np.diff(q[order]) >= -1e-12)
    np.testing.assert_array_equal(full.predict(X), full.classes_[np.argmax(full.predict_proba(X), axis=1)])
    (c,) = full.calibration_
    odds = np.log(p) - np.log1p(-p)
    np.testing.assert_allclose(q, expit(c.scale * odds + c.shift), atol=1e-9)
    assert full.loo_log_likelihood_ >= plain.loo_log_likelihood_ - 1e-9


def test_three_classes():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 1.0, (25, 2)) for c in ((0, 0), (2.5, 0), (0, 2.5))])
    y = np.repeat(["a", "b", "c"], 25)
    machine = BayesianSVC(None, **FAST).fit(X, y)
    assert machine.loo_proba_.shape == (75, 3)
    assert len(machine.calibration_) == 3
    np.testing.assert_allclose(machine.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"posterior": "mcmc"}, "posterior"),
        ({"inference": "ep", "posterior": "laplace"}, "posterior"),
        ({"inference": "exact"}, "inference"),
        ({"calibrate": "platt"}, "calibrate"),
    ],
)
def test_bad_arguments(moons, arguments, message):
    with pytest.raises(ValueError, match=message):
        BayesianSVC(None, **arguments).fit(*moons)


# -- the two numbers ---------------------------------------------------------------------------------------------------
def test_calibration_finds_under_confident_probabilities():
    rng = np.random.default_rng(0)
    odds = 3.0 * rng.normal(size=2000)
    y = np.where(rng.random(2000) < expit(odds), 1.0, -1.0)
    found = calibrate_odds(0.5 * odds - 0.25, y, np.ones(2000), determined=3)
    assert found.gain > 50.0
    assert found.scale == pytest.approx(2.0, abs=0.25)
    assert found.shift == pytest.approx(0.5, abs=0.25)


def test_calibration_is_careful_with_good_or_few_predictions():
    rng = np.random.default_rng(1)
    odds = 3.0 * rng.normal(size=2000)
    y = np.where(rng.random(2000) < expit(odds), 1.0, -1.0)
    good = calibrate_odds(odds, y, np.ones(2000), determined=3)
    assert good.scale == pytest.approx(1.0, abs=0.1)
    few = calibrate_odds(0.6 * odds[:40], y[:40], np.ones(40), determined=3)
    full = calibrate_odds(0.6 * odds[:40], y[:40], np.ones(40), determined=3, shrinkage=FULL)
    assert abs(np.log(few.scale)) < 0.8 * abs(np.log(full.scale))
    assert few.gain < full.gain


def test_scale_calibration_finds_narrow_intervals():
    rng = np.random.default_rng(2)
    y = rng.normal(size=1000)
    zero = np.zeros(1000)
    found = calibrate_scale(GaussianNoise(0.2), y, zero, zero + 0.05, np.ones(1000), tuned=2, cautious=True)
    assert found.weight > 0.99
    assert found.scale == pytest.approx(2.0, abs=0.1)


# -- Gaussian processes ------------------------------------------------------------------------------------------------
def test_regressor_agrees_with_scikit_learn(noisy_sine):
    X, y = noisy_sine
    kernel = (Gaussian(1.3, 0.8) + Constant(0.5)).fix()
    machine = GPRegressor(kernel, likelihood=GaussianNoise(0.04).fix(), standardize=False, optimizer=None).fit(X, y)
    peer_kernel = ConstantKernel(1.3) * RBF(0.8) + ConstantKernel(0.5) + WhiteKernel(0.04)
    peer = GaussianProcessRegressor(peer_kernel, alpha=0.0, optimizer=None).fit(X, y)
    assert machine.log_evidence_ == pytest.approx(peer.log_marginal_likelihood_value_, abs=1e-8)
    X_new = np.linspace(-4.0, 4.0, 30)[:, None]
    for ours, theirs in zip(machine.predict(X_new, return_std=True), peer.predict(X_new, return_std=True)):
        np.testing.assert_allclose(ours, theirs, atol=1e-7)


def test_expectation_propagation_with_laplacian_noise(noisy_sine):
    X, y = noisy_sine
    with pytest.raises(IncompatibleError):
        GPRegressor(None, **FAST, likelihood="laplace").fit(X, y)
    machine = GPRegressor(None, **FAST, likelihood="laplace", inference="ep").fit(X, y)
    theta = machine.models_[0].theta + machine._theta_shifts()[0]
    _, gradient = machine.log_evidence(theta, gradient=True)
    assert relative_error(gradient, five_point(machine.log_evidence, theta)) < 1e-6
    assert 0.1 < machine.noise_std_ < 0.25


def test_support_vector_regression_by_expectation_propagation(noisy_sine):
    X, y = noisy_sine
    by_laplace, by_ep = (BayesianSVR(None, **FAST, inference=i).fit(X, y) for i in ("laplace", "ep"))
    assert by_ep.log_evidence_ == pytest.approx(by_laplace.log_evidence_, abs=3.0)
    assert np.sqrt(np.mean((by_ep.predict(X) - np.sin(X[:, 0])) ** 2)) < 0.12


def test_leave_one_out_and_calibration_of_a_regressor(noisy_sine):
    X, y = noisy_sine
    plain, full = (GPRegressor(None, **FAST, calibrate=c, reduce=None).fit(X, y) for c in (None, "loo"))
    assert plain.calibration_[0].scale == 1.0
    assert full.loo_log_likelihood_ >= plain.loo_log_likelihood_ - 1e-6
    c = full.calibration_[0].scale
    np.testing.assert_allclose(full.predict(X, return_std=True)[1], c * plain.predict(X, return_std=True)[1])
    low, high = plain.predict_interval(X)
    wide_low, wide_high = full.predict_interval(X)
    np.testing.assert_allclose(wide_high - wide_low, c * (high - low))
    grid = np.linspace(-6.0, 6.0, 4001)
    density = np.exp(full.log_density(np.zeros((4001, 1)), grid))
    assert np.sum(density) * (grid[1] - grid[0]) == pytest.approx(1.0, abs=1e-6)


def test_gp_classifier_takes_its_posterior_from_its_inference(moons):
    X, y = moons
    laplace = GPClassifier(None, **FAST).fit(X, y)
    assert laplace.models_[0].refinements == ()
    assert laplace.support_.size == len(X)
    refined = GPClassifier(None, **FAST, posterior="ep").fit(X, y)
    assert len(refined.models_[0].refinements) == 1
    assert refined.log_evidence_ == pytest.approx(laplace.log_evidence_, abs=1e-9)
    assert np.mean(laplace.predict(X) == refined.predict(X)) > 0.95
    assert refined.loo_log_likelihood_ > laplace.loo_log_likelihood_
