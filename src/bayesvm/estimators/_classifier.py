"""The classification head: labels, weights, class priors, and probabilities from the log odds of fitted models."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectFromModel
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from bayesvm.estimators import _attributes as attributes
from bayesvm.estimators._arguments import check_arguments, generator
from bayesvm.estimators._jobs import by_rows, pairs_by_rows, threads_of
from bayesvm.estimators._large import in_suited_units
from bayesvm.estimators._numbers import in_proportion, in_range, new_inputs, read_training_data, read_weights
from bayesvm.estimators._summary import SummaryMixin
from bayesvm.kernels import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import Likelihood
from bayesvm.models.average import AveragedClasses, AveragedLabels
from bayesvm.models.base import ModelSpec, TrainingData, typical_distance
from bayesvm.models.fit import fit_model, fit_outputs
from bayesvm.models.joint_calibration import COUPLED, calibrate_classes
from bayesvm.models.predictor import Predictor
from bayesvm.models.probabilities import decision_of, log_proba_of, one_against_rest
from bayesvm.models.scaling import Standardizer
from bayesvm.models.softmax_process import SoftmaxModel
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


@dataclasses.dataclass(frozen=True)
class ClassFrequencies:
    """Logarithms of the class frequencies of the training rows, with all weights and with sample weights alone."""

    weighted: Vector
    plain: Vector

    def shift(self, class_prior: Any) -> Vector | None:
        """Return what to add to log probabilities to bring them to other class frequencies, None for no change."""
        if class_prior is None:
            return None
        if isinstance(class_prior, str):
            if class_prior != "empirical":
                raise ValueError(f"class_prior: expected None, 'empirical' or frequencies, found {class_prior!r}")
            return self.plain - self.weighted
        prior = np.asarray(class_prior, dtype=float)
        if prior.shape != self.weighted.shape or not np.all(prior > 0.0) or not np.all(np.isfinite(prior)):
            raise ValueError(
                f"class_prior: expected {self.weighted.size} positive frequencies in the order of classes_, "
                f"found {class_prior!r}"
            )
        return np.asarray(np.log(prior / prior.sum()) - self.weighted)


@dataclasses.dataclass(frozen=True)
class LabelledData:
    """Validated training data of a classifier: all rows, which of them are in use, and how often each class occurs."""

    X: Any
    codes: Indices
    rows: Indices
    weights: Vector | None
    frequencies: ClassFrequencies


def read_labels(
    fitted: Any, X: Any, y: Any, sample_weight: Any, class_weight: Any, *, raw: bool = False
) -> LabelledData:
    """Validate the data of ``fit`` and set ``classes_`` (and what scikit-learn remembers of X) on the estimator.

    ``raw`` says that inputs are not standardised.
    """
    X, y = read_training_data(fitted, X, y, raw=raw, accept_sparse="csr", ensure_min_samples=2)
    check_classification_targets(y)
    fitted.classes_, codes = np.unique(y, return_inverse=True)
    classes = fitted.classes_
    if classes.size < 2:
        raise ValueError(f"y: expected at least two classes, found one class, {classes.tolist()[0]!r}")
    given = read_weights(sample_weight, X)
    plain = np.ones(codes.size) if given is None else given
    weights = plain if class_weight is None else in_range(plain * compute_sample_weight(class_weight, y), "weights")
    counts = np.bincount(codes, weights=weights, minlength=classes.size)
    if np.count_nonzero(counts) < classes.size:
        missing = classes[counts == 0.0].tolist()[0]
        raise ValueError(f"weights: expected a positive weight in every class, found none in class {missing!r}")
    empirical = np.bincount(codes, weights=plain, minlength=classes.size)
    frequencies = ClassFrequencies(np.log(counts / counts.sum()), np.log(empirical / empirical.sum()))
    if sample_weight is None and class_weight is None:
        return LabelledData(X, codes, np.arange(codes.size), None, frequencies)
    rows = np.flatnonzero(weights > 0.0)
    return LabelledData(X, codes, rows, weights[rows], frequencies)


def training_data(labelled: LabelledData, standardizer: Standardizer, names: list[str] | None) -> TrainingData:
    """Return what models are fitted to: labels -1/+1 of the second class, or of each class against the rest."""
    codes, inputs = labelled.codes[labelled.rows], standardizer.inputs(labelled.X[labelled.rows])
    signs = one_against_rest(codes, labelled.frequencies.weighted.size)
    return TrainingData(
        inputs,
        signs,
        labelled.weights,
        typical_distance(inputs, labelled.weights),
        names,
        codes,
        scale=np.ones(signs.shape[1]),
        standardizer=standardizer,
    )


class BayesianClassifier(ClassifierMixin, SummaryMixin, BaseEstimator, ABC):
    """Base of the self-tuning classifiers: a subclass has a constructor and says what it is made of (``_spec``)."""

    #: Rules of arguments that only this estimator has; see :mod:`bayesvm.estimators._arguments`.
    _rules: ClassVar[Any] = None

    @abstractmethod
    def _spec(self, data: TrainingData) -> ModelSpec:
        """Return what is fitted to the given data."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # -- fitting ------------------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn hyperparameters and latent functions from the training data.

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
        check_arguments(self, self._rules)
        fitted = attributes.twin(self)
        labelled = read_labels(fitted, X, y, sample_weight, self.class_weight, raw=not self.standardize)
        labelled.frequencies.shift(self.class_prior)
        used = labelled.X[labelled.rows]
        standardizer = (
            Standardizer.of(used, labelled.weights) if self.standardize else Standardizer.identity(used.shape[1])
        )
        data = training_data(labelled, standardizer, list(getattr(fitted, "feature_names_in_", [])) or None)
        data, needs = in_suited_units(self, data, used)
        with attributes.progress(self, data.n_outputs, needs) as callback:
            spec = self._spec(data).watched(callback)
            if spec.shared or data.n_outputs == 1:
                models: tuple[Any, ...] = (fit_model(spec, data),)
            else:
                models = fit_outputs(lambda part: self._spec(part).watched(callback), data, self.n_jobs)
        fitted._standardizer, fitted._frequencies = data.standardizer, labelled.frequencies
        attributes.write_attributes(fitted, models, labelled.X, labelled.rows, fitted._standardizer)
        write_leave_one_out(fitted, labelled, data.counts)
        attributes.adopt(self, fitted)
        attributes.warn_if_not_converged(self)
        return self

    @property
    def kernel_(self) -> Kernel:
        """The kernel, for inputs in the user's units, where all outputs have the same; else see ``kernels_``."""
        return attributes.only(self, "kernel")

    @property
    def likelihood_(self) -> Likelihood:
        """The likelihood, where all outputs have the same; else see ``likelihoods_``."""
        return attributes.only(self, "likelihood")

    # -- prediction ---------------------------------------------------------------------------------------------------
    def _inputs(self, X: Any) -> Inputs:
        """Validate new rows and standardise them."""
        check_is_fitted(self)
        return new_inputs(self, X, self._standardizer, accept_sparse="csr")

    def _log_odds(self, inputs: Inputs) -> Matrix:
        """Return log odds: of the second class, or one column per class, up to a common number per row."""
        odds = np.hstack([model.log_odds(inputs) for model in self.models_])
        coupling = getattr(self, "coupling_", None)
        return odds if coupling is None else coupling.apply(odds)

    def _odds_range(self, inputs: Inputs) -> tuple[Matrix, Matrix] | None:
        """Return bounds of the log odds of two classes that cost less than the odds, None where there are none."""
        model = self.models_[0]
        return model.odds_range(inputs) if isinstance(model, Predictor | AveragedLabels) else None

    def _prior_shift(self, class_prior: Any) -> Vector | None:
        """Return what the class frequencies add to log probabilities, None for nothing."""
        return self._frequencies.shift(self.class_prior if class_prior is None else class_prior)

    def _log_proba(self, odds: Matrix, class_prior: Any) -> Matrix:
        """Return logarithms of class probabilities from log odds."""
        log_proba, shift = log_proba_of(odds), self._prior_shift(class_prior)
        return log_proba if shift is None else log_softmax(log_proba + shift, axis=1)

    def _codes(self, inputs: Inputs, class_prior: Any) -> Indices:
        """Return the most probable classes as positions in ``classes_``.

        Of two classes the odds are computed only where bounds leave open on which side of one they are.
        """
        known = self._odds_range(inputs) if self.classes_.size == 2 else None
        if known is None:
            return np.argmax(self._log_proba(self._log_odds(inputs), class_prior), axis=1)
        shift = self._prior_shift(class_prior)
        even = 0.0 if shift is None else float(shift[0] - shift[1])
        low, high = (end[:, 0] for end in known)
        codes = (low > even).astype(np.intp)
        unknown = np.flatnonzero((low <= even) & (high >= even))
        if unknown.size:
            odds = self._log_odds(inputs.take(unknown))
            codes[unknown] = np.argmax(self._log_proba(odds, class_prior), axis=1)
        return codes

    def predict_log_proba(self, X: Any, class_prior: Any = None) -> Matrix:
        """Return logarithms of class probabilities; see :meth:`predict_proba`."""
        return self._log_proba(
            by_rows(self._log_odds, self._inputs(X), threads_of(self.models_, self.n_jobs)), class_prior
        )

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
        inputs = self._inputs(X)
        return self.classes_[
            by_rows(lambda part: self._codes(part, class_prior), inputs, threads_of(self.models_, self.n_jobs))
        ]

    def decision_function(self, X: Any) -> Any:
        """Return the log odds of the second class, or with more than two classes of each class against the rest."""
        return decision_of(self.predict_log_proba(X))

    def _latent(self, X: Any) -> tuple[Matrix, Matrix]:
        """Return latent means and variances, one column per output."""
        return pairs_by_rows(
            lambda part: attributes.columns([model.latent(part) for model in self.models_]),
            self._inputs(X),
            threads_of(self.models_, self.n_jobs),
        )

    def predict_latent(self, X: Any, return_std: bool = True) -> Any:
        """Return the mean of the latent function at the rows of X, and its standard deviation.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
            Inputs in the user's units.
        return_std : bool
            Whether to return the standard deviation too.

        Returns
        -------
        mean : array, shape (n,), or (n, n_classes) with more than two classes
            Posterior mean, Chu2003 (38).
        std : array of the same shape
            Posterior standard deviation; only if ``return_std``.
        """
        return attributes.mean_and_std(*self._latent(X), return_std)

    def sample(self, X: Any, n_draws: int = 1, random_state: Any = None) -> Matrix:
        """Return joint posterior draws of the latent function at the rows of X.

        Parameters
        ----------
        X : array, shape (n, d)
            Inputs in the user's units.
        n_draws : int
            Number of draws.
        random_state : int, Generator or RandomState, optional
            Seed of the draws.

        Returns
        -------
        draws : array, shape (n, n_draws), or (n, n_draws, n_classes) with more than two classes
        """
        inputs, rng = self._inputs(X), generator(random_state)
        draws = np.concatenate([model.sample(inputs, n_draws, rng) for model in self.models_], axis=2)
        return draws[:, :, 0] if draws.shape[2] == 1 else draws

    # -- reading the model --------------------------------------------------------------------------------------------
    def log_evidence(self, theta: Any = None, gradient: bool = False) -> Any:
        r"""Return the log evidence of the training data (plus log hyperprior) at ``theta``.

        Parameters
        ----------
        theta : array, optional
            Logarithms of the hyperparameters, in the order of ``theta_names_``; the learnt ones if None. With several
            models the same theta serves them all.
        gradient : bool
            Whether to return the gradient in theta too.

        Returns
        -------
        value : float
            Summed over the models.
        gradient : array
            Only if ``gradient``.
        """
        check_is_fitted(self)
        given = None if theta is None else np.asarray(theta, dtype=float)
        results = [m.objective.evaluate(m.theta if given is None else given) for m in self.models_]
        value = float(sum(r.value for r in results))
        return (value, np.sum([r.gradient for r in results], axis=0)) if gradient else value

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

    def select_features(self, threshold: Any = "mean") -> SelectFromModel:
        """Return a fitted transformer that keeps the features with enough relevance, for use in a pipeline.

        Parameters
        ----------
        threshold : float or str
            Least relevance, or what :class:`sklearn.feature_selection.SelectFromModel` takes ("mean", "0.1*mean", ...).

        Returns
        -------
        selector : SelectFromModel
            With ``transform``, ``get_support`` and ``get_feature_names_out``.
        """
        return attributes.select_features(self, threshold)


