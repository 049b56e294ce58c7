"""How good predictions are, each figure with its uncertainty."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import beta
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from bayesvm.typing import Vector

ERROR, COVERAGE = "error rate", "targets inside their 95 % interval"
#: Figures that are shares of rows.
SHARES = (ERROR, COVERAGE)


@dataclasses.dataclass(frozen=True)
class Figure:
    """One figure: its name, value and 95 % interval, and what it means."""

    name: str
    value: float
    lower: float
    upper: float
    meaning: str


@dataclasses.dataclass(frozen=True)
class Performance:
    """Figures on one set of rows, and the calibration behind them.

    Attributes
    ----------
    source : str
        Which rows: leave-one-out or test data.
    n : int
        How many.
    figures : tuple of Figure
        The figures.
    outcome, probability : arrays, shape (n,), or None
        Classification: whether the event happened, and its predicted probability.
    event : str
        What the event is.
    residuals : tuple of arrays or None
        Regression: targets, predictions, ends of the intervals.
    """

    source: str
    n: int
    figures: tuple[Figure, ...]
    outcome: Vector | None = None
    probability: Vector | None = None
    event: str = ""
    residuals: tuple[Vector, Vector, Vector, Vector] | None = None


def measure(estimator: Any, X: Any, y: Any, source: str) -> Performance:
    """Return the performance of a fitted classifier or regressor on given rows."""
    if is_classifier(estimator):
        classes = np.asarray(estimator.classes_)
        if not hasattr(estimator, "predict_proba"):
            return Performance(source, len(y), (_share(ERROR, np.asarray(estimator.predict(X)) != y),))
        return of_probabilities(np.asarray(estimator.predict_proba(X)), y, classes, source)
    return _of_regressor(estimator, X, np.asarray(y, dtype=float), source)


def of_probabilities(proba: Any, y: Any, classes: Any, source: str) -> Performance:
    """Return the performance of given class probabilities."""
    y, classes = np.asarray(y), np.asarray(classes)
    codes = np.searchsorted(classes, y)
    known = (codes < len(classes)) & (classes[np.minimum(codes, len(classes) - 1)] == y)
    own = np.where(known, proba[np.arange(len(y)), np.minimum(codes, len(classes) - 1)], 0.0)
    top = np.argmax(proba, axis=1)
    indicator = (np.arange(len(classes)) == codes[:, None]).astype(float)
    surprise = -np.log(np.maximum(own, np.finfo(float).tiny))
    figures = (
        _share(ERROR, classes[top] != y),
        _mean("negative log-likelihood [nats]", surprise, "mean surprise at the true class; smaller is better"),
        _mean("Brier score", ((proba - indicator) ** 2).sum(axis=1), "mean squared error of the probabilities"),
    )
    if len(classes) == 2:
        event, outcome, probability = str(classes[1]), y == classes[1], proba[:, 1]
    else:
        event, outcome, probability = "the predicted class", classes[top] == y, proba.max(axis=1)
    return Performance(source, len(y), figures, outcome.astype(float), probability, event)


def _of_regressor(estimator: Any, X: Any, y: Vector, source: str) -> Performance:
    predicted = np.asarray(estimator.predict(X), dtype=float)
    residual = y - predicted
    squares = _mean("root mean squared error", residual**2, "typical size of an error, in the units of the target")
    roots = [float(np.sqrt(max(value, 0.0))) for value in (squares.value, squares.lower, squares.upper)]
    figures = [
        Figure(squares.name, roots[0], roots[1], roots[2], squares.meaning),
        _mean("mean absolute error", np.abs(residual), "in the units of the target"),
    ]
    ends = None
    final, inputs = estimator, X
    if isinstance(estimator, Pipeline):
        final, inputs = estimator[-1], estimator[:-1].transform(X) if len(estimator) > 1 else X
    if hasattr(final, "predict_interval"):
        lower, upper = (np.asarray(end) for end in final.predict_interval(inputs, 0.95))
        inside = (y >= lower) & (y <= upper)
        figures.append(_share(COVERAGE, inside))
        ends = (y, predicted, lower, upper)
    if hasattr(final, "log_density"):
        surprise = -np.asarray(final.log_density(inputs, y))
        figures.append(_mean("negative log-density [nats]", surprise, "mean surprise at the true target"))
    return Performance(source, len(y), tuple(figures), residuals=ends)


def _share(name: str, events: Any) -> Figure:
    """Return a frequency with Jeffreys' interval."""
    k, n = int(np.sum(events)), len(events)
    lower = 0.0 if k == 0 else float(beta.ppf(0.025, k + 0.5, n - k + 0.5))
    upper = 1.0 if k == n else float(beta.ppf(0.975, k + 0.5, n - k + 0.5))
    return Figure(name, k / n, lower, upper, f"{k} of {n} rows")


def _mean(name: str, values: Vector, meaning: str) -> Figure:
    """Return a mean with the normal interval of its standard error."""
    mean = float(np.mean(values))
    half = float(ndtri(0.975) * np.std(values, ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("nan")
    return Figure(name, mean, mean - half, mean + half, meaning)


__all__ = ["SHARES", "Figure", "Performance", "measure", "of_probabilities"]
