r"""Partial dependence: how the prediction moves with one feature, the others as they are in the data.

For feature l and value v it is the mean over rows :math:`x_i` of the data of the prediction at :math:`x_i` with its
feature l set to v. Its uncertainty is that of the latent function: the same mean is taken of joint posterior draws, and
the band holds the central 95 % of these. It is left out where an estimator has no draws.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import is_classifier

from bayesvm.typing import Indices, Matrix, Vector

#: Rows over which a curve is averaged, points of a curve, posterior draws, curves that are shown.
BACKGROUND, POINTS, DRAWS, STRONGEST = 40, 15, 60, 4
#: Features that are tried at most to find the strongest, and the rows and points of a curve that is enough for that.
TRIED, ROUGHLY, ROUGH_POINTS = 60, 15, 5


@dataclasses.dataclass(frozen=True)
class Effect:
    """The partial dependence on one feature.

    Attributes
    ----------
    feature : str
        Its name.
    values : array, shape (k,)
        Its values.
    means : array, shape (k, m)
        Mean predictions: the target, the probability of the second of two classes, or those of all of more.
    lower, upper : arrays, shape (k,), or None
        Band of its uncertainty.
    """

    feature: str
    values: Vector
    means: Matrix
    lower: Vector | None = None
    upper: Vector | None = None

    @property
    def strength(self) -> float:
        """Standard deviation of the curve, of several in quadrature."""
        return float(np.sqrt(np.sum(np.var(self.means, axis=0))))


def events_of(estimator: Any) -> list[int]:
    """Return the numbers of the classes whose probabilities the curves show; none for a regressor."""
    if not is_classifier(estimator):
        return []
    n = len(estimator.classes_)
    return [1] if n == 2 else list(range(n))


def strongest_effects(estimator: Any, X: Any, names: Sequence[str], events: Sequence[int]) -> list[Effect]:
    """Return the curves of the strongest features, with bands where the estimator has posterior draws.

    Parameters
    ----------
    estimator : fitted estimator, without a pipeline before it
        With ``predict`` or ``predict_proba``.
    X : array, shape (n, d)
        Inputs.
    names : sequence of str
        Names of the features.
    events : sequence of int
        Classes whose probabilities are drawn; none: targets.
    """
    X = np.asarray(X, dtype=float)

    def curve(column: int, rows: Matrix, points: int) -> Effect:
        values = _grid(X[:, column], points)
        moved = _predicted(estimator, _moved(rows, column, values), names, events)
        return Effect(str(names[column]), values, moved.reshape(values.size, len(rows), -1).mean(axis=1))

    few, rows = _spread(X, ROUGHLY), _spread(X, BACKGROUND)
    strength = {column: curve(column, few, ROUGH_POINTS).strength for column in _candidates(estimator, X)}
    strong = sorted((c for c in strength if strength[c] > 0.0), key=lambda c: (-strength[c], c))[:STRONGEST]
    return [_with_band(estimator, rows, c, curve(c, rows, POINTS), names, events) for c in strong]


def _spread(X: Matrix, n: int) -> Matrix:
    """Return up to n rows from all over the data."""
    return np.asarray(X[np.linspace(0, len(X) - 1, min(n, len(X))).astype(int)])


def _candidates(estimator: Any, X: Matrix) -> Indices:
    """Return the features to try: the most relevant ones, else those that vary most with the predictions."""
    if X.shape[1] <= TRIED:
        return np.arange(X.shape[1])
    relevance = getattr(estimator, "relevance_", None)
    weight = X.std(axis=0) if relevance is None else np.asarray(relevance)
    return np.sort(np.argsort(-weight, kind="stable")[:TRIED])


def _grid(values: Vector, points: int) -> Vector:
    """Return the values of a feature: all if they are few, else from the 2nd to the 98th percentile."""
    distinct = np.unique(values)
    if distinct.size <= points:
        return distinct
    low, high = np.quantile(values, [0.02, 0.98])
    return np.linspace(low, high, points) if high > low else np.array([low])


def _moved(rows: Matrix, column: int, values: Vector) -> Matrix:
    moved = np.tile(rows, (values.size, 1))
    moved[:, column] = np.repeat(values, len(rows))
    return moved


def _named(estimator: Any, X: Matrix, names: Sequence[str]) -> Any:
    """Return rows as the estimator knows them: a table if it was fitted on one."""
    if not hasattr(estimator, "feature_names_in_"):
        return X
    import pandas as pd

    return pd.DataFrame(X, columns=list(names))


def _predicted(estimator: Any, X: Matrix, names: Sequence[str], events: Sequence[int]) -> Matrix:
    """Return targets, or probabilities of the events (zero or one, of an estimator without), one column each."""
    rows = _named(estimator, X, names)
    if not events:
        return np.asarray(estimator.predict(rows), dtype=float)[:, None]
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(rows))[:, list(events)]
    labels = np.asarray(estimator.classes_)[list(events)]
    return np.asarray(np.asarray(estimator.predict(rows))[:, None] == labels, dtype=float)


def _with_band(
    estimator: Any, rows: Matrix, column: int, effect: Effect, names: Sequence[str], events: Sequence[int]
) -> Effect:
    """Return the curve with the central 95 % of the curves of posterior draws, if the estimator has draws."""
    draws = _draws(estimator, _moved(rows, column, effect.values), names, events)
    if draws is None:
        return effect
    curves = draws.reshape(effect.values.size, len(rows), -1).mean(axis=1)
    centre = curves.mean(axis=1, keepdims=True)
    lower, upper = np.quantile(curves - centre, [0.025, 0.975], axis=1)
    low, high = (0.0, 1.0) if events else (-np.inf, np.inf)
    mean = effect.means[:, 0]
    return dataclasses.replace(effect, lower=np.clip(mean + lower, low, high), upper=np.clip(mean + upper, low, high))


def _draws(estimator: Any, X: Matrix, names: Sequence[str], events: Sequence[int]) -> Matrix | None:
    """Return draws of the prediction, shape (n, n_draws), None if there are none."""
    if not hasattr(estimator, "sample"):
        return None
    if not events:
        return np.asarray(estimator.sample(_named(estimator, X, names), DRAWS, random_state=0))
    if len(events) != 1 or not hasattr(estimator, "loo_proba_"):
        return None
    latent = np.asarray(estimator.sample(_named(estimator, X, names), DRAWS, random_state=0))
    likelihood, correction = estimator.likelihoods_[0], estimator.calibration_[0]
    odds = likelihood.log_odds(latent.ravel(), np.zeros(latent.size))
    return np.asarray(expit(correction.apply(odds)).reshape(latent.shape))


__all__ = ["Effect", "events_of", "strongest_effects"]
