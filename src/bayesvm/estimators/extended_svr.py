"""Support vector regression of the general formulation."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from bayesvm.estimators._arguments import Rule, check_arguments, one_of, real
from bayesvm.estimators._attributes import adopt, twin
from bayesvm.estimators._margin_classifier import dual_values, fit_duals, warn_about_gap
from bayesvm.estimators._numbers import check_sizes_of_targets, read_training_data, read_weights
from bayesvm.estimators._summary import SummaryMixin
from bayesvm.likelihoods.dual import Dual
from bayesvm.models.support_vectors import DualProblem
from bayesvm.typing import Vector


class ExtendedSVR(RegressorMixin, SummaryMixin, BaseEstimator):
    r"""Support vector regression with given hyperparameters and the five losses of Thesis B.2.

    Minimises :math:`\tfrac12 \|w\|^2 + \sum_i C_i\, \ell(y_i - f(x_i))` by its dual, Thesis (B.30).

    Parameters
    ----------
    kernel : Kernel, scikit-learn Gaussian process kernel or None
        None: ``Gaussian()`` with a squared length scale of half the number of features times their mean variance.
    C : float
        Price of the loss. The price of sample i is :math:`C_i = w_i C` with its sample weight.
    epsilon : float
        Half-width of the insensitive tube (its middle, for the soft insensitive loss), in units of y.
    beta : float
        Half-width of the transition of the soft insensitive loss in units of epsilon, from 0 (none) to 1 (no flat
        part).
    loss : {"soft-insensitive", "epsilon-insensitive", "huber", "laplace", "quadratic"}
        ======================= ======================================================================================
        "soft-insensitive"      flat, then quadratic, then linear: Thesis (B.19)
        "epsilon-insensitive"   :math:`[|\delta| - \epsilon]_+`, the classical machine: beta = 0
        "huber"                 :math:`\delta^2/4\epsilon` up to :math:`2\epsilon`, then :math:`|\delta| - \epsilon`:
                                beta = 1
        "laplace"               :math:`|\delta|`: epsilon = 0
        "quadratic"             :math:`\delta^2`
        ======================= ======================================================================================
    tol : float, optional
        Largest violation (gap) of the optimality conditions, in units of y. None: 1e-3, and 1e-9 for up to 200 rows,
        times the largest absolute target if that is above one.
    max_iter, cache_size, shrinking, warm_start, n_jobs, verbose
        As for :class:`~bayesvm.ExtendedSVC`.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_, kernel_ : arrays, kernel
        Rows with a coefficient, those rows of X, :math:`\alpha_i - \alpha_i^*` of shape (1, n_support), bias of shape
        (1,), and the kernel that was used.
    gap_, dual_objective_, n_iter_, n_steps_ : arrays, shape (1,)
        Violation of the optimality conditions, value of the dual objective, number of sweeps and of steps.
    converged_, n_features_in_, feature_names_in_
        As for :class:`~bayesvm.ExtendedSVC`.

    Notes
    -----
    Of the multipliers :math:`\alpha_i, \alpha_i^*` one is always zero (Thesis C.3); the solver works on the n
    differences, not on 2n variables. With ``loss="epsilon-insensitive"`` the solution is that of scikit-learn's
    ``SVR``.

    References
    ----------
    Thesis appendices B.2 and C.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesvm import ExtendedSVR
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> machine = ExtendedSVR(C=10.0, epsilon=0.1, beta=0.3).fit(X, np.sinc(X[:, 0]))
    >>> float(abs(machine.predict([[0.0]]) - 1.0)[0]) < 0.15
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "loss": one_of("soft-insensitive", "epsilon-insensitive", "huber", "laplace", "quadratic"),
        "epsilon": real(least=0.0),
        "beta": real(least=0.0, most=1.0),
    }

    def __init__(
        self,
        kernel: Any = None,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        beta: float = 0.3,
        loss: str = "soft-insensitive",
        tol: float | None = None,
        max_iter: int = 10_000,
        cache_size: float = 500.0,
        shrinking: bool = True,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon
        self.beta = beta
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _dual(self, y: Vector) -> Dual:
        C = float(self.C)
        if self.loss == "huber" and self.epsilon == 0.0:
            raise ValueError("epsilon: expected a positive number with loss='huber', found 0.0")
        if self.loss == "quadratic":
            return Dual.residual(y, np.inf, bend=0.5 / C)
        beta = {"soft-insensitive": float(self.beta), "huber": 1.0}.get(self.loss, 0.0)
        epsilon = 0.0 if self.loss == "laplace" else float(self.epsilon)
        return Dual.residual(y, C, kink=(1.0 - beta) * epsilon, bend=2.0 * beta * epsilon / C)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve the dual problem.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, d)
            Inputs.
        y : array, shape (n,)
            Targets.
        sample_weight : array, shape (n,), optional
            Non-negative weights of the losses; rows of weight zero are left out.

        Returns
        -------
        self : the estimator
        """
        check_arguments(self, self._rules)
        fitted = twin(self)
        X, y = read_training_data(fitted, X, y, raw=True, accept_sparse="csr", y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        check_sizes_of_targets(y[:, None], raw=True)
        given = read_weights(sample_weight, X)
        weights = np.ones(y.size) if given is None else given
        rows = np.flatnonzero(weights > 0.0)
        if rows.size == 0:
            raise ValueError("sample_weight: expected a positive weight, found none")
        targets = y[rows]
        problem = DualProblem(np.arange(rows.size), self._dual(targets).weighted(weights[rows]))
        scale = max(1.0, float(np.max(np.abs(targets))))
        fit_duals(self, fitted, X, rows, weights[rows], [problem], scale)
        adopt(self, fitted)
        warn_about_gap(self)
        return self

    def predict(self, X: Any) -> Vector:
        """Return :math:`f = K a + b` at the rows of X."""
        return dual_values(self, X)[:, 0]


__all__ = ["ExtendedSVR"]
