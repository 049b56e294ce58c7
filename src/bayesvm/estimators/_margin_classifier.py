"""What the machines with given hyperparameters share: fitting of duals, attributes, the margin classifiers' head."""

from __future__ import annotations

import contextlib
import itertools
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import joblib
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from bayesvm.estimators._arguments import check_arguments, one_of
from bayesvm.estimators._attributes import adopt, twin
from bayesvm.estimators._classifier import read_labels
from bayesvm.estimators._numbers import new_inputs
from bayesvm.estimators._summary import SummaryMixin
from bayesvm.exceptions import ConvergenceWarning
from bayesvm.kernels import Gaussian, Kernel, as_kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.dual import Dual
from bayesvm.models.gap_bar import GapBar
from bayesvm.models.scaling import weighted_moments
from bayesvm.models.support_vectors import DualOptions, DualProblem, ReportGap, solve_duals, usable_starts
from bayesvm.solvers.working_set import DualResult
from bayesvm.typing import Indices, Matrix, Vector


def given_kernel(estimator: Any, fitted: Any, X: Any, weights: Vector | None) -> Kernel:
    """Return the kernel that the constructor asks for, ready for the data.

    None stands for a Gaussian whose squared length scale is half the number of features times their mean variance.
    """
    if estimator.kernel is None:
        spread = float(np.mean(weighted_moments(X, weights)[1])) if X.shape[0] else 0.0
        return Gaussian(lengthscale=float(np.sqrt(0.5 * X.shape[1] * spread)) if spread > 0.0 else 1.0)
    return as_kernel(estimator.kernel).bind(X.shape[1], list(getattr(fitted, "feature_names_in_", [])) or None)


@contextlib.contextmanager
def gap_progress(estimator: Any, problems: int) -> Iterator[ReportGap]:
    """Show a progress bar, if the estimator is verbose."""
    if not estimator.verbose:
        yield lambda problem, tick, *, done: None
        return
    with GapBar(type(estimator).__name__, problems) as bar:
        yield bar


