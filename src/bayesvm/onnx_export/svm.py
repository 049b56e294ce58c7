"""Estimators with given hyperparameters as nodes: no posterior, a kernel expansion only."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from bayesvm.onnx_export.graph import Graph, labels
from bayesvm.onnx_export.kernels import cross_gram
from bayesvm.onnx_export.latent import dense_rows
from bayesvm.typing import Matrix


def kernel_expansion(g: Graph, estimator: Any) -> dict[str, Any]:
    """Return the outputs of an estimator whose values are K a + b: mean, or label and decision."""
    K = cross_gram(g, estimator.kernel_, "X", dense_rows(estimator._model.inputs))
    values = g.op("Add", g.op("MatMul", K, estimator.dual_coef_.T), np.atleast_1d(estimator.intercept_)[None, :])
    if not is_classifier(estimator):
        return {"mean": (values, "double", int(estimator.dual_coef_.shape[0]))}
    k = int(estimator.dual_coef_.shape[0])
    if estimator.classes_.size > 2 and getattr(estimator, "multi_class", "ovr") != "ovr":
        raise TypeError("to_onnx: a vote between pairs of classes cannot be exported; use multi_class='ovr'")
    scores = values if k > 1 else g.op("Concat", g.op("Neg", values), values, axis=1)
    return {"label": labels(g, estimator.classes_, scores), "decision": (values, "double", k)}


def discriminant(g: Graph, estimator: Any) -> dict[str, Any]:
    """Return the outputs of a Fisher discriminant: label, probabilities and projections."""
    K = cross_gram(g, estimator.kernel_, "X", _user_units(estimator))
    projections = g.op("Add", g.op("MatMul", K, estimator.dual_coef_.T), estimator.intercept_[None, :])
    columns = []
    for mean in estimator.means_:
        gap = g.op("Sub", projections, mean[None, :])
        columns.append(g.row_sum(g.op("Mul", gap, gap)))
    distances = g.op("Concat", *columns, axis=1)
    scores = g.op("Sub", np.log(estimator.class_prior_)[None, :], g.op("Mul", distances, np.array(0.5)))
    proba = g.op("Softmax", scores, axis=1)
    return {
        "label": labels(g, estimator.classes_, proba),
        "probabilities": (proba, "double", int(estimator.classes_.size)),
        "projections": (projections, "double", int(estimator.intercept_.size)),
    }


def _user_units(estimator: Any) -> Matrix:
    """Return the training rows as they were given: the kernel of a fitted estimator takes those."""
    return np.asarray(estimator._standardizer.outer(dense_rows(estimator._rows)))


__all__ = ["discriminant", "kernel_expansion"]
