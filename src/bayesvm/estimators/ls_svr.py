"""The Bayesian least-squares support vector regressor."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import ndtri
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from bayesvm.estimators._ls_svm import LeastSquares, LevelsProblem
from bayesvm.typing import Vector


class BayesianLSSVR(RegressorMixin, LeastSquares):
    r"""Least-squares support vector regressor with three levels of inference (VanGestel2002).

    The same three levels as :class:`~bayesvm.BayesianLSSVC`, for real targets. Without bias the predictions are those
    of Gaussian process
    regression with covariance :math:`k/\mu` and noise :math:`1/\zeta`; with it, training errors have zero mean.

    Parameters
    ----------
    kernel, ard, bias, n_components, landmarks, prune, robust, optimizer, n_starts, hyperprior, standardize
        See :class:`~bayesvm.BayesianLSSVC`. Targets need no scaling: levels 2 and 3 follow their scale.
    n_jobs, random_state, tol, max_iter, verbose
        See :class:`~bayesvm.BayesianLSSVC`.

    Attributes
    ----------
    kernel_, likelihood_, log_evidence_, gamma_, mu_, zeta_, gamma_eff_, support_, support_vectors_, dual_coef_, intercept_
        See :class:`~bayesvm.BayesianLSSVC`.
    noise_std_ : float
        Standard deviation of the noise, :math:`\zeta^{-1/2}`.

    References
    ----------
    VanGestel2002.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesvm.estimators.ls_svr import BayesianLSSVR
    >>> X = np.linspace(-3.0, 3.0, 60)[:, None]
    >>> y = np.sinc(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=60)
    >>> machine = BayesianLSSVR().fit(X, y)
    >>> mean, std = machine.predict(X, return_std=True)
    >>> mean.shape, std.shape
    ((60,), (60,))
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        ard: bool = False,
        bias: bool = True,
        n_components: int | str = "auto",
        landmarks: int | None = None,
        prune: float | int | None = None,
        robust: bool = False,
        optimizer: str | None = "lbfgs",
        n_starts: int = 4,
        hyperprior: Any = None,
        standardize: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        tol: float = 3e-3,
        max_iter: int = 500,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.ard = ard
        self.bias = bias
        self.n_components = n_components
        self.landmarks = landmarks
        self.prune = prune
        self.robust = robust
        self.optimizer = optimizer
        self.n_starts = n_starts
        self.hyperprior = hyperprior
        self.standardize = standardize
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Infer parameters, hyperparameters and kernel from the training data.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, d)
            Inputs.
        y : array, shape (n,)
            Targets.
        sample_weight : array, shape (n,), optional
            Non-negative counts; rows of weight zero are left out.

        Returns
        -------
        self : the estimator
        """
        self._check_arguments()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        rows = np.arange(y.size) if weights is None else np.flatnonzero(weights > 0.0)
        w = None if weights is None else weights[rows]
        inputs = self._prepare(X[rows], w)
        targets = np.asarray(y[rows], dtype=np.float64)[:, None]
        problem = LevelsProblem(inputs, targets, w, np.ones((rows.size, 1)))
        with self._progress() as callback:
            machine = self._fit_levels(problem, self._maximizer(callback))
        self._record([machine], X, rows)
        self.noise_std_ = float(self.zeta_**-0.5)
        return self

    def predict(self, X: Any, return_std: bool = False, return_noise: bool = True) -> Any:
        """Return the predictive mean, and its standard deviation.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, d)
            Inputs.
        return_std : bool
            Whether to return the standard deviation too.
        return_noise : bool
            Whether it includes the noise of a new observation.

        Returns
        -------
        mean : array, shape (n,)
        std : array, shape (n,)
            Only if ``return_std``.
        """
        mean, std = self._moments(X, return_noise)
        return (mean, std) if return_std else mean

    def _moments(self, X: Any, noise: bool) -> tuple[Vector, Vector]:
        check_is_fitted(self)
        mean, var = self._latent(X)
        return mean[:, 0], np.sqrt(var[:, 0] + (self.noise_std_**2 if noise else 0.0))

    def predict_interval(self, X: Any, confidence: float = 0.95, return_noise: bool = True) -> tuple[Vector, Vector]:
        """Return the ends of central intervals that hold a new observation (or the latent value) with given probability.

        Parameters
        ----------
        X : array, shape (n, d)
            Inputs.
        confidence : float
            Probability, between 0 and 1.
        return_noise : bool
            Whether the interval is that of an observation.

        Returns
        -------
        low, high : arrays, shape (n,)
        """
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence: expected a number between 0 and 1, found {confidence!r}")
        mean, std = self._moments(X, return_noise)
        half = float(ndtri(0.5 + 0.5 * confidence)) * std
        return mean - half, mean + half


__all__ = ["BayesianLSSVR"]
