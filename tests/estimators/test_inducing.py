"""Machines of many rows through the estimators: what ``inducing`` means, and that everything else works on top of it.

The sizes at which approximations begin are made small, so that a few hundred rows show all of them.
"""

import logging
import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from bayesvm import BayesianLSSVC, BayesianLSSVR, BayesianSVC, BayesianSVR, GPClassifier, GPRegressor
from bayesvm.distributed import DistributedSVC, DistributedSVR
from bayesvm.estimators import _large
from bayesvm.hyper import large as search
from bayesvm.hyper.fit_cost import CHOICE_MATRICES, EXACT_MATRICES
from bayesvm.inference import EP
from bayesvm.kernels import Constant, Gaussian, Matern32
from bayesvm.likelihoods import Logistic, Trigonometric
from bayesvm.models import large as models
from bayesvm.models import large_choice
from bayesvm.models.large import LocalModel
from bayesvm.persistence import load, save

QUICK = {"n_starts": 2, "random_state": 0, "evidence_tol": 0.1}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    sizes = {
        _large: {"EXACT_ROWS": 200, "EXACT_ROWS_OF_LABELS": 200},
        search: {"SAMPLE": 120, "BLOCKS": 4, "POOL": 250, "MOST": 60, "BESIDE": 10, "FIRST": (6, 6), "THEN": (6, 20)},
        models: {"TOGETHER": 16, "FROM": 150, "BLOCK": 32, "OTHERS": 96},
    }
    for module, changes in sizes.items():
        for name, value in changes.items():
            monkeypatch.setattr(module, name, value)


def waves(n=400, seed=0, rough=True):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    f = np.sin((4.0 if rough else 1.0) * X[:, 0]) + 0.5 * X[:, 1]
    return X, f, f + 0.1 * rng.normal(size=n)


def labels(n=400, seed=0, rough=True):
    X, _f, y = waves(n, seed, rough)
    return X, np.where(y > 0.0, "yes", "no")


@pytest.mark.parametrize("rough", [False, True])
@pytest.mark.parametrize("make", [GPRegressor, BayesianSVR])
def test_regression(make, rough):
    X, _, y = waves(rough=rough)
    new, f, _ = waves(200, 1, rough)
    machine = make(**QUICK).fit(X, y)
    mean, std = machine.predict(new, return_std=True)
    low, high = machine.predict_interval(new)
    assert np.sqrt(np.mean((mean - f) ** 2)) < (0.1 if rough else 0.06)
    assert mean.shape == std.shape == low.shape == high.shape == (200,)
    assert np.all(std > 0.0)
    assert np.all(low < high)
    assert machine.log_density(new, f).shape == (200,)
    assert np.isfinite(machine.loo_log_likelihood_)
    assert np.isfinite(machine.log_evidence_)
    assert machine.log_evidence_bounds_.shape == (1, 2)
    assert machine.log_evidence_bounds_[0, 0] == pytest.approx(machine.log_evidence_)
    assert machine.inducing_inputs_.shape[1] == 2
    assert machine.sample(new[:5], 3, random_state=0).shape == (5, 3)
    assert machine.log_evidence() == pytest.approx(machine.log_evidence_, rel=1e-6)


def test_smooth_functions_need_no_neighbours_and_rough_ones_do():
    X, _, y = waves(rough=False)
    smooth = GPRegressor(**QUICK).fit(X, y)
    assert not isinstance(smooth.models_[0], LocalModel)
    assert smooth.inducing_inputs_.shape[0] == smooth.support_.size < 60
    assert smooth.log_evidence_bounds_[0, 1] - smooth.log_evidence_bounds_[0, 0] == pytest.approx(
        smooth.approximation_gap_
    )
    X, _, y = waves(rough=True)
    rough = GPRegressor(kernel=Matern32(1.0, (0.1, 0.1)) + Constant(), optimizer=None).fit(X, y)
    assert isinstance(rough.models_[0], LocalModel)
    assert np.isnan(rough.approximation_gap_)


