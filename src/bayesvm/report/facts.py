"""What is known right after fitting, as plain data, stored with the model: a report needs no training data later."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from bayesvm.hyper import SearchStatus
from bayesvm.report.descriptions import describe_estimator, describe_hyperparameters
from bayesvm.report.performance import measure, of_probabilities

#: Rows of doubtful labels or surprising targets that are listed.
LISTED = 10


def collect_facts(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    target: str = "y",
    preparation: Sequence[str] = (),
    rows: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Return the facts of a report as JSON values.

    Parameters
    ----------
    estimator : fitted estimator or pipeline
        What the report is about.
    X, y : training data
        As given to ``fit``.
    target : str
        Name of the target.
    preparation : sequence of str
        What was done to the columns, in sentences.
    rows : sequence of int, optional
        Numbers of the rows in their source; from 1 if None.

    Returns
    -------
    facts : dict
        See :func:`bayesvm.report.render`.
    """
    final = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    y = np.asarray(y)
    numbers = np.arange(1, len(y) + 1) if rows is None else np.asarray(rows)
    performance = _own_performance(estimator, final, X, y)
    facts: dict[str, Any] = {
        "estimator": type(final).__name__,
        "task": "classification" if is_classifier(final) else "regression",
        "data": _data(final, y, target, preparation),
        "machine": describe_estimator(final),
        "hyperparameters": describe_hyperparameters(final),
        "log_evidence": _float(getattr(final, "log_evidence_", None)),
        "converged": bool(getattr(final, "converged_", True)),
        "starts": _starts(final),
        "performance": performance,
        "relevance": _relevance(final),
        "support": _support(final, len(y)),
        "doubts": _doubts(final, y, numbers),
    }
    facts["warnings"] = _warnings(final, facts)
    return facts


def _float(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _data(estimator: Any, y: np.ndarray, target: str, preparation: Sequence[str]) -> dict[str, Any]:
    summary: dict[str, Any] = {
        "rows": len(y),
        "features": int(estimator.n_features_in_),
        "target": target,
        "preparation": list(preparation),
    }
    if is_classifier(estimator):
        labels, counts = np.unique(y, return_counts=True)
        summary["classes"] = [[str(label), int(count)] for label, count in zip(labels, counts)]
    else:
        values = np.asarray(y, dtype=float)
        summary["quantiles"] = [float(q) for q in np.quantile(values, [0.0, 0.25, 0.5, 0.75, 1.0])]
    return summary


def _histories(estimator: Any) -> list[Sequence[Any]]:
    """Return the records of the starts, model by model."""
    return [model.maximum.history for model in getattr(estimator, "models_", ()) if hasattr(model, "maximum")]


def _starts(estimator: Any) -> list[dict[str, Any]]:
    return [
        {
            "machine": k,
            "value": _float(record.value),
            "evaluations": int(record.evaluations),
            "status": record.status.value,
            "seconds": float(record.seconds),
        }
        for k, history in enumerate(_histories(estimator))
        for record in history
    ]


def _own_performance(estimator: Any, final: Any, X: Any, y: np.ndarray) -> dict[str, Any]:
    if hasattr(final, "loo_proba_"):
        return as_plain(of_probabilities(final.loo_proba_, y, final.classes_, "leave-one-out"))
    return as_plain(measure(estimator, X, y, "training rows (optimistic)"))


def as_plain(performance: Any) -> dict[str, Any]:
    """Return a performance as JSON values, its predictions thinned out to what pictures need."""
    plain: dict[str, Any] = {
        "source": performance.source,
        "n": performance.n,
        "figures": [
            [f.name, _float(f.value), _float(f.lower), _float(f.upper), f.meaning] for f in performance.figures
        ],
    }
    keep = np.arange(performance.n) if performance.n <= 2000 else np.linspace(0, performance.n - 1, 2000).astype(int)
    if performance.probability is not None:
        plain["event"] = performance.event
        plain["outcome"] = [int(v) for v in performance.outcome[keep]]
        plain["probability"] = [round(float(v), 6) for v in performance.probability[keep]]
    if performance.residuals is not None:
        plain["residuals"] = [[float(v) for v in part[keep]] for part in performance.residuals]
    return plain


def _relevance(estimator: Any) -> dict[str, float] | None:
    named = getattr(estimator, "named_relevance_", None)
    return None if named is None else {str(name): float(value) for name, value in named.items()}


def _support(estimator: Any, n: int) -> dict[str, int] | None:
    support = getattr(estimator, "support_", None)
    return None if support is None else {"vectors": len(support), "rows": n}


def _doubts(estimator: Any, y: np.ndarray, numbers: np.ndarray) -> dict[str, Any] | None:
    """Return the most doubtful labels (from leave-one-out probabilities) or the most surprising targets."""
    if hasattr(estimator, "loo_proba_"):
        codes = np.searchsorted(estimator.classes_, y)
        doubt = 1.0 - estimator.loo_proba_[np.arange(len(y)), codes]
        order = [i for i in np.argsort(-doubt, kind="stable")[:LISTED] if doubt[i] > 0.5]
        best = estimator.classes_[estimator.loo_proba_.argmax(axis=1)]
        rows = [[int(numbers[i]), str(y[i]), str(best[i]), float(doubt[i])] for i in order]
        return {"kind": "labels", "rows": rows}
    score = getattr(estimator, "outlier_score_", None)
    if score is None or np.ndim(score) != 1:
        return None
    order = [i for i in np.argsort(-score, kind="stable")[:LISTED] if score[i] > 5.0]
    return {"kind": "targets", "rows": [[int(numbers[i]), f"{y[i]:.6g}", "", float(np.exp(-score[i]))] for i in order]}


def _warnings(estimator: Any, facts: Mapping[str, Any]) -> list[str]:
    """Return what to bear in mind about search, hyperparameters and data, each once."""
    found = []
    if not facts["converged"]:
        found.append("The search for hyperparameters did not converge; more evaluations (max_evaluations) may help.")
    for history in _histories(estimator):
        found += _warnings_of_search(history, with_relevance=facts["relevance"] is not None)
    found += [
        f"{row['name']} ended at a bound of its range." for row in facts["hyperparameters"] if row.get("at_bound")
    ]
    found += _warnings_of_data(facts["data"])
    return list(dict.fromkeys(found))


def _warnings_of_search(history: Sequence[Any], with_relevance: bool) -> list[str]:
    """Return warnings about the starts of one model; with relevances, that starts end apart is no reason for one."""
    found = []
    if any(record.status is SearchStatus.INTERRUPTED for record in history):
        found.append("The search was interrupted; the model is the best that had been found until then.")
    values = [record.value for record in history if np.isfinite(record.value)]
    if len(values) > 1 and not with_relevance and sum(value > max(values) - 0.5 for value in values) == 1:
        found.append("Only one start reached the highest evidence; more starts may find a better optimum.")
    return found


def _warnings_of_data(data: Mapping[str, Any]) -> list[str]:
    """Return warnings about few rows, in all or of a class."""
    found = []
    classes = data.get("classes", [])
    if classes and min(count for _, count in classes) < 10:
        found.append("A class has fewer than ten rows; its probabilities are uncertain.")
    if data["rows"] < 30:
        found.append("There are fewer than thirty rows; every figure in this report is uncertain.")
    return found


__all__ = ["as_plain", "collect_facts"]
