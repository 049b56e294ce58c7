"""More than two classes: one model or one per class, and everything that two classes have."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_predict

from bayesvm import BayesianSVC, GPClassifier
from bayesvm.kernels import Gaussian
from bayesvm.models.average import AveragedClasses
from bayesvm.persistence import load, save


def blobs(n=60, n_classes=3, seed=0, spread=0.9, n_features=2):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % n_classes
    centres = 3.0 * rng.normal(size=(n_classes, n_features))
    return centres[codes] + spread * rng.normal(size=(n, n_features)), codes


@pytest.fixture(scope="module")
def default():
    X, y = blobs()
    return BayesianSVC(random_state=0).fit(X, y), X, y


def log_likelihood(machine, X, y):
    return float(np.mean(np.log(machine.predict_proba(X)[np.arange(len(y)), np.searchsorted(machine.classes_, y)])))


def test_the_default_is_one_model(default):
    machine, X, y = default
    assert len(machine.models_) == 1
    assert isinstance(machine.models_[0], AveragedClasses)
    assert machine.kernel_ is machine.kernels_[2]
    assert len(machine.calibration_) == 3
    assert machine.coupling_ is None
    proba = machine.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert np.mean(machine.predict(X) == y) > 0.85
    assert machine.decision_function(X).shape == (60, 3)
    np.testing.assert_array_equal(machine.decision_function(X).argmax(axis=1), proba.argmax(axis=1))


def test_left_out_probabilities(default):
    machine, X, y = default
    assert machine.loo_proba_.shape == (60, 3)
    total = np.sum(np.log(machine.loo_proba_[np.arange(60), y]))
    assert machine.loo_log_likelihood_ == pytest.approx(total)
    assert total < 60 * log_likelihood(machine, X, y)


def test_far_away_nothing_is_sure(default):
    machine, X, _ = default
    far = machine.predict_proba(X[:1] + 1e4)
    assert far.max() < 0.9


def test_the_latent_functions_are_those_of_the_likelihood(default):
    machine, X, _ = default
    mean, std = machine.predict_latent(X[:5])
    assert mean.shape == std.shape == (5, 3)
    assert machine.sample(X[:5], 4, random_state=0).shape == (5, 4, 3)
    assert machine.support_.size < 60
    assert np.isfinite(machine.log_evidence_)
    value, gradient = machine.log_evidence(gradient=True)
    assert np.isfinite(value)
    assert gradient.shape == (len(machine.theta_names_),)


@pytest.mark.parametrize("multi_class", ["shared", "ovr", "softmax"])
def test_names_of_classes_and_their_order_do_not_matter(multi_class):
    X, y = blobs()
    machine = BayesianSVC(None, multi_class=multi_class, n_starts=1, random_state=0).fit(X, y)
    names = np.array(["zebra", "ant", "cat"])[y]
    other = clone(machine).fit(X, names)
    columns = [list(other.classes_).index(name) for name in ("zebra", "ant", "cat")]
    np.testing.assert_allclose(other.predict_proba(X)[:, columns], machine.predict_proba(X), atol=1e-6)
    assert set(other.predict(X)) <= {"zebra", "ant", "cat"}


def test_own_kernels_are_coupled():
    X, y = blobs()
    machine = BayesianSVC(None, multi_class="ovr", n_starts=1, random_state=0).fit(X, y)
    assert len(machine.models_) == 3
    assert machine.coupling_.scales.shape == (3,)
    apart = BayesianSVC(None, multi_class="ovr", calibrate=None, n_starts=1, random_state=0).fit(X, y)
    assert apart.coupling_ is None
    assert log_likelihood(machine, X, y) > log_likelihood(apart, X, y) - 0.1


def test_without_calibration_independent_answers_are_coupled():
    X, y = blobs()
    machine = BayesianSVC(None, calibrate=None, posterior="laplace", n_starts=1, random_state=0).fit(X, y)
    odds = machine.models_[0].log_odds(machine._inputs(X))
    expected = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(machine.predict_proba(X), expected, rtol=1e-9)


def test_the_summed_evidence_is_that_of_the_classes():
    X, y = blobs()
    kernel = Gaussian(2.0, 1.5)
    shared = BayesianSVC(kernel, optimizer=None, posterior="laplace", calibrate=None).fit(X, y)
    parts = [BayesianSVC(kernel, optimizer=None, posterior="laplace", calibrate=None).fit(X, y == k) for k in range(3)]
    assert shared.log_evidence_ == pytest.approx(sum(part.log_evidence_ for part in parts), abs=1e-8)
    _, gradient = shared.log_evidence(gradient=True)
    np.testing.assert_allclose(gradient, sum(part.log_evidence(gradient=True)[1] for part in parts), atol=1e-8)


def test_weights_and_class_priors():
    X, y = blobs()
    machine = BayesianSVC(None, n_starts=1, random_state=0).fit(X, y, sample_weight=np.where(y == 0, 2.0, 1.0))
    prior = machine.predict_proba(X, class_prior=[0.98, 0.01, 0.01])
    assert np.all(prior[:, 0] >= machine.predict_proba(X)[:, 0] - 1e-12)
    left = clone(machine).fit(X, y, sample_weight=np.r_[0.0, np.ones(59)])
    assert left.loo_proba_.shape == (60, 3)


def test_relevances_are_shared():
    rng = np.random.default_rng(0)
    X, y = blobs(n=90, spread=0.7)
    X = np.column_stack([X, rng.normal(size=(90, 2))])
    machine = BayesianSVC(None, ard=True, n_starts=1, random_state=0).fit(X, y)
    assert machine.relevances_.shape == (3, 4)
    np.testing.assert_array_equal(machine.relevances_[0], machine.relevances_[2])
    assert machine.relevance_[:2].min() > machine.relevance_[2:].max()


@pytest.mark.parametrize("multi_class", ["shared", "ovr", "softmax"])
def test_saved_files(tmp_path, multi_class):
    X, y = blobs(n=45)
    machine = BayesianSVC(multi_class=multi_class, random_state=0).fit(X, y)
    save(machine, tmp_path / "classes.bvm")
    np.testing.assert_allclose(load(tmp_path / "classes.bvm").predict_proba(X), machine.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("n_classes", [3, 12])
def test_as_many_classes_as_there_are(n_classes):
    X, y = blobs(n=6 * n_classes, n_classes=n_classes, n_features=4)
    machine = BayesianSVC(None, n_starts=1, random_state=0).fit(X, y)
    assert machine.predict_proba(X).shape == (6 * n_classes, n_classes)
    assert np.all(np.isfinite(machine.loo_proba_))


def test_classes_absent_in_a_fold():
    X, y = blobs(n=40)
    X, y = np.vstack([X, [[9.0, 9.0]]]), np.append(y, 3)
    machine = BayesianSVC(None, n_starts=1, random_state=0)
    warnings.filterwarnings("ignore", "The least populated class", UserWarning)
    with pytest.warns(RuntimeWarning, match="Number of classes"):
        proba = cross_val_predict(machine, X, y, cv=3, method="predict_proba")
    assert np.all(np.isfinite(proba))


def test_integration_over_theta():
    X, y = blobs(n=45)
    machine = BayesianSVC(None, theta="integrate", n_starts=1, random_state=0).fit(X, y)
    np.testing.assert_allclose(machine.predict_proba(X).sum(axis=1), 1.0)
    assert machine.coupling_ is not None


def test_gaussian_process_classifiers_share_too():
    X, y = load_iris(return_X_y=True)
    rows = np.arange(0, 150, 2)
    machine = GPClassifier(None, n_starts=1, random_state=0).fit(X[rows], y[rows])
    assert len(machine.models_) == 1
    assert np.mean(machine.predict(X[1::2]) == y[1::2]) > 0.9


def test_doubtful_labels():
    X, y = blobs(spread=0.4)
    wrong = y.copy()
    wrong[7] = (y[7] + 1) % 3
    machine = BayesianSVC(None, n_starts=1, random_state=0).fit(X, wrong)
    assert machine.label_doubt(X, wrong).ranking[0] == 7


@pytest.mark.parametrize("machine", [BayesianSVC, GPClassifier])
def test_the_joint_model(machine):
    X, y = blobs()
    fitted = machine(None, multi_class="softmax", calibrate="auto", n_starts=1, random_state=0).fit(X, y)
    assert fitted.loo_proba_.shape == (60, 3)
    assert fitted.coupling_ is None
    assert np.mean(fitted.predict(X) == y) > 0.85
    mean, std = fitted.predict_latent(X[:4])
    assert mean.shape == std.shape == (4, 3)
    assert fitted.sample(X[:4], 2, random_state=0).shape == (4, 2, 3)
    _, gradient = fitted.log_evidence(gradient=True)
    assert np.max(np.abs(gradient)) < 0.5


def test_two_classes_have_no_joint_model():
    X, y = blobs(n_classes=2)
    both = [
        GPClassifier(None, multi_class=form, n_starts=1, random_state=0).fit(X, y) for form in ("softmax", "shared")
    ]
    np.testing.assert_array_equal(both[0].predict_proba(X), both[1].predict_proba(X))


@pytest.mark.parametrize("given", [{"inducing": 10}, {"theta": "integrate"}, {"posterior": "ep"}], ids=str)
def test_what_the_joint_model_has_not(given):
    X, y = blobs()
    with pytest.raises(ValueError, match=f"{next(iter(given))}: expected .* with multi_class='softmax'"):
        BayesianSVC(None, multi_class="softmax", **given).fit(X, y)


def test_unknown_forms_are_refused():
    X, y = blobs()
    with pytest.raises(ValueError, match="multi_class: expected 'shared', 'ovr' or 'softmax'"):
        BayesianSVC(multi_class="crammer").fit(X, y)
