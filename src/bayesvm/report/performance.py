"""How good predictions are, each figure with its uncertainty, and how good guessing would be on the same rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import expit, ndtri
from scipy.stats import beta
from sklearn.base import clone, is_classifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline

from bayesvm.typing import Indices, Vector

ERROR, COVERAGE, EXPLAINED = "error rate", "targets inside their 95 % interval", "share of the variance explained"
#: Figures that are shares.
SHARES = (ERROR, COVERAGE, EXPLAINED)
#: Standard errors of a gain from which it counts.
CLEAR = 2.0
#: Folds where an estimator has no leave-one-out predictions.
FOLDS = 5


@dataclasses.dataclass(frozen=True)
class Figure:
    """One figure: its name, value and 95 % interval, and what it means."""

    name: str
    value: float
    lower: float
    upper: float
    meaning: str


@dataclasses.dataclass(frozen=True)
class Baseline:
    """What guessing does on the same rows.

    Attributes
    ----------
    name : str
        How it guesses.
    value : float
        Its first figure: error rate, or root mean squared error.
    gain, error : float
        By how much the mean loss of guessing (surprise in nats, or squared error) exceeds that of the predictions, row
        by row, and the standard error of that.
    """

    name: str
    value: float
    gain: float
    error: float

    @property
    def beaten(self) -> bool:
        """Whether the predictions are clearly better."""
        return self.gain > CLEAR * self.error


@dataclasses.dataclass(frozen=True)
class ClassReliability:
    """How one of several classes is predicted.

    Attributes
    ----------
    label : str
        The class.
    rows : int
        Its rows.
    found, right : float
        Share of its rows that were found, and share of the rows taken for it that are right (NaN if there are none).
    expected, deviation : float
        The number of its rows that the probabilities predict, and its standard deviation, if they are right.
    """

    label: str
    rows: int
    found: float
    right: float
    expected: float
    deviation: float


@dataclasses.dataclass(frozen=True)
class Performance:
    """Figures on one set of rows, and what pictures of them need.

    Attributes
    ----------
    source : str
        Which rows: leave-one-out, cross-validation or test data.
    n : int
        How many.
    figures : tuple of Figure
        The figures.
    baseline : Baseline or None
        What guessing does.
    classes, confusion : tuple of str, array of int, shape (k, k), or None
        Classification: rows of a class (down) that were taken for a class (across).
    outcome, probability : arrays, shape (n,), or None
        Classification: whether the event happened, and its predicted probability.
    event : str
        What the event is.
    per_class : tuple of ClassReliability
        More than two classes: how each of them is predicted.
    residuals : tuple of arrays or None
        Regression: targets, predictions, ends of the intervals.
    """

    source: str
    n: int
    figures: tuple[Figure, ...]
    baseline: Baseline | None = None
    classes: tuple[str, ...] = ()
    confusion: Any = None
    outcome: Vector | None = None
    probability: Vector | None = None
    event: str = ""
    per_class: tuple[ClassReliability, ...] = ()
    residuals: tuple[Vector, Vector, Vector, Vector] | None = None


@dataclasses.dataclass(frozen=True)
class Targets:
    """Predictions of targets: means, and where the estimator has them the ends of 95 % intervals and log densities."""

    mean: Vector
    lower: Vector | None = None
    upper: Vector | None = None
    log_density: Vector | None = None


def measure(estimator: Any, X: Any, y: Any, source: str, trained_on: Any = None) -> Performance:
    """Return the performance of a fitted classifier or regressor on given rows.

    ``trained_on`` are the targets of the training rows, for guessing; those of the given rows if None.
    """
    y = np.asarray(y)
    if is_classifier(estimator):
        return _of_classes(np.asarray(estimator.classes_), _class_predictions(estimator, X), y, source, trained_on)
    return of_targets(_target_predictions(estimator, X, y), np.asarray(y, dtype=float), source, trained_on)


def own_performance(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Performance:
    """Return the performance on the training rows, each predicted by a machine that has not seen it.

    Leave-one-out predictions where the estimator has them, else cross-validation with fits of its own.
    """
    final = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    y = np.asarray(y)
    if hasattr(final, "loo_proba_"):
        return of_probabilities(final.loo_proba_, y, final.classes_, "leave-one-out")
    kept = _kept_leave_one_out(final, len(y))
    if kept is not None:
        return of_targets(kept, np.asarray(y, dtype=float), "leave-one-out")
    return _cross_validated(estimator, X, y, sample_weight)


def keeps_leave_one_out(final: Any) -> bool:
    """Whether a fitted machine has predictions of its training rows without themselves."""
    if hasattr(final, "loo_proba_"):
        return True
    return hasattr(final, "leave_one_out") and all(getattr(model, "marginals", ()) for model in final.models_)


def _kept_leave_one_out(final: Any, n: int) -> Targets | None:
    """Return leave-one-out predictions of a regressor, None if it keeps none or has other rows than n."""
    if not keeps_leave_one_out(final):
        return None
    kept = final.leave_one_out(0.95)
    if np.shape(kept.mean) != (n,):
        return None
    return Targets(kept.mean, kept.lower, kept.upper, kept.log_density)


def _cross_validated(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Performance:
    """Return the performance by cross-validation; on the training rows, and saying so, where folds are impossible."""
    classifier = is_classifier(estimator)
    smallest = int(np.unique(y, return_counts=True)[1].min()) if classifier else len(y)
    folds = min(FOLDS, smallest)
    if folds < 2:
        return measure(estimator, X, y, "training rows (optimistic: a class has a single row)")
    split = (StratifiedKFold if classifier else KFold)(folds, shuffle=True, random_state=0)
    parts: list[Any] = []
    order = []
    for train, test in split.split(np.zeros(len(y)), y if classifier else None):
        model = clone(estimator).fit(_take(X, train), y[train], **_weights_of(estimator, sample_weight, train))
        rows = _take(X, test)
        parts.append(_class_predictions(model, rows) if classifier else _target_predictions(model, rows, y[test]))
        order.append(test)
    back, source = np.argsort(np.concatenate(order)), f"{folds}-fold cross-validation"
    if classifier:
        return _of_classes(np.asarray(estimator.classes_), np.concatenate(parts)[back], y, source)
    return of_targets(_joined(parts, back), np.asarray(y, dtype=float), source)


def _joined(parts: list[Any], back: Indices) -> Targets:
    """Return the predictions of several folds as one, in the order of the rows."""
    columns: dict[str, Any] = {}
    for field in dataclasses.fields(Targets):
        values = [getattr(part, field.name) for part in parts]
        columns[field.name] = None if any(v is None for v in values) else np.concatenate(values)[back]
    return Targets(**columns)


def _weights_of(estimator: Any, sample_weight: Any, rows: Indices) -> Mapping[str, Any]:
    """Return the argument of ``fit`` that carries weights to the last step."""
    if sample_weight is None:
        return {}
    name = f"{estimator.steps[-1][0]}__sample_weight" if isinstance(estimator, Pipeline) else "sample_weight"
    return {name: np.asarray(sample_weight)[rows]}


def _take(X: Any, rows: Indices) -> Any:
    """Return rows of an array, a sparse matrix, a DataFrame or a dictionary of columns."""
    if isinstance(X, Mapping):
        return {name: [column[i] for i in rows] for name, column in X.items()}
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _class_predictions(estimator: Any, X: Any) -> Any:
    """Return probabilities, or labels where there are none."""
    return np.asarray(estimator.predict_proba(X) if hasattr(estimator, "predict_proba") else estimator.predict(X))


def _target_predictions(estimator: Any, X: Any, y: Any) -> Targets:
    """Return means, and intervals and log densities where the last step has them."""
    final, inputs = estimator, X
    if isinstance(estimator, Pipeline):
        final, inputs = estimator[-1], estimator[:-1].transform(X) if len(estimator) > 1 else X
    mean, lower, upper, density = np.asarray(estimator.predict(X), dtype=float), None, None, None
    if hasattr(final, "predict_interval"):
        lower, upper = (np.asarray(end) for end in final.predict_interval(inputs, 0.95))
    if hasattr(final, "log_density"):
        density = np.asarray(final.log_density(inputs, y))
    return Targets(mean, lower, upper, density)


# -- classification -----------------------------------------------------------------------------------------------
def _of_classes(classes: Any, predicted: Any, y: Any, source: str, trained_on: Any = None) -> Performance:
    if predicted.ndim == 2:
        return of_probabilities(predicted, y, classes, source, trained_on)
    wrong = predicted != y
    name, frequencies = _guess(classes, y if trained_on is None else trained_on)
    guessed = (classes[np.argmax(frequencies)] != y).astype(float)
    return Performance(
        source,
        len(y),
        (_share(ERROR, wrong),),
        _baseline(name, float(np.mean(guessed)), guessed - wrong),
        tuple(map(str, classes)),
        _confusion(classes, y, predicted),
    )


def of_probabilities(proba: Any, y: Any, classes: Any, source: str, trained_on: Any = None) -> Performance:
    """Return the performance of given class probabilities; ``trained_on`` are the labels that guessing knows."""
    y, classes = np.asarray(y), np.asarray(classes)
    codes = np.searchsorted(classes, y)
    known = (codes < len(classes)) & (classes[np.minimum(codes, len(classes) - 1)] == y)
    own = np.where(known, proba[np.arange(len(y)), np.minimum(codes, len(classes) - 1)], 0.0)
    top = np.argmax(proba, axis=1)
    indicator = (np.arange(len(classes)) == codes[:, None]).astype(float)
    surprise = -np.log(np.maximum(own, np.finfo(float).tiny))
    brier, scale = ((proba - indicator) ** 2).sum(axis=1), "0: always sure and right; 2: always sure and wrong"
    figures = [
        _share(ERROR, classes[top] != y),
        _mean("negative log-likelihood [nats]", surprise, "mean surprise at the true class; smaller is better"),
        _mean("Brier score", brier, f"squared error of the probabilities, summed over the classes; {scale}", upper=2.0),
    ]
    if len(classes) == 2:
        event, outcome, probability = str(classes[1]), y == classes[1], proba[:, 1]
        if 0 < outcome.sum() < outcome.size:
            figures.append(_area(outcome, probability, event))
    else:
        event, outcome, probability = "the predicted class", classes[top] == y, proba.max(axis=1)
    name, frequencies = _guess(classes, y if trained_on is None else trained_on)
    guess = -np.log(frequencies[np.minimum(codes, len(classes) - 1)])
    value = float(np.mean(classes[np.argmax(frequencies)] != y))
    return Performance(
        source,
        len(y),
        tuple(figures),
        _baseline(name, value, np.where(known, guess, surprise) - surprise),
        tuple(map(str, classes)),
        _confusion(classes, y, classes[top]),
        outcome.astype(float),
        probability,
        event,
        _per_class(classes, proba, y) if len(classes) > 2 else (),
    )


def _per_class(classes: Any, proba: Any, y: Any) -> tuple[ClassReliability, ...]:
    """Return how each class is predicted; the number of its rows is a sum of independent events."""
    taken = classes[np.argmax(proba, axis=1)]
    rows = []
    for k, label in enumerate(classes):
        own, called, p = y == label, taken == label, proba[:, k]
        found = float(np.mean(called[own])) if np.any(own) else np.nan
        right = float(np.mean(own[called])) if np.any(called) else np.nan
        deviation = float(np.sqrt(np.sum(p * (1.0 - p))))
        rows.append(ClassReliability(str(label), int(own.sum()), found, right, float(p.sum()), deviation))
    return tuple(rows)


def _guess(classes: Any, y: Any) -> tuple[str, Vector]:
    """Return what guessing is called, and its probabilities: the class frequencies, half a row added to each."""
    counts = np.array([np.sum(np.asarray(y) == label) for label in classes], dtype=float)
    return f"always guessing {classes[np.argmax(counts)]}", (counts + 0.5) / (counts + 0.5).sum()


def _confusion(classes: Any, y: Any, predicted: Any) -> Any:
    """Return how many rows of a class (down) were taken for a class (across)."""
    return np.array([[int(np.sum((y == a) & (predicted == b))) for b in classes] for a in classes])


def _area(outcome: Any, probability: Vector, event: str) -> Figure:
    """Return the area under the ROC curve, with the interval of Hanley and McNeil on the scale of log odds."""
    n1 = int(outcome.sum())
    n0 = outcome.size - n1
    area = float(roc_auc_score(outcome, probability))
    q1, q2 = area / (2.0 - area), 2.0 * area**2 / (1.0 + area)
    var = (area * (1.0 - area) + (n1 - 1) * (q1 - area**2) + (n0 - 1) * (q2 - area**2)) / (n1 * n0)
    meaning = f"probability that a row of {event} gets the higher probability of two rows; 0.5 is guessing"
    if not 0.0 < area < 1.0:
        return Figure("area under the ROC curve", area, area, area, meaning)
    half = float(ndtri(0.975)) * np.sqrt(max(var, 0.0)) / (area * (1.0 - area))
    odds = np.log(area / (1.0 - area))
    lower, upper = (float(expit(odds + s * half)) for s in (-1.0, 1.0))
    return Figure("area under the ROC curve", area, lower, upper, meaning)


# -- regression ---------------------------------------------------------------------------------------------------
def of_targets(predicted: Targets, y: Vector, source: str, trained_on: Any = None) -> Performance:
    """Return the performance of given predictions of targets; ``trained_on`` are the targets that guessing knows."""
    residual = y - predicted.mean
    squares = _mean("root mean squared error", residual**2, "typical size of an error, in the units of the target")
    roots = [float(np.sqrt(value)) for value in (squares.value, squares.lower, squares.upper)]
    guess = _mean_guess(y, trained_on)
    figures = [
        Figure(squares.name, roots[0], roots[1], roots[2], squares.meaning),
        _mean("mean absolute error", np.abs(residual), "in the units of the target"),
        _explained(residual**2, (y - guess) ** 2),
    ]
    ends = None
    if predicted.lower is not None and predicted.upper is not None:
        inside = (y >= predicted.lower) & (y <= predicted.upper)
        figures.append(_share(COVERAGE, inside))
        ends = (y, predicted.mean, predicted.lower, predicted.upper)
    if predicted.log_density is not None:
        surprise = -predicted.log_density
        figures.append(
            _mean("negative log-density [nats]", surprise, "mean surprise at the true target", lower=-np.inf)
        )
    value = float(np.sqrt(np.mean((y - guess) ** 2)))
    baseline = _baseline("always guessing the mean", value, (y - guess) ** 2 - residual**2)
    return Performance(source, len(y), tuple(figures), baseline, residuals=ends)


def _mean_guess(y: Vector, trained_on: Any) -> Any:
    """Return the mean of the training targets; on the training rows themselves, for each row that of the others."""
    if trained_on is not None:
        return float(np.mean(np.asarray(trained_on, dtype=float)))
    return (y.sum() - y) / (y.size - 1)


def _explained(own: Vector, guess: Vector) -> Figure:
    """Return one minus the ratio of squared errors, with the interval of the ratio by its first-order variance."""
    total = float(np.mean(guess))
    if total == 0.0:
        return Figure(EXPLAINED, float("nan"), float("nan"), float("nan"), "the targets are all the same")
    ratio = float(np.mean(own)) / total
    half = float(ndtri(0.975) * np.std((own - ratio * guess) / total, ddof=1) / np.sqrt(own.size))
    return Figure(EXPLAINED, 1.0 - ratio, 1.0 - ratio - half, min(1.0, 1.0 - ratio + half), "0: as good as guessing")


# -- figures ------------------------------------------------------------------------------------------------------
def _baseline(name: str, value: float, gains: Any) -> Baseline:
    """Return the baseline from the loss of guessing minus that of the predictions, row by row."""
    gains = np.asarray(gains, dtype=float)
    error = float(np.std(gains, ddof=1) / np.sqrt(gains.size)) if gains.size > 1 else float("nan")
    return Baseline(name, value, float(np.mean(gains)), error)


def _share(name: str, events: Any) -> Figure:
    """Return a frequency with Jeffreys' interval."""
    k, n = int(np.sum(events)), len(events)
    lower = 0.0 if k == 0 else float(beta.ppf(0.025, k + 0.5, n - k + 0.5))
    upper = 1.0 if k == n else float(beta.ppf(0.975, k + 0.5, n - k + 0.5))
    return Figure(name, k / n, lower, upper, f"{k} of {n} rows")


def _mean(name: str, values: Vector, meaning: str, *, lower: float = 0.0, upper: float = np.inf) -> Figure:
    """Return a mean with the normal interval of its standard error, cut to what the figure can be."""
    mean = float(np.mean(values))
    half = float(ndtri(0.975) * np.std(values, ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("nan")
    return Figure(name, mean, max(lower, mean - half), min(upper, mean + half), meaning)


__all__ = [
    "COVERAGE",
    "ERROR",
    "EXPLAINED",
    "FOLDS",
    "SHARES",
    "Baseline",
    "Figure",
    "Performance",
    "Targets",
    "keeps_leave_one_out",
    "measure",
    "of_probabilities",
    "of_targets",
    "own_performance",
]
