"""What all self-tuning classifiers share: labels, weights, class priors, and probabilities from the log odds of machines."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from bayesvm.estimators._probabilities import ProbabilisticClassifier, log_proba_of
from bayesvm.estimators._self_tuning import SelfTuning
from bayesvm.kernels.inputs import Inputs
from bayesvm.typing import Indices, Matrix, Vector


@dataclasses.dataclass(frozen=True)
class LabelDoubt:
    """How likely given labels are wrong.

    Attributes
    ----------
    probability : array, shape (n,)
        Probability, per row, that the label is not the one given.
    ranking : array of int, shape (n,)
        Row numbers, the most doubtful label first.
    """

    probability: Vector
    ranking: Indices


class LabelProbabilities(ProbabilisticClassifier, SelfTuning):
    """Base of the self-tuning classifiers: a subclass fits machines and gives their log odds."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _labelled(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Indices, Vector | None, Indices]:
        """Validate the data and set ``classes_``; return X, class numbers, weights (None if all are one) and rows in use."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise ValueError(f"y: expected at least two classes, found one class, {self.classes_.tolist()[0]!r}")
        weights = self._weights(sample_weight, X, y, codes)
        rows = np.arange(codes.size) if weights is None else np.flatnonzero(weights > 0.0)
        return X, codes, weights, rows

    def _weights(self, sample_weight: Any, X: Any, y: Any, codes: Indices) -> Vector | None:
        """Return the product of sample and class weights (None if all are one), and remember the class frequencies."""
        plain = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        weights = plain if self.class_weight is None else plain * compute_sample_weight(self.class_weight, y)
        counts = np.bincount(codes, weights=weights, minlength=self.classes_.size)
        if np.count_nonzero(counts) < self.classes_.size:
            missing = self.classes_[counts == 0.0]
            raise ValueError(
                f"weights: expected a positive weight in every class, found none in class {missing.tolist()[0]!r}"
            )
        self._log_prior = np.log(counts / counts.sum())
        empirical = np.bincount(codes, weights=plain, minlength=self.classes_.size)
        self._log_empirical = np.log(empirical / empirical.sum())
        return None if sample_weight is None and self.class_weight is None else weights

    # -- prediction ---------------------------------------------------------------------------------------------------
    @abstractmethod
    def _log_odds(self, inputs: Inputs) -> Matrix:
        """Return log odds at standardised inputs: of the second class, or one column per class against the rest."""

    def _log_proba(self, odds: Matrix, class_prior: Any) -> Matrix:
        """Return logarithms of class probabilities from the machines' log odds."""
        log_proba = log_proba_of(odds)
        shift = self._prior_shift(self.class_prior if class_prior is None else class_prior)
        return log_proba if shift is None else log_softmax(log_proba + shift, axis=1)

    def _prior_shift(self, class_prior: Any) -> Vector | None:
        if class_prior is None:
            return None
        if isinstance(class_prior, str):
            if class_prior != "empirical":
                raise ValueError(f"class_prior: expected None, 'empirical' or frequencies, found {class_prior!r}")
            return np.asarray(self._log_empirical - self._log_prior)
        prior = np.asarray(class_prior, dtype=float)
        if prior.shape != self.classes_.shape or not np.all(prior > 0.0) or not np.all(np.isfinite(prior)):
            raise ValueError(
                f"class_prior: expected {self.classes_.size} positive frequencies in the order of classes_, "
                f"found {class_prior!r}"
            )
        return np.asarray(np.log(prior / prior.sum()) - self._log_prior)

    def predict_log_proba(self, X: Any, class_prior: Any = None) -> Matrix:
        """Return logarithms of class probabilities; see :meth:`predict_proba`."""
        check_is_fitted(self)
        return self._log_proba(self._log_odds(self._inputs(X)), class_prior)

    def predict_proba(self, X: Any, class_prior: Any = None) -> Matrix:
        """Return class probabilities averaged over the posterior, Chu2003 (39).

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, d)
            Inputs.
        class_prior : array, "empirical" or None
            Overrides the constructor's ``class_prior``.

        Returns
        -------
        proba : array, shape (n, n_classes)
            Columns in the order of ``classes_``; rows sum to one.
        """
        return np.exp(self.predict_log_proba(X, class_prior))

    def predict(self, X: Any, class_prior: Any = None) -> Any:
        """Return the most probable class of each row (the first in ``classes_`` if two are equal)."""
        log_proba = self.predict_log_proba(X, class_prior)
        return self.classes_[np.argmax(log_proba, axis=1)]

    # -- reading the model --------------------------------------------------------------------------------------------
    def label_doubt(self, X: Any, y: Any) -> LabelDoubt:
        """Return how likely each given label is wrong, most doubtful first (Chu2003 section 5.1).

        Parameters
        ----------
        X : array, shape (n, d)
            Inputs.
        y : array, shape (n,)
            Labels, each one of ``classes_``.

        Returns
        -------
        doubt : LabelDoubt
        """
        proba = self.predict_proba(X)
        y = np.asarray(y)
        if y.shape != (proba.shape[0],):
            raise ValueError(f"label_doubt: expected {proba.shape[0]} labels, found shape {y.shape}")
        unknown = np.setdiff1d(y, self.classes_)
        if unknown.size:
            raise ValueError(f"label_doubt: expected labels among {self.classes_!r}, found {unknown.tolist()[0]!r}")
        probability = 1.0 - proba[np.arange(y.size), np.searchsorted(self.classes_, y)]
        return LabelDoubt(probability, np.argsort(-probability, kind="stable"))


__all__ = ["LabelDoubt", "LabelProbabilities"]
