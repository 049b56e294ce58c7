"""Transformers of scikit-learn as nodes: each is a function from the rows it gets to the rows it gives."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from bayesvm.onnx_export.graph import Graph


@functools.singledispatch
def transformed(step: Any, g: Graph, X: str) -> str:
    """Return the rows (n, k) that a fitted transformer makes of the rows X (n, d)."""
    raise TypeError(f"to_onnx: a {type(step).__name__} cannot be exported")


@transformed.register
def _(step: StandardScaler, g: Graph, X: str) -> str:
    shift = step.mean_ if step.with_mean else 0.0
    return _affine(g, X, shift, step.scale_ if step.with_std else 1.0)


@transformed.register
def _(step: RobustScaler, g: Graph, X: str) -> str:
    return _affine(g, X, step.center_ if step.with_centering else 0.0, step.scale_ if step.with_scaling else 1.0)


@transformed.register
def _(step: MaxAbsScaler, g: Graph, X: str) -> str:
    if getattr(step, "clip", False):
        raise TypeError("to_onnx: a MaxAbsScaler with clip=True cannot be exported")
    return _affine(g, X, 0.0, step.scale_)


@transformed.register
def _(step: MinMaxScaler, g: Graph, X: str) -> str:
    scaled = g.op("Add", g.op("Mul", X, np.atleast_2d(step.scale_)), np.atleast_2d(step.min_))
    if not step.clip:
        return scaled
    low, high = (np.array(float(end)) for end in step.feature_range)
    return g.op("Min", g.op("Max", scaled, low), high)


@transformed.register
def _(step: Normalizer, g: Graph, X: str) -> str:
    """Divide every row by its norm; a row of zeros stays as it is."""
    size = g.op("Abs", X)
    if step.norm == "max":
        norm = g.op("ReduceMax", size, axes=[1], keepdims=1)
    elif step.norm == "l1":
        norm = g.row_sum(size)
    else:
        norm = g.op("Sqrt", g.row_sum(g.op("Mul", X, X)))
    empty = g.op("Equal", norm, np.array(0.0))
    return g.op("Div", X, g.op("Where", empty, np.array(1.0), norm))


@transformed.register
def _(step: PCA, g: Graph, X: str) -> str:
    rotated = g.op("MatMul", g.op("Sub", X, np.atleast_2d(step.mean_)), step.components_.T)
    return _affine(g, rotated, 0.0, np.sqrt(step.explained_variance_)) if step.whiten else rotated


@transformed.register
def _(step: TruncatedSVD, g: Graph, X: str) -> str:
    return g.op("MatMul", X, step.components_.T)


@transformed.register
def _(step: VarianceThreshold, g: Graph, X: str) -> str:
    return g.op("Gather", X, np.flatnonzero(step.get_support()).astype(np.int64), axis=1)


@transformed.register
def _(step: SimpleImputer, g: Graph, X: str) -> str:
    values = np.asarray(step.statistics_, dtype=float)
    if step.indicator_ is not None or np.isnan(values).any() or not _is_nan(step.missing_values):
        raise TypeError("to_onnx: a SimpleImputer is exported if it fills nan in every column and adds no indicator")
    return g.op("Where", g.op("IsNaN", X), np.atleast_2d(values), X)


@transformed.register
def _(step: PolynomialFeatures, g: Graph, X: str) -> str:
    """Return one column per product of powers."""
    columns = []
    for powers in step.powers_:
        factors = [
            g.op("Gather", X, np.array([j], dtype=np.int64), axis=1) for j in np.repeat(range(len(powers)), powers)
        ]
        if not factors:  # the constant, with as many rows as X
            first = g.op("Gather", X, np.array([0], dtype=np.int64), axis=1)
            factors = [g.op("Add", g.op("Mul", first, np.array(0.0)), np.array(1.0))]
        columns.append(functools.reduce(lambda a, b: g.op("Mul", a, b), factors))
    return g.op("Concat", *columns, axis=1)


@transformed.register
def _(step: FunctionTransformer, g: Graph, X: str) -> str:
    if step.func is not None:
        raise TypeError("to_onnx: a FunctionTransformer with a function cannot be exported")
    return X


def _affine(g: Graph, X: str, shift: Any, scale: Any) -> str:
    return g.op("Div", g.op("Sub", X, np.atleast_2d(shift)), np.atleast_2d(scale))


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and bool(np.isnan(value))


def steps_model(steps: list[Any], width: int) -> Any:
    """Return the model of several transformers: input ``X`` (n, d), output ``prepared`` (n, width)."""
    g = Graph()
    rows = "X"
    for step in steps:
        rows = transformed(step, g, rows)
    return g.model(int(steps[0].n_features_in_), {"prepared": (rows, "double", width)})


__all__ = ["steps_model", "transformed"]
