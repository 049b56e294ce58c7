"""The rival that a careful user would run: one grid of support vector classifiers, chosen by the loss of a sigmoid.

``python -m benchmarks.strong_svc [--sets a,b] [--partitions N]``

Every point of the grid gives decisions for all training rows, each from a machine that has not seen the row (one set of
stratified folds for the whole grid). To these pooled decisions a sigmoid is fitted by maximum likelihood with Platt's
regularised targets. The point whose sigmoid has the smallest log loss is fitted once more on all rows and keeps that
sigmoid. Nothing is nested: one search serves for the kernel and for the probabilities, which is both faster and
stronger than calibrating a search by further folds.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks._common import IDA_LIMITS, load, table


class StrongSVC(ClassifierMixin, BaseEstimator):
    """Support vector classifier for two classes on standardised inputs, with probabilities by one sigmoid.

    Parameters
    ----------
    log2_C : sequence of float
        Grid of the base-two logarithm of C.
    log10_gamma_d : sequence of float
        Grid of the base-ten logarithm of gamma times the number of inputs.
    folds : int
        Number of stratified folds.
    random_state : int
        Seed of the folds.

    Attributes
    ----------
    C_, gamma_ : float
        The chosen point.
    slope_, offset_ : float
        The sigmoid is ``expit(slope_ * decision + offset_)``.
    log_loss_ : float
        Mean log loss of the sigmoid on the decisions to which it was fitted.
    classes_ : array of shape (2,)
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
        if self.classes_.size != 2:
            raise ValueError(f"y: expected two classes, found {self.classes_.size}")
        self._scaler = StandardScaler().fit(X)
        Z = self._scaler.transform(X)
        signs = 2.0 * codes - 1.0
        splits = list(StratifiedKFold(self.folds, shuffle=True, random_state=self.random_state).split(Z, codes))
        best = np.inf
        for log_gamma in self.log10_gamma_d:
            gamma = 10.0**log_gamma / Z.shape[1]
            for log_c in self.log2_C:
                decisions = np.empty(signs.size)
                for train, test in splits:
                    machine = SVC(C=2.0**log_c, gamma=gamma).fit(Z[train], codes[train])
                    decisions[test] = machine.decision_function(Z[test])
                slope, offset = fitted_sigmoid(decisions, signs)
                loss = -float(np.mean(log_expit(signs * (slope * decisions + offset))))
                if loss < best:
                    best = loss
                    self.C_, self.gamma_, self.slope_, self.offset_, self.log_loss_ = (
                        2.0**log_c,
                        gamma,
                        slope,
                        offset,
                        loss,
                    )
        self.machine_ = SVC(C=self.C_, gamma=self.gamma_).fit(Z, codes)
        self.support_ = self.machine_.support_
        return self

    def decision_function(self, X: Any) -> Any:
        """Return the log odds of the second class."""
        return self.slope_ * self.machine_.decision_function(self._scaler.transform(X)) + self.offset_

    def predict_proba(self, X: Any) -> Any:
        """Return probabilities of the two classes."""
        p = expit(self.decision_function(X))
        return np.column_stack([1.0 - p, p])

    def predict(self, X: Any) -> Any:
        """Return the more probable class."""
        return self.classes_[(self.decision_function(X) > 0.0).astype(int)]


def fitted_sigmoid(decisions: Any, signs: Any) -> tuple[float, float]:
    r"""Return slope and offset of Platt's sigmoid.

    They minimise the cross entropy with the targets :math:`(N_+ + 1)/(N_+ + 2)` for positive and :math:`1/(N_- + 2)`
    for negative labels.
    """
    positive = signs > 0.0
    n_plus, n_minus = int(positive.sum()), int((~positive).sum())
    targets = np.where(positive, (n_plus + 1.0) / (n_plus + 2.0), 1.0 / (n_minus + 2.0))
    width = float(np.std(decisions)) or 1.0

    def loss(p: Any) -> tuple[float, Any]:
        odds = p[0] * decisions / width + p[1]
        excess = expit(odds) - targets
        value = -np.sum(targets * log_expit(odds) + (1.0 - targets) * log_expit(-odds))
        return float(value), np.array([excess @ decisions / width, excess.sum()])

    found = minimize(loss, np.array([1.0, np.log((n_plus + 1.0) / (n_minus + 1.0))]), jac=True, method="BFGS").x
    return float(found[0] / width), float(found[1])


def main() -> None:
    """Measure it on the IDA sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(IDA_LIMITS))
    parser.add_argument("--partitions", type=int, default=10)
    given = parser.parse_args()
    rows = []
    with threadpool_limits(limits=1):
        for name in given.sets.split(","):
            data = load(f"ida_{name}")
            losses, errors, seconds = [], [], []
            for k in range(given.partitions):
                train, test = data["train"][k], data["test"][k]
                began = time.process_time()
                machine = StrongSVC().fit(data["X"][train], data["y"][train])
                seconds.append(time.process_time() - began)
                odds, y = machine.decision_function(data["X"][test]), data["y"][test]
                losses.append(-float(np.mean(log_expit(np.where(y == machine.classes_[1], odds, -odds)))))
                errors.append(100.0 * float(np.mean(machine.predict(data["X"][test]) != y)))
            rows.append([name, len(losses), float(np.mean(losses)), float(np.mean(errors)), float(np.median(seconds))])
            print(table(["set", "runs", "NLL", "error %", "s/fit"], rows[-1:]), flush=True)


if __name__ == "__main__":
    main()
