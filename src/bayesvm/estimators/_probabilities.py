"""Class probabilities from log odds, and what follows from them: the base of all classifiers that give probabilities."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy.special import log_expit, log_softmax
from sklearn.base import ClassifierMixin

from bayesvm.typing import Matrix, Vector


def log_proba_of(odds: Matrix) -> Matrix:
    """Return logarithms of class probabilities from log odds: one column, of the second class, or one per class against the rest.

    Several classes are coupled by a softmax of their log odds.
    """
    if odds.shape[1] == 1:
        return np.hstack([log_expit(-odds), log_expit(odds)])
    return np.asarray(log_softmax(odds, axis=1))


def decision_of(log_proba: Matrix) -> Matrix | Vector:
    """Return the log odds of the second class, or with more than two classes of each class against the rest."""
    if log_proba.shape[1] == 2:
        return log_proba[:, 1] - log_proba[:, 0]
    return log_proba - np.log(-np.expm1(np.minimum(log_proba, -1e-300)))


class ProbabilisticClassifier(ClassifierMixin):
    """Base of the classifiers: a subclass sets ``classes_`` and gives the logarithms of its probabilities."""

    @abstractmethod
    def predict_log_proba(self, X: Any) -> Matrix:
        """Return logarithms of class probabilities."""

    def predict_proba(self, X: Any) -> Matrix:
        """Return class probabilities, in the order of ``classes_``; rows sum to one."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row (the first in ``classes_`` if two are equal)."""
        codes = np.argmax(self.predict_log_proba(X), axis=1)
        return self.classes_[codes]

    def decision_function(self, X: Any) -> Any:
        """Return the log odds of the second class, or with more than two classes of each class against the rest."""
        return decision_of(self.predict_log_proba(X))


__all__ = ["ProbabilisticClassifier", "decision_of", "log_proba_of"]
