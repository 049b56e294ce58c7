"""The regression head: standardised targets, several outputs, weights, error bars, intervals, draws."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.feature_selection import SelectFromModel
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from bayesvm.estimators import _attributes as attributes
from bayesvm.estimators._arguments import check_arguments, generator
from bayesvm.estimators._jobs import by_rows, in_parts, pairs_by_rows, threads_of
from bayesvm.estimators._large import in_suited_units
from bayesvm.estimators._numbers import (
    in_proportion,
    inner_targets,
    new_inputs,
    read_training_data,
    read_weights,
    scaled_targets,
)
from bayesvm.estimators._summary import SummaryMixin
from bayesvm.kernels import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import Regression
from bayesvm.models.base import ModelSpec, TrainingData, typical_distance
from bayesvm.models.calibration import ScaleCalibration
from bayesvm.models.fit import fit_model, fit_outputs
from bayesvm.models.scaling import Standardizer, TargetScale
from bayesvm.models.target_distribution import TargetDistribution, left_out_distributions, sampled, target_distributions
from bayesvm.typing import Matrix, Vector


def target_columns(y: Any) -> Matrix:
    """Return targets as a matrix of floats, one column per output."""
    if sp.issparse(y):
        raise ValueError("y: expected a dense array of targets, found a sparse matrix")
    Y = np.asarray(y, dtype=np.float64)
    return Y.reshape(len(Y), -1)


def checked_weights(sample_weight: Any, X: Any) -> Vector | None:
    """Return validated weights, None if there are none."""
    weights = read_weights(sample_weight, X)
    if weights is not None and np.count_nonzero(weights) < 2:
        found = np.count_nonzero(weights)
        raise ValueError(f"sample_weight: expected at least two positive weights, found {found}")
    return weights


def training_data(
    X: Any, y: Matrix, weights: Vector | None, names: list[str] | None, *, standardize: bool
) -> TrainingData:
    """Return what models are fitted to: standardised inputs with targets in the units used inside."""
    standardizer = Standardizer.of(X, weights) if standardize else Standardizer.identity(X.shape[1])
    inputs = standardizer.inputs(X)
    spread = 1.0 if standardize else float(np.sqrt(np.mean(np.var(y, axis=0)))) or 1.0
    distance = typical_distance(inputs, weights)
    return TrainingData(inputs, y, weights, distance, names, spread=spread, standardizer=standardizer)


@dataclasses.dataclass(frozen=True)
class LeaveOneOut:
    """Predictions of the training targets, each made without itself, in the user's units.

    Attributes
    ----------
    mean, std : arrays, shape (n,) or (n, n_outputs)
        Of a new target, as in ``predict(X, return_std=True)``; n counts the rows with a positive weight.
    lower, upper : arrays of the same shape
        Ends of the intervals.
    log_density : array of the same shape
        Logarithm of the predictive density at the target.
    """

    mean: Any
    std: Any
    lower: Any
    upper: Any
    log_density: Any


class BayesianRegressor(RegressorMixin, SummaryMixin, BaseEstimator, ABC):
    """Base of the self-tuning regressors: a subclass has a constructor and says what it is made of (``_spec``)."""

    #: Rules of arguments that only this estimator has; see :mod:`bayesvm.estimators._arguments`.
    _rules: ClassVar[Any] = None

    @abstractmethod
    def _spec(self, data: TrainingData) -> ModelSpec:
        """Return what is fitted to the given data."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags

    # -- fitting ------------------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn hyperparameters and latent functions from the training data.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, d)
            Inputs.
        y : array, shape (n,) or (n, n_outputs)
            Targets.
        sample_weight : array, shape (n,), optional
            Non-negative weights; rows of weight zero are left out.

        Returns
        -------
        self : the estimator
        """
        check_arguments(self, self._rules)
        fitted = attributes.twin(self)
        several = {"multi_output": True, "y_numeric": True, "ensure_min_samples": 2, "accept_sparse": "csr"}
        X, y = read_training_data(fitted, X, y, raw=not self.standardize, **several)
        Y, weights = target_columns(y), checked_weights(sample_weight, X)
        rows = np.arange(len(Y)) if weights is None else np.flatnonzero(weights > 0.0)
        w = None if weights is None else weights[rows]
        targets = self._target_scale(Y[rows], w)
        inner = inner_targets(Y, targets)[rows]
        names = list(getattr(fitted, "feature_names_in_", [])) or None
        data = training_data(X[rows], inner, w, names, standardize=self.standardize)
        data, needs = in_suited_units(self, dataclasses.replace(data, scale=targets.scale), X[rows])
        with attributes.progress(self, data.n_outputs, needs) as callback:
            spec = self._spec(data).watched(callback)
            if spec.shared or data.n_outputs == 1:
                models: tuple[Any, ...] = (fit_model(spec, data),)
            else:
                models = fit_outputs(lambda part: self._spec(part).watched(callback), data, self.n_jobs)
        fitted._standardizer, fitted._targets, fitted._single = data.standardizer, targets, np.ndim(y) == 1
        attributes.write_attributes(fitted, models, X, rows, fitted._standardizer, targets)
        write_regression(fitted, float(data.counts.sum()))
        write_training_scores(fitted, X, Y, data.counts)
        attributes.adopt(self, fitted)
        attributes.warn_if_not_converged(self)
        return self

    @property
    def kernel_(self) -> Kernel:
        """The kernel in the user's units, where all outputs have the same; else see ``kernels_``."""
        return attributes.only(self, "kernel")

    @property
    def likelihood_(self) -> Regression:
        """The noise model in the user's units, where all outputs have the same; else see ``likelihoods_``."""
        return attributes.only(self, "likelihood")

    def _target_scale(self, Y: Matrix, weights: Vector | None) -> TargetScale:
        """Return the map of the targets to the units used inside."""
        return scaled_targets(Y, weights, standardize=self.standardize)

    def _theta_shifts(self) -> list[Vector]:
        """Return, per model, what to add to its theta to have it in the user's units.

        Outputs that share their hyperparameters have one theta, that of standardised targets.
        """
        shifts, k = [], 0
        for model in self.models_:
            learnt = model.objective.theta0.size - model.kernel.theta.size
            own = self._targets.theta_shift(k, model.kernel.theta.size, model.likelihood.plain)
            shared = model.n_outputs > 1 or not learnt
            shifts.append(np.zeros(model.objective.theta0.size) if shared else own)
            k += model.n_outputs
        return shifts

    # -- prediction ---------------------------------------------------------------------------------------------------
    def _inputs(self, X: Any) -> Inputs:
        """Validate new rows and standardise them."""
        check_is_fitted(self)
        return new_inputs(self, X, self._standardizer, accept_sparse="csr")

    def _shaped(self, columns: Matrix) -> Any:
        """Return one column per output, or a vector if the targets were one."""
        return columns[:, 0] if self._single else columns

    def _means(self, inputs: Inputs) -> Matrix:
        """Return the latent means in the units used inside, one column per output."""
        return by_rows(
            lambda part: np.hstack([model.mean(part) for model in self.models_]),
            inputs,
            threads_of(self.models_, self.n_jobs),
        )

    def _latent(self, X: Any) -> tuple[Matrix, Matrix]:
        """Return latent means and variances in the units used inside, one column per output."""
        return pairs_by_rows(
            lambda part: attributes.columns([model.latent(part) for model in self.models_]),
            self._inputs(X),
            threads_of(self.models_, self.n_jobs),
        )

    def _noise(self) -> list[Regression]:
        """Return the noise models of the outputs, in the units used inside."""
        return [model.likelihood.plain for model in self.models_ for _ in range(model.n_outputs)]

    @property
    def _stretch(self) -> Vector:
        """Calibrated factors of the predictive standard deviations, one per output."""
        return np.array([calibration.scale for calibration in self.calibration_])

    def _distributions(self, inputs: Inputs) -> list[TargetDistribution]:
        """Return the predictive distributions of all outputs, in the units used inside."""
        parts = in_parts(self._distributions_of, inputs, threads_of(self.models_, self.n_jobs))
        return [TargetDistribution.joined(of_output) for of_output in zip(*parts, strict=True)]

    def _distributions_of(self, inputs: Inputs) -> list[TargetDistribution]:
        found: list[TargetDistribution] = []
        for model in self.models_:
            own = self.calibration_[len(found) : len(found) + model.n_outputs]
            found += target_distributions(model, inputs, own)
        return found

    def predict(self, X: Any, return_std: bool = False, return_noise: bool = True) -> Any:
        """Return the mean of the targets at the rows of X, and their standard deviation.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, d)
            Inputs.
        return_std : bool
            Whether to return the standard deviation too.
        return_noise : bool
            Whether the standard deviation is that of a new target (latent variance plus noise variance, Thesis (4.46)
            and (2.33)), or that of the latent function alone.

        Returns
        -------
        mean : array, shape (n,) or (n, n_outputs)
        std : array of the same shape
            Only if ``return_std``.
        """
        if not return_std:
            means = self._means(self._inputs(X))
            return self._shaped(self._targets.outer(means))
        if return_noise:
            found = self._distributions(self._inputs(X))
            mean, var = np.column_stack([d.mean for d in found]), np.column_stack([d.variance for d in found])
        else:
            mean, var = self._latent(X)
        return self._shaped(self._targets.outer(mean)), self._shaped(self._targets.scale * np.sqrt(var))

    def predict_latent(self, X: Any, return_std: bool = True) -> Any:
        """Return the mean of the latent function at the rows of X, and its standard deviation, in the user's units.

        The same as ``predict(X, return_std, return_noise=False)``.
        """
        return self.predict(X, return_std=return_std, return_noise=False)

    def predict_interval(self, X: Any, confidence: float = 0.95, return_noise: bool = True) -> tuple[Any, Any]:
        r"""Return the ends of central intervals that hold a new target with the given probability.

        The interval is that of the distribution of latent value plus noise, the convolution of
        :math:`\mathcal N(f; m, \sigma_t^2)` with the density of the noise: symmetric about the mean and, for other than
        Gaussian noise, not mean plus or minus a multiple of the standard deviation. For an average of several models it
        is that of the mixture, with equal probabilities beyond both ends.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, d)
            Inputs.
        confidence : float
            Probability, between 0 and 1.
        return_noise : bool
            Whether the interval is that of a new target, or of the latent function alone.

        Returns
        -------
        lower, upper : arrays, shape (n,) or (n, n_outputs)
        """
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence: expected a probability between 0 and 1, found {confidence!r}")
        if return_noise:
            ends = [d.interval(confidence) for d in self._distributions(self._inputs(X))]
            low, high = np.column_stack([low for low, _ in ends]), np.column_stack([high for _, high in ends])
        else:
            mean, var = self._latent(X)
            width = float(ndtri(0.5 + 0.5 * confidence)) * np.sqrt(var)
            low, high = mean - width, mean + width
        return self._shaped(self._targets.outer(low)), self._shaped(self._targets.outer(high))

    def _judged(self, X: Any, y: Any) -> tuple[Matrix, list[TargetDistribution]]:
        """Return targets in the units used inside and their predictive distributions, after a check of the targets."""
        found = self._distributions(self._inputs(X))
        Y, shape = target_columns(y), (found[0].means.shape[1], len(found))
        check_consistent_length(found[0].mean, Y)
        if Y.shape != shape or not np.all(np.isfinite(Y)):
            raise ValueError(f"y: expected finite targets of shape {shape}, found shape {Y.shape} or non-finite ones")
        return inner_targets(Y, self._targets), found

    def leave_one_out(self, confidence: float = 0.95) -> LeaveOneOut:
        """Return predictions of the training targets, each made without itself; the hyperparameters are kept.

        They are those of the posterior without the row's own term (:mod:`bayesvm.inference.leave_one_out`), exact for
        Gaussian noise: an honest judgement of the fit at no cost, where :meth:`predict` on the training rows flatters.

        Parameters
        ----------
        confidence : float
            Probability of the intervals.

        Returns
        -------
        predictions : LeaveOneOut

        Raises
        ------
        TypeError
            If the models of this estimator keep no such predictions.
        """
        check_is_fitted(self)
        if not all(getattr(model, "marginals", ()) for model in self.models_):
            raise TypeError(f"{type(self).__name__} keeps no leave-one-out predictions; use cross-validation")
        found, start = [], 0
        for model in self.models_:
            found += left_out_distributions(model, self.calibration_[start : start + model.n_outputs])
            start += model.n_outputs
        ends = [d.interval(confidence) for d in found]
        outer, scale = self._targets.outer, self._targets.scale
        Y = [y for model in self.models_ for y in model.objective.outputs]
        densities = np.column_stack([d.log_density(y) for d, y in zip(found, Y, strict=True)])
        return LeaveOneOut(
            self._shaped(outer(np.column_stack([d.mean for d in found]))),
            self._shaped(scale * np.sqrt(np.column_stack([d.variance for d in found]))),
            self._shaped(outer(np.column_stack([low for low, _ in ends]))),
            self._shaped(outer(np.column_stack([high for _, high in ends]))),
            self._shaped(densities - np.log(scale)),
        )

    def log_density(self, X: Any, y: Any) -> Any:
        """Return the logarithms of the predictive density at given targets, in the user's units.

        Parameters
        ----------
        X, y : arrays
            Inputs and targets.

        Returns
        -------
        log_density : array of the shape of y
        """
        Y, found = self._judged(X, y)
        columns = [d.log_density(Y[:, k]) for k, d in enumerate(found)]
        return self._shaped(np.column_stack(columns) - np.log(self._targets.scale))

    def outlier_score(self, X: Any, y: Any) -> Any:
        r"""Return how surprising targets are: :math:`-\ln P(|T| \ge |y - m|)`, T being latent error plus noise.

        For an average of several models, whose distribution is not symmetric: minus the logarithm of twice the smaller
        tail.

        Targets from the model have scores with an exponential distribution of mean one; a score of 7 is exceeded by one
        target in a thousand.

        Parameters
        ----------
        X, y : arrays
            Inputs and targets.

        Returns
        -------
        score : array of the shape of y
        """
        Y, found = self._judged(X, y)
        return self._shaped(-np.column_stack([d.log_two_sided(Y[:, k]) for k, d in enumerate(found)]))

    def sample(self, X: Any, n_draws: int = 1, random_state: Any = None, return_noise: bool = False) -> Matrix:
        """Return joint posterior draws at the rows of X, in the user's units.

        Parameters
        ----------
        X : array, shape (n, d)
            Inputs in the user's units.
        n_draws : int
            Number of draws.
        random_state : int, Generator or RandomState, optional
            Seed of the draws.
        return_noise : bool
            Whether to draw targets (with noise) or the latent function.

        Returns
        -------
        draws : array, shape (n, n_draws), or (n, n_draws, n_outputs) with a matrix of targets
        """
        inputs, rng = self._inputs(X), generator(random_state)
        parts = [sampled(model, inputs, n_draws, rng, noise=return_noise) for model in self.models_]
        outer = self._targets.outer(np.concatenate(parts, axis=2))
        return outer[:, :, 0] if self._single else outer

    # -- reading the model --------------------------------------------------------------------------------------------
    def log_evidence(self, theta: Any = None, gradient: bool = False) -> Any:
        r"""Return the log evidence of the training targets (plus log hyperprior) at ``theta``, in the user's units.

        Parameters
        ----------
        theta : array, optional
            Logarithms of the hyperparameters in the order of ``theta_names_``, those of the likelihood in the user's
            units (of standardised targets, where outputs share them); the learnt ones if None. With several models the
            same theta serves them all.
        gradient : bool
            Whether to return the gradient in theta too.

        Returns
        -------
        value : float
            Summed over the outputs.
        gradient : array
            Only if ``gradient``.
        """
        check_is_fitted(self)
        total, slope = self._log_jacobian, 0.0
        for model, shift in zip(self.models_, self._theta_shifts(), strict=True):
            inner = model.theta if theta is None else np.asarray(theta, dtype=float) - shift
            result = model.objective.evaluate(inner)
            total, slope = total + result.value, slope + result.gradient
        return (float(total), slope) if gradient else float(total)

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


