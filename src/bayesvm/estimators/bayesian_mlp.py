"""Bayesian neural networks with one hidden layer: the thesis' baseline (section 3.1, Table 4.6)."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from bayesvm.estimators._arguments import check_arguments, generator, is_whole, whole
from bayesvm.estimators._attributes import adopt, mean_and_std, twin
from bayesvm.estimators._numbers import new_inputs, read_training_data, scaled_targets
from bayesvm.estimators._probabilistic import ProbabilisticClassifier
from bayesvm.estimators._summary import SummaryMixin
from bayesvm.exceptions import ConvergenceWarning
from bayesvm.inference.mlp import NetworkTrainer, best_network
from bayesvm.likelihoods import GaussianNoise, Likelihood, Logistic
from bayesvm.models.probabilities import log_proba_of, one_against_rest
from bayesvm.models.scaling import Standardizer
from bayesvm.typing import Matrix, Vector

#: Rules of the constructor arguments.
RULES = {"max_cycles": whole(1)}


class _BayesianMLP(SummaryMixin, BaseEstimator):
    """Base of the networks: arguments, training, attributes."""

    def _sizes(self) -> tuple[int, ...]:
        sizes = (self.hidden,) if is_whole(self.hidden) else self.hidden
        if not isinstance(sizes, tuple | list) or not sizes or any(not is_whole(s) or s < 1 for s in sizes):
            raise ValueError(f"hidden: expected a positive integer or a sequence of them, found {self.hidden!r}")
        return tuple(int(size) for size in sizes)

    def _train(self, X: Matrix, Y: Matrix, likelihood: Likelihood) -> None:
        """Choose and train a network on validated data; Y in the units used inside."""
        trainer = NetworkTrainer(tol=float(self.evidence_tol), max_cycles=int(self.max_cycles))
        inner = self._standardizer.inputs(X).X
        rng = generator(self.random_state)
        best, tried = best_network(
            trainer, inner, Y, likelihood, self._sizes(), int(self.n_starts), rng, ard=bool(self.ard)
        )
        self._trained = best
        self.n_hidden_ = best.network.hidden
        self.weights_ = best.weights
        self.log_evidence_ = best.log_evidence
        self.evidence_by_size_ = {t.network.hidden: t.log_evidence for t in tried}
        self.group_precision_ = best.precision
        self.n_determined_ = float(best.determined.sum())
        self.relevance_ = 1.0 / best.precision[: X.shape[1]] if self.ard else None
        self.n_iter_ = best.n_iter
        self.converged_ = best.status.ok

    def _warn(self) -> None:
        """Warn if the cycles did not settle; called by ``fit`` itself."""
        if not self.converged_:
            message = f"{type(self).__name__} did not converge: {self._trained.status.value}"
            warnings.warn(message, ConvergenceWarning, stacklevel=3)

    def _latent(self, X: Any) -> tuple[Matrix, Matrix]:
        check_is_fitted(self)
        return self._trained.latent(new_inputs(self, X, self._standardizer).X)


class BayesianMLPRegressor(RegressorMixin, _BayesianMLP):
    r"""Neural network with one hidden layer whose weight decays, noise and size come from the evidence.

    Parameters
    ----------
    hidden : int or sequence of int
        Number of hidden units, or increasing numbers of which the one with the highest evidence is chosen.
    ard : bool
        Whether the weights of every input have a precision of their own, Thesis (3.33); otherwise one for all inputs.
    n_starts : int
        Random starts per number of hidden units, with weak and strong decays in turn.
    random_state : int, Generator or RandomState, optional
        Seed of the starts.
    evidence_tol : float
        Change of the log evidence per cycle, in nats, below which the hyperparameters have settled.
    max_cycles : int
        Largest number of cycles of levels 1 and 2.

    Attributes
    ----------
    n_hidden_ : int
        Number of hidden units that was chosen.
    log_evidence_, evidence_by_size_ : float, dict
        Level 3 of the chosen network, and the highest of every size that was tried, on standardised targets.
    relevance_ : array, shape (d,)
        Prior variances of the weights of each input, with ``ard``.
    group_precision_, n_determined_ : array, float
        Precisions of the groups, and the number of weights that the data determine.
    noise_std_ : float or array
        Standard deviation of the noise in the user's units.
    weights_, n_iter_, converged_
        The weights at the mode, the number of cycles, and whether they settled.

    Notes
    -----
    Outputs share the hidden layer; each has a noise variance of its own. The posterior has many modes; the Gaussian at
    one of them is what the evidence and the error bars (3.29) describe.

    References
    ----------
    Thesis section 3.1; MacKay1992.

    Examples
    --------
    >>> from bayesvm import BayesianMLPRegressor
    >>> from bayesvm.datasets import make_sinc
    >>> X, y, f = make_sinc(100, noise=0.1, random_state=0)
    >>> mean, std = BayesianMLPRegressor(hidden=6, n_starts=1, random_state=0).fit(X, y).predict(X, return_std=True)
    >>> mean.shape
    (100,)
    """

    def __init__(
        self,
        hidden: Any = (2, 4, 8, 16),
        *,
        ard: bool = True,
        n_starts: int = 4,
        random_state: Any = None,
        evidence_tol: float = 0.01,
        max_cycles: int = 200,
    ) -> None:
        self.hidden = hidden
        self.ard = ard
        self.n_starts = n_starts
        self.random_state = random_state
        self.evidence_tol = evidence_tol
        self.max_cycles = max_cycles

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.non_deterministic = self.random_state is None
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Train networks and keep the one with the highest evidence.

        Parameters
        ----------
        X : array or DataFrame, shape (n, d)
            Inputs.
        y : array, shape (n,) or (n, n_outputs)
            Targets.

        Returns
        -------
        self : the estimator
        """
        check_arguments(self, RULES)
        fitted = twin(self)
        X, y = read_training_data(fitted, X, y, multi_output=True, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, dtype=np.float64)
        fitted._single = y.ndim == 1
        Y = y.reshape(len(y), -1)
        fitted._standardizer, fitted._targets = Standardizer.of(X), scaled_targets(Y, None, standardize=True)
        fitted._train(X, fitted._targets.inner(Y), GaussianNoise(0.1))
        noise = fitted._targets.scale * np.sqrt(fitted._noise_variance())
        fitted.noise_std_ = float(noise[0]) if fitted._single else noise
        adopt(self, fitted)
        self._warn()
        return self

    def _noise_variance(self) -> Vector:
        """Return the noise variances of the outputs in the units used inside."""
        noise: list[Any] = list(self._trained.likelihoods)
        return np.array([likelihood.noise_variance for likelihood in noise])

    def _shaped(self, columns: Matrix) -> Any:
        return columns[:, 0] if self._single else columns

    def predict(self, X: Any, return_std: bool = False, return_noise: bool = True) -> Any:
        """Return the mean of the targets at the rows of X, and their standard deviation, Thesis (3.28)-(3.29).

        Parameters
        ----------
        X : array or DataFrame, shape (n, d)
            Inputs.
        return_std : bool
            Whether to return the standard deviation too.
        return_noise : bool
            Whether it contains the noise, or the uncertainty of the weights alone.

        Returns
        -------
        mean : array, shape (n,) or (n, n_outputs)
        std : array of the same shape
            Only if ``return_std``.
        """
        mean, var = self._latent(X)
        outer = self._shaped(self._targets.outer(mean))
        if not return_std:
            return outer
        noise = self._noise_variance() if return_noise else 0.0
        return outer, self._shaped(self._targets.scale * np.sqrt(var + noise))

    def predict_latent(self, X: Any, return_std: bool = True) -> Any:
        """Return mean and standard deviation of the network's outputs without noise."""
        return self.predict(X, return_std=return_std, return_noise=False)


