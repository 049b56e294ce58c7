"""BayesianSVC as a user meets it."""

import io
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from bayesvm import BayesianSVC, Committee, check_gradient
from bayesvm.hyper import LogNormal, thesis_prior
from bayesvm.kernels import Constant, Gaussian, Linear, Matern52

LIKELIHOODS = ["trigonometric", "raised-cosine", "logistic", "probit"]


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(120, noise=0.25, random_state=0)
    return X, y


@pytest.fixture(scope="module")
def fitted(moons):
    return BayesianSVC(None).fit(*moons)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_learns_and_reports(moons, likelihood):
    X, y = moons
    machine = BayesianSVC(None, likelihood=likelihood).fit(X, y)
    assert machine.converged_
    assert machine.score(X, y) > 0.9
    start = BayesianSVC(None, likelihood=likelihood, optimizer=None).fit(X, y)
    assert machine.log_evidence_ > start.log_evidence_ + 1.0
    assert machine.log_evidence_ == pytest.approx(machine.log_evidence(), rel=1e-9)
    assert machine.n_iter_ == sum(record.evaluations for record in machine.history_)
    assert max(record.value for record in machine.history_) == pytest.approx(machine.log_evidence_, abs=1e-6)


def test_only_support_vectors_carry_the_solution(moons, fitted):
    X, _ = moons
    assert 0 < fitted.support_.size < len(X)
    np.testing.assert_array_equal(fitted.support_vectors_, X[fitted.support_])
    assert fitted.dual_coef_.shape == (1, fitted.support_.size)
    assert np.all(fitted.dual_coef_ != 0.0)


def test_the_reported_kernel_takes_inputs_in_the_users_units(moons):
    X, y = moons
    machine = BayesianSVC(None, posterior="laplace", calibrate=None).fit(1000.0 * X + 5.0, y)
    K = machine.kernel_.gram(1000.0 * X + 5.0, machine.support_vectors_)
    np.testing.assert_allclose(
        K @ machine.dual_coef_[0], machine.predict_latent(1000.0 * X + 5.0)[0], rtol=1e-7, atol=1e-7
    )


def test_shifting_and_scaling_the_inputs_changes_nothing(moons, fitted):
    X, y = moons
    moved = BayesianSVC(None).fit(X * [1e9, 1e-9] + [1e3, -1.0], y)
    assert moved.log_evidence_ == pytest.approx(fitted.log_evidence_, abs=1e-3)


def test_probabilities_labels_and_decision_agree(moons, fitted):
    X, _ = moons
    proba = fitted.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[proba.argmax(axis=1)])
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[(fitted.decision_function(X) > 0).astype(int)])
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X)), proba, rtol=1e-12)


def test_far_from_all_data_the_probability_returns_towards_one_half(fitted):
    far = fitted.predict_proba(np.array([[1e3, 1e3]]))[0, 1]
    assert 0.2 < far < 0.8


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [7, 3], [0.0, 1.0]])
def test_label_types(moons, fitted, labels):
    X, y = moons
    named = np.asarray(labels)[y]
    machine = BayesianSVC(None).fit(X, named)
    assert set(machine.predict(X)) <= set(named)
    np.testing.assert_array_equal(machine.classes_, np.unique(named))
    column = list(machine.classes_).index(labels[1])
    np.testing.assert_allclose(machine.predict_proba(X)[:, column], fitted.predict_proba(X)[:, 1], atol=1e-6)


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    machine = BayesianSVC(None, multi_class="ovr", n_jobs=2).fit(X, y)
    proba = machine.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
    assert machine.score(X, y) > 0.95
    assert machine.decision_function(X).shape == (150, 3)
    np.testing.assert_array_equal(machine.decision_function(X).argmax(axis=1), proba.argmax(axis=1))
    parts = [BayesianSVC(None).fit(X, y == k).log_evidence_ for k in range(3)]
    assert machine.log_evidence_ == pytest.approx(sum(parts), abs=1e-6)
    assert machine.sample(X[:4], 5, random_state=0).shape == (4, 5, 3)


def test_integer_weights_are_repeated_rows(moons):
    X, y = moons
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 4, size=len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    # at given hyperparameters the identity is exact; two searches may differ by what their tolerance leaves
    for optimizer, atol in ((None, 1e-9), ("bfgs", 1e-3)):
        weighted = BayesianSVC(None, optimizer=optimizer).fit(X, y, sample_weight=weights)
        repeated = BayesianSVC(None, optimizer=optimizer).fit(X[rows], y[rows])
        assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, abs=atol)
        np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=atol)
        assert np.all(weights[weighted.support_] > 0)


def test_class_weights_multiply_sample_weights(moons):
    X, y = moons
    by_class = BayesianSVC(None, class_weight={0: 1.0, 1: 3.0}).fit(X, y)
    by_row = BayesianSVC(None).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X), atol=1e-9)


