"""``bayesvm compare``: several methods on the same folds."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from bayesvm.cli.exit_codes import UsageError
from bayesvm.cli.fitting import FitOptions, Training, fit_pipeline, machine_of
from bayesvm.exceptions import ConvergenceWarning
from bayesvm.report import measure
from bayesvm.tables import DataError


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


def compare_methods(
    training: Training, names: list[str], options: FitOptions, folds: int, say: Any
) -> list[dict[str, Any]]:
    """Return one row per method: figures averaged over the folds with standard errors, and the evidence of all rows."""
    machines = []
    for name in names:
        chosen = FitOptions(name, options.kernel, options.ard, options.starts, options.jobs, options.seed)
        machines.append(machine_of(chosen, training.task.name))
    splits = folds_of(training, folds, options.seed)
    rows = []
    for method, machine in machines:
        say.say(f"{method.name}: {folds} folds")
        rows.append({"method": method.name, **_judged(training, machine, splits)})
    order = "negative log-likelihood [nats]" if training.task.name == "classification" else "root mean squared error"
    return sorted(rows, key=lambda row: row["figures"].get(order, (np.inf, 0.0))[0])


def _judged(training: Training, machine: Any, splits: list[tuple[np.ndarray, np.ndarray]]) -> dict[str, Any]:
    began = time.perf_counter()
    results: dict[str, list[float]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for train, test in splits:
            model = fit_pipeline(_rows(training, train), clone(machine))
            performance = measure(model, training.features.take(test), training.y[test], "test rows")
            for figure in performance.figures:
                results.setdefault(figure.name, []).append(figure.value)
        whole = fit_pipeline(training, clone(machine))[-1]
    return {
        "figures": {
            name: (float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values))))
            for name, values in results.items()
        },
        "log_evidence": getattr(whole, "log_evidence_", None),
        "support": len(whole.support_) if hasattr(whole, "support_") else None,
        "seconds": time.perf_counter() - began,
    }


def _rows(training: Training, rows: np.ndarray) -> Training:
    weights = None if training.weights is None else training.weights[rows]
    return Training(training.features.take(rows), training.y[rows], weights, training.task, training.target, 0)


def shown(rows: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of the table for people."""
    names = list(rows[0]["figures"])
    head = ["method", *names, "log evidence", "seconds"]
    table = [
        [
            row["method"],
            *(_with_error(row["figures"].get(name)) for name in names),
            "-" if row["log_evidence"] is None else f"{row['log_evidence']:.2f}",
            f"{row['seconds']:.1f}",
        ]
        for row in rows
    ]
    return head, table


def _with_error(pair: tuple[float, float] | None) -> str:
    return "-" if pair is None else f"{pair[0]:.4g} ± {pair[1]:.2g}"


__all__ = ["compare_methods", "folds_of", "shown"]
