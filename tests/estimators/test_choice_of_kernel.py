"""The default choice of the kernel: what is chosen, what is averaged, what is told, and how it is turned off."""

from __future__ import annotations

import functools
import io
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from choice_problems import curve, irrelevant_features, linear_labels, pixels
from scipy.special import expit
from sklearn.base import clone, is_classifier

from bayesvm import BayesianSVC, BayesianSVR, GPClassifier, GPRegressor
from bayesvm.hyper import Flat
from bayesvm.kernels import Constant, Gaussian, Linear
from bayesvm.models.average import AveragedModel
from bayesvm.onnx_export import to_onnx
from bayesvm.persistence import load, save

CLASSIFIERS = [BayesianSVC, GPClassifier]
REGRESSORS = [BayesianSVR, GPRegressor]


def kept(machine):
    """Return the names of the candidates that predict."""
    return {c.kernel for c in machine.candidates_ if c.kept}


def share(machine, word):
    """Return the weight of the candidates with a word in their name."""
    return sum(c.weight for c in machine.candidates_ if word in c.kernel)


def problem(machine, n=40):
    """Return data for a classifier or a regressor, and rows to predict."""
    X, y = irrelevant_features(n, 3) if is_classifier(machine) else curve(n, 2)
    return X, y, np.random.default_rng(7).normal(size=(9, X.shape[1]))


@functools.cache
def default(cls):
    """Return a machine with default settings, fitted once for all tests."""
    X, y, _ = problem(cls())
    return cls().fit(X, y)


def answers(machine, X):
    """Return everything that a machine says about rows."""
    if is_classifier(machine):
        return [machine.predict_proba(X), machine.decision_function(X), *machine.predict_latent(X)]
    return [*machine.predict(X, return_std=True), *machine.predict_interval(X), *machine.predict_latent(X)]


def assert_same(first, second, X, tol=0.0):
    for ours, theirs in zip(answers(first, X), answers(second, X), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tol, atol=tol)


# -- what is chosen ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_features_without_information_get_length_scales_of_their_own(cls):
    machine = cls().fit(*irrelevant_features())
    assert share(machine, "ard") == pytest.approx(1.0)
    assert set(np.argsort(machine.relevance_)[-2:]) == {0, 1}
    assert np.max(machine.relevance_[2:]) < 0.1 * np.min(machine.relevance_[:2])


@pytest.mark.parametrize("cls", REGRESSORS)
def test_targets_that_depend_on_one_of_five_features(cls):
    machine = cls().fit(*curve(d=5))
    assert share(machine, "ard") == pytest.approx(1.0)
    assert np.argmax(machine.relevance_) == 0


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_a_linear_rule_gives_weight_to_the_linear_part(cls):
    machine = cls().fit(*linear_labels())
    assert share(machine, "linear") > 0.5
    assert any(isinstance(leaf, Linear) for leaf in machine.kernel_.leaves())


@pytest.mark.parametrize("cls", REGRESSORS)
def test_a_linear_function_gives_weight_to_the_linear_part(cls):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    machine = cls().fit(X, X @ np.array([1.0, 2.0, -1.0, 0.5]) + 0.3 * rng.normal(size=60))
    assert share(machine, "linear") > 0.5


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_features_of_very_different_scale_choose_the_common_scale(cls):
    X, y = pixels()
    machine = cls().fit(X, y)
    assert kept(machine) == {"gaussian, common scale"}
    other = cls(kernel=None).fit(X, y)
    test, labels = pixels(400, seed=5)
    positive = labels == machine.classes_[1]
    losses = [-np.mean(np.log(np.where(positive, *m.predict_proba(test).T[::-1]))) for m in (machine, other)]
    assert losses[0] < losses[1]


def test_a_common_scale_is_no_candidate_where_scales_are_alike():
    names = {c.kernel for c in BayesianSVC().fit(*linear_labels()).candidates_}
    assert not any("common" in name for name in names)


def test_one_relevant_feature_more_than_enough_rows_chooses_one_length_scale():
    X, y = curve(40)
    machine = GPRegressor().fit(X, y)
    assert not any("ard" in c.kernel for c in machine.candidates_)
    assert machine.relevance_ is None


