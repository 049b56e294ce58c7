"""Pipelines: the encoder of tables and transformers of scikit-learn before a machine, as one model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from bayesvm.onnx_export.steps import steps_model
from bayesvm.onnx_export.table import ENCODED, table_model
from bayesvm.tables import TableEncoder


def pipeline_model(pipeline: Pipeline, export: Callable[[Any], Any]) -> Any:
    """Return a pipeline as one model; ``export`` makes a model of its last step."""
    steps = [step for _, step in pipeline.steps if step is not None and not isinstance(step, str)]
    if not hasattr(steps[-1], "predict"):
        raise TypeError(f"to_onnx: expected a pipeline that ends in a machine, found {type(steps[-1]).__name__}")
    for step in steps:
        check_is_fitted(step)
    model = _prefixed(export(steps[-1]), "machine/")
    encoder = steps[0] if isinstance(steps[0], TableEncoder) else None
    between = steps[(0 if encoder is None else 1) : -1]
    if between:
        model = _joined(_prefixed(steps_model(between, int(steps[-1].n_features_in_)), "steps/"), model, "prepared")
    if encoder is None:
        return model
    outputs = {output.name for output in model.graph.output}
    taken = [plan.name for plan in encoder.plans_ if plan.outputs and plan.name in outputs]
    if taken:
        raise TypeError(f"to_onnx: the column {taken[0]!r} has the name of an output; give it another name")
    return _joined(_prefixed(table_model(encoder), "table/"), model, ENCODED)


def _prefixed(model: Any, prefix: str) -> Any:
    """Return a model whose inner names begin with a prefix, so that they differ from those of another."""
    outer = {"", *(entry.name for entry in (*model.graph.input, *model.graph.output))}
    return _renamed(model, lambda name: name if name in outer else prefix + name)


def _renamed(model: Any, new: Callable[[str], str]) -> Any:
    """Return a model with other names of its values (``onnx.compose.add_prefix`` renames outputs before ONNX 1.19)."""
    found = type(model)()
    found.CopyFrom(model)
    for node in found.graph.node:
        node.ClearField("name")  # names of nodes are for readers, and have to differ
        node.input[:] = [new(name) for name in node.input]
        node.output[:] = [new(name) for name in node.output]
    for entry in (*found.graph.input, *found.graph.output, *found.graph.initializer, *found.graph.value_info):
        entry.name = new(entry.name)
    return found


def _joined(first: Any, second: Any, between: str) -> Any:
    """Return two models as one: the output ``between`` of the first is the input X of the second."""
    from onnx import compose

    names = {entry.name for entry in first.graph.input}
    if "X" in names:  # the second's input of that name gives way
        second = _renamed(second, lambda name: "second/X" if name == "X" else name)
        return compose.merge_models(first, second, io_map=[(between, "second/X")])
    return compose.merge_models(first, second, io_map=[(between, "X")])


__all__ = ["pipeline_model"]
