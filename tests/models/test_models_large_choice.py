"""The choice of kernel and noise on a sample of many rows: what is compared, how it is judged, and what is fitted."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from bayesvm import BayesianSVC, BayesianSVR, GPRegressor
from bayesvm.estimators import _large
from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper import large as search
from bayesvm.kernels import Constant, Gaussian, Laplacian
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import GaussianNoise, Logistic, SoftInsensitive, Trigonometric
from bayesvm.models import large as models
from bayesvm.models import large_choice
from bayesvm.models.base import TrainingData

QUICK = {"n_starts": 2, "random_state": 0, "evidence_tol": 0.1}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    sizes = {
        _large: {"EXACT_ROWS": 200, "EXACT_ROWS_OF_LABELS": 200},
        search: {
            "SAMPLE": 150,
            "BLOCKS": 4,
            "POOL": 300,
            "ROWS": 300,
            "MOST": 40,
            "FEWER": 30,
            "FIRST": (10, 6),
            "THEN": (10, 60),
        },
        large_choice: {"FIRST": (10, 6)},
        models: {"TOGETHER": 16, "FROM": 150, "BLOCK": 32, "OTHERS": 96},
    }
    for module, changes in sizes.items():
        for name, value in changes.items():
            monkeypatch.setattr(module, name, value)


def smooth(n=400, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(1.5 * X[:, 0]), rng


def kept(machine):
    (name,) = [row.kernel for row in machine.candidates_ if row.kept]
    return name


def test_what_is_compared_is_listed_and_the_best_score_is_kept():
    X, f, rng = smooth()
    machine = GPRegressor(**QUICK).fit(X, f + 0.2 * rng.normal(size=f.size))
    names = [row.kernel for row in machine.candidates_]
    assert names[:2] == ["gaussian, ard", "matern32, ard"]
    assert any(name.endswith("+ linear") for name in names)
    assert max(machine.candidates_, key=lambda row: row.log_evidence).kept
    assert all(row.evaluations > 0 for row in machine.candidates_)
    assert "lengthscale=(" in repr(machine.models_[0].kernel)  # two of three features do not matter
    assert machine.n_iter_ > sum(row.evaluations for row in machine.candidates_ if row.kept)


def test_few_of_many_features_are_found():
    X, f, rng = smooth(d=80)
    machine = GPRegressor(**QUICK).fit(X, f + 0.2 * rng.normal(size=f.size))
    assert ", ard" in kept(machine)
    assert np.argmax(machine.relevance_) == 0
    new, truth, _ = smooth(n=200, d=80, seed=1)
    assert np.mean((machine.predict(new) - truth) ** 2) < 0.1 * np.var(truth)


def test_one_length_scale_where_features_are_alike(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = np.sum(X**2, axis=1) / 4.0 + 0.3 * rng.normal(size=400)
    machine = GPRegressor(**QUICK).fit(X, y)
    assert ", ard" not in kept(machine)


def test_functions_of_thresholds_are_given_the_manhattan_distance():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 3))
    f = 3.0 * (X[:, 0] > 0.5) + 3.0 * (X[:, 1] > 0.4)
    machine = GPRegressor(**QUICK).fit(X, f + 0.2 * rng.normal(size=f.size))
    assert kept(machine).startswith("laplacian")
    assert any(type(leaf) is Laplacian for leaf in machine.kernel_.leaves())
    labelled = BayesianSVC(**QUICK).fit(X, rng.uniform(size=f.size) < 1.0 / (1.0 + np.exp(3.0 - f)))
    assert not any("laplacian" in row.kernel for row in labelled.candidates_)


@pytest.mark.parametrize("X", [np.zeros((5, 1)), sp.csr_array(np.zeros((5, 2)))], ids=["one feature", "sparse"])
def test_no_manhattan_distance_for_one_feature_or_sparse_inputs(X, monkeypatch):
    tried = []
    monkeypatch.setattr(large_choice._Search, "begun_at", lambda self, name, *_, **__: tried.append(name))
    monkeypatch.setattr(
        large_choice._Search, "best", SimpleNamespace(kernel=Gaussian() + Constant(), likelihood=GaussianNoise())
    )
    data = TrainingData(Inputs(X), np.zeros((5, 1)))
    large_choice._Search(GPRegressor(**QUICK)._spec(data), data).manhattan("")
    assert tried == []


def test_noise_with_heavy_tails_without_tails_and_gaussian_noise():
    X, f, rng = smooth(n=500, d=2)
    heavy = BayesianSVR(**QUICK).fit(X, f + 0.1 * rng.standard_t(1.5, size=f.size))
    assert not isinstance(heavy.likelihood_, GaussianNoise)
    assert "noise" in kept(heavy)
    uniform = BayesianSVR(**QUICK).fit(X, f + 0.1 * rng.uniform(-1.0, 1.0, size=f.size))
    assert isinstance(uniform.likelihood_, SoftInsensitive)
    plain = BayesianSVR(**QUICK).fit(X, f + 0.1 * rng.normal(size=f.size))
    assert isinstance(plain.likelihood_, GaussianNoise)


def test_the_likelihood_of_labels():
    X, f, rng = smooth(d=2)
    y = rng.uniform(size=f.size) < 1.0 / (1.0 + np.exp(-6.0 * f))
    machine = BayesianSVC(**QUICK).fit(X, y)
    scores = {row.kernel: row.log_evidence for row in machine.candidates_}
    (other,) = [name for name in scores if name.endswith("logistic noise")]
    better = scores[other] > max(score for name, score in scores.items() if name != other)
    assert isinstance(machine.likelihood_, Logistic if better else Trigonometric)
    named = BayesianSVC(likelihood="trigonometric", **QUICK).fit(X, y)
    assert isinstance(named.likelihood_, Trigonometric)
    assert not any("noise" in row.kernel for row in named.candidates_)


def test_a_given_kernel_is_kept_while_the_likelihood_is_chosen():
    X, f, rng = smooth(d=2)
    y = rng.uniform(size=f.size) < 1.0 / (1.0 + np.exp(-6.0 * f))
    machine = BayesianSVC("matern52", **QUICK).fit(X, y)
    assert [row.kernel for row in machine.candidates_] == ["matern52", "matern52, logistic noise"]
    assert type(machine.models_[0].kernel).__name__ == "Matern52"
    fixed = BayesianSVC("matern52", optimizer=None, random_state=0).fit(X, y)
    assert isinstance(fixed.likelihood_, Trigonometric)


def test_each_hyperparameter_costs_a_nat():
    X, f, rng = smooth()
    y = f + 0.2 * rng.normal(size=f.size)
    data = TrainingData(Inputs(X), y[:, None])
    spec = GPRegressor(**QUICK)._spec(data)
    (chosen,) = spec.candidates(spec, data, [])
    (theta,), (row,) = chosen.starts, [row for row in chosen.changes["compared"] if row.kept]
    objective = spec.objective(chosen.kernel, data).at(theta, most=300)
    assert row.log_evidence == pytest.approx(objective.evaluate(theta).value - theta.size)


def refuse(monkeypatch, *forms):
    def search_or_refuse(maximizer, problem, starts):
        if type(problem.kernel.leaves()[0]).__name__ in forms:
            raise NotPositiveDefiniteError("it has no posterior")
        return search.maximize_on_blocks(maximizer, problem, starts)

    monkeypatch.setattr(large_choice, "maximize_on_blocks", search_or_refuse)


@pytest.mark.parametrize(("impossible", "first"), [("Matern32", "gaussian, ard"), ("Gaussian", "matern32, ard")])
def test_a_kernel_without_evidence_is_left_out(monkeypatch, impossible, first):
    refuse(monkeypatch, impossible)
    X, f, rng = smooth(n=250, d=2)
    machine = GPRegressor(**QUICK).fit(X, f + 0.2 * rng.normal(size=f.size))
    names = [row.kernel for row in machine.candidates_]
    assert names[0] == first
    assert ("matern52, ard" in names) == (impossible == "Gaussian")
    (row,) = [row for row in machine.candidates_ if row.log_evidence == -np.inf]
    assert row.kernel == f"{impossible.lower()}, ard"
    assert not row.kept


def test_other_noise_is_tried_where_the_residuals_of_the_sample_are_not_known(monkeypatch, caplog):
    def refused(objective, maximum):
        raise NotPositiveDefiniteError("it has no posterior")

    monkeypatch.setattr(large_choice.GaussianProcessModel, "at_maximum", refused)
    X, f, rng = smooth(n=250, d=2)
    machine = BayesianSVR("gaussian", **QUICK).fit(X, f + 0.2 * rng.normal(size=f.size))
    assert machine.candidates_[0].kernel == "gaussian"
    assert any("noise" in row.kernel for row in machine.candidates_)
    assert "other noise is tried: it has no posterior" in caplog.text


@pytest.mark.parametrize("kernel", [None, "gaussian"])
def test_the_message_if_no_kernel_has_an_evidence(monkeypatch, kernel):
    refuse(monkeypatch, "Gaussian", "Matern32")
    X, f, _ = smooth(n=250, d=2)
    message = r"kernel: expected one whose evidence .* found gaussian.*\(it has no posterior\)"
    with pytest.raises(ValueError, match=message) as raised:
        BayesianSVR(kernel, **QUICK).fit(X, f)
    assert isinstance(raised.value.__cause__, NotPositiveDefiniteError)