def test_bounds_hold_the_exact_evidence():
    X, _, y = waves(300)
    machine = GPRegressor(inducing=20, **QUICK).fit(X, y)
    given = {"kernel": machine.models_[0].kernel, "likelihood": machine.likelihood_, "optimizer": None}
    exact = GPRegressor(inducing=None, **given).fit(X, y)
    low, high = machine.log_evidence_bounds_[0]
    assert low <= exact.log_evidence_ <= high
    assert machine.inducing_inputs_.shape == (20, 2)
    np.testing.assert_allclose(machine.inducing_inputs_, X[machine.support_])


@pytest.mark.parametrize("make", [GPRegressor, GPClassifier])
def test_all_rows_as_inducing_inputs_are_the_exact_machine(make):
    X, _, y = waves(150)
    t = np.where(y > 0.0, 1, 0) if make is GPClassifier else y
    given = {"kernel": Matern32(2.0, 0.8) + Constant(), "optimizer": None}
    a, b = make(inducing=None, **given).fit(X, t), make(inducing=150, **given).fit(X, t)
    new = waves(40, 1)[0]
    (m, s), (k, v) = a.predict_latent(new), b.predict_latent(new)
    np.testing.assert_allclose(k, m, atol=1e-6)
    np.testing.assert_allclose(v, s, atol=1e-6)
    assert b.log_evidence_ == pytest.approx(a.log_evidence_, rel=1e-8)
    assert b.loo_log_likelihood_ == pytest.approx(a.loo_log_likelihood_, rel=1e-5)


@pytest.mark.parametrize("make", [GPRegressor, GPClassifier, BayesianSVC])
def test_neighbours_that_are_all_rows_are_the_exact_machine(make, monkeypatch):
    for name in ("FROM", "OTHERS"):
        monkeypatch.setattr(models, name, 1000)
    monkeypatch.setattr(search, "ENOUGH", 0.0)
    monkeypatch.setattr(search, "MOST", 3)
    X, _, y = waves(260)
    t = y if make is GPRegressor else np.where(y > 0.0, 1, 0)
    given = {"kernel": Matern32(2.0, 0.3) + Constant(), "optimizer": None, "calibrate": None}
    given |= {"posterior": "laplace"} if make is BayesianSVC else {}
    a, b = make(inducing=None, **given).fit(X, t), make(**given).fit(X, t)
    assert isinstance(b.models_[0], LocalModel)
    new = waves(40, 1)[0]
    (m, s), (k, v) = a.predict_latent(new), b.predict_latent(new)
    np.testing.assert_allclose(k, m, atol=1e-5)
    np.testing.assert_allclose(v, s, atol=1e-5)
    assert b.loo_log_likelihood_ == pytest.approx(a.loo_log_likelihood_, rel=1e-3)


@pytest.mark.parametrize("make", [BayesianSVC, GPClassifier])
@pytest.mark.parametrize("rough", [False, True])
def test_classification(make, rough):
    X, y = labels(rough=rough)
    new, t = labels(200, 1, rough)
    machine = make(**QUICK).fit(X, y)
    proba = machine.predict_proba(new)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert np.mean(machine.predict(new) == t) > (0.8 if rough else 0.9)
    assert machine.loo_proba_.shape == (400, 2)
    assert np.isfinite(machine.loo_log_likelihood_)
    assert len(machine.calibration_) == 1


def test_three_classes_and_weights():
    X, f, _ = waves(rough=False)
    y = np.digitize(f, [-0.5, 0.5])
    weights = np.random.default_rng(0).uniform(0.5, 2.0, y.size)
    for multi_class, calibrate, n_models in (("ovr", None, 3), ("shared", None, 1), ("shared", "auto", 1)):
        given = {"multi_class": multi_class, "calibrate": calibrate, "inducing": 30}
        machine = GPClassifier("rbf + constant", **given, **QUICK).fit(X, y, sample_weight=weights)
        assert machine.predict_proba(X).shape == (400, 3)
        assert np.mean(machine.predict(X) == y) > 0.9
        assert machine.log_evidence_bounds_.shape == (n_models, 2)