def test_class_prior_brings_weighted_probabilities_back():
    rng = np.random.default_rng(3)
    y = (rng.random(400) < 0.2).astype(int)
    X = rng.normal(size=(400, 2)) + 1.2 * y[:, None]
    X_test = rng.normal(size=(4000, 2))
    y_test = (rng.random(4000) < 0.2).astype(int)
    X_test += 1.2 * y_test[:, None]
    plain = BayesianSVC(None, likelihood="logistic").fit(X, y)
    balanced = BayesianSVC(None, likelihood="logistic", class_weight="balanced").fit(X, y)
    assert balanced.predict_proba(X_test)[:, 1].mean() > 0.3  # the weighted population has half of each
    corrected = balanced.predict_proba(X_test, class_prior="empirical")
    assert corrected[:, 1].mean() == pytest.approx(plain.predict_proba(X_test)[:, 1].mean(), abs=0.04)
    assert log_loss(y_test, corrected) < log_loss(y_test, balanced.predict_proba(X_test))
    given = balanced.predict_proba(X_test, class_prior=[0.8, 0.2])
    np.testing.assert_allclose(given.sum(axis=1), 1.0)
    balanced.set_params(class_prior=[0.8, 0.2])
    np.testing.assert_allclose(balanced.predict_proba(X_test), given)
    np.testing.assert_array_equal(balanced.predict(X_test), given.argmax(axis=1))


@pytest.mark.parametrize("prior", [[0.5], [0.5, -0.5], "uniform", [np.nan, 1.0]])
def test_a_bad_class_prior_is_refused(moons, fitted, prior):
    with pytest.raises(ValueError, match="class_prior: expected"):
        fitted.predict_proba(moons[0], class_prior=prior)


def relevance_problem(seed=0, n=200, d=8):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 1] + np.sin(2.0 * X[:, 4]) + 0.3 * rng.normal(size=n) > 0, "up", "down")
    return pd.DataFrame(X, columns=[f"col{i}" for i in range(d)]), y


def test_relevance_names_and_feature_selection():
    X, y = relevance_problem()
    machine = BayesianSVC(None, ard=True).fit(X, y)
    assert set(list(machine.named_relevance_)[:2]) == {"col1", "col4"}
    assert machine.relevance_.shape == (8,)
    selector = machine.select_features("mean")
    assert set(selector.get_feature_names_out()) == {"col1", "col4"}
    pipeline = make_pipeline(selector, BayesianSVC(None))
    assert pipeline.fit(X, y).score(X, y) > 0.85
    assert "gaussian.lengthscale[col4]" in machine.theta_names_
    with pytest.raises(ValueError, match="ard=True"):
        BayesianSVC(None, optimizer=None).fit(X, y).select_features()


def test_relevant_features_are_found_by_default():
    X, y = relevance_problem()
    machine = BayesianSVC().fit(X, y)
    best = max(machine.candidates_, key=lambda c: c.weight)
    assert "ard" in best.kernel
    assert best.log_model_evidence == max(c.log_model_evidence for c in machine.candidates_)
    assert sum(c.weight for c in machine.candidates_) == pytest.approx(1.0)
    assert [c.kept for c in machine.candidates_] == [c.weight > 0.0 for c in machine.candidates_]
    assert machine.relevance_ is not None


def test_ard_is_never_below_one_length_scale_for_all():
    X, y = relevance_problem(1)
    assert BayesianSVC(None, ard=True).fit(X, y).log_evidence_ > BayesianSVC(None).fit(X, y).log_evidence_ - 0.5


def test_label_doubt_finds_flipped_labels():
    rng = np.random.default_rng(5)
    X = np.r_[rng.normal(size=(60, 2)) - 2.0, rng.normal(size=(60, 2)) + 2.0]
    y = np.r_[np.zeros(60, dtype=int), np.ones(60, dtype=int)]
    wrong = [3, 17, 80, 101]
    y[wrong] = 1 - y[wrong]
    machine = BayesianSVC(None).fit(X, y)
    doubt = machine.label_doubt(X, y)
    assert set(doubt.ranking[:4]) == set(wrong)
    assert np.all((doubt.probability >= 0) & (doubt.probability <= 1))
    with pytest.raises(ValueError, match="expected labels among"):
        machine.label_doubt(X, y + 5)


def test_committee_averages_the_optima(moons):
    X, y = moons
    committee = Committee(BayesianSVC(None)).fit(X, y)
    assert committee.weights_.sum() == pytest.approx(1.0)
    assert np.all(np.diff(committee.weights_) <= 0)
    np.testing.assert_allclose(committee.predict_proba(X).sum(axis=1), 1.0)
    assert committee.score(X, y) > 0.9
    thetas = committee.thetas_[0]
    alone = Committee.of(committee.estimator_, [thetas])
    np.testing.assert_allclose(alone.predict_proba(X), committee._members[0].predict_proba(X))
    with pytest.raises(TypeError, match="self-tuning"):
        Committee(object()).fit(X, y)


