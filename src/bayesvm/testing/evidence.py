"""The evidence of two or three points by quadrature, against which approximations can be held."""

from __future__ import annotations

import itertools

import numpy as np

from bayesvm.likelihoods.base import Likelihood, Regression
from bayesvm.linalg import cholesky
from bayesvm.typing import Matrix, Vector

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def _rule(knots: Vector, mean: float, scale: float) -> tuple[Vector, Vector]:
    """Return nodes and weights under a Gaussian, cut at the knots and at every second standard deviation."""
    near = {float(k) for k in knots if abs(k - mean) < 12.0 * scale}
    ends = sorted(near | {mean + scale * k for k in range(-12, 13, 2)})
    nodes = np.concatenate([0.5 * (a + b) + 0.5 * (b - a) * _NODES for a, b in itertools.pairwise(ends)])
    weights = np.concatenate([0.5 * (b - a) * _WEIGHTS for a, b in itertools.pairwise(ends)])
    return nodes, weights * np.exp(-0.5 * ((nodes - mean) / scale) ** 2) / (np.sqrt(2.0 * np.pi) * scale)


def _knots(likelihood: Likelihood, y: float) -> Vector:
    """Return latent values between which the loss of one target is smooth at its own scale."""
    knots = np.asarray(likelihood.knots)
    if not isinstance(likelihood, Regression):
        return y * knots
    steps = np.sqrt(likelihood.noise_variance) * np.array([0.0, 1.0, 3.0, 8.0, 20.0])
    return y - np.concatenate([knots, steps, -steps])


def exact_log_evidence(K: Matrix, y: Vector, likelihood: Likelihood) -> float:
    """Return the log evidence of one, two or three points.

    The latent values are integrated one after the other, the last one by ``log_predictive``, the others by
    Gauss-Legendre panels between the knots of the loss.

    Parameters
    ----------
    K : array, shape (n, n)
        Covariance of the latent values, n at most 3.
    y : array, shape (n,)
        Labels -1/+1 or targets.
    likelihood : Likelihood
        A likelihood of one sample, without weights.

    Returns
    -------
    float
        Right to about 1e-10 unless the loss is very steep.
    """
    if not 1 <= y.size <= 3:
        raise ValueError(f"exact_log_evidence: expected one, two or three points, found {y.size}")
    return _rest(K, y, likelihood, np.empty(0))


def _rest(K: Matrix, y: Vector, likelihood: Likelihood, f: Vector) -> float:
    """Return the log evidence of the points after the first ``f.size``, whose latent values are given."""
    k = f.size
    mean, var = 0.0, float(K[k, k])
    if k:
        gain = cholesky(K[:k, :k].copy()).solve(K[:k, k])
        mean, var = float(gain @ f), float(K[k, k] - gain @ K[:k, k])
    if k == y.size - 1:
        return float(likelihood.log_predictive(y[k:], np.array([mean]), np.array([var]))[0])
    nodes, weights = _rule(_knots(likelihood, float(y[k])), mean, float(np.sqrt(var)))
    terms = np.log(weights) - likelihood.derivatives(np.full_like(nodes, y[k]), nodes).loss
    if k == y.size - 2:  # the last integral for all nodes at once
        known = np.column_stack([np.tile(f, (nodes.size, 1)), nodes])
        gain = cholesky(K[: k + 1, : k + 1].copy()).solve(K[: k + 1, k + 1])
        left = float(K[k + 1, k + 1] - gain @ K[: k + 1, k + 1])
        target = np.full_like(nodes, y[k + 1])
        terms += likelihood.log_predictive(target, known @ gain, np.full_like(nodes, left))
    else:
        terms += np.array([_rest(K, y, likelihood, np.append(f, node)) for node in nodes])
    return float(np.logaddexp.reduce(terms))


__all__ = ["exact_log_evidence"]
