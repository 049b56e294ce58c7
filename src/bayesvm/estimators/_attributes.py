"""Fitted attributes: written in one place, from the fitted models, with one shape whatever the number of outputs."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_selection import SelectFromModel
from sklearn.utils.validation import check_is_fitted

from bayesvm.exceptions import ConvergenceWarning
from bayesvm.hyper import SearchProgress
from bayesvm.hyper.progress import EVALUATIONS, ProgressBar
from bayesvm.models.base import FittedModel
from bayesvm.models.scaling import Standardizer, TargetScale
from bayesvm.typing import Indices, Matrix, Vector


def twin(estimator: Any) -> Any:
    """Return a shallow copy: a fit works on it, so that an error leaves the estimator as it was."""
    other = object.__new__(type(estimator))
    vars(other).update(vars(estimator))
    return other


def adopt(estimator: Any, fitted: Any) -> None:
    """Give an estimator the state of its fitted copy, in one step."""
    for name in set(vars(estimator)) - set(vars(fitted)):
        delattr(estimator, name)
    vars(estimator).update(vars(fitted))


@contextlib.contextmanager
def progress(estimator: Any, n_outputs: int = 1, needs: str = "") -> Iterator[Callable[[SearchProgress], None] | None]:
    """Show a progress bar, if the estimator is verbose; ``needs`` says what the fit is expected to need at most."""
    if not estimator.verbose:
        yield None
        return
    expected = EVALUATIONS * int(getattr(estimator, "n_starts", 1)) * n_outputs
    title = type(estimator).__name__ + (f" (up to about {needs})" if needs else "")
    with ProgressBar(title, expected) as bar:
        yield bar


def write_attributes(
    fitted: Any,
    models: Sequence[Any],
    X: Any,
    rows: Indices | None,
    standardizer: Standardizer,
    targets: TargetScale | None = None,
) -> None:
    """Set the fitted attributes that all self-tuning estimators share.

    Parameters
    ----------
    fitted : estimator
        Whose attributes are set.
    models : sequence of FittedModel
        One or several; outputs are counted through them.
    X : array or None
        All training rows in the user's units; None if they are not at hand.
    rows : array of int or None
        The rows of X on which the models were fitted; None if X is None.
    standardizer, targets : Standardizer, TargetScale or None
        Units used inside.
    """
    outputs = [model for model in models for _ in range(model.n_outputs)]
    scale = np.ones(len(outputs)) if targets is None else targets.scale
    fitted.models_ = tuple(models)
    _write_parts(fitted, outputs, standardizer, scale)
    if X is not None and rows is not None:
        _write_support(fitted, models, X, rows, scale)
    _write_basis(fitted, models, rows)
    _write_search(fitted, models)
    _write_relevance(fitted, outputs)
    for name in models[0].attributes:
        setattr(fitted, f"{name}_", _joined([model.attributes[name] for model in models]))


def _write_parts(fitted: Any, outputs: Sequence[Any], standardizer: Standardizer, scale: Vector) -> None:
    """Set kernels and likelihoods in the user's units; outputs of one model and one scale have the same objects."""
    kernels: dict[tuple[int, float], Any] = {}
    for model, s in zip(outputs, scale, strict=True):
        own = standardizer.kernel(model.kernel)
        kernels.setdefault((id(model), float(s)), own if s == 1.0 else float(s) ** 2 * own)
    fitted.kernels_ = tuple(kernels[id(m), float(s)] for m, s in zip(outputs, scale, strict=True))
    noise = [model.likelihood.plain for model in outputs]
    fitted.likelihoods_ = tuple(n if s == 1.0 else n.rescaled(float(s)) for n, s in zip(noise, scale, strict=True))


def _write_search(fitted: Any, models: Sequence[Any]) -> None:
    """Set what is known of the search: evidence, candidates, history, whether it converged."""
    fitted.log_evidence_ = float(sum(model.log_evidence for model in models))
    fitted.candidates_ = tuple(
        dataclasses.replace(candidate, output=k) for k, model in enumerate(models) for candidate in model.candidates
    )
    fitted.history_ = tuple(record for model in models for record in model.maximum.history)
    spent = sum(record.evaluations for record in fitted.history_)
    fitted.n_iter_ = int(sum(candidate.evaluations for candidate in fitted.candidates_) or spent)
    fitted.theta_names_ = tuple(models[0].objective.names)
    fitted.converged_ = not any(model.problems for model in models)


