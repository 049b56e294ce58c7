"""The trigonometric support vector classifier."""

from __future__ import annotations

from typing import Any

from bayesvm.estimators._margin_classifier import MarginClassifier
from bayesvm.likelihoods import Trigonometric
from bayesvm.likelihoods.dual import Dual
from bayesvm.typing import Vector


class TrigonometricSVC(MarginClassifier):
    r"""Support vector classifier with the trigonometric loss and given hyperparameters (TSVC).

    Minimises :math:`\tfrac12 \|w\|^2 + \sum_i w_i\, \ell_t(y_i f(x_i))`, with the loss that is zero for margins beyond
    one and :math:`2 \ln \sec(\tfrac\pi4 \xi)` for violations :math:`\xi < 2`, by its dual, Chu2003 (43), Thesis (H.4).

    Parameters
    ----------
    kernel : Kernel, scikit-learn Gaussian process kernel or None
        Its variance, the papers' :math:`\kappa_0`, is the only regulariser: the larger it is, the fewer violations.
        None: ``Gaussian()`` with a squared length scale of half the number of features times their mean variance.
    multi_class, class_weight, tol, max_iter, cache_size, shrinking, warm_start, n_jobs, verbose
        As for :class:`~bayesvm.ExtendedSVC`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, kernel_ : arrays, kernel
        As for :class:`~bayesvm.ExtendedSVC`.
    gap_, dual_objective_, n_iter_, n_steps_, converged_, classes_, n_features_in_, feature_names_in_
        As for :class:`~bayesvm.ExtendedSVC`.

    Notes
    -----
    :class:`~bayesvm.BayesianSVC` uses the same loss, learns the hyperparameters and returns probabilities; this machine
    is its classical counterpart, for cross-validation and for data too large for the evidence. Every training sample
    has a margin above -1 at the optimum: the loss is infinite there.

    References
    ----------
    Chu2003, appendix; Thesis appendices G and H.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayesvm import TrigonometricSVC
    >>> from bayesvm.kernels import Gaussian
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> TrigonometricSVC(Gaussian(10.0, 0.5)).fit(X, y).predict(X[:3]).shape
    (3,)
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        multi_class: str = "ovr",
        class_weight: Any = None,
        tol: float | None = None,
        max_iter: int = 10_000,
        cache_size: float = 500.0,
        shrinking: bool = True,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _dual(self, y: Vector) -> Dual:
        return Trigonometric().dual(y)


__all__ = ["TrigonometricSVC"]
