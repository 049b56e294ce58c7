"""Which points to label next, by the information they are expected to bring."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import xlogy
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from bayesvm.typing import Indices, Matrix, Vector

#: Nodes of the trapezoidal rule over the latent function, in standard deviations; many, since a likelihood may rise
#: within a few per cent of one.
_NODES = np.linspace(-6.5, 6.5, 401)
_WEIGHTS = np.exp(-0.5 * _NODES**2) / np.exp(-0.5 * _NODES**2).sum()
#: Rows of the pool that are worked on at a time.
_BLOCK = 2000


def suggest(estimator: Any, X_pool: Any, n: int = 1, strategy: str = "mutual-information") -> Indices:
    r"""Return the rows of a pool that are most worth a label, the best first.

    Parameters
    ----------
    estimator : fitted classifier or regressor
        With ``predict_latent``; ``"entropy"`` of a classifier needs ``predict_proba`` only.
    X_pool : array, shape (m, d)
        Candidates.
    n : int
        How many rows to choose.
    strategy : {"mutual-information", "variance", "entropy"}
        What a label is worth.

        - "variance": the variance of the latent function.
        - "entropy": the entropy of the label (or the variance of the target): how uncertain the prediction is, noise
          included.
        - "mutual-information": the information that the label gives about the latent function,
          :math:`H[y] - \mathrm E_f H[y|f]`; for a regressor :math:`\tfrac12 \ln(1 + v/\sigma^2)`. Labels that are
          uncertain only because the classes overlap are worth little.

    Returns
    -------
    rows : array of int, shape (n,)
        Row numbers in the pool.

    Notes
    -----
    Chosen together, points should not repeat one another. If the estimator can tell the joint posterior (``sample``),
    the n points are chosen one after the other: after each choice the scores of the others shrink by the share of their
    variance that a label there would explain, :math:`1 - \rho^2`, with the correlations :math:`\rho` of the latent
    function estimated from posterior draws. Otherwise the n highest scores are returned.

    References
    ----------
    MacKay1992b (information-based objective functions); Thesis chapter 6.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayesvm import BayesianSVC, suggest
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> machine = BayesianSVC(n_starts=1).fit(X[:30], y[:30])
    >>> len(suggest(machine, X[30:], 5))
    5
    """
    check_is_fitted(estimator)
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy: expected one of {', '.join(map(repr, STRATEGIES))}, found {strategy!r}")
    size = X_pool.shape[0] if hasattr(X_pool, "shape") else len(X_pool)
    if not isinstance(n, numbers.Integral) or isinstance(n, bool) or not 1 <= n <= size:
        raise ValueError(f"n: expected an integer from 1 to the size of the pool, {size}, found {n!r}")
    scores = STRATEGIES[strategy](estimator, X_pool)
    if n == 1 or not hasattr(estimator, "sample"):
        return np.argsort(-scores, kind="stable")[: int(n)]
    return _spread(estimator, X_pool, scores, int(n))


# -- scores
# ---------------------------------------------------------------------------------------------------------------
def _latent(estimator: Any, X: Any) -> tuple[Matrix, Matrix]:
    """Return latent means and variances, one column per function."""
    if not hasattr(estimator, "predict_latent"):
        raise TypeError(f"suggest: expected an estimator with predict_latent, found {type(estimator).__name__}")
    mean, std = estimator.predict_latent(X, return_std=True)
    return mean.reshape(len(mean), -1), std.reshape(len(std), -1) ** 2


def _variance(estimator: Any, X: Any) -> Vector:
    return np.asarray(_latent(estimator, X)[1].sum(axis=1))


def _entropy(estimator: Any, X: Any) -> Vector:
    if not is_classifier(estimator):
        return np.asarray(np.log(estimator.predict(X, return_std=True)[1]).reshape(_rows(X), -1).sum(axis=1))
    p = estimator.predict_proba(X)
    return np.asarray(-np.sum(xlogy(p, p), axis=1))


def _mutual_information(estimator: Any, X: Any) -> Vector:
    models = getattr(estimator, "models_", ())
    if models and hasattr(models[0], "mutual_information"):  # one model of all classes
        return np.asarray(models[0].mutual_information(estimator._inputs(X)))
    mean, var = _latent(estimator, X)
    if not is_classifier(estimator):
        noise = np.atleast_1d(estimator.noise_std_) ** 2
        return np.asarray(0.5 * np.log1p(var / np.maximum(noise, np.finfo(float).tiny)).sum(axis=1))
    if hasattr(estimator, "models_"):
        likelihoods = [model.likelihood.plain for model in estimator.models_ for _ in range(model.n_outputs)]
    else:  # a network: one likelihood for all its outputs
        likelihoods = [estimator.likelihood_] * mean.shape[1]
    columns = [_bald(likelihood, mean[:, k], var[:, k]) for k, likelihood in enumerate(likelihoods)]
    return np.asarray(np.sum(columns, axis=0))


def _bald(likelihood: Any, mean: Vector, var: Vector) -> Vector:
    """Return the mutual information between a label of two classes and its latent value, by quadrature."""
    parts = []
    for start in range(0, mean.size, _BLOCK):
        m, v = mean[start : start + _BLOCK, None], var[start : start + _BLOCK, None]
        f = m + np.sqrt(v) * _NODES
        p = np.exp(-likelihood.profile(f.ravel()).loss).reshape(f.shape)  # label +1, margin f
        parts.append(_binary_entropy(p @ _WEIGHTS) - _binary_entropy(p) @ _WEIGHTS)
    return np.maximum(np.concatenate(parts), 0.0)


def _binary_entropy(p: Matrix) -> Matrix:
    p = np.clip(p, 0.0, 1.0)
    q = 1.0 - p
    return np.asarray(-xlogy(p, p) - xlogy(q, q))


def _rows(X: Any) -> int:
    return int(X.shape[0] if hasattr(X, "shape") else len(X))


STRATEGIES: Mapping[str, Callable[[Any, Any], Vector]] = {
    "mutual-information": _mutual_information,
    "variance": _variance,
    "entropy": _entropy,
}

# -- several at once
# ------------------------------------------------------------------------------------------------------
#: Candidates with the highest scores among which several points are chosen, per point; posterior draws for their
#: correlations.
CANDIDATES, DRAWS = 10, 256


def _spread(estimator: Any, X: Any, scores: Vector, n: int) -> Indices:
    """Return n rows with high scores that do not repeat one another."""
    order = np.argsort(-scores, kind="stable")[: max(CANDIDATES * n, 50)]
    pool = X.iloc[order] if hasattr(X, "iloc") else X[order]
    draws = np.asarray(estimator.sample(pool, DRAWS, random_state=0)).reshape(len(order), -1)
    draws = draws - draws.mean(axis=1, keepdims=True)
    draws /= np.maximum(np.sqrt(np.sum(draws**2, axis=1, keepdims=True)), np.finfo(float).tiny)
    left = scores[order] - min(0.0, float(scores[order].min()))
    chosen: list[int] = []
    for _ in range(n):
        best = int(np.argmax(np.where(np.isin(np.arange(left.size), chosen), -np.inf, left)))
        chosen.append(best)
        left = left * np.maximum(1.0 - (draws @ draws[best]) ** 2, 0.0)
    return order[chosen]


__all__ = ["STRATEGIES", "suggest"]
