"""Gaussian processes that learn sample by sample, with a budget of basis vectors (Thesis section 3.2.4)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from bayesvm.estimators._arguments import check_arguments
from bayesvm.estimators._attributes import adopt, mean_and_std, only, twin
from bayesvm.estimators._numbers import in_proportion, read_training_data
from bayesvm.estimators._online import RULES, OnlineGP
from bayesvm.estimators._probabilistic import ProbabilisticClassifier
from bayesvm.estimators.gaussian_process import GPClassifier, GPRegressor
from bayesvm.models.online import OnlineModel
from bayesvm.models.probabilities import log_proba_of, one_against_rest
from bayesvm.typing import Matrix


class OnlineGPRegressor(RegressorMixin, OnlineGP):
    r"""Gaussian process regression, one sample at a time.

    Parameters
    ----------
    kernel : Kernel, scikit-learn Gaussian process kernel or None
        Covariance of the latent function; None: ``Gaussian() + Constant()``.
    likelihood : str or likelihood
        Noise model, as in :class:`~bayesvm.GPRegressor`; each sample needs one-dimensional Gaussian integrals only, by
        closed form or quadrature.
    budget : int or None
        Largest number of basis vectors. None: no limit.
    novelty : float
        A sample joins the basis only if the basis leaves more than this share of its prior variance unexplained; other
        samples are projected onto it. With ``budget=None, novelty=0`` every sample joins, and Gaussian noise is treated
        exactly.
    optimizer : {"bfgs", None}
        Whether kernel and noise are learnt, by the evidence of up to ``n_tune`` rows spread evenly over the first data.
    n_tune : int
        Largest number of these rows.
    inference : {"laplace", "ep"}
        Method of that evidence, if the noise is not Gaussian.
    standardize : bool
        Whether inputs and targets are standardised, by the same rows.
    random_state : int, Generator or RandomState, optional
        Seed of starts beyond the deterministic ones.

    Attributes
    ----------
    basis_vectors_ : tuple of arrays of shape (m, d), one per output
        Basis vectors in the user's units.
    n_basis_ : array of int
        Their number.
    kernels_ : tuple of Kernel, one per output
        Act on inputs in the user's units and give covariances of standardised targets.
    likelihoods_ : tuple of one Regression
        Noise in the user's units; its standard deviation is ``noise_std_``.
    log_evidence_ : float
        Sum of the log predictive densities of all samples in the order in which they came, on the scale used inside.
        Exact for Gaussian noise without projection, where it is the evidence of the batch machine.
    n_seen_ : int
        Number of samples taken in.

    Notes
    -----
    *Order.* With Gaussian noise and no projection the result does not depend on the order of the samples, nor on how
    they are cut into batches. Otherwise it does, a little: each sample is used once, at the moment it comes. Data that
    come sorted (a sweep from left to right) are the worst case with a small budget, since the basis must move along;
    shuffle them if possible.

    *Batches.* ``partial_fit`` on parts equals ``partial_fit`` on the whole; only the first call differs, because its
    rows set the scales and the hyperparameters, which stay as they are from then on.

    References
    ----------
    Thesis section 3.2.4; Csato2002.

    Examples
    --------
    >>> from bayesvm import OnlineGPRegressor
    >>> from bayesvm.datasets import make_sinc
    >>> X, y, f = make_sinc(400, noise=0.1, random_state=0)
    >>> machine = OnlineGPRegressor(budget=40).partial_fit(X[:200], y[:200])
    >>> machine = machine.partial_fit(X[200:], y[200:])
    >>> machine.n_seen_
    400
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        likelihood: Any = "gaussian-noise",
        budget: int | None = 100,
        novelty: float = 1e-6,
        optimizer: str | None = "bfgs",
        n_tune: int = 300,
        inference: str = "laplace",
        standardize: bool = True,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.likelihood = likelihood
        self.budget = budget
        self.novelty = novelty
        self.optimizer = optimizer
        self.n_tune = n_tune
        self.inference = inference
        self.standardize = standardize
        self.random_state = random_state

    def _prototype_class(self) -> type:
        return GPRegressor

    def fit(self, X: Any, y: Any) -> Self:
        """Forget what was learnt before and take in the rows of X in their order; see :meth:`partial_fit`."""
        return self._take(X, y, first=True)

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Take in more rows.

        Parameters
        ----------
        X : array or DataFrame, shape (n, d)
            Inputs, in the order in which they are taken in.
        y : array, shape (n,)
            Targets.

        Returns
        -------
        self : the estimator
        """
        return self._take(X, y, first=not hasattr(self, "models_"))

    def _take(self, X: Any, y: Any, *, first: bool) -> Self:
        check_arguments(self, RULES)
        fitted = twin(self)
        least = 2 if first else 1
        X, y = read_training_data(
            fitted, X, y, raw=not self.standardize, reset=first, y_numeric=True, ensure_min_samples=least
        )
        y = np.asarray(y, dtype=np.float64)
        if first:
            fitted._prototype = self._tuned(X, y)
            model = fitted._prototype.models_[0]
            fitted.models_ = (OnlineModel.prior(model.kernel, model.likelihood.plain, self._options(), X.shape[1]),)
        prototype = fitted._prototype
        inner = prototype._targets.inner(y[:, None])[:, 0]
        rows = in_proportion(fitted, X, prototype._standardizer).X
        fitted._write([fitted.models_[0].learn(rows, inner)])
        fitted.likelihoods_ = prototype.likelihoods_
        fitted.noise_std_ = float(np.sqrt(prototype.likelihood_.noise_variance))
        adopt(self, fitted)
        return self

    @property
    def likelihood_(self) -> Any:
        """Noise in the user's units."""
        return only(self, "likelihood")

    def predict(self, X: Any, return_std: bool = False, return_noise: bool = True) -> Any:
        """Return the mean of the targets at the rows of X, and their standard deviation.

        Parameters
        ----------
        X : array or DataFrame, shape (n, d)
            Inputs.
        return_std : bool
            Whether to return the standard deviation too.
        return_noise : bool
            Whether it is that of a new target, or of the latent function alone.

        Returns
        -------
        mean : array, shape (n,)
        std : array, shape (n,)
            Only if ``return_std``.
        """
        mean, var = self._latent(X)
        targets = self._prototype._targets
        outer = targets.outer(mean)[:, 0]
        if not return_std:
            return outer
        noise = self.models_[0].likelihood.noise_variance if return_noise else 0.0
        return outer, targets.scale[0] * np.sqrt(var[:, 0] + noise)

    def predict_latent(self, X: Any, return_std: bool = True) -> Any:
        """Return mean and standard deviation of the latent function, in the user's units."""
        return self.predict(X, return_std=return_std, return_noise=False)