def write_regression(fitted: Any, n: float) -> None:
    """Bring the fitted attributes to the user's units; n counts the rows with their weights."""
    units = _log_jacobians(fitted, n)
    fitted._log_jacobian = float(sum(units))
    fitted.log_evidence_ += fitted._log_jacobian
    fitted.candidates_ = tuple(
        dataclasses.replace(
            c,
            log_evidence=c.log_evidence + units[c.output],
            log_model_evidence=c.log_model_evidence + units[c.output],
        )
        for c in fitted.candidates_
    )
    fitted.history_ = tuple(
        dataclasses.replace(record, start=record.start + shift, end=record.end + shift)
        for model, shift in zip(fitted.models_, fitted._theta_shifts(), strict=True)
        for record in model.maximum.history
    )
    deviations = np.sqrt([[noise.noise_variance for noise in fitted.likelihoods_]])
    fitted.noise_std_ = fitted._shaped(deviations)[0]
    if "log_marginal_likelihood_" in vars(fitted):
        fitted.log_marginal_likelihood_ += fitted._log_jacobian
    if "log_evidence_bounds_" in vars(fitted):  # one row per model, which may have several outputs
        ends = np.cumsum([model.n_outputs for model in fitted.models_])[:-1]
        parts = np.split(np.log(fitted._targets.scale), ends)
        fitted.log_evidence_bounds_ = fitted.log_evidence_bounds_ - n * np.array([[part.sum()] for part in parts])
    if "intercept_" in vars(fitted):
        fitted.intercept_ = fitted._targets.outer(fitted.intercept_[None])[0]
    fitted.calibration_ = tuple(
        c for m in fitted.models_ for c in getattr(m, "calibrations", ()) or (ScaleCalibration(),) * m.n_outputs
    )


def _log_jacobians(fitted: Any, n: float) -> list[float]:
    """Return, per model, what is added to log evidences of n targets in the units used inside."""
    logs, found, k = np.log(fitted._targets.scale), [], 0
    for model in fitted.models_:
        found.append(-n * float(np.sum(logs[k : k + model.n_outputs])))
        k += model.n_outputs
    return found


def write_training_scores(fitted: Any, X: Any, Y: Matrix, weights: Vector) -> None:
    """Set how surprising the training targets are, and their leave-one-out likelihood where the models have one."""
    residual = Y - fitted._targets.outer(fitted._means(in_proportion(fitted, X, fitted._standardizer)))
    tails = [noise.log_survival(np.abs(residual[:, k])) for k, noise in enumerate(fitted.likelihoods_)]
    fitted.outlier_score_ = fitted._shaped(-np.column_stack(tails) - np.log(2.0))
    if all(getattr(model, "marginals", ()) for model in fitted.models_):
        own = sum(model.loo_log_density(weights) for model in fitted.models_)
        fitted.loo_log_likelihood_ = fitted._log_jacobian + own


__all__ = ["BayesianRegressor", "LeaveOneOut", "checked_weights", "target_columns", "write_regression"]
