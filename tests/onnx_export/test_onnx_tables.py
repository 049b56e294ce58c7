"""Pipelines with a table encoder as ONNX models: one input per column, the same predictions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from bayesvm import BayesianSVC, BayesianSVR, GPRegressor
from bayesvm.exceptions import ConvergenceWarning
from bayesvm.onnx_export import to_onnx
from bayesvm.tables import TableEncoder, TableWarning

onnxruntime = pytest.importorskip("onnxruntime")


def table(n, seed):
    """Return columns of every kind, with gaps."""
    rng = np.random.default_rng(seed)
    days = np.datetime64("2017-01-01T06:00") + rng.integers(0, 900, n) * np.timedelta64(1, "D")
    days = days + rng.integers(0, 24, n) * np.timedelta64(1, "h")
    gap = rng.random((4, n)) < 0.1
    return {
        "size": np.where(gap[0], np.nan, rng.normal(size=n)),
        "plain": rng.normal(size=n),
        "when": np.where(gap[1], np.datetime64("NaT", "m"), days),
        "ok": [None if gap[2, i] else bool(rng.integers(2)) for i in range(n)],
        "colour": [None if gap[3, i] else str(rng.choice(["red", "green", "blue"])) for i in range(n)],
        "shop": [f"shop {rng.integers(40)}" if rng.random() < 0.6 else "main" for _ in range(n)],
        "same": np.ones(n),
    }


def feeds(columns):
    """Return the columns as inputs of the model."""
    days = (columns["when"] - np.datetime64("1970-01-01")) / np.timedelta64(1, "D")
    truth = [np.nan if value is None else float(value) for value in columns["ok"]]
    numbers = {"size": columns["size"], "plain": columns["plain"], "when": days, "ok": truth}
    texts = {name: ["" if text is None else text for text in columns[name]] for name in ("colour", "shop")}
    return {
        **{name: np.asarray(values, dtype=np.float64)[:, None] for name, values in numbers.items()},
        **{name: np.asarray(values, dtype=object)[:, None] for name, values in texts.items()},
    }


def fitted(machine, columns, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return make_pipeline(TableEncoder(), machine).fit(columns, y)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_table_is_predicted_alike_in_onnx(task):
    columns, new = table(120, 0), table(40, 1)
    new["shop"][0], new["colour"][1] = "a shop that is new", "violet"
    f = columns["plain"] + np.nan_to_num(columns["size"])
    if task == "classification":
        model = fitted(BayesianSVC(None, n_starts=1), columns, np.where(f > 0.0, "up", "down"))
        method, output = "predict_proba", "probabilities"
    else:
        model = fitted(BayesianSVR(None, likelihood="soft-insensitive", n_starts=1), columns, f)
        method, output = "predict", "mean"
    kinds = [plan.kind.name for plan in model[0].plans_]
    assert kinds == ["NUMERIC", "NUMERIC", "DATE", "TRUTH", "CATEGORICAL", "CATEGORICAL", "CONSTANT"]
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    found = session.run([output], feeds(new))[0]
    with pytest.warns(TableWarning, match="a category that the training data do not have"):
        expected = getattr(model, method)(new)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-6, atol=1e-6)
    assert {entry.name for entry in session.get_inputs()} == set(new) - {"same"}


def test_pipelines_that_cannot_be_exported_are_named():
    columns = {"mean": np.arange(12.0) ** 2, "b": np.sin(np.arange(12.0))}
    with pytest.raises(TypeError, match="expected a pipeline that ends in a machine, found StandardScaler"):
        to_onnx(make_pipeline(StandardScaler()))
    X = np.random.default_rng(0).random((20, 2))
    with pytest.raises(TypeError, match="a QuantileTransformer cannot be exported"):
        to_onnx(make_pipeline(QuantileTransformer(n_quantiles=9), GPRegressor(None, n_starts=1)).fit(X, X[:, 0]))
    model = fitted(BayesianSVR(None, likelihood="soft-insensitive", n_starts=1), columns, np.cos(np.arange(12.0)))
    with pytest.raises(TypeError, match="the column 'mean' has the name of an output"):
        to_onnx(model)