class OnlineGPClassifier(ProbabilisticClassifier, OnlineGP):
    r"""Gaussian process classification, one sample at a time.

    Parameters
    ----------
    kernel, budget, novelty, optimizer, n_tune, standardize, random_state
        As in :class:`OnlineGPRegressor`.
    likelihood : str or likelihood
        "probit" (closed form), "logistic", "trigonometric" or any other normalised likelihood of labels.
    inference : {"ep", "laplace"}
        Method of the evidence by which the hyperparameters are learnt.

    Attributes
    ----------
    classes_ : array
        Class labels.
    basis_vectors_, n_basis_, kernels_, log_evidence_, n_seen_
        As in :class:`OnlineGPRegressor`; one entry per class if there are more than two.

    Notes
    -----
    The posterior of a label's likelihood is not Gaussian; every sample is replaced by the Gaussian with the same two
    moments, as in one sweep of expectation propagation. The result depends on the order of the samples; see
    :class:`OnlineGPRegressor`. The first data must hold rows of at least two classes. Several classes are treated one
    against the rest.

    References
    ----------
    Thesis section 3.2.4; Csato2002.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayesvm import OnlineGPClassifier
    >>> X, y = make_moons(300, noise=0.2, random_state=0)
    >>> machine = OnlineGPClassifier(budget=30).partial_fit(X[:100], y[:100], classes=[0, 1])
    >>> machine.partial_fit(X[100:], y[100:]).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        likelihood: Any = "probit",
        budget: int | None = 100,
        novelty: float = 1e-6,
        optimizer: str | None = "bfgs",
        n_tune: int = 300,
        inference: str = "ep",
        standardize: bool = True,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.likelihood = likelihood
        self.budget = budget
        self.novelty = novelty
        self.optimizer = optimizer
        self.n_tune = n_tune
        self.inference = inference
        self.standardize = standardize
        self.random_state = random_state

    def _prototype_class(self) -> type:
        return GPClassifier

    def _enough(self, rows: Any, y: Any) -> Any:
        """Add the first row of every class that the evenly spread rows miss."""
        _, first = np.unique(y, return_index=True)
        return np.union1d(rows, first)

    def fit(self, X: Any, y: Any) -> Self:
        """Forget what was learnt before and take in the rows of X in their order; see :meth:`partial_fit`."""
        return self._take(X, y, None, first=True)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Take in more rows.

        Parameters
        ----------
        X : array or DataFrame, shape (n, d)
            Inputs, in the order in which they are taken in.
        y : array, shape (n,)
            Labels.
        classes : array, optional
            All labels that may ever come; in the first call, if its rows do not hold them all.

        Returns
        -------
        self : the estimator
        """
        return self._take(X, y, classes, first=not hasattr(self, "models_"))

    def _take(self, X: Any, y: Any, classes: Any, *, first: bool) -> Self:
        check_arguments(self, RULES)
        fitted = twin(self)
        least = 2 if first else 1
        X, y = read_training_data(fitted, X, y, raw=not self.standardize, reset=first, ensure_min_samples=least)
        check_classification_targets(y)
        if first:
            self._begin_classes(fitted, X, y, classes)
        unknown = np.setdiff1d(y, fitted.classes_)
        if unknown.size:
            raise ValueError(f"y: expected labels among {fitted.classes_!r}, found {unknown.tolist()[0]!r}")
        codes = np.searchsorted(fitted.classes_, y)
        inner = in_proportion(fitted, X, fitted._prototype._standardizer).X
        labels = one_against_rest(codes, fitted.classes_.size).T
        fitted._write([model.learn(inner, own) for model, own in zip(fitted.models_, labels, strict=True)])
        adopt(self, fitted)
        return self

    def _begin_classes(self, fitted: Any, X: Matrix, y: Any, classes: Any) -> None:
        """Set the classes, and one process per class with the hyperparameters of the batch machine."""
        present = np.unique(y)
        if present.size < 2:
            raise ValueError(
                f"y: expected rows of at least two classes in the first data, found one class, {present[0]!r}"
            )
        fitted.classes_ = present if classes is None else np.unique(classes)
        missing = np.setdiff1d(present, fitted.classes_)
        if missing.size:
            raise ValueError(f"classes: expected all labels of y, found {missing.tolist()[0]!r} in y only")
        fitted._prototype = self._tuned(X, y)
        models = fitted._prototype.models_
        order = [int(np.searchsorted(present, c)) if c in present else 0 for c in fitted.classes_]
        several = fitted.classes_.size > 2
        chosen = [models[i if i < len(models) else 0] for i in order] if several else [models[0]]
        options = self._options()
        fitted.models_ = tuple(OnlineModel.prior(m.kernel, m.likelihood.plain, options, X.shape[1]) for m in chosen)

    def predict_log_proba(self, X: Any) -> Matrix:
        """Return logarithms of class probabilities averaged over the posterior."""
        mean, var = self._latent(X)
        odds = np.column_stack([m.likelihood.log_odds(mean[:, k], var[:, k]) for k, m in enumerate(self.models_)])
        return log_proba_of(odds)

    def predict_latent(self, X: Any, return_std: bool = True) -> Any:
        """Return mean and standard deviation of the latent functions, one column per class if more than two."""
        return mean_and_std(*self._latent(X), return_std)


__all__ = ["OnlineGPClassifier", "OnlineGPRegressor"]
