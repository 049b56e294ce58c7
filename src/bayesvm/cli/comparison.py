"""``bayesvm compare``: several methods, and what they must beat, on the same folds."""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from bayesvm.cli.baselines import ALL_BASELINES, BASELINES, baselines_of
from bayesvm.cli.console import Reporter
from bayesvm.cli.errors import data_refused
from bayesvm.cli.exit_codes import UsageError
from bayesvm.cli.fitting import FitOptions, Training, fit_pipeline, machine_of
from bayesvm.cli.methods import METHODS
from bayesvm.comparison import Row, compare
from bayesvm.exceptions import ConvergenceWarning
from bayesvm.report import measure
from bayesvm.tables import DataError, TableWarning
from bayesvm.typing import Vector

#: Standard errors of a difference from which it counts.
CLEAR = 2.0
#: The figure by which methods are ordered, by task, and its short name.
ORDER = {
    "classification": ("negative log-likelihood [nats]", "NLL"),
    "regression": ("root mean squared error", "squared error"),
}
#: Short headings of figures.
SHORT = {
    "negative log-likelihood [nats]": "NLL",
    "root mean squared error": "RMSE",
    "mean absolute error": "MAE",
    "targets inside their 95 % interval": "in 95 %",
    "negative log-density [nats]": "NLD",
    "Brier score": "Brier",
    "area under the ROC curve": "AUC",
    "share of the variance explained": "R²",
}


@dataclasses.dataclass(frozen=True)
class Judged:
    """How one method did.

    Attributes
    ----------
    method : str
        Its name.
    figures : mapping
        Mean over the folds and standard error, by figure.
    losses : array, shape (n,)
        Loss of every row when it was not trained on: surprise at the class in nats, or squared error.
    seconds : float
        Time for all folds.
    """

    method: str
    figures: Mapping[str, tuple[float, float]]
    losses: Vector
    seconds: float


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Methods, best first; differences in loss to the best with standard errors; the verdict in words."""

    rows: Sequence[Judged]
    differences: Sequence[tuple[float, float]]
    verdict: str

    def plain(self) -> list[dict[str, Any]]:
        """Return the methods as JSON values."""
        return [
            {"method": r.method, "figures": dict(r.figures), "difference": d, "seconds": r.seconds}
            for r, d in zip(self.rows, self.differences)
        ]


def folds_of(training: Training, folds: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return train and test rows; classes are spread evenly."""
    n = len(training.y)
    if not 2 <= folds <= n // 2:
        raise UsageError(f"folds: expected between 2 and {n // 2} for {n} rows, found {folds}")
    if training.task.name == "classification":
        smallest = int(np.min(np.unique(training.y, return_counts=True)[1]))
        if smallest < folds:
            raise DataError(f"column {training.target!r}: a class has {smallest} rows, fewer than the {folds} folds")
        return list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros(n), training.y))
    return list(KFold(folds, shuffle=True, random_state=seed).split(np.zeros(n)))


def estimators_of(names: Sequence[str], options: FitOptions, task: str) -> dict[str, Any]:
    """Return the estimators of methods and baselines, by name; "auto" is the default method and all baselines."""
    baselines = {baseline.name: baseline for baseline in baselines_of(task)}
    wanted: list[str] = []
    for name in names:
        wanted += ["auto", *baselines] if name == "auto" else list(baselines) if name == ALL_BASELINES else [name]
    found: dict[str, Any] = {}
    for name in wanted:
        if name in baselines:
            found[name] = baselines[name].create(options.seed)
        elif name in {baseline.name for baseline in BASELINES}:
            raise UsageError(f"{name} is not for {task}; use {', '.join(baselines)}")
        else:
            method, machine = machine_of(dataclasses.replace(options, method=name), task)
            found[method.name] = machine
    return found


def compare_methods(
    training: Training, estimators: Mapping[str, Any], folds: int, seed: int, say: Reporter
) -> Comparison:
    """Judge estimators on the same folds."""
    splits = folds_of(training, folds, seed)
    judged = []
    for name, estimator in estimators.items():
        say.say(f"{name}: {folds} folds")
        judged.append(_judged(name, training, estimator, splits))
    judged.sort(key=lambda row: float(np.mean(row.losses)))
    differences = [_difference(row.losses, judged[0].losses) for row in judged]
    return Comparison(judged, differences, _verdict(judged, differences, training.task.name))


def _judged(name: str, training: Training, estimator: Any, splits: list[tuple[np.ndarray, np.ndarray]]) -> Judged:
    began = time.perf_counter()
    results: dict[str, list[float]] = {}
    losses = np.empty(len(training.y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", TableWarning)  # all rows were looked at before
        for train, test in splits:
            model = fit_pipeline(training.rows(train), clone(estimator))
            rows = training.rows(test)
            with data_refused():
                performance = measure(model, rows.features, rows.y, "test rows")
                losses[test] = _losses(model, rows)
            for figure in performance.figures:
                results.setdefault(figure.name, []).append(figure.value)
    figures = {
        figure: (float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values))))
        for figure, values in results.items()
    }
    return Judged(name, figures, losses, time.perf_counter() - began)


