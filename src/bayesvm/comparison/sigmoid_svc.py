"""The strongest support vector classifier with probabilities that a careful user would run: one grid, one sigmoid.

Every point of the grid gives decisions for all training rows, each from a machine that has not seen the row (one set of
stratified folds for the whole grid). To these pooled decisions a sigmoid is fitted by maximum likelihood with Platt's
regularised targets. The point whose sigmoid has the smallest log loss is fitted once more on all rows and keeps that
sigmoid. Nothing is nested: one search serves for the kernel and for the probabilities, which is both faster and
stronger than calibrating a search by further folds.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bayesvm.typing import Matrix, Vector


class SigmoidSVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Support vector classifier on standardised inputs, with probabilities by one sigmoid per class.

    Parameters
    ----------
    log2_C : sequence of float
        Grid of the base-two logarithm of C.
    log10_gamma_d : sequence of float
        Grid of the base-ten logarithm of gamma times the number of inputs.
    folds : int
        Number of stratified folds, fewer if a class has fewer rows.
    random_state : int
        Seed of the folds.

    Attributes
    ----------
    C_, gamma_ : float
        The chosen point.
    sigmoids_ : array of shape (n_decisions, 2)
        Slope and offset of ``expit(slope * decision + offset)``, one row for two classes, else one per class; the
        probabilities of several classes are divided by their sum.
    log_loss_ : float
        Mean log loss of the sigmoids on the decisions to which they were fitted.
    svc_ : SVC
        The machine.
    classes_ : array
        Labels.
    """

    def __init__(
        self,
        log2_C: Any = tuple(range(-5, 10, 2)),
        log10_gamma_d: Any = (-2.5, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5),
        folds: int = 5,
        random_state: int = 0,
    ) -> None:
        self.log2_C = log2_C
        self.log10_gamma_d = log10_gamma_d
        self.folds = folds
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Search the grid and fit the best point once more."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        rarest = int(np.bincount(codes).min())
        if self.classes_.size < 2 or rarest < 2:
            raise ValueError(
                "y: expected at least two classes with at least two rows each, found "
                f"{self.classes_.size} classes, the rarest with {rarest}"
            )
        self.scaler_ = StandardScaler().fit(X)
        Z = self.scaler_.transform(X)
        folds = StratifiedKFold(min(self.folds, rarest), shuffle=True, random_state=self.random_state)
        splits = list(folds.split(Z, codes))
        self.log_loss_ = np.inf
        for log_gamma in self.log10_gamma_d:
            for log_c in self.log2_C:
                point = {"C": 2.0**log_c, "gamma": 10.0**log_gamma / Z.shape[1]}
                decisions = _left_out_decisions(point, Z, codes, splits)
                sigmoids = np.array([fitted_sigmoid(column, s) for column, s in _one_against_rest(decisions, codes)])
                proba = _probabilities(decisions, sigmoids)
                loss = -float(np.mean(np.log(np.maximum(proba[np.arange(codes.size), codes], np.finfo(float).tiny))))
                if loss < self.log_loss_:
                    self.log_loss_, self.sigmoids_ = loss, sigmoids
                    self.C_, self.gamma_ = point["C"], point["gamma"]
        self.svc_ = SVC(C=self.C_, gamma=self.gamma_).fit(Z, codes)
        return self

    def predict_proba(self, X: Any) -> Matrix:
        """Return the probabilities of the classes."""
        return _probabilities(_columns(self.svc_.decision_function(self.scaler_.transform(X))), self.sigmoids_)

    def predict(self, X: Any) -> Any:
        """Return the most probable classes."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


def fitted_sigmoid(decisions: Vector, signs: Vector) -> tuple[float, float]:
    r"""Return slope and offset of Platt's sigmoid.

    They minimise the cross entropy with the targets :math:`(N_+ + 1)/(N_+ + 2)` for positive and :math:`1/(N_- + 2)`
    for negative labels.

    Parameters
    ----------
    decisions, signs : arrays, shape (n,)
        Decisions and labels -1/+1.
    """
    positive = signs > 0.0
    n_plus, n_minus = int(positive.sum()), int((~positive).sum())
    targets = np.where(positive, (n_plus + 1.0) / (n_plus + 2.0), 1.0 / (n_minus + 2.0))
    width = float(np.std(decisions)) or 1.0

    def loss(p: Vector) -> tuple[float, Vector]:
        odds = p[0] * decisions / width + p[1]
        excess = expit(odds) - targets
        value = -np.sum(targets * log_expit(odds) + (1.0 - targets) * log_expit(-odds))
        return float(value), np.array([excess @ decisions / width, excess.sum()])

    start = np.array([1.0, np.log((n_plus + 1.0) / (n_minus + 1.0))])
    found = minimize(loss, start, jac=True, method="BFGS").x
    return float(found[0] / width), float(found[1])


def _left_out_decisions(point: dict[str, float], Z: Matrix, codes: Any, splits: list[Any]) -> Matrix:
    """Return the decisions of all rows, each by a machine that has not seen it, one column per class (one for two)."""
    parts = [(test, SVC(**point).fit(Z[train], codes[train]).decision_function(Z[test])) for train, test in splits]
    decisions = np.empty((codes.size, _columns(parts[0][1]).shape[1]))
    for test, found in parts:
        decisions[test] = _columns(found)
    return decisions


def _columns(decisions: Any) -> Matrix:
    return np.asarray(decisions)[:, None] if np.ndim(decisions) == 1 else np.asarray(decisions)


def _one_against_rest(decisions: Matrix, codes: Any) -> list[tuple[Vector, Vector]]:
    """Return decisions and signs of every column; the one column of two classes is that of the second."""
    first = 1 if decisions.shape[1] == 1 else 0
    return [(column, np.where(codes == k + first, 1.0, -1.0)) for k, column in enumerate(decisions.T)]


def _probabilities(decisions: Matrix, sigmoids: Matrix) -> Matrix:
    proba = expit(sigmoids[:, 0] * decisions + sigmoids[:, 1])
    if proba.shape[1] == 1:
        return np.hstack([1.0 - proba, proba])
    total = proba.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, proba / np.where(total > 0.0, total, 1.0), 1.0 / proba.shape[1])


__all__ = ["SigmoidSVC", "fitted_sigmoid"]
