"""What follows from class probabilities, for classifiers that compute them in their own way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from bayesvm.models.probabilities import decision_of
from bayesvm.typing import Matrix


class ProbabilisticClassifier(ClassifierMixin, ABC):
    """Base of such classifiers: a subclass sets ``classes_`` and gives the logarithms of its probabilities."""

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


__all__ = ["ProbabilisticClassifier"]
