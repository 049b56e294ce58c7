r"""Weights of predictors that predict best together: stacking of leave-one-out predictions (Yao2018).

Weights by the probability of each predictor's own leave-one-out predictions end with one predictor as soon as there are
many rows. Those of stacking maximise the probability of what all predict together,

.. math:: \max_{w \ge 0,\; \sum_j w_j = 1}\; \sum_i c_i \ln \sum_j w_j\, p_j(y_i | D_{\setminus i}) ,

a concave problem: predictors that fail on different rows share the weight, and equal ones do not need it. Its fixed
point iteration, :math:`w_j \leftarrow w_j g_j` with

.. math:: g_j = \frac1N \sum_i c_i \frac{p_j(y_i)}{\sum_k w_k\, p_k(y_i)}, \qquad N = \sum_i c_i ,

increases the objective with every step, and what is left to gain is at most :math:`N \ln \max_j g_j`.
"""

from __future__ import annotations

import numpy as np

from bayesvm.typing import Matrix, Vector

#: Predictors with a smaller weight are left out.
SHARE = 0.05
#: What may be left to gain, in nats, and the most steps.
GAIN, STEPS = 0.01, 10_000


def stacked_weights(log_likelihoods: Matrix, counts: Vector) -> Vector:
    """Return the weights of predictors, which add up to one; zero for those that are left out.

    Parameters
    ----------
    log_likelihoods : array, shape (m, n)
        Logarithms of the probability that each predictor gives to what was observed, without having seen it.
    counts : array, shape (n,)
        How many rows each row stands for.
    """
    kept = np.arange(len(log_likelihoods))
    while True:
        weights = np.zeros(len(log_likelihoods))
        weights[kept] = _best_mixture(log_likelihoods[kept], counts)
        heavy = np.flatnonzero(weights >= SHARE)
        if heavy.size == kept.size:
            return weights
        kept = heavy


def _best_mixture(log_likelihoods: Matrix, counts: Vector) -> Vector:
    """Return the best weights of all predictors, none of which is left out."""
    relative = np.exp(log_likelihoods - np.max(log_likelihoods, axis=0))
    m, total = len(relative), float(counts.sum())
    weights = np.full(m, 1.0 / m)
    for _ in range(STEPS if m > 1 else 0):
        slopes = relative @ (counts / (weights @ relative)) / total
        if total * np.log(np.max(slopes)) <= GAIN:
            break
        weights = weights * slopes
    return np.asarray(weights / weights.sum())


__all__ = ["SHARE", "stacked_weights"]