# -- what is told ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("cls", [*CLASSIFIERS, *REGRESSORS])
def test_the_list_of_candidates(cls):
    machine = default(cls)
    rows = machine.candidates_
    assert rows[0].kernel == "gaussian"
    assert len({row.kernel for row in rows}) == len(rows)
    assert sum(row.weight for row in rows) == pytest.approx(1.0)
    assert all((row.weight > 0.0) == row.kept for row in rows)
    assert all(row.seconds > 0.0 and row.evaluations > 0 for row in rows)
    assert all(np.isfinite(row.log_model_evidence) for row in rows)
    best = max(rows, key=lambda row: row.weight)
    assert best.weight >= 1.0 / len(rows)
    assert all(row.weight >= 0.1 * best.weight for row in rows if row.kept)


def test_the_reported_evidence_is_of_the_heaviest_candidate():
    X, y = curve(50, 3)
    machine = GPRegressor().fit(X, y)
    best = max(machine.candidates_, key=lambda row: row.weight)
    assert machine.log_evidence() == pytest.approx(best.log_evidence, abs=1e-6)
    assert machine.log_model_evidence_ == pytest.approx(best.log_model_evidence, abs=2.5)


def test_evidences_of_candidates_are_in_the_units_of_the_targets():
    X, y = curve(40, 2)
    one, two = GPRegressor().fit(X, y), GPRegressor().fit(X, 10.0 * y + 3.0)
    for ours, theirs in zip(one.candidates_, two.candidates_, strict=True):
        assert ours.kernel == theirs.kernel
        assert ours.log_evidence - theirs.log_evidence == pytest.approx(40.0 * np.log(10.0), abs=1e-6)
        assert ours.log_model_evidence - theirs.log_model_evidence == pytest.approx(40.0 * np.log(10.0), abs=1e-6)
        assert ours.weight == pytest.approx(theirs.weight, abs=1e-6)


# -- what predicts -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_probabilities_are_the_weighted_average_of_the_members(cls):
    machine, rows = default(cls), problem(cls())[2]
    (model,) = machine.models_
    assert isinstance(model, AveragedModel)
    inputs = machine._standardizer.inputs(rows)
    expected = sum(w * expit(m.log_odds(inputs)[:, 0]) for w, m in zip(model.weights, model.members, strict=True))
    assert machine.predict_proba(rows)[:, 1] == pytest.approx(expected, abs=1e-12)
    weights = {c.kernel: c.weight for c in machine.candidates_ if c.kept}
    assert model.weights.sum() == pytest.approx(sum(weights.values()))


@pytest.mark.parametrize("cls", REGRESSORS)
def test_means_are_the_weighted_average_of_the_members(cls):
    machine, rows = default(cls), problem(cls())[2]
    (model,) = machine.models_
    inputs = machine._standardizer.inputs(rows)
    expected = sum(w * m.mean(inputs) for w, m in zip(model.weights, model.members, strict=True))
    assert machine.predict(rows) == pytest.approx(machine._targets.outer(expected)[:, 0], abs=1e-10)
    assert machine.predict(rows, return_std=True)[0] == pytest.approx(machine.predict(rows), abs=1e-10)


@pytest.mark.parametrize("cls", [*CLASSIFIERS, *REGRESSORS])
def test_the_same_fit_twice_is_identical(cls):
    X, y, rows = problem(cls())
    first, second = default(cls), cls().fit(X, y)
    assert_same(first, second, rows)
    for ours, theirs in zip(first.candidates_, second.candidates_, strict=True):
        assert (ours.kernel, ours.weight, ours.log_evidence) == (theirs.kernel, theirs.weight, theirs.log_evidence)


def test_starts_that_search_at_the_same_time_change_nothing():
    X, y, rows = problem(BayesianSVC())
    assert_same(default(BayesianSVC), BayesianSVC(n_jobs=2).fit(X, y), rows, tol=1e-9)


@pytest.mark.parametrize("cls", [*CLASSIFIERS, *REGRESSORS])
def test_copies_predict_the_same(cls):
    machine, rows = default(cls), problem(cls())[2]
    assert_same(machine, pickle.loads(pickle.dumps(machine)), rows)
    file = io.BytesIO()
    save(machine, file)
    file.seek(0)
    loaded = load(file)
    assert_same(machine, loaded, rows)
    assert [c.kernel for c in loaded.candidates_] == [c.kernel for c in machine.candidates_]
    assert clone(machine).get_params().keys() == machine.get_params().keys()