def fit_duals(
    estimator: Any, fitted: Any, X: Any, rows: Indices, weights: Vector, problems: Sequence[DualProblem], scale: float
) -> None:
    """Solve the problems on some rows of X and set the fitted attributes.

    The coefficients that were reached, also by an interrupted fit, are kept on the estimator for ``warm_start``.
    """
    kernel = given_kernel(estimator, fitted, X[rows], weights)
    workers = max(1, min(joblib.effective_n_jobs(estimator.n_jobs), len(problems)))
    options = DualOptions(
        estimator.tol,
        scale,
        int(estimator.max_iter),
        int(estimator.cache_size * 2**20),
        bool(estimator.shrinking),
        workers,
    )
    old = getattr(estimator, "_coefficients", None) if estimator.warm_start else None
    reached: list[Vector] = []
    try:
        with gap_progress(estimator, len(problems)) as report:
            model = solve_duals(
                kernel,
                Inputs(X[rows]),
                problems,
                options,
                starts=usable_starts(old, problems),
                reached=reached,
                report=report,
            )
    finally:
        if estimator.warm_start:
            estimator._coefficients = reached
    if not all(_finite(result) for result in model.results):
        reached.clear()
        raise ValueError(
            f"kernel: expected values whose differences are not lost to rounding, found {kernel!r} with coefficients "
            "that grow beyond all bounds; standardise X, or give a smaller C"
        )
    fitted._coefficients = reached
    fitted._model, fitted.kernel_ = model, kernel
    fitted.support_ = rows[model.support]
    fitted.support_vectors_ = X[fitted.support_]
    fitted.dual_coef_, fitted.intercept_ = model.coefficients, model.intercept
    results = model.results
    fitted.gap_ = np.array([r.gap for r in results])
    fitted.dual_objective_ = np.array([r.objective for r in results])
    fitted.n_steps_ = np.array([r.n_iter for r in results])
    fitted.n_iter_ = np.array([max(1, -(-r.n_iter // p.rows.size)) for r, p in zip(results, problems, strict=True)])
    fitted.converged_ = all(r.status.ok or r.gap <= options.accepted_gap for r in results)


def _finite(result: DualResult) -> bool:
    """Whether a solution consists of numbers."""
    return bool(np.all(np.isfinite([result.gap, result.objective, *result.multiplier, *result.alpha])))


def warn_about_gap(fitted: Any) -> None:
    """Warn if the optimality conditions hold less well than was asked for; called by ``fit`` itself."""
    if not fitted.converged_:
        worst = max((r for r in fitted._model.results if not r.status.ok), key=lambda r: r.gap)
        warnings.warn(
            f"{type(fitted).__name__} did not converge: {worst.status.value}; the optimality conditions hold to a gap "
            f"of {worst.gap:.3g} only (tol={fitted._model.accepted_gap:.3g})",
            ConvergenceWarning,
            stacklevel=3,
        )


def dual_values(estimator: Any, X: Any) -> Matrix:
    """Return K a + b at new rows, one column per problem."""
    check_is_fitted(estimator)
    return estimator._model.values(new_inputs(estimator, X, None, accept_sparse="csr"))


class MarginClassifier(ClassifierMixin, SummaryMixin, BaseEstimator, ABC):
    """Base of the margin classifiers; see :class:`~bayesvm.ExtendedSVC` for arguments, attributes and notes."""

    #: Rules of arguments that only this estimator has; see :mod:`bayesvm.estimators._arguments`.
    _rules: ClassVar[Any] = None

    @abstractmethod
    def _dual(self, y: Vector) -> Dual:
        """Return the dual of the losses of labels -1 and +1, all with weight one."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # -- fitting ------------------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve the dual problem of every machine.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, d)
            Inputs.
        y : array, shape (n,)
            Labels of two or more classes, of any type that scikit-learn takes.
        sample_weight : array, shape (n,), optional
            Non-negative weights of the losses (:math:`C_i = w_i C`); rows of weight zero are left out.

        Returns
        -------
        self : the estimator
        """
        check_arguments(self, {"multi_class": one_of("ovr", "ovo"), **(self._rules or {})})
        fitted = twin(self)
        labelled = read_labels(fitted, X, y, sample_weight, self.class_weight, raw=True)
        codes, rows = labelled.codes[labelled.rows], labelled.rows
        weights = np.ones(rows.size) if labelled.weights is None else labelled.weights
        problems = self._problems(fitted.classes_.size, codes, weights)
        fit_duals(self, fitted, labelled.X, rows, weights, problems, 1.0)
        fitted.n_support_ = np.bincount(labelled.codes[fitted.support_], minlength=fitted.classes_.size)
        adopt(self, fitted)
        warn_about_gap(self)
        return self

    def _problems(self, k: int, codes: Indices, weights: Vector) -> list[DualProblem]:
        """Return one problem per machine: class 1 against class 0, or each against the rest, or each against each."""
        everyone = np.arange(codes.size)
        if k == 2:
            sides = [(everyone, 1)]
        elif self.multi_class == "ovr":
            sides = [(everyone, c) for c in range(k)]
        else:
            pairs = itertools.combinations(range(k), 2)
            sides = [(np.flatnonzero((codes == a) | (codes == b)), a) for a, b in pairs]
        return [
            DualProblem(rows, self._dual(np.where(codes[rows] == c, 1.0, -1.0)).weighted(weights[rows]))
            for rows, c in sides
        ]

    # -- prediction ---------------------------------------------------------------------------------------------------
    def decision_function(self, X: Any) -> Any:
        """Return the discriminant :math:`f = K a + b`.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, d)
            Inputs.

        Returns
        -------
        f : array, shape (n,) or (n, n_classes)
            Positive for ``classes_[1]``; with more than two classes one column per class: the values of the one-vs-rest
            machines, or the votes of the one-vs-one machines with their summed confidences as tie-breakers.
        """
        values = dual_values(self, X)
        if self.classes_.size == 2:
            return values[:, 0]
        if self.multi_class == "ovr":
            return values
        return _ovr_decision_function(values < 0.0, -values, self.classes_.size)

    def predict(self, X: Any) -> Any:
        """Return the class with the largest decision value."""
        f = self.decision_function(X)
        return self.classes_[(f > 0.0).astype(int) if f.ndim == 1 else np.argmax(f, axis=1)]


__all__ = ["MarginClassifier", "dual_values", "fit_duals", "warn_about_gap"]