def test_sparse_float32_and_frames(moons, fitted):
    X, y = moons
    with_zeros = np.where(np.abs(X) < 0.3, 0.0, X)
    dense = BayesianSVC(None, standardize=False).fit(with_zeros, y)
    sparse = BayesianSVC(None, standardize=False).fit(sp.csr_array(with_zeros), y)
    np.testing.assert_allclose(
        sparse.predict_proba(sp.csc_array(with_zeros)), dense.predict_proba(with_zeros), atol=1e-6
    )
    single = BayesianSVC(None).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.predict_proba(X.astype(np.float32)), fitted.predict_proba(X), atol=1e-2)
    frame = pd.DataFrame(X, columns=["a", "b"])
    named = BayesianSVC(None).fit(frame, y)
    assert list(named.feature_names_in_) == ["a", "b"]
    with pytest.raises(ValueError, match="feature names"):
        named.predict(frame[["b", "a"]])


def test_same_seed_same_result_and_threads_do_not_matter(moons):
    X, y = moons
    first, second, parallel = (BayesianSVC(None, n_starts=7, random_state=4, n_jobs=j).fit(X, y) for j in (1, 1, 2))
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    np.testing.assert_array_equal(first.predict_proba(X), parallel.predict_proba(X))


def test_clone_pickle_joblib(moons, fitted, tmp_path):
    X, _ = moons
    expected = fitted.predict_proba(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(X), expected)
    joblib.dump(fitted, tmp_path / "machine.joblib")
    np.testing.assert_array_equal(joblib.load(tmp_path / "machine.joblib").predict_proba(X), expected)
    assert clone(fitted).get_params() == fitted.get_params()
    assert io.BytesIO(pickle.dumps(fitted)).getbuffer().nbytes < 2_000_000


def test_scikit_learn_tools(moons):
    X, y = moons
    scores = cross_val_score(BayesianSVC(None), X, y, scoring="neg_log_loss", cv=3)
    assert np.all(scores > -0.5)
    grid = GridSearchCV(BayesianSVC(None, n_starts=1), {"likelihood": ["raised-cosine", "logistic"]}, cv=2).fit(X, y)
    assert grid.best_params_["likelihood"] in {"raised-cosine", "logistic"}
    calibrated = CalibratedClassifierCV(BayesianSVC(None, n_starts=1), cv=2).fit(X, y)
    assert calibrated.predict_proba(X).shape == (120, 2)


@pytest.mark.parametrize("kernel", [Matern52() + Constant(), Gaussian() * Linear() + 0.5, Gaussian().on([0])])
def test_any_kernel(moons, kernel):
    X, y = moons
    assert BayesianSVC(kernel, n_starts=2).fit(X, y).score(X, y) > 0.7


def test_hyperpriors_pull(moons):
    X, y = moons
    tight = BayesianSVC(None, hyperprior=LogNormal(3.0, 0.01)).fit(X, y)
    np.testing.assert_allclose(tight.models_[0].theta, 3.0, atol=0.2)
    assert BayesianSVC(None, hyperprior=thesis_prior()).fit(X, y).converged_


def test_check_gradient_shows_both_gradients(moons):
    X, y = moons
    for likelihood in LIKELIHOODS:
        report = check_gradient(BayesianSVC(None, likelihood=likelihood), X, y, step=1e-5)
        assert report.error < 1e-5
        assert "gaussian.lengthscale" in str(report)


def test_sample_has_the_posterior_moments(moons, fitted):
    X = moons[0][:5]
    draws = fitted.sample(X, 20000, random_state=1)
    mean, std = fitted.predict_latent(X)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=0.05 * std.max())
    np.testing.assert_allclose(draws.std(axis=1), std, rtol=0.05)


@pytest.mark.parametrize("likelihood", ["trigonometric", "logistic"])
def test_solvers_find_the_same_machine(moons, likelihood):
    X, y = moons
    newton = BayesianSVC(None, likelihood=likelihood, n_starts=1).fit(X, y)
    fixed = {"optimizer": None, "standardize": False, "posterior": "laplace", "calibrate": None}
    expected = BayesianSVC(newton.kernel_, likelihood=likelihood, **fixed).fit(X, y)
    for solver in ("auto", "smo") if likelihood == "trigonometric" else ("auto",):
        other = BayesianSVC(newton.kernel_, likelihood=likelihood, solver=solver, **fixed).fit(X, y)
        assert other.log_evidence_ == pytest.approx(expected.log_evidence_, abs=1e-6)
        np.testing.assert_allclose(other.predict_proba(X), expected.predict_proba(X), atol=1e-5)
        # The searches may part where the trigonometric evidence jumps; each ends within the tolerance of the search.
        tuned = BayesianSVC(None, likelihood=likelihood, n_starts=1, solver=solver).fit(X, y)
        assert tuned.log_evidence_ == pytest.approx(newton.log_evidence_, abs=0.01)
    with pytest.raises(ValueError, match="solver: expected one of 'newton', 'smo', 'auto'"):
        BayesianSVC(None, solver="simplex").fit(X, y)
