"""What is known right after fitting, as plain data, stored with the model: a report needs no training data later."""

from __future__ import annotations

import datetime
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

import bayesvm
from bayesvm.estimators._summary import output_names, switched_off
from bayesvm.exceptions import ConvergenceWarning
from bayesvm.hyper import SearchStatus
from bayesvm.models.average import AveragedModel
from bayesvm.report.descriptions import describe_ending, describe_estimator, describe_hyperparameters
from bayesvm.report.effects import events_of, strongest_effects
from bayesvm.report.performance import Performance, own_performance
from bayesvm.tables import TableWarning

#: Rows of doubtful labels or surprising targets that are listed.
LISTED = 10
#: Predictions that are kept for pictures.
KEPT = 2000
#: Nats below the best start within which another has reached the same evidence.
SAME = 0.5
#: Share of the rows with a coefficient from which on a solution is not called sparse.
DENSE = 2 / 3
#: Features from which on values of one kind are looked for, such as pixels.
MANY = 16


def collect_facts(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    target: str = "y",
    preparation: Sequence[str] = (),
    rows: Sequence[int] | None = None,
    sample_weight: Any = None,
) -> dict[str, Any]:
    """Return the facts of a report as JSON values.

    How good the predictions are is judged on the training rows, each predicted without itself: leave-one-out where the
    estimator has such predictions, else by cross-validation, which fits it five times more.

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
    sample_weight : array, optional
        As given to ``fit``.

    Returns
    -------
    facts : dict
        See :func:`bayesvm.report.render`.
    """
    y = np.asarray(y)
    with warnings.catch_warnings():  # the table, and how the search ended, were spoken of when it was fitted
        warnings.simplefilter("ignore", TableWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        final, inputs = estimator, X
        if isinstance(estimator, Pipeline):
            final, inputs = estimator[-1], estimator[:-1].transform(X) if len(estimator) > 1 else X
        performance = own_performance(estimator, X, y, sample_weight)
    numbers = np.arange(1, len(y) + 1) if rows is None else np.asarray(rows)
    facts: dict[str, Any] = {
        "estimator": type(final).__name__,
        "task": "classification" if is_classifier(final) else "regression",
        "created": datetime.date.today().isoformat(),
        "version": bayesvm.__version__,
        "data": _data(final, y, target, preparation),
        "machine": describe_estimator(final),
        "hyperparameters": describe_hyperparameters(final),
        "log_evidence": _float(getattr(final, "log_evidence_", None)),
        "converged": bool(getattr(final, "converged_", True)),
        "starts": _starts(final),
        "candidates": _candidates(final),
        "performance": as_plain(performance),
        "relevance": _relevance(final),
        "effects": _effects(final, inputs),
        "support": _support(final, len(y)),
        "doubts": _doubts(final, y, numbers),
    }
    facts["remarks"] = _remarks(facts)
    facts["warnings"] = _warnings(final, inputs, facts)
    return facts


def _float(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _floats(values: Any) -> list[float | None] | None:
    return None if values is None else [_float(value) for value in values]


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
        summary["mean"] = float(values.mean())
    return summary


def _histories(estimator: Any) -> list[tuple[str, Sequence[Any]]]:
    """Return the records of the starts, model by model, each with the class or output it is of ("" if there is one)."""
    models = [model for model in getattr(estimator, "models_", ()) if hasattr(model, "maximum")]
    names = output_names(estimator) if len(models) > 1 else [""]
    return [(name, model.maximum.history) for name, model in zip(names, models, strict=False)]


def _starts(estimator: Any) -> list[dict[str, Any]]:
    """Return a row per start; evidences are in the units of ``log_evidence_``, those of the targets.

    There is none where several models were compared: their searches went over different evidences, with hyperpriors.
    """
    if any(isinstance(model, AveragedModel) for model in getattr(estimator, "models_", ())):
        return []
    histories = _histories(estimator)
    units = getattr(estimator, "_log_jacobian", 0.0)  # of one output
    return [
        {
            "machine": k,
            "output": name,
            "value": _float(record.value + units),
            "evaluations": int(record.evaluations),
            "status": describe_ending(record.status),
            "seconds": float(record.seconds),
        }
        for k, (name, history) in enumerate(histories)
        for record in history
    ]


def _candidates(estimator: Any) -> list[dict[str, Any]]:
    """Return the kernels that were tried, for each class or output the best first; none if there was no choice."""
    tried = list(getattr(estimator, "candidates_", ()))
    if len(tried) < 2:
        return []
    parts = [list(getattr(model, "candidates", ())) for model in getattr(estimator, "models_", ())]
    if sum(map(len, parts)) != len(tried):  # not one choice per model: one for all
        parts = [tried]
    names = output_names(estimator) if len(parts) > 1 else [""]
    return [row for name, part in zip(names, parts, strict=True) for row in _ranked(part, name)]


def _ranked(candidates: Sequence[Any], output: str) -> list[dict[str, Any]]:
    """Return candidates as rows, by weight where they have one, else by evidence."""
    keys = ("log_evidence", "log_model_evidence", "weight", "seconds")
    rows = [
        {"kernel": str(c.kernel), "output": output, "kept": bool(getattr(c, "kept", False))}
        | {key: _float(getattr(c, key, None)) for key in keys}
        for c in candidates
    ]
    return sorted(rows, key=lambda row: (-(row["weight"] or 0.0), -_or_lowest(row["log_evidence"])))


def _or_lowest(value: float | None) -> float:
    return -math.inf if value is None else value


def as_plain(performance: Performance) -> dict[str, Any]:
    """Return a performance as JSON values, its predictions thinned out to what pictures need."""
    plain: dict[str, Any] = {
        "source": performance.source,
        "n": performance.n,
        "figures": [
            [f.name, _float(f.value), _float(f.lower), _float(f.upper), f.meaning] for f in performance.figures
        ],
    }
    base = performance.baseline
    if base is not None:
        numbers = {"value": _float(base.value), "gain": _float(base.gain), "error": _float(base.error)}
        plain["baseline"] = {"name": base.name, "beaten": base.beaten, **numbers}
    if performance.confusion is not None:
        plain["confusion"] = {"labels": list(performance.classes), "counts": performance.confusion.tolist()}
    if performance.per_class:
        plain["per_class"] = [
            [c.label, c.rows, _float(c.found), _float(c.right), _float(c.expected), _float(c.deviation)]
            for c in performance.per_class
        ]
    n = performance.n
    keep = np.arange(n) if n <= KEPT else np.linspace(0, n - 1, KEPT).astype(int)
    if performance.probability is not None and performance.outcome is not None:
        plain["event"] = performance.event
        plain["outcome"] = [int(v) for v in performance.outcome[keep]]
        plain["probability"] = [round(float(v), 6) for v in performance.probability[keep]]
    if performance.residuals is not None:
        plain["residuals"] = [[float(v) for v in part[keep]] for part in performance.residuals]
    return plain


def _relevance(estimator: Any) -> dict[str, float] | None:
    named = getattr(estimator, "named_relevance_", None)
    return None if named is None else {str(name): float(value) for name, value in named.items()}


def _effects(estimator: Any, X: Any) -> dict[str, Any]:
    """Return the partial dependence on the strongest features; none for sparse inputs and several targets."""
    events = events_of(estimator)
    of = [str(estimator.classes_[event]) for event in events]
    if hasattr(X, "toarray") or (not events and not getattr(estimator, "_single", True)):
        return {"events": of, "curves": []}
    names = getattr(estimator, "feature_names_in_", [f"x{i}" for i in range(estimator.n_features_in_)])
    curves = [
        {
            "feature": effect.feature,
            "values": _floats(effect.values),
            "means": [_floats(mean) for mean in effect.means.T],
            "lower": _floats(effect.lower),
            "upper": _floats(effect.upper),
        }
        for effect in strongest_effects(estimator, X, names, events)
    ]
    return {"events": of, "curves": curves}


def _support(estimator: Any, n: int) -> dict[str, int] | None:
    support = getattr(estimator, "support_", None)
    if support is None:
        return None
    basis = getattr(estimator, "n_basis_", None)
    return {"vectors": len(support), "rows": n, **({} if basis is None else {"basis": int(basis)})}


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


def _remarks(facts: Mapping[str, Any]) -> list[str]:
    """Return what is worth knowing and no cause for concern."""
    found = []
    off = switched_off(facts["relevance"]) if facts["relevance"] else []
    if off:
        n = len(facts["relevance"])
        found.append(f"{len(off)} of {n} features are switched off: as far as these rows tell, they do not matter.")
    support = facts["support"]
    if support is not None and support["rows"] and support["vectors"] > DENSE * support["rows"]:
        few = f"; predictions are computed from {support['basis']} of them" if "basis" in support else ""
        found.append(f"The solution is not sparse: it rests on {support['vectors']} of {support['rows']} rows{few}.")
    return found


def _warnings(estimator: Any, X: Any, facts: Mapping[str, Any]) -> list[str]:
    """Return what to bear in mind about the result, the search and the data, each once."""
    found = []
    baseline = facts["performance"].get("baseline")
    if baseline is not None and not baseline["beaten"]:
        found.append(f"The predictions are no better than {baseline['name']}, as far as these rows can tell.")
    if any(record.status is SearchStatus.INTERRUPTED for _, history in _histories(estimator) for record in history):
        found.append("The search was interrupted; the model is the best that had been found until then.")
    elif not facts["converged"]:
        found.append("The search for hyperparameters did not converge; more evaluations (max_evaluations) may help.")
    found += [
        f"{row['name']} ended at a bound of its range."
        for row in facts["hyperparameters"]
        if row["at_bound"] and "[" not in row["name"]
    ]
    found += _warnings_of_data(facts["data"])
    if getattr(estimator, "standardize", False) and _of_one_kind(X):
        found.append(
            "The features look like values of one kind, such as pixels or counts. Each is standardised by itself, "
            "which makes rarely used ones loud; standardize=False (--no-standardize) keeps their common scale."
        )
    return list(dict.fromkeys(found))


def _of_one_kind(X: Any) -> bool:
    """Whether there are many features, all of them whole numbers from zero on with a common largest value."""
    if hasattr(X, "toarray"):
        return False
    values = np.asarray(X)
    if values.shape[1] < MANY or values.dtype.kind not in "fiu" or values.min() != 0.0:
        return False
    tops = values.max(axis=0)
    whole = np.all(values == np.round(values)) or values.max() == 1.0
    common = np.mean(tops >= 0.5 * tops.max()) > 0.5
    return bool(whole and common and np.unique(values[: min(len(values), 500)]).size > 2)


def _warnings_of_data(data: Mapping[str, Any]) -> list[str]:
    """Return warnings about few rows, in all or of a class."""
    found = []
    classes = data.get("classes", [])
    if classes and min(count for _, count in classes) < 10:
        found.append("A class has fewer than ten rows; its probabilities are uncertain.")
    if data["rows"] < 30:
        found.append("There are fewer than thirty rows; every figure in this report is uncertain.")
    return found


def agreement(starts: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Return how many starts of the first model reached its highest evidence, and how many there were."""
    values = [s["value"] for s in starts if s["machine"] == 0 and s["value"] is not None]
    return sum(value > max(values) - SAME for value in values) if values else 0, len(values)


__all__ = ["agreement", "as_plain", "collect_facts"]
