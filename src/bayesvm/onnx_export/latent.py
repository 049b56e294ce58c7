"""Latent means and variances of the kinds of machines as nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesvm.estimators._ls_machine import LSMachine
from bayesvm.estimators._machine import Machine
from bayesvm.onnx_export.graph import Graph
from bayesvm.onnx_export.kernels import cross_gram, prior_variance
from bayesvm.typing import Matrix


def latent(g: Graph, machine: Any, X: str) -> tuple[str, str]:
    """Return mean (n, q) and variance (n, 1) of the latent function at standardised rows."""
    if isinstance(machine, Machine):
        return _of_posterior(g, machine, X)
    if isinstance(machine, LSMachine):
        mean, spreads = ls_moments(g, machine, X, machine.levels.predictor.centre[:, None])
        return mean, g.op("Add", spreads, np.array(machine.levels.predictor.bias_var))
    if hasattr(machine, "has_intercept"):
        return _of_relevance_vectors(g, machine, X)
    raise TypeError(f"to_onnx: machines of type {type(machine).__name__} cannot be exported")


def rows_of(machine: Any) -> Matrix:
    """Return the rows on which a machine rests, dense."""
    X = machine.inputs.X
    return np.asarray(X.toarray() if machine.inputs.is_sparse else X)


def _of_posterior(g: Graph, machine: Machine, X: str) -> tuple[str, str]:
    Z, posterior = rows_of(machine), machine.posterior
    K = cross_gram(g, machine.kernel, X, Z)
    mean = g.op("MatMul", K, posterior.alpha[:, None])
    R = np.zeros((len(Z), len(Z)))
    at = np.searchsorted(posterior.support, posterior.factor.support)
    R[np.ix_(at, at)] = posterior.factor.apply(np.eye(at.size))
    explained = g.row_sum(g.op("Mul", g.op("MatMul", K, R), K))
    var = g.op("Sub", prior_variance(g, machine.kernel, X), explained)
    return mean, g.op("Max", var, np.array(0.0))


def _of_relevance_vectors(g: Graph, machine: Any, X: str) -> tuple[str, str]:
    one = g.op("Add", g.op("Mul", g.row_sum(X), np.array(0.0)), np.array(1.0))
    parts = [one] if machine.has_intercept else []
    if machine.support.size:
        parts.append(cross_gram(g, machine.kernel, X, rows_of(machine)))
    phi = parts[0] if len(parts) == 1 else g.op("Concat", *parts, axis=1)
    weights = np.concatenate([[machine.intercept], machine.alpha]) if machine.has_intercept else machine.alpha
    mean = g.op("MatMul", phi, weights[:, None])
    var = g.row_sum(g.op("Mul", g.op("MatMul", phi, machine.covariance), phi))
    return mean, g.op("Max", var, np.array(0.0))


def ls_moments(g: Graph, machine: LSMachine, X: str, mixtures: Matrix) -> tuple[str, str]:
    """Return means (n, q), and variances of distances to mixtures of class centres (n, R), of a least-squares machine."""
    p, a = machine.levels.predictor, machine.levels.predictor.anchors
    K = cross_gram(g, machine.kernel, X, rows_of(machine))
    mean = g.op("Add", g.op("MatMul", K, p.beta), p.bias[None, :])
    prior = prior_variance(g, machine.kernel, X)
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


__all__ = ["latent", "ls_moments", "rows_of"]