def write_leave_one_out(fitted: Any, labelled: LabelledData, weights: Vector) -> None:
    """Set the calibration and the leave-one-out probabilities of all rows, for models that have them."""
    if not all(getattr(model, "calibrations", ()) for model in fitted.models_):
        return
    fitted.calibration_ = tuple(c for model in fitted.models_ for c in model.calibrations)
    codes, rows = labelled.codes, labelled.rows
    odds = np.empty((codes.size, len(fitted.calibration_)))
    odds[rows] = np.hstack([model.loo_log_odds() for model in fitted.models_])
    fitted.coupling_ = None
    apart = not any(isinstance(model, AveragedClasses | SoftmaxModel) for model in fitted.models_)
    if odds.shape[1] > 1 and apart and fitted.calibrate is not None:
        fitted.coupling_ = calibrate_classes(odds[rows], codes[rows], weights, determined=0.0, shrinkage=COUPLED)
        odds[rows] = fitted.coupling_.apply(odds[rows])
    unused = np.setdiff1d(np.arange(codes.size), rows)
    if unused.size:
        odds[unused] = fitted._log_odds(in_proportion(fitted, labelled.X[unused], fitted._standardizer))
    log_proba = fitted._log_proba(odds, None)
    fitted.loo_proba_ = np.exp(log_proba)
    fitted.loo_log_likelihood_ = float(weights @ log_proba[rows, codes[rows]])


__all__ = ["BayesianClassifier", "ClassFrequencies", "LabelDoubt", "LabelledData", "read_labels", "training_data"]