@pytest.mark.parametrize("cls", [*CLASSIFIERS, *REGRESSORS])
def test_exported_averages_predict_the_same(cls):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    machine, rows = default(cls), problem(cls())[2]
    assert len(machine.models_[0].members) > 1
    session = runtime.InferenceSession(to_onnx(machine).SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(names, {"X": rows}), strict=True))
    if is_classifier(machine):
        np.testing.assert_allclose(found["probabilities"], machine.predict_proba(rows), atol=1e-6)
        assert np.all(found["label"] == machine.predict(rows))
    else:
        mean, std = machine.predict(rows, return_std=True)
        np.testing.assert_allclose(found["mean"][:, 0], mean, atol=1e-6)
        np.testing.assert_allclose(np.sqrt(found["variance"][:, 0]), std, atol=1e-6)
    mean, std = machine.predict_latent(rows)
    np.testing.assert_allclose(found["latent_mean"][:, 0], mean, atol=1e-6)
    np.testing.assert_allclose(np.sqrt(found["latent_variance"][:, 0]), std, atol=1e-6)


@pytest.mark.parametrize("cls", [BayesianSVC, BayesianSVR])
def test_sparse_inputs_are_the_dense_ones(cls):
    X, y, rows = problem(cls())
    X, rows = np.where(X > 0.0, X, 0.0), np.where(rows > 0.0, rows, 0.0)
    options = {"standardize": False}
    dense = cls(**options).fit(X, y)
    assert_same(dense, cls(**options).fit(sp.csr_array(X), y), rows, tol=1e-6)


@pytest.mark.parametrize("cls", [*CLASSIFIERS, *REGRESSORS])
def test_weights_are_repetitions(cls):
    X, y, rows = problem(cls())
    counts = 1 + (np.arange(len(y)) % 5 == 0)
    weighted = cls().fit(X, y, sample_weight=counts)
    repeated = cls().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert [c.kernel for c in weighted.candidates_] == [c.kernel for c in repeated.candidates_]
    for ours, theirs in zip(weighted.candidates_, repeated.candidates_, strict=True):
        assert ours.log_evidence == pytest.approx(theirs.log_evidence, abs=0.1)
        assert ours.weight == pytest.approx(theirs.weight, abs=0.05)
    for ours, theirs in zip(answers(weighted, rows)[:1], answers(repeated, rows)[:1], strict=True):
        assert ours == pytest.approx(theirs, abs=0.02)


@pytest.mark.parametrize("cls", REGRESSORS)
def test_rows_that_all_occur_twice(cls):
    X, y, rows = problem(cls(), 30)
    machine = cls().fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    assert all(c.log_evidence < 1e4 for c in machine.candidates_)
    assert all(np.all(np.isfinite(answer)) for answer in answers(machine, rows))


def test_three_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=60), [-0.5, 0.5])
    machine = BayesianSVC(multi_class="ovr").fit(X, y)
    for output in range(3):
        assert sum(c.weight for c in machine.candidates_ if c.output == output) == pytest.approx(1.0)
    assert machine.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(60))
    assert machine.score(X, y) >= BayesianSVC(kernel=None).fit(X, y).score(X, y) - 0.02


@pytest.mark.parametrize("shared", [False, True])
def test_several_outputs(shared):
    X, y = curve(40, 2)
    machine = GPRegressor(share_hyperparameters=shared).fit(X, np.column_stack([y, 5.0 * X[:, 1] + y]))
    mean, std = machine.predict(X, return_std=True)
    low, high = machine.predict_interval(X)
    assert mean.shape == std.shape == low.shape == (40, 2)
    assert np.all((low < mean) & (mean < high))
    assert np.mean(np.abs(mean[:, 0] - y)) < 0.3


