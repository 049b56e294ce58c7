"""Labels of several classes as -1 and +1; class probabilities from log odds, and back."""

from __future__ import annotations

import numpy as np
from scipy.special import log_expit, log_softmax

from bayesvm.typing import Indices, Matrix, Vector


def one_against_rest(codes: Indices, n_classes: int) -> Matrix:
    """Return +1 for the rows of a class and -1 for the others: of the second of two classes, or of each of more."""
    positives = range(n_classes) if n_classes > 2 else (1,)
    return np.column_stack([np.where(codes == k, 1.0, -1.0) for k in positives])


def log_proba_of(odds: Matrix) -> Matrix:
    """Return logarithms of class probabilities from log odds.

    One column holds the log odds of the second class; several, of each class against the rest, are coupled by a
    softmax.
    """
    if odds.shape[1] == 1:
        return np.hstack([log_expit(-odds), log_expit(odds)])
    return np.asarray(log_softmax(odds, axis=1))


def decision_of(log_proba: Matrix) -> Matrix | Vector:
    """Return the log odds of the second class, or with more than two classes of each class against the rest."""
    if log_proba.shape[1] == 2:
        return log_proba[:, 1] - log_proba[:, 0]
    return log_proba - np.log(-np.expm1(np.minimum(log_proba, -1e-300)))


__all__ = ["decision_of", "log_proba_of", "one_against_rest"]
