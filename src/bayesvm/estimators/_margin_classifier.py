"""What the margin classifiers share: weights, one-vs-rest and one-vs-one, decisions."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import _ovr_decision_function, check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from bayesvm.estimators._kernel_machine import KernelMachine, Problem
from bayesvm.likelihoods.dual import Dual
from bayesvm.typing import Indices, Vector


class MarginClassifier(ClassifierMixin, KernelMachine):
    """Base of the margin classifiers; see :class:`~bayesvm.ExtendedSVC` for arguments, attributes and notes."""

    @abstractmethod
    def _dual(self, y: Vector) -> Dual:
        """Return the dual of the losses of labels -1 and +1, all with weight one."""

    # -- fitting ------------------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve the dual problem of every machine.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, d)
            Inputs.
        y : array, shape (n,)
            Labels of two or more classes, of any type that scikit-learn takes.
        sample_weight : array, shape (n,), optional
            Non-negative weights of the losses (:math:`C_i = w_i C`); rows of weight zero are left out.

        Returns
        -------
        self : the estimator
        """
        self._check_arguments()
        if self.multi_class not in ("ovr", "ovo"):
            raise ValueError(f"multi_class: expected 'ovr' or 'ovo', found {self.multi_class!r}")
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise ValueError(f"y: expected at least two classes, found one class, {self.classes_[0]!r}")
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if self.class_weight is not None:
            weights = weights * compute_sample_weight(self.class_weight, y)
        counts = np.bincount(codes, weights=weights, minlength=self.classes_.size)
        if np.any(counts == 0.0):
            missing = self.classes_[counts == 0.0]
            raise ValueError(f"weights: expected a positive weight in every class, found none in class {missing[0]!r}")
        rows = np.flatnonzero(weights > 0.0)
        self._fit_problems(X[rows], weights[rows], self._problems(codes[rows], weights[rows]))
        self.support_ = rows[self.support_]
        self.n_support_ = np.bincount(codes[self.support_], minlength=self.classes_.size)
        return self

    def _problems(self, codes: Indices, weights: Vector) -> list[Problem]:
        """Return one problem per machine: class 1 against class 0, or each against the rest, or each against each."""
        k, everyone = self.classes_.size, np.arange(codes.size)
        if k == 2:
            sides = [(everyone, 1)]
        elif self.multi_class == "ovr":
            sides = [(everyone, c) for c in range(k)]
        else:
            pairs = itertools.combinations(range(k), 2)
            sides = [(np.flatnonzero((codes == a) | (codes == b)), a) for a, b in pairs]
        return [
            Problem(rows, self._dual(np.where(codes[rows] == c, 1.0, -1.0)).weighted(weights[rows]))
            for rows, c in sides
        ]

    # -- prediction ---------------------------------------------------------------------------------------------------
    def decision_function(self, X: Any) -> Any:
        """Return the discriminant :math:`f = K a + b`.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, d)
            Inputs.

        Returns
        -------
        f : array, shape (n,) or (n, n_classes)
            Positive for ``classes_[1]``; with more than two classes one column per class: the values of the one-vs-rest
            machines, or the votes of the one-vs-one machines with their summed confidences as tie-breakers.
        """
        values = self._values(X)
        if self.classes_.size == 2:
            return values[:, 0]
        if self.multi_class == "ovr":
            return values
        return _ovr_decision_function(values < 0.0, -values, self.classes_.size)

    def predict(self, X: Any) -> Any:
        """Return the class with the largest decision value."""
        f = self.decision_function(X)
        return self.classes_[(f > 0.0).astype(int) if f.ndim == 1 else np.argmax(f, axis=1)]


__all__ = ["MarginClassifier"]
