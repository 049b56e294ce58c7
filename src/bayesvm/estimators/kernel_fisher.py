"""The regularised kernel Fisher discriminant."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from bayesvm.estimators._machine import BLOCK
from bayesvm.estimators._probabilities import ProbabilisticClassifier
from bayesvm.estimators._standardize import Standardizer, weighted_moments
from bayesvm.inference.ls_svm import fisher_directions
from bayesvm.kernels import Gaussian, Kernel, Rescaled, from_sklearn
from bayesvm.kernels.inputs import Inputs
from bayesvm.typing import Matrix


class KernelFisherDiscriminant(
    ClassNamePrefixFeaturesOutMixin, ProbabilisticClassifier, TransformerMixin, BaseEstimator
):
    r"""Regularised kernel Fisher discriminant, transformer and classifier (VanGestel2002 section 2.4).

    Directions in feature space with the largest scatter between classes relative to the scatter within, (2.28), at most one
    fewer than classes. For two classes the direction is that of the least-squares machine with the same kernel and
    :math:`\gamma`, up to its length. ``transform`` projects onto the directions, scaled so that the regularised variance within
    classes is one; ``predict`` assigns the class whose centre is nearest, class priors taken into account.

    Parameters
    ----------
    gamma : float
        Inverse of the regularisation, :math:`\gamma` of (2.27).
    kernel : Kernel, scikit-learn Gaussian process kernel or None
        Used with the parameters it has. None: Gaussian, its length scale half the typical distance of two rows. To learn both
        from the data, take ``gamma_`` and ``kernel_`` of a fitted :class:`~bayesvm.BayesianLSSVC`.
    n_components : int, optional
        Number of directions; None: one fewer than classes.
    priors : array of shape (n_classes,), optional
        Class priors; None: the (weighted) frequencies of the training rows.
    standardize : bool
        Whether features are brought to zero mean and unit variance inside.

    Attributes
    ----------
    kernel_ : Kernel
        For inputs in the user's units.
    dual_coef_ : array, shape (n_components, n)
        Coefficients of the directions over the training rows.
    intercept_ : array, shape (n_components,)
        What is added to :math:`\sum_i \alpha_i k(x, x_i)`: projections of the training rows have zero mean.
    means_ : array, shape (n_classes, n_components)
        Projected class means.
    scatter_ratio_ : array, shape (n_components,)
        Share of the regularised total scatter along each direction that lies between classes.
    priors_, classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    VanGestel2002 section 2.4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesvm.estimators.kernel_fisher import KernelFisherDiscriminant
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelFisherDiscriminant().fit(X, y).transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        gamma: float = 1.0,
        kernel: Any = None,
        *,
        n_components: int | None = None,
        priors: Any = None,
        standardize: bool = True,
    ) -> None:
        self.gamma = gamma
        self.kernel = kernel
        self.n_components = n_components
        self.priors = priors
        self.standardize = standardize

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _resolved_kernel(self, inputs: Inputs, weights: Any) -> Kernel:
        if self.kernel is None:
            spread = float(np.sum(weighted_moments(inputs.X, weights)[1]))
            return Gaussian(lengthscale=float(np.sqrt(0.5 * spread)) if spread > 0.0 else 1.0)
        if isinstance(self.kernel, Kernel):
            return self.kernel
        if hasattr(self.kernel, "clone_with_theta"):
            return from_sklearn(self.kernel)
        raise ValueError(f"kernel: expected None, a bayesvm or a scikit-learn kernel, found {self.kernel!r}")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the directions.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, d)
            Inputs.
        y : array, shape (n,)
            Labels of two or more classes.
        sample_weight : array, shape (n,), optional
            Non-negative counts; rows of weight zero are left out.

        Returns
        -------
        self : the estimator
        """
        gamma = self.gamma
        if isinstance(gamma, bool) or not (isinstance(gamma, int | float | np.number) and 0.0 < gamma < np.inf):
            raise ValueError(f"gamma: expected a positive number, found {gamma!r}")
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise ValueError(f"y: expected at least two classes, found one class, {self.classes_[0]!r}")
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        totals = np.bincount(codes, weights=weights, minlength=self.classes_.size)
        if np.any(totals == 0.0):
            missing = self.classes_[totals == 0.0][0]
            raise ValueError(
                f"sample_weight: expected a positive weight in every class, found none in class {missing!r}"
            )
        rows = np.flatnonzero(weights > 0.0)
        w = None if sample_weight is None else weights[rows]
        self.priors_ = self._checked_priors(totals)
        self._standardizer = Standardizer.of(X[rows], w) if self.standardize else Standardizer.identity(X.shape[1])
        self._rows = self._standardizer.inputs(X[rows])
        names = list(getattr(self, "feature_names_in_", [])) or None
        self._kernel = self._resolved_kernel(self._rows, w).bind(X.shape[1], names)
        found = fisher_directions(
            self._kernel.gram(self._rows), np.eye(self.classes_.size)[codes[rows]], w, float(gamma), self._size()
        )
        self.kernel_ = Rescaled(self._kernel, tuple(self._standardizer.shift), tuple(self._standardizer.scale))
        self.dual_coef_, self.intercept_ = found.alpha.T, -found.offset
        self.means_, self.scatter_ratio_ = found.centres, found.ratio
        self._rows = self._rows.forget()
        self._n_features_out = found.ratio.size
        return self

    def _size(self) -> int:
        most, size = self.classes_.size - 1, self.n_components
        if size is None:
            return most
        if not isinstance(size, int | np.integer) or isinstance(size, bool) or not 1 <= size <= most:
            raise ValueError(f"n_components: expected None or an integer from 1 to {most}, found {size!r}")
        return int(size)

    def _checked_priors(self, totals: Any) -> Any:
        if self.priors is None:
            return totals / totals.sum()
        priors = np.asarray(self.priors, dtype=float)
        if priors.shape != totals.shape or not (np.all(np.isfinite(priors)) and np.all(priors > 0.0)):
            raise ValueError(f"priors: expected {totals.size} positive numbers, found {self.priors!r}")
        return priors / priors.sum()

    def transform(self, X: Any) -> Matrix:
        """Return the projections onto the directions, shape (n, n_components)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        inputs = self._standardizer.inputs(X)
        projections = np.empty((len(inputs), self.intercept_.size))
        step = max(1, BLOCK // max(1, len(self._rows)))
        for start in range(0, len(inputs), step):
            rows = np.arange(start, min(start + step, len(inputs)))
            projections[rows] = self._kernel.gram(inputs.take(rows), self._rows) @ self.dual_coef_.T
        return projections + self.intercept_

    def predict_log_proba(self, X: Any) -> Matrix:
        """Return logarithms of class probabilities under Gaussian classes of unit variance along the directions."""
        projections = self.transform(X)
        distances = np.stack([np.sum((projections - mean) ** 2, axis=1) for mean in self.means_], axis=1)
        return np.asarray(log_softmax(np.log(self.priors_) - 0.5 * distances, axis=1))


__all__ = ["KernelFisherDiscriminant"]