def test_weights_count_as_repeated_rows():
    X, _, y = waves(250)
    counts = np.random.default_rng(1).integers(1, 3, y.size)
    given = {"kernel": Matern32(1.0, 0.5) + Constant(), "optimizer": None, "inducing": 40, "standardize": False}
    weighted = GPRegressor(**given).fit(X, y, sample_weight=counts)
    rows = weighted.support_
    X2, y2 = np.repeat(X, counts, axis=0), np.repeat(y, counts)
    plain = weighted.models_[0].objective
    again = type(plain)(
        plain.kernel, plain.likelihood.plain, type(plain.X)(X2), y2, np.cumsum(counts)[rows] - counts[rows]
    )
    assert again.evaluate(again.theta0).value == pytest.approx(weighted.log_evidence_, rel=1e-9)


def test_several_outputs():
    X, _, y = waves()
    Y = np.column_stack([y, np.cos(X[:, 0])])
    for shared in (False, True):
        machine = GPRegressor(share_hyperparameters=shared, **QUICK).fit(X, Y)
        assert machine.predict(X).shape == (400, 2)
        assert np.sqrt(np.mean((machine.predict(X)[:, 1] - Y[:, 1]) ** 2)) < 0.1
        assert machine.log_evidence_bounds_.shape == (1 if shared else 2, 2)


def test_sparse_inputs():
    X, _, y = waves(300, rough=False)
    dense = GPRegressor(Gaussian() + Constant(), inducing=20, standardize=False, **QUICK).fit(X, y)
    sparse = GPRegressor(Gaussian() + Constant(), inducing=20, standardize=False, **QUICK).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(X)), dense.predict(X), atol=1e-4)
    assert sp.issparse(sparse.inducing_inputs_)


@pytest.mark.parametrize("make", [GPRegressor, BayesianSVC])
@pytest.mark.parametrize("inducing", ["auto", 25])
def test_saving_and_copying(make, inducing, tmp_path):
    X, y = labels(240) if make is BayesianSVC else waves(240)[::2]
    machine = make(inducing=inducing, **QUICK).fit(X, y)
    save(machine, tmp_path / "machine.bvm")
    method = "predict_proba" if make is BayesianSVC else "predict"
    expected = getattr(machine, method)(X[:50])
    for copy in (load(tmp_path / "machine.bvm"), pickle.loads(pickle.dumps(machine))):
        np.testing.assert_allclose(getattr(copy, method)(X[:50]), expected, rtol=1e-9)  # neighbours: solved anew
    again = clone(machine).fit(X, y)
    np.testing.assert_allclose(getattr(again, method)(X[:50]), expected, rtol=1e-6)


def test_export_of_inducing_inputs_and_refusal_of_neighbours():
    pytest.importorskip("onnx")
    reference = pytest.importorskip("onnx.reference")
    from bayesvm.onnx_export import to_onnx

    X, _, y = waves()
    kernel = Matern32(1.0, 0.2) + Constant()
    machine = GPRegressor(kernel, inducing=25, optimizer=None).fit(X, y)
    found = reference.ReferenceEvaluator(to_onnx(machine)).run(["mean"], {"X": X[:9]})[0]
    np.testing.assert_allclose(found[:, 0], machine.predict(X[:9]), rtol=1e-9)
    with pytest.raises(TypeError, match="predictions from neighbours have no counterpart"):
        to_onnx(GPRegressor(kernel, optimizer=None).fit(X, y))


def test_what_is_asked_for_and_when():
    X, _, y = waves(150)
    assert not hasattr(GPRegressor(**QUICK).fit(X, y), "inducing_inputs_")
    for value in (0, -3, 2.5, "many"):
        with pytest.raises(ValueError, match="inducing: expected 'auto' or None or an integer of at least 1"):
            GPRegressor(inducing=value).fit(X, y)
    with pytest.raises(ValueError, match="inducing: expected 'auto' or None with Variational inference, found 20"):
        GPClassifier(inducing=20, inference="variational").fit(X, y > 0.0)