def _losses(model: Any, rows: Training) -> Vector:
    """Return the loss of each row: minus the log of the probability of its class, or the squared error."""
    if rows.task.name == "regression":
        return np.asarray((rows.y - model.predict(rows.features)) ** 2)
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(rows.features) != rows.y, dtype=float)
    proba = np.asarray(model.predict_proba(rows.features))
    own = proba[np.arange(len(rows.y)), np.searchsorted(model.classes_, rows.y)]
    return np.asarray(-np.log(np.maximum(own, np.finfo(float).tiny)))


def _difference(losses: Vector, best: Vector) -> tuple[float, float]:
    """Return the mean of the paired differences and its standard error."""
    d = losses - best
    return float(np.mean(d)), float(np.std(d, ddof=1) / np.sqrt(d.size))


def _verdict(rows: Sequence[Judged], differences: Sequence[tuple[float, float]], task: str) -> str:
    """Return in words which method is best, which are as good as it, and which are not."""
    others = list(zip(rows, differences))[1:]
    if not others:
        return f"{rows[0].method} was judged alone; name others with --methods to compare it"
    worse = [row.method for row, (mean, error) in others if mean > CLEAR * error]
    alike = [row.method for row, (mean, error) in others if not mean > CLEAR * error]
    parts = [f"{rows[0].method} has the smallest {ORDER[task][1]}"]
    if alike:
        parts.append(f"{', '.join(alike)} cannot be told apart from it on these rows")
    if worse:
        parts.append(f"{', '.join(worse)} {'is' if len(worse) == 1 else 'are'} clearly worse")
    return "; ".join(parts)


def evidences(training: Training, estimators: Mapping[str, Any]) -> list[Row]:
    """Return the methods of which the evidences, of all rows, can be compared; none if there are fewer than two."""
    own = {name: estimators[name] for name in estimators if name in {method.name for method in METHODS}}
    if len(own) < 2 or training.weights is not None:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", TableWarning)
        X = clone(training.encoder).fit_transform(training.features, training.y)
        with data_refused():
            table = compare(own, X, training.y)
    found = [row for row in table.rows if np.isfinite(row.log_bayes_factor)]
    return found if len(found) > 1 else []


def run_comparison(training: Training, names: Sequence[str], options: FitOptions, folds: int, say: Reporter) -> None:
    """Compare methods and say how they did."""
    say.say(f"task: {training.task.name} ({training.task.reason})")
    estimators = estimators_of(names, options, training.task.name)
    clone(training.encoder).fit(training.features, training.y)  # points out, once, what is odd about the columns
    comparison = compare_methods(training, estimators, folds, options.seed, say)
    evidence = evidences(training, estimators)
    say.heading(f"{folds} folds of {len(training.y)} rows")
    say.table(*shown(comparison, training.task.name))
    say.lines([comparison.verdict])
    if evidence:
        say.heading("Log evidence of all rows, for the methods of which it can be compared")
        say.table(["method", "log evidence", "log model evidence"], [_both_evidences(row) for row in evidence])
    result = {"task": training.task.name, "folds": folds, "methods": comparison.plain(), "verdict": comparison.verdict}
    known = {row.name: row.log_model_evidence for row in evidence if np.isfinite(row.log_model_evidence)}
    plain = {row.name: row.log_evidence for row in evidence}
    say.result({**result, "log_evidence": plain, "log_model_evidence": known})


def shown(comparison: Comparison, task: str) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of the table for people."""
    names = list(dict.fromkeys(name for row in comparison.rows for name in row.figures))
    head = ["method", *(SHORT.get(name, name) for name in names), f"worse by ({ORDER[task][1]})", "seconds"]
    table = [
        [
            row.method,
            *(_with_error(row.figures.get(name)) for name in names),
            "best" if i == 0 else _with_error(difference),
            f"{row.seconds:.1f}",
        ]
        for i, (row, difference) in enumerate(zip(comparison.rows, comparison.differences))
    ]
    return head, table


def _both_evidences(row: Row) -> list[str]:
    known = np.isfinite(row.log_model_evidence)
    integrated = f"{row.log_model_evidence:.2f} ± {row.log_model_evidence_error:.1g}" if known else "-"
    return [row.name, f"{row.log_evidence:.2f}", integrated]


def _with_error(pair: tuple[float, float] | None) -> str:
    return "-" if pair is None else f"{pair[0]:.3g} ± {pair[1]:.1g}"


__all__ = [
    "Comparison",
    "Judged",
    "compare_methods",
    "estimators_of",
    "evidences",
    "folds_of",
    "run_comparison",
    "shown",
]
