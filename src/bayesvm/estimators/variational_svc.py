"""Support vector and Gaussian process classifiers tuned by a variational bound on the evidence."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from bayesvm.estimators._arguments import (
    Rule,
    hyperprior,
    kernel_candidates,
    label_likelihood,
    one_of,
    search_options,
    whole,
)
from bayesvm.estimators._classifier import BayesianClassifier
from bayesvm.estimators._model_evidence import ModelEvidenceMixin
from bayesvm.hyper import ByName, Flat, Hyperprior, RelevanceShares
from bayesvm.inference import Variational
from bayesvm.inference.factor_analysed import FactorAnalysed
from bayesvm.inference.variational import SAME
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import NormalizedHinge
from bayesvm.models.base import Candidates, TrainingData
from bayesvm.models.candidates import OneKernel
from bayesvm.models.variational import VariationalProcess
from bayesvm.typing import Matrix

#: Variance of the constant that stands for a flat prior on the bias; margins are of order one to ten.
FLAT = 1e6

#: Hyperprior of length scales of single features; a feature whose relevance falls to a hundredth costs about one nat.
SHARES = ByName({"*lengthscale[*": RelevanceShares(0.25)})


class VariationalSVC(ModelEvidenceMixin, BayesianClassifier):
    r"""Classifier that adapts any number of kernel parameters by a smooth lower bound on the evidence (Seeger1999).

    The posterior of the latent function is approximated by the Gaussian nearest to it in the sense of Kullback and
    Leibler. What this leaves is a bound on the log evidence, Seeger1999 (5), which is smooth in the hyperparameters
    also where the loss has kinks, as that of the support vector machine does. The hyperparameters maximise it with its
    exact gradient. Predictions come from the Gaussian, or from the support vector machine (or Gaussian process) with
    the adapted kernel.

    Parameters
    ----------
    kernel : Kernel, scikit-learn Gaussian process kernel, "auto" or None
        Covariance of the latent function; None: ``Gaussian() + Constant()``, which with ``ard=True`` is the kernel of
        Seeger1999 (8).
    ard : bool
        One length scale per feature in every part of the kernel that can have it.
    likelihood : str or likelihood
        "svc", the hinge loss normalised over the labels (:class:`~bayesvm.likelihoods.NormalizedHinge` with C = 1);
        "normalized-hinge", the same with C learnt; "logistic"; "probit"; or an object of :mod:`bayesvm.likelihoods`
        that is positive everywhere. Likelihoods that vanish somewhere (trigonometric, raised cosine) have no finite
        bound.
    covariance : {"full", "factor"}
        Family of the Gaussian: all Gaussians, or those with covariance :math:`\mathrm{diag}(d) + \sum_{j \le M} c_j
        c_j^\top`.
    rank : int or None
        M, for ``covariance="factor"``; 0 is the diagonal family.
    predict_with : {"mean", "mode"}
        "mean": posterior mean, with probabilities averaged over the posterior. "mode": the mode with the adapted
        kernel, for "svc" the support vector machine with C = 1 and few support vectors; probabilities are then those
        at the mode. Read at prediction time, so it may be changed by ``set_params`` after fitting.
    fit_intercept : bool
        Whether an unpenalised bias is added to the latent function (Seeger1999, footnote 3): in inference a constant of
        variance 10^6, in the support vector machine a true bias. The default kernel then has no constant of its own.
    calibrate : {None, "auto", "loo"}
        Correction of averaged log odds on leave-one-out predictions; see :class:`~bayesvm.BayesianSVC`.
    hyperprior : Hyperprior, "auto" or None
        Density of the hyperparameters. "auto": with ``ard=True``, :class:`~bayesvm.hyper.RelevanceShares` with
        concentration 1/4 for the length scales of the features; flat otherwise. None: flat, as in the paper.
    optimizer, n_starts, standardize, class_weight, class_prior, n_jobs, random_state, evidence_tol, max_evaluations,
    verbose
        As in :class:`~bayesvm.BayesianSVC`.

    Attributes
    ----------
    log_evidence_ : float
        The bound at the optimum, summed over the outputs: the log evidence is at least this large.
    log_model_evidence_, log_model_evidence_error_ : float
        The bound with the hyperparameters integrated out, and an estimated bound of the error of that integral; see
        :class:`~bayesvm.BayesianSVC`.
    free_energy_terms_ : tuple of dict, one per output
        Summands of the free energy, minus the bound: "loss", the expected loss; "mean", "spread" and "determinant",
        which together are the divergence of the Gaussian from the prior.
    multimodal_ : bool
        Whether, at the learnt hyperparameters, different inner starts ended at different optima of the Gaussian. The
        best one is kept.
    inner_bounds_ : tuple of tuples of float, one per output
        The bounds that were compared.
    support_, support_vectors_, dual_coef_, intercept_ : arrays
        Rows with a coefficient, those rows of X, the coefficients and biases, of the function that ``predict_with``
        named when the machine was fitted. The mean rests on all rows; the mode of "svc" on the support vectors.
    kernels_, likelihoods_, models_, relevance_, named_relevance_, classes_, converged_, history_, n_iter_, loo_proba_,
    calibration_
        As in :class:`~bayesvm.BayesianSVC`.

    Notes
    -----
    The normalised hinge loss is not convex: its slope has a downward jump at margin -1. Points near it have negative
    precision in the Gaussian, and the Gaussian that is found can depend on where the search begins; hence
    ``multimodal_``.

    References
    ----------
    Seeger1999; Sollich1999 (form of the optimal covariance).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayesvm import VariationalSVC
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> machine = VariationalSVC(predict_with="mode").fit(X, y)
    >>> len(machine.support_) < len(X)
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "covariance": one_of("full", "factor"),
        "rank": whole(0, None),
        "predict_with": one_of("mean", "mode"),
        "hyperprior": Rule(
            lambda value: value in (None, "auto") or isinstance(value, Hyperprior),
            "None, 'auto' or a bayesvm.hyper.Hyperprior",
        ),
    }

    def __init__(
        self,
        kernel: Any = None,
        *,
        ard: bool = False,
        likelihood: Any = "svc",
        covariance: str = "full",
        rank: int | None = None,
        predict_with: str = "mean",
        fit_intercept: bool = False,
        calibrate: str | None = None,
        optimizer: str | None = "bfgs",
        n_starts: int = 4,
        hyperprior: Any = "auto",
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
        self.covariance = covariance
        self.rank = rank
        self.predict_with = predict_with
        self.fit_intercept = fit_intercept
        self.calibrate = calibrate
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

    def _spec(self, data: TrainingData) -> VariationalProcess:
        if self.covariance == "full" and self.rank is not None:
            raise ValueError(f"rank: expected None with covariance='full', found {self.rank!r}")
        if self.covariance == "factor" and self.rank is None:
            raise ValueError("rank: expected a number of factors, 0 or more, with covariance='factor', found None")
        likelihood = NormalizedHinge().fix("C") if self.likelihood == "svc" else label_likelihood(self.likelihood)
        return VariationalProcess(
            self._candidates(),
            likelihood,
            Variational() if self.covariance == "full" else FactorAnalysed(int(self.rank or 0)),
            None,
            self.calibrate,
            bias_variance=FLAT if self.fit_intercept else 0.0,
            by_mode=self._uses_mode(),
            hyperprior=self._prior(),
            options=search_options(self),
        )

    def _candidates(self) -> Candidates:
        """Return the kernels, with a constant that stands for the intercept if there is one."""
        if not self.fit_intercept:
            return kernel_candidates(self, Gaussian() + Constant())
        bias = Constant(FLAT).fix()
        found = kernel_candidates(self, Gaussian() + bias)
        if isinstance(found, OneKernel) and found.given:
            return OneKernel(found.kernel + bias, given=True)
        return found

    def _prior(self) -> Hyperprior:
        if isinstance(self.hyperprior, str):
            return SHARES if self.ard else Flat()
        return hyperprior(self)

    def _uses_mode(self) -> bool:
        """Whether predictions come from the mode: read at prediction time."""
        if self.predict_with not in ("mean", "mode"):
            raise ValueError(f"predict_with: expected 'mean' or 'mode', found {self.predict_with!r}")
        return self.predict_with == "mode"

    @property
    def multimodal_(self) -> bool:
        """Whether different inner starts ended at different optima of the Gaussian."""
        return any(max(bounds) - min(bounds) > SAME for bounds in self.inner_bounds_)

    # -- prediction ---------------------------------------------------------------------------------------------------
    def _log_odds(self, inputs: Inputs) -> Matrix:
        if not self._uses_mode():
            return super()._log_odds(inputs)
        return np.hstack([model.mode_log_odds(inputs) for model in self.models_])

    def _odds_range(self, inputs: Inputs) -> tuple[Matrix, Matrix] | None:
        return None if self._uses_mode() else super()._odds_range(inputs)

    def _latent(self, X: Any) -> tuple[Matrix, Matrix]:
        mean, var = super()._latent(X)
        if self._uses_mode():
            inputs = self._inputs(X)
            mean = np.hstack([model.mode_mean(inputs) for model in self.models_])
        return mean, var


__all__ = ["VariationalSVC"]
