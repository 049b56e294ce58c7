"""Relevance vector machines (Thesis section 3.1.3.2)."""

from __future__ import annotations

from typing import Any, ClassVar

from bayesvm.estimators._arguments import (
    Rule,
    hyperprior,
    kernel_candidates,
    label_likelihood,
    search_options,
    whole,
)
from bayesvm.estimators._classifier import BayesianClassifier
from bayesvm.estimators._regressor import BayesianRegressor
from bayesvm.kernels import Gaussian
from bayesvm.likelihoods import GaussianNoise, Likelihood
from bayesvm.models.base import TrainingData
from bayesvm.models.rvm import RelevanceVectors

#: Least noise variance, relative to the variance of the targets.
LEAST_NOISE = 1e-6


class RelevanceVectorClassifier(BayesianClassifier):
    r"""Relevance vector classifier: few kernel functions, each with a precision of its own.

    The latent function is :math:`f(x) = \sum_i w_i k(x, x_i) + w_0` with :math:`w_i \sim \mathcal N(0, 1/a_i)`. The
    evidence of the precisions, by Laplace's method on the weights, has its maximum where most of them are infinite; the
    training rows that are left are the relevance vectors. The width of the kernel is learnt by the same evidence.

    Parameters
    ----------
    kernel : Kernel, scikit-learn Gaussian process kernel or None
        The basis functions are its columns at the training rows; None: ``Gaussian().fix("variance")``. It need not be
        positive definite.
    ard : bool
        One length scale per feature in every part of the kernel that can have it.
    likelihood : str or likelihood
        "logistic", "probit" or another smooth normalised likelihood of labels.
    fit_intercept : bool
        Whether a constant is among the basis functions.
    optimizer : {"bfgs", None}
        None: keep the given kernel, and learn precisions only.
    n_starts : int
        Number of starts for the kernel's parameters.
    max_vectors : int
        Largest number of additions of basis functions that one search may try.
    hyperprior, standardize, class_weight, class_prior, n_jobs, random_state, evidence_tol, max_evaluations, verbose
        As in :class:`~bayesvm.BayesianSVC`.

    Attributes
    ----------
    relevance_vectors_ : array, shape (m, d)
        The training rows whose function is active, in any of the outputs; their row numbers are ``support_``.
    dual_coef_ : array, shape (n_outputs, m)
        Posterior means of the weights.
    intercept_ : array, shape (n_outputs,)
        Weight of the constant.
    n_relevance_ : array of int
        Number of relevance vectors of each output.
    precisions_ : tuple of arrays, one per output
        Precisions of the active weights, the constant first if it is active.
    kernels_, likelihoods_, models_, log_evidence_, history_, n_iter_, converged_, relevance_, classes_
        As in :class:`~bayesvm.BayesianSVC`; ``log_evidence_`` contains Occam factors for the active functions (see
        :mod:`bayesvm.hyper.rvm`).
    log_marginal_likelihood_ : float
        The evidence without these factors, as Tipping2001 states it.

    Notes
    -----
    Far from all relevance vectors the variance of the latent function falls to that of the constant: a relevance vector
    machine is most certain where it knows least. :class:`~bayesvm.GPClassifier` does not have this fault.

    References
    ----------
    Thesis section 3.1.3.2; Tipping2001; Tipping2003.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayesvm import RelevanceVectorClassifier
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> machine = RelevanceVectorClassifier(n_starts=1).fit(X, y)
    >>> len(machine.relevance_vectors_) < 20
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {"max_vectors": whole(1)}

    def __init__(
        self,
        kernel: Any = None,
        *,
        ard: bool = False,
        likelihood: Any = "logistic",
        fit_intercept: bool = True,
        optimizer: str | None = "bfgs",
        n_starts: int = 3,
        max_vectors: int = 1000,
        hyperprior: Any = None,
        standardize: bool = True,
        class_weight: Any = None,
        class_prior: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        evidence_tol: float = 0.1,
        max_evaluations: int = 200,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.ard = ard
        self.likelihood = likelihood
        self.fit_intercept = fit_intercept
        self.optimizer = optimizer
        self.n_starts = n_starts
        self.max_vectors = max_vectors
        self.hyperprior = hyperprior
        self.standardize = standardize
        self.class_weight = class_weight
        self.class_prior = class_prior
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.evidence_tol = evidence_tol
        self.max_evaluations = max_evaluations
        self.verbose = verbose

    def _spec(self, data: TrainingData) -> RelevanceVectors:
        return relevance_vectors(self, label_likelihood(self.likelihood))

    @property
    def relevance_vectors_(self) -> Any:
        """The training rows whose function is active, in any of the outputs."""
        return self.support_vectors_


class RelevanceVectorRegressor(BayesianRegressor):
    r"""Relevance vector regressor: few kernel functions, each with a precision of its own, and Gaussian noise.

    The model is that of :class:`RelevanceVectorClassifier` with :math:`y = f(x) + \epsilon`; precisions, noise and the
    width of the kernel maximise the exact evidence, Thesis (3.38).

    Parameters
    ----------
    kernel, ard, fit_intercept, optimizer, n_starts, max_vectors
        As in :class:`RelevanceVectorClassifier`.
    hyperprior, standardize, n_jobs, random_state, evidence_tol, max_evaluations, verbose
        As in :class:`~bayesvm.BayesianSVR`.

    Attributes
    ----------
    relevance_vectors_, dual_coef_, n_relevance_, precisions_, log_marginal_likelihood_
        As in :class:`RelevanceVectorClassifier`; the mean of a target is
        ``kernel_.gram(X, relevance_vectors_) @ dual_coef_.T + intercept_``.
    intercept_ : array, shape (n_outputs,)
        In the user's units.
    noise_std_ : float or array
        Standard deviation of the noise in the user's units.
    kernels_, likelihoods_, models_, log_evidence_, history_, n_iter_, converged_, relevance_
        As in :class:`~bayesvm.BayesianSVR`.

    References
    ----------
    Thesis section 3.1.3.2; Tipping2001; Tipping2003.

    Examples
    --------
    >>> from bayesvm import RelevanceVectorRegressor
    >>> from bayesvm.datasets import make_sinc
    >>> X, y, f = make_sinc(100, noise=0.1, random_state=0)
    >>> machine = RelevanceVectorRegressor(n_starts=1).fit(X, y)
    >>> len(machine.relevance_vectors_) < 20
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {"max_vectors": whole(1)}

    def __init__(
        self,
        kernel: Any = None,
        *,
        ard: bool = False,
        fit_intercept: bool = True,
        optimizer: str | None = "bfgs",
        n_starts: int = 3,
        max_vectors: int = 1000,
        hyperprior: Any = None,
        standardize: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        evidence_tol: float = 0.1,
        max_evaluations: int = 200,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.ard = ard
        self.fit_intercept = fit_intercept
        self.optimizer = optimizer
        self.n_starts = n_starts
        self.max_vectors = max_vectors
        self.hyperprior = hyperprior
        self.standardize = standardize
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.evidence_tol = evidence_tol
        self.max_evaluations = max_evaluations
        self.verbose = verbose

    def _spec(self, data: TrainingData) -> RelevanceVectors:
        # the search begins at a tenth of the standard deviation of the targets; below a thousandth rounding takes over
        noise = GaussianNoise(0.01).bounded(variance=(LEAST_NOISE, 1e2))
        return relevance_vectors(self, noise.rescaled(data.spread))

    @property
    def relevance_vectors_(self) -> Any:
        """The training rows whose function is active, for any of the outputs."""
        return self.support_vectors_


def relevance_vectors(estimator: Any, likelihood: Likelihood) -> RelevanceVectors:
    """Return the specification that the two estimators share; the precisions take care of the kernel's variance."""
    return RelevanceVectors(
        kernel_candidates(estimator, Gaussian().fix("variance"), auto=False),
        likelihood,
        bool(estimator.fit_intercept),
        int(estimator.max_vectors),
        hyperprior=hyperprior(estimator),
        options=search_options(estimator),
    )


__all__ = ["RelevanceVectorClassifier", "RelevanceVectorRegressor"]
