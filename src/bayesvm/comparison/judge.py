r"""One table for several models on the same data.

Evidences can be compared where they are the probability of the same targets: self-tuning estimators with a normalised
likelihood, without class weights. Bayes factors rest on the evidence with the hyperparameters integrated out
(``log_model_evidence_``) where all these estimators have it, since the evidence at the learnt hyperparameters rises
with their number; otherwise on the latter. Laplace's method and expectation propagation approximate the same number;
where the two differ by more than one nat per hundred points, Laplace's cannot be trusted, and the row says so.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.base import clone, is_classifier
from sklearn.utils.multiclass import type_of_target

from bayesvm.comparison.table import Comparison, Row
from bayesvm.estimators.bayesian_svc import BayesianSVC
from bayesvm.estimators.bayesian_svr import BayesianSVR
from bayesvm.inference import EP, Laplace
from bayesvm.kernels.base import Kernel
from bayesvm.models import GaussianProcessModel
from bayesvm.models.average import AveragedModel
from bayesvm.typing import Vector

#: Nats per point by which Laplace's evidence and that of expectation propagation may differ.
TRUST = 0.01
#: Error of a model evidence, in nats, from which on the row has a note about it.
COARSE = 1.0
BINS = 10
CONFIDENCE = 0.9


def compare(models: Any, X: Any, y: Any, test: tuple[Any, Any] | None = None) -> Comparison:
    """Fit models to the same data and set their evidences and predictions side by side.

    Parameters
    ----------
    models : mapping or sequence
        Estimators, by name or in a list (their class names then serve as names). They are cloned, not changed. A kernel
        in the place of an estimator stands for a :class:`~bayesvm.BayesianSVC` or :class:`~bayesvm.BayesianSVR` with
        that kernel.
    X, y : arrays
        Training data.
    test : pair (X_test, y_test), optional
        Data to judge predictions by.

    Returns
    -------
    comparison : Comparison
        Printable; with ``to_frame()``, ``plot()`` and the fitted ``models``.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayesvm import BayesianSVC, compare
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> result = compare([BayesianSVC(), BayesianSVC(likelihood="probit")], X, y)
    >>> len(result)
    2
    """
    named = _named(models, type_of_target(y))
    fitted, seconds = {}, {}
    for name, model in named.items():
        began = time.perf_counter()
        fitted[name] = clone(model).fit(X, y)
        seconds[name] = time.perf_counter() - began
    n = int(np.shape(y)[0])
    judged = {name: _evidence(model, n) for name, model in fitted.items()}
    basis, ranks = _ranked(judged)
    rows = []
    for name, model in fitted.items():
        evidence = judged[name]
        predictions = (np.nan, np.nan, np.nan) if test is None else _judged(model, *test)
        rows.append(
            Row(
                name,
                evidence.value,
                evidence.model,
                evidence.error,
                *ranks[name],
                -getattr(model, "loo_log_likelihood_", np.nan) / n,
                *predictions,
                int(np.size(getattr(model, "support_", ()))) or -1,
                seconds[name],
                evidence.notes,
            )
        )
    rows.sort(key=lambda row: (np.nan_to_num(row.loo_nll, nan=np.inf), np.nan_to_num(-row.log_evidence, nan=np.inf)))
    return Comparison(tuple(rows), fitted, basis)


def _named(models: Any, target: str) -> dict[str, Any]:
    """Return estimators by name; names that occur twice are numbered."""
    if isinstance(models, Mapping):
        pairs = [(str(name), model) for name, model in models.items()]
    elif isinstance(models, Sequence) and not isinstance(models, str):
        pairs = [(repr(m) if isinstance(m, Kernel) else type(m).__name__, m) for m in models]
    else:
        raise TypeError(f"models: expected a mapping or a sequence of estimators, found {type(models).__name__}")
    if not pairs:
        raise ValueError("models: expected at least one estimator, found none")
    names = [name for name, _ in pairs]
    numbered: dict[str, Any] = {}
    for i, (name, model) in enumerate(pairs):
        unique = name if names.count(name) == 1 else f"{name} ({names[: i + 1].count(name)})"
        numbered[unique] = _with_kernel(model, target) if isinstance(model, Kernel) else model
    return numbered


def _with_kernel(kernel: Kernel, target: str) -> Any:
    return BayesianSVR(kernel) if target.startswith("continuous") else BayesianSVC(kernel)


# -- evidence
# -------------------------------------------------------------------------------------------------------------
@dataclasses.dataclass(frozen=True)
class Evidences:
    """What a machine says about its evidence.

    Attributes
    ----------
    value : float
        Log evidence at the learnt hyperparameters.
    model, error : float
        Log evidence with the hyperparameters integrated out, and a bound of its error.
    comparable : bool
        Whether they are the probability of the given targets.
    notes : tuple of str
        What to bear in mind.
    """

    value: float
    model: float
    error: float
    comparable: bool
    notes: tuple[str, ...]


def _ranked(judged: Mapping[str, Evidences]) -> tuple[str, dict[str, tuple[float, float]]]:
    """Return which evidence models are ranked by, and for each its log Bayes factor to the best and its probability.

    Both are nan for a model whose evidence cannot be compared.
    """
    comparable = {name: evidence for name, evidence in judged.items() if evidence.comparable}
    integrated = not any(np.isnan(evidence.model) for evidence in comparable.values())
    values = {name: evidence.model if integrated else evidence.value for name, evidence in comparable.items()}
    best, total = max(values.values(), default=np.nan), logsumexp(list(values.values()) or [0.0])
    ranks = dict.fromkeys(judged, (np.nan, np.nan))
    ranks |= {name: (value - best, float(np.exp(value - total))) for name, value in values.items()}
    return "log_model_evidence" if integrated else "log_evidence", ranks


def _evidence(model: Any, n: int) -> Evidences:
    """Return the log evidences, whether they can be compared with others, and notes."""
    value = float(getattr(model, "log_evidence_", np.nan))
    problem = _not_comparable(model, value)
    if problem is not None:
        return Evidences(value if np.isfinite(value) else np.nan, np.nan, np.nan, False, (problem,))
    integrated = float(getattr(model, "log_model_evidence_", np.nan))
    error = float(getattr(model, "log_model_evidence_error_", np.nan))
    notes = _trust(_chosen(model), n)
    if error > COARSE:
        notes += (f"its model evidence is known within {error:.1f} nats only; do not build on smaller differences",)
    return Evidences(value, integrated, error, True, notes)


def _not_comparable(model: Any, value: float) -> str | None:
    """Return why an evidence cannot be compared, None if it can."""
    if not np.isfinite(value):
        return "it has no evidence; judge it by its predictions"
    models = _chosen(model)
    if not models or not all(isinstance(m, GaussianProcessModel) for m in models):
        return "its evidence is not the probability of the given targets: no Bayes factor"
    if getattr(model, "class_weight", None) is not None:
        return "with class weights the evidence is not a probability of the targets: no Bayes factor"
    if not all(m.likelihood.traits.normalized for m in models):
        return "its likelihood is not normalised: no Bayes factor"
    return None


def _chosen(model: Any) -> tuple[Any, ...]:
    """Return the fitted models of an estimator, of averages the candidates with the largest weight."""
    return tuple(m.chosen if isinstance(m, AveragedModel) else m for m in getattr(model, "models_", ()))


def _trust(models: Sequence[GaussianProcessModel], n: int) -> tuple[str, ...]:
    """Return a note if Laplace's evidence is far from that of expectation propagation."""
    laplace = [m for m in models if isinstance(m.objective.inference, Laplace)]
    if not laplace:
        return ()
    gap = float(sum(_ep_log_evidence(m) - m.evidence.value for m in laplace))
    if abs(gap) <= TRUST * n * sum(m.n_outputs for m in laplace):
        return ()
    return (
        f"Laplace's evidence is not to be trusted here: expectation propagation finds {abs(gap):.1f} nats "
        f"{'more' if gap > 0.0 else 'less'} at the same hyperparameters (n = {n}); use inference='ep'",
    )


