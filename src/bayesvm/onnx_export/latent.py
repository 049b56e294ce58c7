"""Latent means and variances of fitted models as nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesvm.kernels.inputs import Inputs
from bayesvm.models.large import LocalModel
from bayesvm.models.ls_svm import LeastSquaresModel
from bayesvm.models.predictor import Predictor
from bayesvm.models.rvm import RelevanceVectorModel
from bayesvm.onnx_export.graph import Graph
from bayesvm.onnx_export.kernels import cross_gram, prior_variance
from bayesvm.typing import Matrix


def latent(g: Graph, model: Any, X: str) -> tuple[list[str], list[str]]:
    """Return the means and the variances of the latent functions at standardised rows, as nodes side by side.

    The outputs of a least-squares model have one node of means, and one variance that stands once for each.
    """
    if isinstance(model, LocalModel):
        raise TypeError("to_onnx: predictions from neighbours have no counterpart; give a number of inducing inputs")
    if isinstance(model, Predictor):
        return _of_posteriors(g, model, X)
    if isinstance(model, LeastSquaresModel):
        mean, spreads = ls_moments(g, model, X, model.levels.predictor.centre[:, None])
        var = g.op("Add", spreads, np.array(model.levels.predictor.bias_var))
        return [mean], [var] * model.n_outputs
    if isinstance(model, RelevanceVectorModel):
        return _of_relevance_vectors(g, model, X)
    raise TypeError(f"to_onnx: models of type {type(model).__name__} cannot be exported")


def dense_rows(inputs: Inputs) -> Matrix:
    """Return the rows as an array, those of a sparse matrix too."""
    return np.asarray(inputs.X.toarray() if inputs.is_sparse else inputs.X)


def _of_posteriors(g: Graph, model: Predictor, X: str) -> tuple[list[str], list[str]]:
    Z = dense_rows(model.inputs)
    K, prior = cross_gram(g, model.kernel, X, Z), prior_variance(g, model.kernel, X)
    rows = np.unique(np.concatenate([posterior.support for posterior in model.posteriors]))
    means, variances = [], []
    for posterior in model.posteriors:
        alpha, R = np.zeros((len(Z), 1)), np.zeros((len(Z), len(Z)))
        alpha[np.searchsorted(rows, posterior.support), 0] = posterior.alpha
        at = np.searchsorted(rows, posterior.factor.support)
        R[np.ix_(at, at)] = posterior.factor.apply(np.eye(at.size))
        explained = g.row_sum(g.op("Mul", g.op("MatMul", K, R), K))
        means.append(g.op("MatMul", K, alpha))
        variances.append(g.op("Max", g.op("Sub", prior, explained), np.array(0.0)))
    return means, variances


def _of_relevance_vectors(g: Graph, model: RelevanceVectorModel, X: str) -> tuple[list[str], list[str]]:
    one = g.op("Add", g.op("Mul", g.row_sum(X), np.array(0.0)), np.array(1.0))
    parts = [one] if model.has_intercept else []
    if model.support.size:
        parts.append(cross_gram(g, model.kernel, X, dense_rows(model.inputs)))
    phi = parts[0] if len(parts) == 1 else g.op("Concat", *parts, axis=1)
    mean = g.op("MatMul", phi, model.weights[:, None])
    var = g.row_sum(g.op("Mul", g.op("MatMul", phi, model.covariance), phi))
    return [mean], [g.op("Max", var, np.array(0.0))]


def ls_moments(g: Graph, model: LeastSquaresModel, X: str, mixtures: Matrix) -> tuple[str, str]:
    """Return means (n, q) and variances of distances to mixtures of class centres (n, R) of a least-squares model."""
    p, a = model.levels.predictor, model.levels.predictor.anchors
    K = cross_gram(g, model.kernel, X, dense_rows(model.inputs))
    mean = g.op("Add", g.op("MatMul", K, p.beta), p.bias[None, :])
    prior = prior_variance(g, model.kernel, X)
    U = g.op("MatMul", K, p.T)
    columns = []
    for mixture in mixtures.T:
        u = g.op("Sub", U, (a.shift @ mixture)[None, :])
        explained = g.row_sum(g.op("Mul", g.op("Mul", u, u), p.gain[None, :]))
        crossed = g.op("MatMul", K, 2.0 * (a.rho @ mixture)[:, None])
        distance = g.op("Add", g.op("Sub", prior, crossed), np.array(float(mixture @ a.gram @ mixture)))
        columns.append(g.op("Sub", distance, explained))
    spreads = columns[0] if len(columns) == 1 else g.op("Concat", *columns, axis=1)
    return mean, g.op("Div", g.op("Max", spreads, np.array(0.0)), np.array(float(p.mu)))


__all__ = ["dense_rows", "latent", "ls_moments"]
