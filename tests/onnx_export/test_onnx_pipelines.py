"""Pipelines of scikit-learn's transformers before a machine predict the same in onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from model_zoo import data, fitted
from sklearn import decomposition, feature_selection, impute, preprocessing
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from bayesvm import BayesianSVC, BayesianSVR
from bayesvm.onnx_export import to_onnx
from bayesvm.tables import TableEncoder

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

STEPS = {
    "standard": [preprocessing.StandardScaler()],
    "standard, no mean": [preprocessing.StandardScaler(with_mean=False, with_std=False)],
    "robust": [preprocessing.RobustScaler()],
    "robust, nothing": [preprocessing.RobustScaler(with_centering=False, with_scaling=False)],
    "largest": [preprocessing.MaxAbsScaler()],
    "range": [preprocessing.MinMaxScaler((-1, 2), clip=True)],
    "range, not cut": [preprocessing.MinMaxScaler()],
    "l1": [preprocessing.Normalizer("l1")],
    "l2": [preprocessing.Normalizer()],
    "max": [preprocessing.Normalizer("max")],
    "pca": [decomposition.PCA(2, whiten=True)],
    "svd": [decomposition.TruncatedSVD(2, random_state=0)],
    "variance": [feature_selection.VarianceThreshold(0.01)],
    "filled": [impute.SimpleImputer(strategy="median")],
    "powers": [preprocessing.PolynomialFeatures(2)],
    "as they are": [preprocessing.FunctionTransformer(), "passthrough"],
    "several": [impute.SimpleImputer(), preprocessing.StandardScaler(), decomposition.PCA(2)],
}


def rows(seed, gaps):
    X = np.column_stack([data(40, seed)[0], np.zeros(40), np.random.default_rng(seed).normal(3.0, 5.0, 40)])
    X[:5, 0] *= 3.0
    return np.where((np.arange(X.size).reshape(X.shape) % 9 == 0) & gaps, np.nan, X)


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_they_predict_the_same(name, task):
    gaps = isinstance(STEPS[name][0], impute.SimpleImputer)
    X, new = rows(0, gaps), rows(1, gaps)
    _, labels, targets = data(40)
    quick = {"kernel": None, "n_starts": 1, "max_evaluations": 15}
    machine = BayesianSVC(**quick) if task == "classification" else BayesianSVR(likelihood="soft-insensitive", **quick)
    model = make_pipeline(*STEPS[name], machine)
    fitted(model, X, labels if task == "classification" else targets)
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    expected = model.predict_proba(new) if task == "classification" else model.predict(new)
    output = "probabilities" if task == "classification" else "mean"
    found = session.run([output], {"X": new})[0].reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.ptp(expected))


def test_after_a_table():
    pd = pytest.importorskip("pandas")
    X, _, targets = data(40)
    table = pd.DataFrame({"size": X[:, 0], "colour": np.where(X[:, 1] > 0.0, "red", "blue")})
    model = make_pipeline(TableEncoder(), preprocessing.StandardScaler(), BayesianSVR(n_starts=1))
    fitted(model, table, targets)
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    feeds = {"size": table[["size"]].to_numpy(), "colour": table[["colour"]].to_numpy(dtype=str).astype(object)}
    np.testing.assert_allclose(session.run(["mean"], feeds)[0][:, 0], model.predict(table), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (impute.SimpleImputer(add_indicator=True), "adds no indicator"),
        (preprocessing.FunctionTransformer(np.abs), "with a function"),
        (preprocessing.PowerTransformer(), "PowerTransformer cannot be exported"),
    ],
)
def test_what_has_no_counterpart_is_named(step, words):
    X, y, _ = data(40)
    X = np.where(np.arange(X.size).reshape(X.shape) % 9 == 0, np.nan, X) if "indicator" in words else X
    with pytest.raises(TypeError, match=words):
        to_onnx(fitted(make_pipeline(step, BayesianSVC(None, n_starts=1, max_evaluations=5)), X, y))


def test_pipelines_must_be_fitted():
    with pytest.raises(NotFittedError):
        to_onnx(make_pipeline(preprocessing.StandardScaler(), BayesianSVC()))