def test_inference_methods_without_inducing_inputs_use_neighbours():
    X, y = labels(240)
    machine = GPClassifier(Matern32(5.0, 0.5) + Constant(), inference="variational", optimizer=None).fit(X, y)
    assert isinstance(machine.models_[0], LocalModel)
    assert np.mean(machine.predict(X) == y) > 0.9


@pytest.mark.parametrize("make", [GPClassifier, BayesianSVC])
def test_expectation_propagation_with_all_rows_as_inducing_inputs_is_the_exact_one(make):
    X, y = labels(120)
    given = {"kernel": Matern32(5.0, 0.5) + Constant(), "optimizer": None, "calibrate": None, "reduce": None}
    new = waves(40, 1)[0]
    exact = make(inference=EP(), inducing=None, **given).fit(X, y)
    for how in ({"inference": EP()}, {"posterior": "ep"}):
        machine = make(inducing=120, **how, **given).fit(X, y)
        for a, b in zip(machine.predict_latent(new), exact.predict_latent(new), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6 if "inference" in how else 1e-3)
        assert machine.models_[0].posteriors[0].support.size == 120
    learnt = make(inducing=30, inference="ep", kernel="rbf", **QUICK).fit(X, y)
    assert learnt.log_evidence_ > machine.log_evidence_ - 20.0
    assert learnt.log_evidence() == pytest.approx(learnt.log_evidence_, rel=1e-5)


def test_neighbours_predict_by_expectation_propagation_where_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(search, "ENOUGH", 0.0)
    X, y = labels(240)
    given = {"kernel": Matern32(5.0, 0.2) + Constant(), "optimizer": None, "calibrate": None, "random_state": 0}
    found = [BayesianSVC(posterior=name, **given).fit(X, y) for name in ("laplace", "ep")]
    assert all(isinstance(machine.models_[0], LocalModel) for machine in found)
    a, b = (machine.predict_latent(X[:20])[1] for machine in found)
    assert np.max(np.abs(a - b)) > 1e-3
    assert found[0].log_evidence_ == pytest.approx(found[1].log_evidence_)


def test_memory_is_asked_for_before_the_fit(monkeypatch):
    X, _, y = waves(150)
    monkeypatch.setattr(_large, "physical_memory", lambda: 10_000)
    with pytest.raises(MemoryError, match=r"an exact fit of 150 rows needs about .* GiB.*use inducing='auto'"):
        GPRegressor(inducing=None).fit(X, y)


@pytest.mark.parametrize(
    ("options", "matrices"),
    [({}, CHOICE_MATRICES), ({"kernel": "rbf"}, EXACT_MATRICES), ({"ard": True}, EXACT_MATRICES)],
)
def test_a_choice_of_the_kernel_needs_more_memory_than_a_given_one(options, matrices, monkeypatch):
    X, _, y = waves(150)
    needed = matrices * 8 * 150**2
    monkeypatch.setattr(_large, "physical_memory", lambda: needed - 1)
    with pytest.raises(MemoryError, match="an exact fit of 150 rows"):
        GPRegressor(inducing=None, **options).fit(X, y)
    monkeypatch.setattr(_large, "physical_memory", lambda: needed)
    assert np.isfinite(GPRegressor(inducing=None, n_starts=1, **options).fit(X, y).log_evidence_)


