"""A committee of models that differ in their hyperparameters, weighted by their evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from bayesvm.estimators._attributes import twin
from bayesvm.estimators._classifier import BayesianClassifier
from bayesvm.estimators._regressor import BayesianRegressor
from bayesvm.estimators._summary import SummaryMixin
from bayesvm.models import GaussianProcessModel
from bayesvm.models.average import AveragedModel
from bayesvm.typing import Matrix, Vector


def _member_has(name: str) -> Callable[[Any], bool]:
    return lambda self: hasattr(self.estimator, name)


class Committee(MetaEstimatorMixin, SummaryMixin, BaseEstimator):
    r"""Average over the distinct optima of the evidence that the starts found (Chu2003 section 3.4).

    The predictive distribution is the mixture :math:`\sum_k w_k P(y|x, \theta_k)` with weights :math:`w_k \propto
    P(D|\theta_k) P(\theta_k)`, which takes into account what the data leave open about the hyperparameters.

    Parameters
    ----------
    estimator : self-tuning classifier or regressor
        Fitted once, with all its starts.
    max_members : int
        Largest number of members; the best optima are kept.
    separation : float
        Two ends count as different optima if they differ by more than this in the logarithm of some hyperparameter.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator, at its best optimum.
    weights_ : array, shape (n_members,)
        Weights of the members, summing to one, in decreasing order.
    thetas_ : list of lists of arrays
        Hyperparameters of each member, one array per model (several models: multi-class or multi-output). With several
        models member k takes each model's k-th best optimum.

    Notes
    -----
    A member whose evidence is a few nats below the best has next to no weight: the committee then equals the estimator.

    References
    ----------
    Chu2003 section 3.4; Thesis section 3.2.5.3.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayesvm import BayesianSVC, Committee
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> Committee(BayesianSVC()).fit(X, y).predict_proba(X).shape
    (60, 2)
    """

    def __init__(self, estimator: Any, *, max_members: int = 8, separation: float = 0.3) -> None:
        self.estimator = estimator
        self.max_members = max_members
        self.separation = separation

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.target_tags = inner.target_tags
        tags.input_tags.sparse = inner.input_tags.sparse
        return tags

    # -- fitting ------------------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the estimator and make a member of every distinct optimum.

        Parameters
        ----------
        X, y : arrays
            Training data, as the estimator takes them.
        sample_weight : array, optional
            Weights of the rows.

        Returns
        -------
        self : Committee
        """
        if not isinstance(self.estimator, BayesianClassifier | BayesianRegressor):
            raise TypeError(f"Committee: expected a self-tuning estimator, found {type(self.estimator).__name__}")
        fitted = clone(self.estimator).fit(X, y, sample_weight=sample_weight)
        optima = [_optima(model, self.separation)[: self.max_members] for model in _models(fitted)]
        size = max(len(ends) for ends in optima)
        return self._assemble(fitted, [[ends[min(k, len(ends) - 1)] for ends in optima] for k in range(size)])

    @classmethod
    def of(cls, fitted: Any, thetas: Sequence[Sequence[Vector]], weights: Vector | None = None) -> Committee:
        """Return a committee of a fitted estimator at given hyperparameters.

        Parameters
        ----------
        fitted : self-tuning estimator
            Fitted; it gives the data and the form of the model.
        thetas : list of lists of arrays
            Per member, one theta per model of the estimator.
        weights : array, optional
            Weights of the members (draws from the posterior of theta have equal ones); by evidence if None.

        Returns
        -------
        committee : Committee
        """
        check_is_fitted(fitted)
        return cls(fitted)._assemble(fitted, thetas, weights)

    def _assemble(self, fitted: Any, thetas: Sequence[Sequence[Vector]], weights: Vector | None = None) -> Self:
        members, values = [], []
        for member_thetas in thetas:
            pairs = zip(_models(fitted), member_thetas, strict=True)
            models = tuple(model.at(np.asarray(theta, dtype=float)) for model, theta in pairs)
            member = twin(fitted)
            member.models_ = models
            members.append(member)
            values.append(sum(model.maximum.value for model in models))
        raw = softmax(np.asarray(values)) if weights is None else np.asarray(weights, dtype=float)
        order = np.argsort(-raw, kind="stable")
        self.estimator_ = fitted
        self._members = [members[k] for k in order]
        self.weights_ = raw[order] / raw.sum()
        self.thetas_ = [list(thetas[k]) for k in order]
        self.n_features_in_ = fitted.n_features_in_
        for name in ("classes_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        return self

    # -- prediction ---------------------------------------------------------------------------------------------------
    def _average(self, values: Sequence[Matrix]) -> Matrix:
        return np.tensordot(self.weights_, np.asarray(values), axes=1)

    @available_if(_member_has("predict_proba"))
    def predict_proba(self, X: Any) -> Matrix:
        """Return the members' class probabilities, averaged."""
        check_is_fitted(self)
        return self._average([member.predict_proba(X) for member in self._members])

    @available_if(_member_has("predict_proba"))
    def predict_log_proba(self, X: Any) -> Matrix:
        """Return logarithms of the averaged class probabilities."""
        return np.log(self.predict_proba(X))

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the most probable class, or the mean of the mixture (with its standard deviation, if asked for).

        Parameters
        ----------
        X : array, shape (n, d)
            Inputs.
        return_std : bool
            Regressors only: whether to return the standard deviation of the mixture too, noise included.

        Returns
        -------
        prediction : array, shape (n,) or (n, n_outputs)
        std : array
            Only if ``return_std``.
        """
        check_is_fitted(self)
        if hasattr(self, "classes_"):
            if return_std:
                raise ValueError("predict: return_std is for regressors; use predict_proba")
            return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        if not return_std:
            return self._average([member.predict(X) for member in self._members])
        means, stds = zip(*(member.predict(X, return_std=True) for member in self._members))
        mean = self._average(means)
        spread = [std**2 + (m - mean) ** 2 for m, std in zip(means, stds)]
        return mean, np.sqrt(self._average(spread))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of a classifier, the coefficient of determination of a regressor."""
        metric = accuracy_score if hasattr(self, "classes_") else r2_score
        return float(metric(y, self.predict(X), sample_weight=sample_weight))


def _models(fitted: Any) -> tuple[GaussianProcessModel, ...]:
    """Return the models of a fitted estimator, of averages the chosen ones, if they can be moved to another theta."""
    models = tuple(model.chosen if isinstance(model, AveragedModel) else model for model in fitted.models_)
    for model in models:
        if not isinstance(model, GaussianProcessModel):
            raise TypeError(f"Committee: expected models with a Gaussian posterior, found {type(model).__name__}")
    return models


def _optima(model: GaussianProcessModel, separation: float) -> list[Vector]:
    """Return the distinct ends of the starts, best first."""
    ends = [(model.maximum.value, model.theta)]
    ends += [(r.value, r.end) for r in model.maximum.history if np.isfinite(r.value)]
    distinct: list[Vector] = []
    for _, end in sorted(ends, key=lambda pair: -pair[0]):
        if all(np.max(np.abs(end - other), initial=0.0) > separation for other in distinct):
            distinct.append(end)
    return distinct


__all__ = ["Committee"]
