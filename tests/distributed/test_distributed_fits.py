"""Distributed fits: the plain machine with inducing inputs, wherever the rows are and however they are split."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

import bayesvm
import bayesvm.exceptions
from bayesvm.distributed import DistributedSVC, DistributedSVR, process
from bayesvm.estimators import _large
from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper.inducing import FeatureMap, InducingObjective
from bayesvm.likelihoods import Weighted
from bayesvm.models.scaling import LogStandardizer
from bayesvm.testing import five_point


def data(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 2.0, 1.0]
    f = X[:, 0] + np.sin(X[:, 1])
    return X, np.where(f + 0.4 * rng.normal(size=n) > 0.0, "yes", "no"), f + 0.2 * rng.normal(size=n)


X, LABELS, TARGETS = data()
WEIGHTS = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)
KERNEL = "rbf + constant"
QUICK = {"n_starts": 1, "random_state": 0, "inducing": 20, "block_size": 30}


def svc(kernel=KERNEL, **options):
    return DistributedSVC(kernel, **{**QUICK, **options})


def svr(kernel=KERNEL, **options):
    return DistributedSVR(kernel, **{**QUICK, **options})


# -- the plain estimators ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("options", [{}, {"ard": True}, {"class_weight": "balanced"}], ids=["plain", "ard", "balanced"])
def test_few_rows_give_the_plain_classifier(options):
    ours = svc(n_starts=2, **options).fit(X, LABELS)
    plain = bayesvm.BayesianSVC(KERNEL, inducing=20, n_starts=2, random_state=0, **options).fit(X, LABELS)
    assert ours.n_blocks_ == 4
    assert ours.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-8)
    assert ours.loo_log_likelihood_ == pytest.approx(plain.loo_log_likelihood_, abs=1e-8)
    assert ours.approximation_gap_ == pytest.approx(plain.approximation_gap_, abs=1e-8)
    np.testing.assert_array_equal(ours.basis_, plain.basis_)
    np.testing.assert_allclose(ours.inducing_inputs_, plain.inducing_inputs_, atol=1e-12)
    np.testing.assert_allclose(ours.predict_proba(X), plain.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(ours.sample(X[:3], 2, 0), plain.sample(X[:3], 2, 0), atol=1e-6)


@pytest.mark.parametrize("likelihood", ["auto", "huber"])
def test_few_rows_give_the_plain_regressor(likelihood):
    weights = WEIGHTS / 3.0  # at most one: several copies of a target are best explained without any noise
    ours = svr(likelihood=likelihood).fit(X, TARGETS, weights)
    plain = bayesvm.BayesianSVR(KERNEL, inducing=20, n_starts=1, random_state=0, likelihood=likelihood)
    plain.fit(X, TARGETS, weights)
    assert ours.n_rows_ == np.count_nonzero(weights)
    assert ours.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-8)
    assert ours.loo_log_likelihood_ == pytest.approx(plain.loo_log_likelihood_, abs=1e-7)
    np.testing.assert_allclose(ours.log_evidence_bounds_, plain.log_evidence_bounds_, atol=1e-8)
    for a, b in zip(ours.predict(X, return_std=True), plain.predict(X, return_std=True)):
        np.testing.assert_allclose(a, b, atol=1e-8)
    np.testing.assert_allclose(ours.predict_interval(X), plain.predict_interval(X), atol=1e-8)


def test_a_kernel_is_chosen_as_in_the_plain_estimator():
    ours, plain = svr("auto"), bayesvm.BayesianSVR(inducing=20, n_starts=1, random_state=0)
    np.testing.assert_allclose(ours.fit(X, TARGETS).predict(X), plain.fit(X, TARGETS).predict(X), atol=1e-8)


def test_several_classes_and_outputs():
    y, options = np.digitize(TARGETS, [-1.0, 1.0]), {"inducing": 20, "n_starts": 1, "random_state": 0}
    ours, plain = svc().fit(X, y), bayesvm.BayesianSVC(KERNEL, **options).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), plain.predict_proba(X), atol=1e-8)
    assert ours.loo_log_likelihood_ == pytest.approx(plain.loo_log_likelihood_, abs=1e-7)
    Y = np.column_stack([TARGETS, X[:, 2]])
    for share in (True, False):
        ours = svr(share_hyperparameters=share).fit(X, Y)
        plain = bayesvm.BayesianSVR(KERNEL, share_hyperparameters=share, **options).fit(X, Y)
        assert [model.n_outputs for model in ours.models_] == ([2] if share else [1, 1])
        np.testing.assert_allclose(ours.predict(X), plain.predict(X), atol=1e-8)


# -- all rows ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("make", [svc, svr])
def test_the_evidence_of_all_rows_is_that_of_the_local_objective(make, weights):
    y = LABELS if make is svc else TARGETS
    machine = make(sample_size=50).fit(X, y, weights)
    (model,) = machine.models_
    assert machine.n_sampled_ < machine.n_rows_
    used = np.ones(len(X), dtype=bool) if weights is None else weights > 0.0
    inner = np.where(y == "yes", 1.0, -1.0) if make is svc else machine._targets.inner(TARGETS[:, None])[:, 0]
    likelihood = model.likelihood if weights is None else Weighted(model.likelihood, tuple(weights[used]))
    inputs = machine._standardizer.inputs(X[used])
    np.testing.assert_allclose(inputs.X[machine.basis_], model.inputs.X, atol=1e-12)
    local = InducingObjective(model.kernel, likelihood, inputs, inner[used], machine.basis_).evaluate(model.theta)
    there = model.objective.evaluate(model.theta)
    assert there.value == pytest.approx(local.value, rel=1e-10)
    np.testing.assert_allclose(there.gradient, local.gradient, rtol=1e-8, atol=1e-8)
    new = machine._standardizer.inputs(data(30, 2)[0])
    K, prior = model.kernel.gram(new, model.inputs), model.kernel.diag(new)
    mean, var = model.latent(new)
    np.testing.assert_allclose(mean[:, 0], local.posteriors[0].mean(K), atol=1e-8)
    np.testing.assert_allclose(var[:, 0], local.posteriors[0].var(K, prior), atol=1e-8)


@pytest.mark.parametrize("make", [svc, svr])
def test_the_gradient_on_all_rows(make):
    machine = make(ard=True, sample_size=60, likelihood="raised-cosine" if make is svc else "huber")
    machine.fit(X, LABELS if make is svc else TARGETS)
    theta = np.array([0.1, *([0.4] * (len(machine.theta_names_) - 1))])
    gradient = machine.log_evidence(theta, gradient=True)[1]
    np.testing.assert_allclose(gradient, five_point(machine.log_evidence, theta), rtol=1e-6, atol=1e-6)


def test_the_search_goes_on_with_all_rows(monkeypatch):
    machine = svr(sample_size=30).fit(X, TARGETS)
    monkeypatch.setattr(process, "EVERYWHERE", (1,))
    with pytest.warns(bayesvm.exceptions.ConvergenceWarning):
        sample_alone = svr(sample_size=30).fit(X, TARGETS)
    assert machine.log_evidence_ > sample_alone.log_evidence_ + 0.5


def test_every_class_is_in_the_sample():
    y = np.where(np.arange(120) == 7, "rare", np.where(np.arange(120) % 2 == 0, "a", "b"))
    machine = svc(sample_size=10, optimizer=None).fit(X, y)
    assert machine.classes_.tolist() == ["a", "b", "rare"]
    assert np.all(np.isfinite(machine.predict_log_proba(X)))


def test_results_do_not_depend_on_the_size_of_blocks():
    one, other = svr(sample_size=70).fit(X, TARGETS), svr(sample_size=70, block_size=17).fit(X, TARGETS)
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-8)
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-8)


def test_threads_change_nothing():
    one, two = svc(sample_size=70).fit(X, LABELS), svc(sample_size=70, n_jobs=2).fit(X, LABELS)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_as_many_inducing_inputs_as_are_needed():
    machine = svr(inducing="auto").fit(X, TARGETS)
    assert 0 < machine.n_basis_ <= len(X)
    assert -machine.models_[0].evidence.terms["trace"] / len(X) < 0.05


# -- errors ------------------------------------------------------------------------------------------------------------
def test_a_fit_that_fails_changes_nothing():
    machine = svc().fit(X, LABELS)
    before = dict(vars(machine))
    with pytest.raises(ValueError, match="positive weight in every class"):
        machine.fit(X[:, :2], LABELS, (LABELS == "yes").astype(float))
    assert vars(machine).keys() == before.keys()
    assert all(vars(machine)[name] is value for name, value in before.items())


def test_a_kernel_that_cannot_be_used_is_named(monkeypatch):
    def broken(kernel, Z):
        raise NotPositiveDefiniteError("its matrix has no factor")

    monkeypatch.setattr(FeatureMap, "of", broken)
    with pytest.raises(NotPositiveDefiniteError, match="its matrix has no factor"):
        svr().fit(X, TARGETS)


def test_a_clone_uses_the_same_client():
    marker = object()
    assert clone(svc(client=marker)).client is marker


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"block_size": 1}, "block_size: expected an integer of at least 2"),
        ({"sample_size": 1.5}, "sample_size: expected an integer of at least 2"),
        ({"inducing": None}, "inducing: expected 'auto' or an integer of at least 1"),
        ({"checkpoint": "c", "n_starts": 9, "random_state": None}, "expected a random_state"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        svc(**options).fit(X, LABELS)


def test_nothing_of_dask_is_imported_without_need(tmp_path):
    bayesvm.save(svc().fit(X, LABELS), tmp_path / "model.bvm")
    code = (
        "import sys, numpy as np, bayesvm; from bayesvm.distributed import DistributedSVR; "
        f"bayesvm.load({str(tmp_path / 'model.bvm')!r}).predict(np.zeros((2, 3))); "
        "DistributedSVR('rbf', inducing=3, n_starts=1).fit(np.eye(9), np.arange(9.0)); "
        "sys.exit(any(name.split('.')[0] in ('dask', 'distributed') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0


# -- scikit-learn ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("cls", [DistributedSVC, DistributedSVR])
def test_scikit_learn_takes_them(cls):
    from sklearn.utils.estimator_checks import check_estimator

    check_estimator(cls("rbf + constant", n_starts=1, evidence_tol=0.3, inducing=40), on_skip=None)


# -- skewed features ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", [svc, svr])
def test_logarithms_of_skewed_features_are_chosen_as_in_the_plain_estimator(make, monkeypatch):
    monkeypatch.setattr(_large, "EXACT_ROWS", 100)
    amounts = np.exp(1.2 * X)
    f = np.sin(1.5 * np.log(amounts[:, 0]))
    y = f > 0.2 if make is svc else f + 0.2 * np.random.default_rng(2).normal(size=len(X))
    plain = bayesvm.BayesianSVC if make is svc else bayesvm.BayesianSVR
    ours = make("auto").fit(amounts, y)
    same = plain(inducing=20, n_starts=1, random_state=0).fit(amounts, y)
    assert isinstance(ours._standardizer, LogStandardizer)
    assert isinstance(same._standardizer, LogStandardizer)
    np.testing.assert_allclose(ours.predict(amounts) * 1.0, same.predict(amounts) * 1.0, atol=1e-6)
    np.testing.assert_allclose(ours.inducing_inputs_, same.inducing_inputs_, rtol=1e-9)
    some = make("auto", sample_size=90).fit(amounts, y)
    assert isinstance(some._standardizer, LogStandardizer)
    inner = some._standardizer.inputs(amounts).X  # standardised by all rows, not by the sample
    np.testing.assert_allclose(inner.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(inner.std(axis=0), 1.0, rtol=1e-12)
