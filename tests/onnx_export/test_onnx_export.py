"""Exported machines predict the same in onnxruntime, to 1e-5 (of the spread of the values)."""

from __future__ import annotations

import numpy as np
import pytest
from model_zoo import data, fitted, models
from sklearn.base import is_classifier

from bayesvm import BayesianSVC, Committee, GPClassifier
from bayesvm.estimators.bayesian_svr import BayesianSVR
from bayesvm.kernels import (
    BSpline,
    Constant,
    Gaussian,
    Laplacian,
    Linear,
    Matern32,
    Matern52,
    OrnsteinUhlenbeck,
    Polynomial,
    RationalQuadratic,
)
from bayesvm.onnx_export import to_onnx

#: The noise model of the thesis.
SOFT = "soft-insensitive"

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

#: Machines that are exported, and machines whose probabilities (drawn at random) have no counterpart.
REQUIRED = {
    "BayesianLSSVC",
    "BayesianLSSVR",
    "BayesianSVC",
    "BayesianSVR",
    "Committee",
    "ExtendedSVC",
    "ExtendedSVR",
    "GPClassifier",
    "GPRegressor",
    "KernelFisherDiscriminant",
    "RelevanceVectorClassifier",
    "RelevanceVectorRegressor",
    "TrigonometricSVC",
    "VariationalSVC",
}
REFUSED = {"ProbabilisticSVC"}


def answers(model, X):
    session = runtime.InferenceSession(to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": np.ascontiguousarray(X)})))


def assert_same(model, X):
    found = answers(model, X)
    if not hasattr(model, "predict_proba") and is_classifier(model):
        np.testing.assert_allclose(np.squeeze(found["decision"]), model.decision_function(X), atol=1e-5, rtol=1e-5)
        assert np.all(found["label"] == model.predict(X))
    elif is_classifier(model):
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-5)
        sure = np.abs(np.diff(np.sort(model.predict_proba(X), axis=1)[:, -2:], axis=1))[:, 0] > 1e-4
        assert np.all(found["label"][sure] == model.predict(X)[sure])
    elif "variance" not in found:
        np.testing.assert_allclose(np.squeeze(found["mean"]), model.predict(X), atol=1e-5, rtol=1e-5)
    else:
        mean, std = model.predict(X, return_std=True)
        np.testing.assert_allclose(np.squeeze(found["mean"]), mean, atol=1e-5, rtol=1e-5)
        np.testing.assert_allclose(np.squeeze(np.sqrt(found["variance"])), std, atol=1e-5, rtol=1e-5)
    if hasattr(model, "predict_latent"):
        mean, std = model.predict_latent(X)
        np.testing.assert_allclose(np.squeeze(found["latent_mean"]), mean, atol=1e-5, rtol=1e-5)
        np.testing.assert_allclose(np.squeeze(np.sqrt(found["latent_variance"])), std, atol=1e-5, rtol=1e-5)


@pytest.mark.xdist_group("fitted models of every estimator")
def test_every_machine():
    X = 2.0 * data(60, seed=1)[0]
    exported = set()
    for name, model in models():
        if name in REQUIRED:
            assert_same(model, X)
            exported.add(name)
        elif name in REFUSED:
            with pytest.raises(TypeError, match=r"to_onnx: .+"):
                to_onnx(model)
    assert exported == REQUIRED


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(ard=True),
        Matern32() + Constant(),
        Matern52(ard=True),
        OrnsteinUhlenbeck(),
        RationalQuadratic(),
        Laplacian(),
        Laplacian(power=0.5, ard=True) + Constant(),
        Linear(ard=True) + Constant(),
        Polynomial(2),
        1.0 * Matern32().on([0]) * Linear(),
        2.0 * Gaussian() * Linear() + Constant(),
        Gaussian().on([1]) + Linear().on([0]) + Constant(),
    ],
    ids=repr,
)
def test_every_standard_kernel(kernel):
    X, y, _ = data()
    model = fitted(BayesianSVC(kernel, n_starts=1, max_evaluations=5), X, y)
    assert_same(model, data(40, seed=2)[0])


@pytest.mark.parametrize("likelihood", ["trigonometric", "raised-cosine", "logistic", "probit"])
@pytest.mark.parametrize("posterior", ["laplace", "ep"])
def test_likelihoods_far_and_near(likelihood, posterior):
    X, y, _ = data()
    model = fitted(BayesianSVC(None, likelihood=likelihood, posterior=posterior, n_starts=1, max_evaluations=10), X, y)
    assert_same(model, np.vstack([X, 100.0 * X, np.zeros((1, 2))]))


def test_several_classes_weights_and_priors():
    X, _, f = data(60)
    y = np.digitize(f, [-0.5, 0.5])
    model = BayesianSVC(None, n_starts=1, max_evaluations=10, class_weight="balanced", class_prior="empirical")
    fitted(model, X, y)
    assert_same(model, X)
    assert answers(model, X)["label"].dtype == np.int64


@pytest.mark.parametrize(
    "model",
    [
        BayesianSVC(random_state=0),
        BayesianSVC(None, multi_class="ovr", n_starts=1, max_evaluations=10),
        BayesianSVC(None, calibrate=None, n_starts=1, max_evaluations=10),
        GPClassifier(None, calibrate="auto", inducing=20, n_starts=1, max_evaluations=10, random_state=0),
    ],
    ids=["shared", "own kernels", "not calibrated", "inducing inputs"],
)
def test_forms_of_several_classes(model):
    X, _, f = data(60)
    assert_same(fitted(model, X, np.digitize(f, [-0.5, 0.5])), X)


def test_several_outputs_and_committees():
    X, _, y = data()
    several = fitted(
        BayesianSVR(None, likelihood=SOFT, n_starts=1, max_evaluations=5),
        X,
        np.column_stack([y, 10.0 * y[::-1] + 3.0]),
    )
    assert_same(several, X)
    assert_same(fitted(Committee(BayesianSVR(None, likelihood=SOFT, n_starts=2, max_evaluations=5)), X, y), X)


def test_what_cannot_be_exported_is_named():
    X, y, _ = data()
    with pytest.raises(TypeError, match="kernel BSpline cannot be exported"):
        to_onnx(fitted(BayesianSVC(BSpline(lengthscale=9.0), n_starts=1, max_evaluations=3), X, y))
