"""Machines with given hyperparameters as nodes: no posterior, a kernel expansion only."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from bayesvm.onnx_export.graph import Graph, labels
from bayesvm.onnx_export.kernels import cross_gram
from bayesvm.typing import Matrix


def _dense(inputs: Any) -> Matrix:
    return np.asarray(inputs.X.toarray() if inputs.is_sparse else inputs.X)


def kernel_machine(g: Graph, machine: Any) -> dict[str, Any]:
    """Return the outputs of a machine whose values are K a + b: mean, or label and decision."""
    K = cross_gram(g, machine.kernel_, "X", _dense(machine._model.inputs))
    values = g.op("Add", g.op("MatMul", K, machine.dual_coef_.T), np.atleast_1d(machine.intercept_)[None, :])
    if not is_classifier(machine):
        return {"mean": (values, "double", int(machine.dual_coef_.shape[0]))}
    k = int(machine.dual_coef_.shape[0])
    if machine.classes_.size > 2 and getattr(machine, "multi_class", "ovr") != "ovr":
        raise TypeError("to_onnx: a vote between pairs of classes cannot be exported; use multi_class='ovr'")
    scores = values if k > 1 else g.op("Concat", g.op("Neg", values), values, axis=1)
    return {"label": labels(g, machine.classes_, scores), "decision": (values, "double", k)}


def discriminant(g: Graph, machine: Any) -> dict[str, Any]:
    """Return the outputs of a Fisher discriminant: label, probabilities and projections."""
    K = cross_gram(g, machine.kernel_, "X", _user_units(machine))
    projections = g.op("Add", g.op("MatMul", K, machine.dual_coef_.T), machine.intercept_[None, :])
    columns = []
    for mean in machine.means_:
        gap = g.op("Sub", projections, mean[None, :])
        columns.append(g.row_sum(g.op("Mul", gap, gap)))
    distances = g.op("Concat", *columns, axis=1)
    scores = g.op("Sub", np.log(machine.class_prior_)[None, :], g.op("Mul", distances, np.array(0.5)))
    proba = g.op("Softmax", scores, axis=1)
    return {
        "label": labels(g, machine.classes_, proba),
        "probabilities": (proba, "double", int(machine.classes_.size)),
        "projections": (projections, "double", int(machine.intercept_.size)),
    }


def _user_units(machine: Any) -> Matrix:
    """Return the training rows as they were given: the kernel of a fitted estimator takes those."""
    return np.asarray(_dense(machine._rows) * machine._standardizer.scale + machine._standardizer.shift)


__all__ = ["discriminant", "kernel_machine"]