@pytest.mark.parametrize("cls", [*CLASSIFIERS, *REGRESSORS])
@pytest.mark.parametrize("n", [2, 5])
def test_a_few_rows(cls, n):
    X, y, rows = problem(cls())
    if is_classifier(cls()):
        some = np.concatenate([np.flatnonzero(y == 1)[: n // 2], np.flatnonzero(y == -1)[: n - n // 2]])
    else:
        some = np.arange(n)
    machine = cls().fit(X[some], y[some])
    assert all(np.all(np.isfinite(answer)) for answer in answers(machine, rows))


# -- other settings ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("cls", "options"),
    [
        (BayesianSVC, {"posterior": "laplace"}),
        (BayesianSVC, {"posterior": "laplace", "calibrate": None}),
        (BayesianSVC, {"calibrate": None}),
        (BayesianSVC, {"calibrate": "loo"}),
        (BayesianSVC, {"likelihood": "logistic"}),
        (BayesianSVC, {"inference": "ep"}),
        pytest.param(BayesianSVC, {"class_weight": "balanced"}, marks=pytest.mark.slow),
        (GPClassifier, {"inference": "ep"}),
        (GPClassifier, {"likelihood": "logistic"}),
        (GPRegressor, {"calibrate": "auto"}),
        pytest.param(GPRegressor, {"likelihood": "laplace", "inference": "ep"}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_settings(cls, options):
    X, y, rows = problem(cls())
    machine = cls(**options).fit(X, y)
    assert machine.converged_
    assert sum(c.weight for c in machine.candidates_) == pytest.approx(1.0)
    assert all(np.all(np.isfinite(answer)) for answer in answers(machine, rows))
    plain = default(cls)
    near = 0.35 if is_classifier(machine) else 0.6
    assert np.max(np.abs(answers(machine, rows)[0] - answers(plain, rows)[0])) < near


def test_without_calibration_the_candidates_alone_are_averaged():
    X, y, _ = problem(BayesianSVC())
    machine = BayesianSVC(calibrate=None).fit(X, y)
    assert len(machine.models_[0].members) == len(kept(machine))
    assert all((c.scale, c.shift) == (1.0, 0.0) for c in machine.calibration_)


@pytest.mark.parametrize(
    "cls", [GPClassifier, GPRegressor, *(pytest.param(c, marks=pytest.mark.slow) for c in (BayesianSVC, BayesianSVR))]
)
def test_theta_is_averaged_over(cls):
    X, y, rows = problem(cls())
    options = {"kernel": None} if is_classifier(cls()) else {}
    plain, machine = cls(**options).fit(X, y), cls(theta="integrate", **options).fit(X, y)
    assert len(machine.integration_) == max(1, len(kept(machine)))
    assert sum(found.points for found in machine.integration_) == len(machine.models_[0].members)
    for found in machine.integration_:
        assert found.effective >= 1.0
        assert 0.0 < found.disagreement < 0.5
    assert not hasattr(plain, "integration_")
    assert np.max(np.abs(answers(machine, rows)[0] - answers(plain, rows)[0])) < 0.3
    assert_same(machine, cls(theta="integrate", **options).fit(X, y), rows)


@pytest.mark.parametrize("cls", [*CLASSIFIERS, GPRegressor])
@pytest.mark.parametrize(
    "options", [{"kernel": None}, {"ard": True}, {"kernel": Gaussian() + Constant()}, {"kernel": "rbf"}], ids=str
)
def test_a_given_form_is_no_choice(cls, options):
    X, y, _ = problem(cls())
    machine = cls(**options).fit(X, y)
    assert machine.candidates_ == ()
    assert not isinstance(machine.models_[0], AveragedModel)


def test_given_hyperparameters_are_no_choice():
    X, y, _ = problem(BayesianSVC(), 40)
    machine = BayesianSVC(optimizer=None).fit(X, y)
    assert machine.candidates_ == ()


def test_models_are_compared_under_a_proper_hyperprior_only():
    X, y, _ = problem(BayesianSVC(), 40)
    for cls in CLASSIFIERS:
        with pytest.raises(ValueError, match="expected None or a proper density, since models are compared"):
            cls(hyperprior=Flat()).fit(X, y)
    assert BayesianSVC(kernel=None, hyperprior=Flat()).fit(X, y).candidates_ == ()


def test_the_argument_theta_is_checked():
    with pytest.raises(ValueError, match="theta: expected 'optimum' or 'integrate', found 'sample'"):
        BayesianSVC(theta="sample").fit(*irrelevant_features(20))
