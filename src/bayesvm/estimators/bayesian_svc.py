"""The Bayesian trigonometric support vector classifier."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy.special import log_expit, log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from bayesvm.estimators._self_tuning import SelfTuning
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


class BayesianSVC(ClassifierMixin, SelfTuning):
    r"""Support vector classifier that tunes itself by the evidence of the training data (BTSVC).

    The latent function has a Gaussian process prior with the given kernel; labels follow a likelihood that is one, and has
    zero loss, for margins beyond one, so that only the support vectors carry the solution. The hyperparameters maximise
    Laplace's approximation of the evidence, Chu2003 (32), with its exact gradient (33); probabilities are averaged over the
    posterior of the latent function, Chu2003 (38), (39). No grid, no validation set, no scaling by the user.

    Parameters
    ----------
    kernel : Kernel, scikit-learn Gaussian process kernel, "auto" or None
        Covariance of the latent function. None: ``Gaussian() + Constant()``. "auto": that, then with a linear part, then
        with one length scale per feature; the one with the highest evidence is kept (see ``candidates_``). The parameters of
        a given kernel are the first start.
    ard : bool
        One length scale per feature (automatic relevance determination) in every part of the kernel that can have it.
    likelihood : str or likelihood
        "trigonometric" (the paper's), "raised-cosine" (the same shape with a continuous second derivative), "logistic" or
        "probit" (Gaussian process classifiers, not sparse), or an object of :mod:`bayesvm.likelihoods`.
    optimizer : {"lbfgs", None}
        Quasi-Newton ascent of the evidence from several starts, or None to keep the hyperparameters of ``kernel``.
    n_starts : int
        Number of starts; the first six are deterministic, further ones are drawn with ``random_state``.
    hyperprior : Hyperprior, optional
        Density of the logarithms of the hyperparameters (:mod:`bayesvm.hyper`); flat if None.
    standardize : bool
        Whether features are brought to zero mean and unit variance inside.
    class_weight : dict, "balanced" or None
        Weights of the classes, multiplied into ``sample_weight``.
    class_prior : array of shape (n_classes,), "empirical" or None
        Class frequencies of the population that is predicted; see Notes. Read at prediction time, so it may be changed by
        ``set_params`` after fitting.
    n_jobs : int, optional
        Starts, or one-vs-rest machines, that are fitted at the same time.
    random_state : int, Generator or RandomState, optional
        Seed of the starts beyond the deterministic ones.
    tol : float
        Predicted gain in evidence, in nats, at which a climb has converged.
    max_iter : int
        Largest number of evaluations of the evidence per start.
    verbose : int
        1 shows a progress bar on a terminal.

    Attributes
    ----------
    kernel_, likelihood_ : Kernel, likelihood (a list, one per class, with more than two classes)
        With their learnt parameters; the kernel takes inputs in the user's units.
    log_evidence_ : float
        Log evidence at the optimum, summed over the one-vs-rest machines.
    support_, support_vectors_, dual_coef_ : arrays
        Rows with a coefficient that is not zero, those rows of X, and the coefficients, one row per machine.
    relevance_ : array of shape (d,) or None
        With ARD, :math:`\kappa_l = 1/\ell_l^2` per standardised feature (averaged over the machines).
    relevance_per_class_ : array of shape (n_machines, d) or None
        The same, per machine.
    named_relevance_ : dict or None
        The same as ``relevance_`` by feature name, largest first.
    candidates_ : list of (str, float)
        With ``kernel="auto"``: the kernels tried and their log evidences.
    classes_, n_features_in_, feature_names_in_ : arrays
        As in scikit-learn.
    converged_, n_iter_, history_, theta_names_ : bool, int, records, names
        Whether all climbs ended well; evaluations spent; one record per start; names of the entries of theta.

    Notes
    -----
    *Several classes* are treated one against the rest. The machines' probabilities :math:`p_k` are coupled by
    conditioning independent answers on exactly one being "yes": :math:`P_k \propto p_k / (1 - p_k)`.

    *Weights* are powers of the likelihood: a row of weight 2 counts as two equal rows. Probabilities then refer to the
    weighted population. ``class_prior="empirical"`` brings them back to the class frequencies of the unweighted training
    rows, and an array brings them to any other frequencies :math:`\pi'_k`, by
    :math:`P'_k \propto P_k \pi'_k / \pi_k` with :math:`\pi_k` the weighted frequencies of the training data.

    ``decision_function`` is the logarithm of the odds of the averaged probability, so its sign (its largest column) is always
    the class that ``predict`` returns; the latent function itself is ``predict_latent``.

    References
    ----------
    Chu2003; Thesis chapter 5.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayesvm import BayesianSVC
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> machine = BayesianSVC().fit(X, y)
    >>> machine.predict_proba(X[:2]).shape
    (2, 2)
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        ard: bool = False,
        likelihood: Any = "trigonometric",
        optimizer: str | None = "lbfgs",
        n_starts: int = 4,
        hyperprior: Any = None,
        standardize: bool = True,
        class_weight: Any = None,
        class_prior: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        tol: float = 1e-2,
        max_iter: int = 500,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.ard = ard
        self.likelihood = likelihood
        self.optimizer = optimizer
        self.n_starts = n_starts
        self.hyperprior = hyperprior
        self.standardize = standardize
        self.class_weight = class_weight
        self.class_prior = class_prior
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

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

    # -- fitting ------------------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BayesianSVC:
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
        self : BayesianSVC
        """
        self._check_arguments()
        likelihood: Likelihood = self._likelihood()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise ValueError(f"y: expected at least two classes, found one class, {self.classes_[0]!r}")
        weights = self._weights(sample_weight, X, y, codes)
        rows = np.arange(codes.size) if weights is None else np.flatnonzero(weights > 0.0)
        if weights is not None:
            likelihood = Weighted(likelihood, weights[rows])
        positives = range(self.classes_.size) if self.classes_.size > 2 else (1,)
        problems = [(np.where(codes[rows] == k, 1.0, -1.0), likelihood) for k in positives]
        inputs = self._prepare(X[rows], None if weights is None else weights[rows])
        self._finish(self._fit_machines(inputs, problems), X, rows)
        return self

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
    def _log_odds(self, X: Any) -> Matrix:
        """Return the log odds of each machine's averaged probability, one column per machine."""
        mean, var = self._latent(X)
        columns = [m.likelihood.plain.log_odds(mean[:, k], var[:, k]) for k, m in enumerate(self._machines)]
        return np.column_stack(columns)

    def _log_proba(self, X: Any, class_prior: Any) -> Matrix:
        odds = self._log_odds(X)
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
        return self._log_proba(X, class_prior)

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


__all__ = ["BayesianSVC", "LabelDoubt"]
