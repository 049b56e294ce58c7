"""Gaussian process machines: the papers' baselines, over the same layers as the support vector machines."""

from __future__ import annotations

from typing import Any

from bayesvm.estimators._arguments import (
    chooses,
    hyperprior,
    in_units,
    integrates,
    kernel_candidates,
    label_likelihood,
    label_process,
    many_rows_posterior,
    noise_likelihood,
    proper_hyperprior,
    reduction_tolerance,
    search_options,
    shares_kernel,
)
from bayesvm.estimators._classifier import BayesianClassifier
from bayesvm.estimators._large import large_process, softmax_process
from bayesvm.estimators._model_evidence import ModelEvidenceMixin
from bayesvm.estimators._regressor import BayesianRegressor
from bayesvm.inference import Inference
from bayesvm.inference.names import from_name
from bayesvm.kernels import Constant, Gaussian
from bayesvm.models import GaussianProcess, ModelSpec, TrainingData
from bayesvm.models.chosen_process import ChosenProcess
from bayesvm.models.target_kernels import TargetKernels


class GPClassifier(ModelEvidenceMixin, BayesianClassifier):
    r"""Gaussian process classifier with hyperparameters by the evidence of the training data.

    Parameters
    ----------
    kernel : "auto", Kernel, scikit-learn Gaussian process kernel, str or None
        Covariance of the latent function, chosen by default as in :class:`~bayesvm.BayesianSVC`; None:
        ``Gaussian() + Constant()``.
    ard : bool
        One length scale per feature in every part of the given kernel that can have it; nothing is chosen then.
    likelihood : str or likelihood
        "logistic", "probit", or any other normalised likelihood of labels.
    inference : {"laplace", "ep", "variational"} or Inference
        Laplace's method, expectation propagation or the variational bound, for the evidence and, unless ``posterior``
        says otherwise, for predictions.
    posterior : {None, "ep", "laplace", "variational"}
        Where predictions come from: None, the method of ``inference``; "ep": expectation propagation, run once at the
        end.
    calibrate : {None, "auto", "loo"}
        Correction of the log odds on leave-one-out predictions; see :class:`~bayesvm.BayesianSVC`.
    reduce : "auto", float or None
        Whether few training rows carry the predictions; see :class:`~bayesvm.BayesianSVC`, also for what
        "auto" is with ``posterior="ep"`` or calibration; otherwise it is None.
    inducing : "auto", int or None
        Inference for many rows: exact, or by inducing inputs and neighbouring rows; see :class:`~bayesvm.BayesianSVC`.
    multi_class : {"shared", "ovr", "softmax"}
        What more than two classes are; see :class:`~bayesvm.BayesianSVC`.
    warm_start : bool
        Whether a fit by inducing inputs begins with the hyperparameters of the last one; see
        :class:`~bayesvm.BayesianSVC`.
    theta, optimizer, n_starts, hyperprior, standardize, class_weight, class_prior, n_jobs, random_state, evidence_tol,
    max_evaluations, verbose
        As in :class:`~bayesvm.BayesianSVC`.

    Attributes
    ----------
    kernel_, likelihood_, log_evidence_, log_model_evidence_, log_model_evidence_error_, loo_proba_,
    loo_log_likelihood_, calibration_, classes_, converged_, history_, n_iter_, inducing_inputs_, log_evidence_bounds_,
    approximation_gap_
        As in :class:`~bayesvm.BayesianSVC`.

    Notes
    -----
    The likelihoods of Gaussian process classifiers never vanish, so every training row carries the solution. With
    ``likelihood="trigonometric"`` the machine is :class:`~bayesvm.BayesianSVC` in all but its defaults.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayesvm import GPClassifier
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> GPClassifier(likelihood="probit", inference="ep").fit(X, y).predict_proba(X).shape
    (60, 2)
    """

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        ard: bool = False,
        likelihood: Any = "logistic",
        inference: str | Inference = "laplace",
        posterior: str | None = None,
        calibrate: str | None = None,
        reduce: str | float | None = "auto",
        inducing: Any = "auto",
        multi_class: str = "shared",
        warm_start: bool = False,
        theta: str = "optimum",
        optimizer: str | None = "bfgs",
        n_starts: int = 4,
        hyperprior: Any = None,
        standardize: bool = True,
        class_weight: Any = None,
        class_prior: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        evidence_tol: float = 3e-3,
        max_evaluations: int = 500,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.ard = ard
        self.likelihood = likelihood
        self.inference = inference
        self.posterior = posterior
        self.calibrate = calibrate
        self.reduce = reduce
        self.inducing = inducing
        self.multi_class = multi_class
        self.warm_start = warm_start
        self.theta = theta
        self.optimizer = optimizer
        self.n_starts = n_starts
        self.hyperprior = hyperprior
        self.standardize = standardize
        self.class_weight = class_weight
        self.class_prior = class_prior
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.evidence_tol = evidence_tol
        self.max_evaluations = max_evaluations
        self.verbose = verbose

    def _spec(self, data: TrainingData) -> ModelSpec:
        if data.n_outputs > 1 and self.multi_class == "softmax":
            return softmax_process(self, data)
        likelihood = label_likelihood(self.likelihood)
        inference = from_name(self.inference, likelihood=likelihood)
        posterior, shared = many_rows_posterior(self, inference), shares_kernel(self, data)
        large = large_process(self, data, likelihood, inference, shared=shared, posterior=posterior)
        return large or label_process(self, data, likelihood, inference, Gaussian() + Constant())


