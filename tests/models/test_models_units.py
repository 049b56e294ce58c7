"""Logarithms of skewed features: which are taken, back again, and whether the evidence wants them."""

import numpy as np
import pytest

import bayesvm
from bayesvm.estimators import _large
from bayesvm.hyper import large
from bayesvm.kernels import Gaussian
from bayesvm.models.scaling import LogStandardizer, Standardizer


def features(n=400, seed=0):
    """Columns: amounts over orders of magnitude, the same to the left, a normal one, rare events, a constant."""
    rng = np.random.default_rng(seed)
    amounts = np.exp(2.0 * rng.normal(size=n))
    rare = (rng.uniform(size=n) < 0.02).astype(float)
    return np.column_stack([amounts, 5.0 - np.exp(1.5 * rng.normal(size=n)), rng.normal(size=n), rare, np.ones(n)])


def test_skewed_features_and_no_others_become_logarithms():
    X = features()
    units = LogStandardizer.curved(X)
    assert (units.unit > 0.0).tolist() == [True, True, False, False, False]
    assert units.origin[0] == X[:, 0].min()
    assert units.origin[1] == X[:, 1].max()
    Z = units.inputs(X).X
    np.testing.assert_allclose(Z[:, :4].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(Z[:, :4].std(axis=0), 1.0, rtol=1e-12)
    assert np.all(np.abs(np.mean(Z[:, :2] ** 3, axis=0)) < 0.5)
    np.testing.assert_allclose(Z[:, 2:4], Standardizer.of(X).inputs(X).X[:, 2:4], rtol=1e-12)
    assert LogStandardizer.curved(X[:, 2:]) is None


def test_the_units_of_a_feature_do_not_matter():
    X = features()
    one, other = LogStandardizer.curved(X), LogStandardizer.curved(X * 1e6 - 1e3)
    np.testing.assert_allclose(one.inputs(X).X, other.inputs(X * 1e6 - 1e3).X, atol=1e-8)


def test_there_and_back_again():
    X, new = features(), features(50, 1)
    units = LogStandardizer.curved(X)
    np.testing.assert_allclose(units.outer(units.inputs(new).X), new, rtol=1e-9, atol=1e-12)
    plain = Standardizer.of(X)
    np.testing.assert_allclose(plain.outer(plain.inputs(new).X), new, rtol=1e-12, atol=1e-12)
    inner = Gaussian(0.7, 1.3)
    for own in (units, plain):
        np.testing.assert_allclose(own.kernel(inner).gram(new), inner.gram(own.inputs(new)), rtol=1e-9)


@pytest.fixture
def few_rows_are_many(monkeypatch):
    monkeypatch.setattr(_large, "EXACT_ROWS", 150)
    monkeypatch.setattr(large, "SAMPLE", 120)


def problem(curved, n=200):
    """A function of the logarithm of an amount, or of the amount itself."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.exp(1.2 * rng.normal(size=n)), rng.normal(size=n)])
    f = 2.0 * np.sin(1.5 * np.log(X[:, 0])) if curved else np.sin(X[:, 0]) + 0.3 * X[:, 0]
    return X, f + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("curved", [True, False])
def test_the_evidence_chooses_the_units_of_a_regression(few_rows_are_many, curved):
    X, y = problem(curved)
    machine = bayesvm.GPRegressor(n_starts=1, inducing=30, random_state=0).fit(X, y)
    assert isinstance(machine._standardizer, LogStandardizer) == curved
    gaps = np.abs(machine.inducing_inputs_[:, None, :] - X[None]).max(axis=2).min(axis=1)
    np.testing.assert_allclose(gaps, 0.0, atol=1e-9)
    K = machine.kernels_[0].gram(X[:5])
    inner = machine.models_[0].kernel.gram(machine._standardizer.inputs(X[:5])) * machine._targets.scale[0] ** 2
    np.testing.assert_allclose(K, inner, rtol=1e-9)


def test_a_given_kernel_has_standard_units(few_rows_are_many):
    X, y = problem(True)
    machine = bayesvm.GPRegressor("rbf + constant", n_starts=1, inducing=30, random_state=0).fit(X, y)
    assert not isinstance(machine._standardizer, LogStandardizer)


def test_classes_saving_and_further_rows(few_rows_are_many, tmp_path):
    X, y = problem(True)
    machine = bayesvm.BayesianSVC(n_starts=1, inducing=30, random_state=0, warm_start=True).fit(X, y > 0.0)
    assert isinstance(machine._standardizer, LogStandardizer)
    proba = machine.predict_proba(X)
    bayesvm.save(machine, tmp_path / "model.bvm")
    np.testing.assert_array_equal(bayesvm.load(tmp_path / "model.bvm").predict_proba(X), proba)
    again = machine.fit(X, y > 0.0)
    assert isinstance(again._standardizer, LogStandardizer)
    np.testing.assert_allclose(again.predict_proba(X), proba, atol=0.1)


def test_onnx(few_rows_are_many):
    runtime = pytest.importorskip("onnxruntime")
    from bayesvm.onnx_export import to_onnx

    X, y = problem(True)
    machine = bayesvm.GPRegressor(n_starts=1, inducing=30, random_state=0).fit(X, y)
    assert isinstance(machine._standardizer, LogStandardizer)
    session = runtime.InferenceSession(to_onnx(machine).SerializeToString())
    (mean,) = session.run(["mean"], {"X": X})
    np.testing.assert_allclose(mean[:, 0], machine.predict(X), rtol=1e-6, atol=1e-6)