def test_what_a_fit_of_many_rows_needs_is_stated_before_it_and_refused_if_it_is_too_much(monkeypatch, caplog):
    X, _, y = waves(300)
    with caplog.at_level(logging.INFO, logger="bayesvm"):
        GPRegressor("rbf", inducing=20, optimizer=None).fit(X, y)
    assert re.search(r"300 rows, 2 features: .* up to about \d+ MiB and \d+ s on one core", caplog.messages[0])
    monkeypatch.setattr(_large, "physical_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"a fit of 300 rows with 2 features needs .* use fewer rows, or bay"):
        GPRegressor("rbf", inducing=20).fit(X, y)


def test_a_warning_where_inducing_inputs_are_too_few_and_rows_too_many_for_neighbours(monkeypatch, caplog):
    monkeypatch.setattr(search, "GAUSSIAN_ROWS", 300)
    monkeypatch.setattr(search, "MOST", 5)
    X, _, y = waves()
    GPRegressor(Matern32(1.0, 0.1) + Constant(), optimizer=None).fit(X, y)
    assert "5 inducing inputs, as many as are tried, leave" in caplog.text


def test_the_evidence_of_the_model_and_other_hyperparameters():
    X, _, y = waves(300, rough=False)
    machine = GPRegressor(Gaussian() + Constant(), inducing=40, **QUICK).fit(X, y)
    exact = GPRegressor(Gaussian() + Constant(), inducing=None, **QUICK).fit(X, y)
    assert machine.log_model_evidence_ == pytest.approx(exact.log_model_evidence_, abs=2.0)
    local = GPRegressor(Matern32(1.0, 0.3) + Constant(), optimizer=None).fit(X, y)
    for fitted in (machine, local):
        model = fitted.models_[0]
        moved = model.at(model.theta + 0.1)
        assert type(moved) is type(model)
        assert not np.allclose(moved.mean(model.inputs), model.mean(model.inputs), atol=1e-6)
        back = moved.at(model.theta)
        np.testing.assert_allclose(back.mean(model.inputs), model.mean(model.inputs), atol=1e-7)


def test_an_interrupt_before_anything_is_found_leaves_the_estimator_unfitted(monkeypatch):
    X, _, y = waves()
    machine = GPRegressor(**QUICK)
    monkeypatch.setattr(large_choice, "maximize_on_blocks", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    assert not hasattr(machine, "models_")


def test_the_choice_and_the_cost_are_logged(caplog):
    X, _, y = waves()
    with caplog.at_level(logging.INFO, logger="bayesvm"):
        GPRegressor(**QUICK).fit(X, y)
    assert "400 rows, 2 features: inducing inputs and neighbours instead of exact inference" in caplog.text
    assert "MiB" in caplog.text
    assert "blocks given their neighbours: log evidence" in caplog.text


def test_many_new_rows_are_predicted_together_by_neighbours(monkeypatch):
    X, _, y = waves()
    new = np.random.default_rng(5).uniform(X.min(axis=0), X.max(axis=0), (3 * len(X), X.shape[1]))
    machine = GPRegressor(Matern32(1.0, 0.3) + Constant(), optimizer=None).fit(X, y)
    assert isinstance(machine.models_[0], LocalModel)
    mean, std = machine.predict(new, return_std=True)
    np.testing.assert_allclose(machine.predict(new), mean, rtol=1e-9, atol=1e-9)
    sizes = [rows.size for rows, _, _ in machine.models_[0]._parts(machine._inputs(new))]
    assert 16 < max(sizes) <= 96
    assert sum(sizes) == len(new)
    monkeypatch.setattr(models, "MOST_TOGETHER", 16)
    few_mean, few_std = machine.predict(new, return_std=True)
    assert np.max(np.abs(mean - few_mean) / few_std) < 0.5
    np.testing.assert_allclose(std, few_std, rtol=0.3)


# -- warm starts -------------------------------------------------------------------------------------------------------
MAKERS = {
    "BayesianSVC": (BayesianSVC, "labels"),
    "GPClassifier": (GPClassifier, "labels"),
    "BayesianSVR": (BayesianSVR, "targets"),
    "GPRegressor": (GPRegressor, "targets"),
    "BayesianLSSVC": (BayesianLSSVC, "labels"),
    "BayesianLSSVR": (BayesianLSSVR, "targets"),
    "DistributedSVC": (DistributedSVC, "labels"),
    "DistributedSVR": (DistributedSVR, "targets"),
}


def growing(kind, n=300):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (n, 3))
    f = np.sin(X[:, 0]) + 0.5 * np.cos(2.0 * X[:, 1])
    return X, f + 0.2 * rng.normal(size=n) if kind == "targets" else np.where(f + 0.3 * rng.normal(size=n) > 0, 1, 0)


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_a_warm_start_goes_on_with_more_rows(name):
    cls, kind = MAKERS[name]
    X, y = growing(kind)
    options = {"kernel": "rbf", "ard": True, "inducing": 40, "random_state": 0, "n_starts": 3}
    cold = cls(**options).fit(X, y)
    machine = cls(**options, warm_start=True).fit(X[:150], y[:150]).fit(X, y)
    assert machine.n_iter_ < cold.n_iter_
    assert machine.log_evidence_ > cold.log_evidence_ - 3.0


def test_a_warm_start_keeps_the_kernel_that_was_chosen(caplog):
    X, y = growing("targets")
    machine = GPRegressor(inducing=40, random_state=0, warm_start=True).fit(X[:150], y[:150])
    with caplog.at_level(logging.INFO, logger="bayesvm"):
        names = machine.theta_names_
        assert machine.fit(X, y).theta_names_ == names
    assert "the search begins with the hyperparameters of the last fit" in caplog.text
    assert "log evidence per row" not in caplog.text  # no kernels were compared


def test_a_warm_start_keeps_the_likelihood_that_was_chosen():
    X, _, y = waves(rough=False)
    t = np.where(y + 0.5 * np.random.default_rng(3).normal(size=y.size) > 0.0, 1, 0)
    for choice in (Logistic(), Trigonometric()):
        machine = BayesianSVC("rbf", inducing=25, warm_start=True, **QUICK).set_params(likelihood=choice)
        machine.fit(X[:300], t[:300]).set_params(likelihood="auto").fit(X, t)
        assert type(machine.likelihood_) is type(choice)


def test_a_warm_start_on_the_same_rows_stays_where_it_is():
    X, y = growing("targets")
    machine = GPRegressor("rbf + constant", ard=True, inducing=60, random_state=0, warm_start=True).fit(X, y)
    mean, inputs = machine.predict(X), machine.inducing_inputs_
    machine.fit(X, y)
    np.testing.assert_allclose(machine.predict(X), mean, atol=1e-3)
    assert np.mean(np.isin(machine.inducing_inputs_[:, 0], inputs[:, 0])) > 0.9


def test_a_warm_start_follows_several_outputs():
    X, y = growing("targets")
    Y = np.column_stack([y, np.cos(X[:, 2]) + 0.1 * np.random.default_rng(1).normal(size=len(X))])
    machine = GPRegressor("rbf + constant", inducing=60, random_state=0, warm_start=True, n_starts=2).fit(X, Y)
    thetas = [model.theta for model in machine.models_]
    machine.fit(X, Y)
    for before, model in zip(thetas, machine.models_, strict=True):
        np.testing.assert_allclose(model.theta, before, atol=0.2)


def test_a_warm_start_takes_over_only_what_fits():
    X, y = growing("targets")
    machine = GPRegressor("rbf + constant", inducing=30, random_state=0, warm_start=True, n_starts=2).fit(X, y)
    first = machine.n_iter_
    assert machine.set_params(kernel="matern32 + constant").fit(X, y).n_iter_ > 0.5 * first
    assert "matern" in machine.theta_names_[0]
    machine.set_params(kernel="rbf + constant").fit(X, y)
    machine.fit(X[:, :2], y)
    assert machine.n_features_in_ == 2
    machine.set_params(likelihood="huber").fit(X[:, :2], y)
    assert machine.theta_names_[-1].startswith("likelihood")
    with pytest.raises(ValueError, match="warm_start: expected True or False"):
        machine.set_params(warm_start="yes").fit(X, y)