def _write_support(fitted: Any, models: Sequence[FittedModel], X: Any, rows: Indices, scale: Vector) -> None:
    """Set the attributes that name the rows with a coefficient that is not zero."""
    fitted.support_ = np.unique(np.concatenate([rows[model.support] for model in models]))
    fitted.support_vectors_ = X[fitted.support_]
    parts = []
    for model in models:
        part = np.zeros((model.n_outputs, fitted.support_.size))
        part[:, np.searchsorted(fitted.support_, rows[model.support])] = model.coefficients
        parts.append(part)
    fitted.dual_coef_ = np.vstack(parts) / scale[:, None]


def _write_basis(fitted: Any, models: Sequence[Any], rows: Indices | None) -> None:
    """Set which rows predict, and what leaving out the others has changed, for models that can be reduced."""
    if all(hasattr(model, "basis") for model in models):
        used = np.unique(np.concatenate([model.basis for model in models]))
        fitted.basis_ = used if rows is None else rows[used]
        fitted.n_basis_ = int(fitted.basis_.size)
        found = [model.reduction for model in models if model.reduction is not None]
        fitted.reduction_error_ = max((reduction.error for reduction in found), default=0.0)


def _write_relevance(fitted: Any, outputs: Sequence[FittedModel]) -> None:
    """Set the relevances: None if some kernel has no parameter per feature."""
    found = [model.kernel.relevance(fitted.n_features_in_) for model in outputs]
    fitted.relevances_ = None if any(row is None for row in found) else np.asarray(found)
    fitted.relevance_ = None if fitted.relevances_ is None else fitted.relevances_.mean(axis=0)
    fitted.named_relevance_ = None
    if fitted.relevance_ is not None:
        names = getattr(fitted, "feature_names_in_", [f"x{i}" for i in range(fitted.relevance_.size)])
        order = np.argsort(-fitted.relevance_, kind="stable")
        fitted.named_relevance_ = {str(names[i]): float(fitted.relevance_[i]) for i in order}


def _joined(values: Sequence[Any]) -> Any:
    """Return the attributes of several models as one: arrays and tuples one after the other, numbers summed."""
    if isinstance(values[0], np.ndarray):
        return np.concatenate(values)
    if sp.issparse(values[0]):
        return sp.vstack(values, format="csr")
    if isinstance(values[0], tuple):
        return tuple(item for value in values for item in value)
    return float(sum(values))


def warn_if_not_converged(fitted: Any) -> None:
    """Warn, once, about everything that did not converge; called by ``fit`` itself."""
    problems = sorted({problem for model in fitted.models_ for problem in model.problems})
    if problems:
        message = f"{type(fitted).__name__} did not converge: {'; '.join(problems)}"
        warnings.warn(message, ConvergenceWarning, stacklevel=3)


def only(estimator: Any, name: str) -> Any:
    """Return the one value of an attribute that has one per output, or say where to find the several."""
    check_is_fitted(estimator)
    values = getattr(estimator, f"{name}s_")
    if any(value is not values[0] for value in values):
        raise AttributeError(f"{name}_: expected one for all outputs, found {len(values)} different ones; see {name}s_")
    return values[0]


def select_features(estimator: Any, threshold: Any) -> SelectFromModel:
    """Return a fitted transformer that keeps the features with enough relevance."""
    check_is_fitted(estimator)
    if estimator.relevance_ is None:
        raise ValueError("select_features: expected a machine with one relevance per feature; fit it with ard=True")
    selector = SelectFromModel(estimator, threshold=threshold, prefit=True, importance_getter="relevance_")
    return selector.fit(np.zeros((1, estimator.n_features_in_)))


def columns(parts: Sequence[tuple[Matrix, Matrix]]) -> tuple[Matrix, Matrix]:
    """Return means and variances of several models side by side."""
    return np.hstack([mean for mean, _ in parts]), np.hstack([var for _, var in parts])


def mean_and_std(mean: Matrix, var: Matrix, return_std: bool) -> Any:
    """Return latent means, with standard deviations if asked for; those of one output as vectors."""
    if mean.shape[1] == 1:
        mean, var = mean[:, 0], var[:, 0]
    return (mean, np.sqrt(var)) if return_std else mean


__all__ = [
    "adopt",
    "columns",
    "mean_and_std",
    "only",
    "progress",
    "select_features",
    "twin",
    "warn_if_not_converged",
    "write_attributes",
]