class GPRegressor(ModelEvidenceMixin, BayesianRegressor):
    r"""Gaussian process regressor with hyperparameters, noise included, by the evidence of the training data.

    Parameters
    ----------
    kernel : "auto", Kernel, scikit-learn Gaussian process kernel, str or None
        Covariance of the latent function, chosen by default as in :class:`~bayesvm.BayesianSVR`; None:
        ``Gaussian() + Constant()``.
    ard : bool
        One length scale per feature in every part of the given kernel that can have it; nothing is chosen then.
    likelihood : str or likelihood
        "gaussian-noise", or noise with heavier tails: "laplace" (needs ``inference="ep"`` or "variational"), "huber",
        "soft-insensitive", "smooth-insensitive", or an object of :mod:`bayesvm.likelihoods` with parameters in the
        user's units.
    inference : {"laplace", "ep", "variational"} or Inference
        Laplace's method, expectation propagation or the variational bound. Gaussian noise is always treated exactly,
        Thesis (1.28).
    calibrate : {None, "auto", "loo"}
        Correction of the predictive scale on leave-one-out predictions; see :class:`~bayesvm.BayesianSVR`.
    reduce : "auto", float or None
        Whether few training rows carry the predictions; see :class:`~bayesvm.BayesianSVR`.
    share_hyperparameters : bool
        With several outputs: whether one set of hyperparameters (on standardised targets) serves them all.
    inducing : "auto", int or None
        Inference for many rows: exact, or by inducing inputs and neighbouring rows; see :class:`~bayesvm.BayesianSVC`.
    warm_start : bool
        Whether a fit by inducing inputs begins with the hyperparameters of the last one; see
        :class:`~bayesvm.BayesianSVC`.
    theta, optimizer, n_starts, hyperprior, standardize, n_jobs, random_state, evidence_tol, max_evaluations, verbose
        As in :class:`~bayesvm.BayesianSVR`.

    Attributes
    ----------
    kernel_, likelihood_, log_evidence_, log_model_evidence_, log_model_evidence_error_, noise_std_, converged_,
    history_, n_iter_, inducing_inputs_, log_evidence_bounds_, approximation_gap_
        As in :class:`~bayesvm.BayesianSVR`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesvm import GPRegressor
    >>> X = np.linspace(-3.0, 3.0, 40)[:, None]
    >>> mean, std = GPRegressor().fit(X, np.sin(X[:, 0])).predict(X, return_std=True)
    >>> mean.shape
    (40,)
    """

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        ard: bool = False,
        likelihood: Any = "gaussian-noise",
        inference: str | Inference = "laplace",
        calibrate: str | None = None,
        reduce: str | float | None = "auto",
        share_hyperparameters: bool = False,
        inducing: Any = "auto",
        warm_start: bool = False,
        theta: str = "optimum",
        optimizer: str | None = "bfgs",
        n_starts: int = 4,
        hyperprior: Any = None,
        standardize: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        evidence_tol: float = 1e-2,
        max_evaluations: int = 500,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.ard = ard
        self.likelihood = likelihood
        self.inference = inference
        self.calibrate = calibrate
        self.reduce = reduce
        self.share_hyperparameters = share_hyperparameters
        self.inducing = inducing
        self.warm_start = warm_start
        self.theta = theta
        self.optimizer = optimizer
        self.n_starts = n_starts
        self.hyperprior = hyperprior
        self.standardize = standardize
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.evidence_tol = evidence_tol
        self.max_evaluations = max_evaluations
        self.verbose = verbose

    def _spec(self, data: TrainingData) -> GaussianProcess:
        likelihood = noise_likelihood(self.likelihood)
        by_name = isinstance(self.likelihood, str)
        inside = in_units(likelihood, data, given=not by_name and not self.share_hyperparameters)
        inference, shared = from_name(self.inference, likelihood=likelihood), bool(self.share_hyperparameters)
        large = large_process(self, data, inside, inference, shared=shared)
        if large is not None:
            return large
        options: dict[str, Any] = {
            "calibrate": self.calibrate,
            "reduce": reduction_tolerance(self, data),
            "options": search_options(self),
            "shared": shared,
        }
        candidates = kernel_candidates(self, Gaussian() + Constant())
        if not (chooses(self) or integrates(self)):
            return GaussianProcess(candidates, inside, inference, hyperprior=hyperprior(self), **options)
        if chooses(self):
            candidates = TargetKernels(wide=self.hyperprior is None)
        prior = proper_hyperprior(self, data, data.spread)
        return ChosenProcess(candidates, inside, inference, hyperprior=prior, integrate=integrates(self), **options)


__all__ = ["GPClassifier", "GPRegressor"]
