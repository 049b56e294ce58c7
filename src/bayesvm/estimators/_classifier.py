"""What all self-tuning classifiers share: one-vs-rest machines, weights, class priors, probabilities."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

import numpy as np
from scipy.special import log_expit, log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from bayesvm.estimators._calibration import Calibration, calibrate_odds
from bayesvm.estimators._inference import PREDICTIVE_EP, inference_from_name
from bayesvm.estimators._machine import Machine, refine
from bayesvm.estimators._self_tuning import SelfTuning
from bayesvm.inference import EP, Inference
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import Classification, Likelihood, Weighted, from_name
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


class SelfTuningClassifier(ClassifierMixin, SelfTuning):
    """Base of the self-tuning classifiers; see :class:`~bayesvm.BayesianSVC` for arguments, attributes and notes."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _likelihood(self) -> Classification:
        likelihood = from_name(self.likelihood) if isinstance(self.likelihood, str) else self.likelihood
        if not isinstance(likelihood, Classification) or not likelihood.traits.normalized:
            raise ValueError(
                "likelihood: expected 'trigonometric', 'raised-cosine', 'logistic', 'probit' or an object for two classes "
                f"that is a normalised probability, found {self.likelihood!r}"
            )
        return likelihood

    def _check_arguments(self) -> None:
        super()._check_arguments()
        for name, allowed in (("posterior", ("ep", "laplace")), ("calibrate", ("auto", "loo", None))):
            value = getattr(self, name)
            if value not in allowed:
                raise ValueError(f"{name}: expected one of {', '.join(map(repr, allowed))}, found {value!r}")
        if self.inference == "ep" and self.posterior != "ep":
            raise ValueError(f"posterior: expected 'ep' with inference='ep', found {self.posterior!r}")

    def _inference(self) -> Inference:
        return inference_from_name(self.inference, self._likelihood())

    def _refined(self, machine: Machine) -> Machine:
        wanted = self.posterior == "ep" and not isinstance(machine.objective.inference, EP)
        return refine(machine, PREDICTIVE_EP if wanted else None)

    # -- fitting ------------------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn hyperparameters and latent function from the training data.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, d)
            Inputs.
        y : array, shape (n,)
            Labels of two or more classes, of any type that scikit-learn takes.
        sample_weight : array, shape (n,), optional
            Non-negative weights; rows of weight zero are left out.

        Returns
        -------
        self : the estimator
        """
        self._check_arguments()
        likelihood: Likelihood = self._likelihood()
        X, codes, weights, rows = self._labelled(X, y, sample_weight)
        if weights is not None:
            likelihood = Weighted(likelihood, weights[rows])
        positives = range(self.classes_.size) if self.classes_.size > 2 else (1,)
        problems = [(np.where(codes[rows] == k, 1.0, -1.0), likelihood) for k in positives]
        inputs = self._prepare(X[rows], None if weights is None else weights[rows])
        self._finish(self._fit_machines(inputs, problems), X, rows)
        self._leave_one_out(X, codes, rows, np.ones(rows.size) if weights is None else weights[rows])
        return self

    def _leave_one_out(self, X: Any, codes: Indices, rows: Indices, weights: Vector) -> None:
        """Calibrate on the leave-one-out predictions of the rows that were used, and report them for all rows."""
        own = np.column_stack([_loo_log_odds(machine) for machine in self._machines])
        self.calibration_ = [
            Calibration()
            if self.calibrate is None
            else calibrate_odds(
                own[:, k], m.objective.y, weights, tuned=self._tuned(m), cautious=self.calibrate == "auto"
            )
            for k, m in enumerate(self._machines)
        ]
        odds = np.empty((codes.size, len(self._machines)))
        odds[rows] = self._calibrated(own)
        unused = np.setdiff1d(np.arange(codes.size), rows)
        if unused.size:
            odds[unused] = self._log_odds(self._standardizer.inputs(X[unused]))
        log_proba = self._log_proba(odds, None)
        self.loo_proba_ = np.exp(log_proba)
        self.loo_log_likelihood_ = float(np.sum(log_proba[np.arange(codes.size), codes]))

    def _tuned(self, machine: Machine) -> int:
        return 0 if self.optimizer is None else machine.theta.size

    def _calibrated(self, odds: Matrix) -> Matrix:
        return np.column_stack([c.apply(odds[:, k]) for k, c in enumerate(self.calibration_)])

    def _labelled(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Indices, Vector | None, Indices]:
        """Validate the data and set ``classes_``; return X, class numbers, weights (None if all are one) and rows in use."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise ValueError(f"y: expected at least two classes, found one class, {self.classes_[0]!r}")
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
            raise ValueError(f"weights: expected a positive weight in every class, found none in class {missing[0]!r}")
        self._log_prior = np.log(counts / counts.sum())
        empirical = np.bincount(codes, weights=plain, minlength=self.classes_.size)
        self._log_empirical = np.log(empirical / empirical.sum())
        return None if sample_weight is None and self.class_weight is None else weights

    # -- prediction ---------------------------------------------------------------------------------------------------
    def _log_odds(self, inputs: Inputs) -> Matrix:
        """Return the log odds of each machine's averaged and calibrated probability, one column per machine."""
        latent = [machine.latent(inputs) for machine in self._machines]
        columns = [m.likelihood.plain.log_odds(*pair) for m, pair in zip(self._machines, latent)]
        return self._calibrated(np.column_stack(columns))

    def _log_proba(self, odds: Matrix, class_prior: Any) -> Matrix:
        """Return logarithms of class probabilities from the machines' log odds."""
        if odds.shape[1] == 1:
            log_proba = np.column_stack([log_expit(-odds[:, 0]), log_expit(odds[:, 0])])
        else:
            log_proba = log_softmax(odds, axis=1)
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

    def decision_function(self, X: Any) -> Any:
        """Return the log odds of the second class, or with more than two classes of each class against the rest."""
        log_proba = self.predict_log_proba(X)
        if self.classes_.size == 2:
            return log_proba[:, 1] - log_proba[:, 0]
        return log_proba - np.log(-np.expm1(np.minimum(log_proba, -1e-300)))

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
            raise ValueError(f"label_doubt: expected labels among {self.classes_!r}, found {unknown[0]!r}")
        probability = 1.0 - proba[np.arange(y.size), np.searchsorted(self.classes_, y)]
        return LabelDoubt(probability, np.argsort(-probability, kind="stable"))


def _loo_log_odds(machine: Machine) -> Vector:
    """Return the log odds of the training rows, each predicted without itself."""
    q = machine.marginals
    assert q is not None
    likelihood = machine.likelihood.plain
    assert isinstance(likelihood, Classification)
    return likelihood.log_odds(q.cavity_mean, q.cavity_var)


__all__ = ["LabelDoubt", "SelfTuningClassifier"]