class BayesianMLPClassifier(ProbabilisticClassifier, _BayesianMLP):
    r"""Neural network with one hidden layer and logistic outputs whose weight decays and size come from the evidence.

    Parameters
    ----------
    hidden, ard, n_starts, random_state, evidence_tol, max_cycles
        As in :class:`BayesianMLPRegressor`.

    Attributes
    ----------
    classes_ : array
        Class labels.
    likelihood_ : Likelihood
        The logistic likelihood.
    n_hidden_, log_evidence_, evidence_by_size_, relevance_, group_precision_, n_determined_, weights_, n_iter_,
    converged_
        As in :class:`BayesianMLPRegressor`.

    Notes
    -----
    With more than two classes there is one output per class, each against the rest, all on the same hidden layer;
    probabilities are proportional to the odds. Probabilities are averaged over the Gaussian posterior of the outputs.

    References
    ----------
    Thesis section 3.1; MacKay1992.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayesvm import BayesianMLPClassifier
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> BayesianMLPClassifier(hidden=4, n_starts=1, random_state=0).fit(X, y).predict_proba(X).shape
    (100, 2)
    """

    def __init__(
        self,
        hidden: Any = (2, 4, 8),
        *,
        ard: bool = True,
        n_starts: int = 4,
        random_state: Any = None,
        evidence_tol: float = 0.01,
        max_cycles: int = 200,
    ) -> None:
        self.hidden = hidden
        self.ard = ard
        self.n_starts = n_starts
        self.random_state = random_state
        self.evidence_tol = evidence_tol
        self.max_cycles = max_cycles

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Train networks and keep the one with the highest evidence.

        Parameters
        ----------
        X : array or DataFrame, shape (n, d)
            Inputs.
        y : array, shape (n,)
            Labels of two or more classes.

        Returns
        -------
        self : the estimator
        """
        check_arguments(self, RULES)
        fitted = twin(self)
        X, y = read_training_data(fitted, X, y, ensure_min_samples=2)
        check_classification_targets(y)
        fitted.classes_, codes = np.unique(y, return_inverse=True)
        if fitted.classes_.size < 2:
            raise ValueError(f"y: expected at least two classes, found one class, {fitted.classes_.tolist()[0]!r}")
        Y = one_against_rest(codes, fitted.classes_.size)
        fitted._standardizer = Standardizer.of(X)
        fitted.likelihood_ = Logistic()
        fitted._train(X, Y, fitted.likelihood_)
        adopt(self, fitted)
        self._warn()
        return self

    def predict_log_proba(self, X: Any) -> Matrix:
        """Return logarithms of class probabilities averaged over the posterior."""
        mean, var = self._latent(X)
        odds = np.column_stack([self.likelihood_.log_odds(mean[:, k], var[:, k]) for k in range(mean.shape[1])])
        return log_proba_of(odds)

    def predict_latent(self, X: Any, return_std: bool = True) -> Any:
        """Return mean and standard deviation of the outputs before the logistic function; a column each if several."""
        return mean_and_std(*self._latent(X), return_std)


__all__ = ["BayesianMLPClassifier", "BayesianMLPRegressor"]