def _ep_log_evidence(model: GaussianProcessModel) -> float:
    """Return the evidence of expectation propagation at the hyperparameters of the model."""
    return float(sum(refinement.log_evidence for refinement in model.refined(EP(tol=1e-4)).refinements))


# -- predictions
# ----------------------------------------------------------------------------------------------------------
def _judged(model: Any, X: Any, y: Any) -> tuple[float, float, float]:
    """Return the mean negative log likelihood, the error and the calibration error on test data."""
    if is_classifier(model):
        return _judged_classifier(model, X, np.asarray(y))
    y = np.asarray(y, dtype=float)
    error = float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))
    nll = -float(np.mean(model.log_density(X, y))) if hasattr(model, "log_density") else np.nan
    if not hasattr(model, "predict_interval"):
        return nll, error, np.nan
    low, high = model.predict_interval(X, CONFIDENCE)
    return nll, error, abs(float(np.mean((low <= y) & (y <= high))) - CONFIDENCE)


def _judged_classifier(model: Any, X: Any, y: Any) -> tuple[float, float, float]:
    error = float(np.mean(model.predict(X) != y))
    if not hasattr(model, "predict_proba"):
        return np.nan, error, np.nan
    proba = model.predict_proba(X)
    column = np.searchsorted(model.classes_, y)
    given = np.maximum(proba[np.arange(y.size), column], 1e-300)
    right = model.classes_[np.argmax(proba, axis=1)] == y
    return -float(np.mean(np.log(given))), error, _calibration_error(proba.max(axis=1), right)


def _calibration_error(confidence: Vector, right: Any) -> float:
    """Return the expected calibration error: mean gap between confidence and accuracy over equally wide bins."""
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, confidence, BINS) - np.bincount(bins, right.astype(float), BINS)
    return float(np.sum(np.abs(gaps)) / confidence.size)


__all__ = ["compare"]
