"""The regularised kernel Fisher discriminant."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from bayesvm.estimators._arguments import check_arguments, is_whole, real
from bayesvm.estimators._attributes import adopt, twin
from bayesvm.estimators._classifier import read_labels
from bayesvm.estimators._numbers import new_inputs
from bayesvm.estimators._probabilistic import ProbabilisticClassifier
from bayesvm.estimators._summary import SummaryMixin
from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.inference.ls_svm import fisher_directions
from bayesvm.kernels import Gaussian, Kernel, as_kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.models.base import typical_distance
from bayesvm.models.predictor import blocks
from bayesvm.models.scaling import Standardizer
from bayesvm.typing import Matrix, Vector


class KernelFisherDiscriminant(
    ClassNamePrefixFeaturesOutMixin, ProbabilisticClassifier, TransformerMixin, SummaryMixin, BaseEstimator
):
    r"""Regularised kernel Fisher discriminant, transformer and classifier (VanGestel2002 section 2.4).

    Directions in feature space with the largest scatter between classes relative to the scatter within, (2.28), at most
    one fewer than classes. For two classes the direction is that of the least-squares machine with the same kernel and
    :math:`\gamma`, up to its length. ``transform`` projects onto the directions, scaled so that the regularised
    variance within classes is one; ``predict`` assigns the class whose centre is nearest, class priors taken into
    account.

    Parameters
    ----------
    kernel : Kernel, scikit-learn Gaussian process kernel or None
        Used with the parameters it has. None: Gaussian, its length scale half the typical distance of two rows. To
        learn both from the data, take ``gamma_`` and ``kernel_`` of a fitted :class:`~bayesvm.BayesianLSSVC`.
    gamma : float
        Inverse of the regularisation, :math:`\gamma` of (2.27).
    n_components : int, optional
        Number of directions; None: one fewer than classes.
    class_prior : array of shape (n_classes,), optional
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
    class_prior_, classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    VanGestel2002 section 2.4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesvm import KernelFisherDiscriminant
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelFisherDiscriminant().fit(X, y).transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        gamma: float = 1.0,
        n_components: int | None = None,
        class_prior: Any = None,
        standardize: bool = True,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.class_prior = class_prior
        self.standardize = standardize

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _kernel_for(self, inputs: Inputs, weights: Any) -> Kernel:
        if self.kernel is not None:
            return as_kernel(self.kernel)
        return Gaussian(lengthscale=0.5 * typical_distance(inputs, weights))

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
        check_arguments(self, {"gamma": real(0.0)})
        fitted = twin(self)
        labelled = read_labels(fitted, X, y, sample_weight, None, raw=not self.standardize)
        codes, rows, w = labelled.codes[labelled.rows], labelled.rows, labelled.weights
        used, n_classes = labelled.X[rows], fitted.classes_.size
        fitted.class_prior_ = self._checked_prior(np.exp(labelled.frequencies.weighted))
        fitted._standardizer = Standardizer.of(used, w) if self.standardize else Standardizer.identity(used.shape[1])
        inputs = fitted._standardizer.inputs(used)
        names = list(getattr(fitted, "feature_names_in_", [])) or None
        fitted._kernel = self._kernel_for(inputs, w).bind(used.shape[1], names)
        size = self._size(n_classes - 1)
        try:
            found = fisher_directions(fitted._kernel.gram(inputs), np.eye(n_classes)[codes], w, float(self.gamma), size)
        except NotPositiveDefiniteError as reason:
            raise NotPositiveDefiniteError(
                f"kernel: expected one whose Gram matrix of these data can be factored, found {fitted._kernel!r} "
                f"({reason}); standardise the inputs, or choose another kernel"
            ) from reason
        fitted.kernel_ = fitted._standardizer.kernel(fitted._kernel)
        fitted.dual_coef_, fitted.intercept_ = found.alpha.T, -found.offset
        fitted.means_, fitted.scatter_ratio_ = found.centres, found.ratio
        fitted._rows = inputs.forget()
        fitted._n_features_out = found.ratio.size
        adopt(self, fitted)
        return self

    def _size(self, most: int) -> int:
        size = self.n_components
        if size is None:
            return most
        if not is_whole(size) or not 1 <= size <= most:
            raise ValueError(f"n_components: expected None or an integer from 1 to {most}, found {size!r}")
        return int(size)

    def _checked_prior(self, frequencies: Vector) -> Vector:
        if self.class_prior is None:
            return frequencies
        prior = np.asarray(self.class_prior, dtype=float)
        if prior.shape != frequencies.shape or not (np.all(np.isfinite(prior)) and np.all(prior > 0.0)):
            raise ValueError(f"class_prior: expected {frequencies.size} positive numbers, found {self.class_prior!r}")
        return prior / prior.sum()

    def transform(self, X: Any) -> Matrix:
        """Return the projections onto the directions, shape (n, n_components)."""
        check_is_fitted(self)
        inputs = new_inputs(self, X, self._standardizer, accept_sparse="csr")
        projections = np.empty((len(inputs), self.intercept_.size))
        for rows, part in blocks(inputs, len(self._rows)):
            projections[rows] = self._kernel.gram(part, self._rows) @ self.dual_coef_.T
        return projections + self.intercept_

    def predict_log_proba(self, X: Any) -> Matrix:
        """Return logarithms of class probabilities under Gaussian classes of unit variance along the directions."""
        projections = self.transform(X)
        distances = np.stack([np.sum((projections - mean) ** 2, axis=1) for mean in self.means_], axis=1)
        return np.asarray(log_softmax(np.log(self.class_prior_) - 0.5 * distances, axis=1))


__all__ = ["KernelFisherDiscriminant"]
