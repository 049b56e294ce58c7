"""Relevance vector machines (Thesis section 3.1.3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from bayesvm.estimators._calibration import ScaleCalibration
from bayesvm.estimators._labels import LabelProbabilities
from bayesvm.estimators._regressor import SelfTuningRegressor
from bayesvm.estimators._relevance_machine import RelevanceMachine, learn_relevance
from bayesvm.estimators._self_tuning import generator
from bayesvm.hyper import Flat, Maximizer
from bayesvm.hyper.relevance import RelevanceObjective
from bayesvm.inference.rvm import SequentialRVM
from bayesvm.kernels import Gaussian, Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.scale import Scale
from bayesvm.likelihoods import Classification, GaussianNoise, Likelihood, Regression, Weighted, from_name
from bayesvm.typing import Indices, Matrix, Vector

#: Length scales of the first starts, relative to the typical distance of two rows.
RELATIVE_SCALES = (0.35, 0.8, 0.18, 1.6)
#: Least noise variance, relative to the variance of the targets.
LEAST_NOISE = 1e-6


def _distinct(X: Inputs) -> int:
    """Return the number of different rows, told apart by a random projection."""
    direction = np.random.default_rng(0).standard_normal(X.n_features)
    values = np.sort(np.asarray(X.X @ direction).ravel())
    return 1 + int(np.count_nonzero(np.diff(values) > 1e-9 * (1.0 + np.abs(values[1:]))))


class _RelevanceVectors:
    """What classifier and regressor share: basis functions instead of a Gaussian process."""

    def _default_kernel(self, y: Vector) -> Kernel:
        return Gaussian().fix("variance")  # the precisions take care of the scale

    def _check_arguments(self) -> None:
        super()._check_arguments()  # type: ignore[misc]
        if isinstance(self.kernel, str):  # type: ignore[attr-defined]
            raise ValueError(f"kernel: expected an object or None, found {self.kernel!r}")  # type: ignore[attr-defined]

    def _fit_machine(self, X: Inputs, y: Vector, likelihood: Likelihood, maximizer: Maximizer) -> RelevanceMachine:
        """Fit one machine: kernel, precisions and noise by the evidence."""
        names = list(getattr(self, "feature_names_in_", [])) or None
        kernel = self._kernel(y).bind(X.n_features, names)  # type: ignore[attr-defined]
        prior = Flat() if self.hyperprior is None else self.hyperprior  # type: ignore[attr-defined]
        search = SequentialRVM(max_iter=int(self.max_vectors))  # type: ignore[attr-defined]
        bias, distinct = bool(self.fit_intercept), _distinct(X)  # type: ignore[attr-defined]
        objective = RelevanceObjective(kernel, likelihood, search, X, y, bias, distinct, prior)
        optimize = self.optimizer is not None  # type: ignore[attr-defined]
        return learn_relevance(objective, self._kernel_starts(kernel, optimize), maximizer, optimize=optimize)

    def _kernel_starts(self, kernel: Kernel, optimize: bool) -> list[Vector]:
        """Return starts for the kernel's parameters; those of a kernel that the user gave are the first."""
        given = [] if self.kernel is None else [kernel.theta]  # type: ignore[attr-defined]
        if given and not optimize:
            return given
        missing = max(0, self.n_starts - len(given))  # type: ignore[attr-defined]
        rng = generator(self.random_state)  # type: ignore[attr-defined]
        drawn = rng.lognormal(np.log(0.4), 0.8, size=max(0, missing - len(RELATIVE_SCALES)))
        scales = [*RELATIVE_SCALES, *drawn][:missing]
        distance, d = self._distance, self.n_features_in_  # type: ignore[attr-defined]
        points = [kernel.at_scale(Scale(1.0, float(s) * distance, 1.0, d)).theta for s in scales]
        return given + [p for i, p in enumerate(points) if not any(np.array_equal(p, q) for q in points[:i])]

    def _relevance_report(self, machines: Sequence[RelevanceMachine]) -> None:
        self.relevance_vectors_ = self.support_vectors_  # type: ignore[attr-defined]
        occam = sum(m.evidence.terms["occam"] for m in machines)
        self.log_marginal_likelihood_ = self.log_evidence_ - occam  # type: ignore[attr-defined]
        self.n_relevance_ = np.array([m.support.size for m in machines])
        self.precision_ = machines[0].precision if len(machines) == 1 else [m.precision for m in machines]


class RelevanceVectorClassifier(_RelevanceVectors, LabelProbabilities):
    r"""Relevance vector classifier: few kernel functions, each with a precision of its own.

    The latent function is :math:`f(x) = \sum_i w_i k(x, x_i) + w_0` with :math:`w_i \sim \mathcal N(0, 1/a_i)`. The evidence of the
    precisions, by Laplace's method on the weights, has its maximum where most of them are infinite; the training rows that are
    left are the relevance vectors. The width of the kernel is learnt by the same evidence.

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
    optimizer : "lbfgs" or None
        None: keep the given kernel, and learn precisions only.
    n_starts : int
        Number of starts for the kernel's parameters.
    max_vectors : int
        Largest number of additions of basis functions that one search may try.
    hyperprior, standardize, class_weight, class_prior, n_jobs, random_state, tol, max_iter, verbose
        As in :class:`~bayesvm.BayesianSVC`.

    Attributes
    ----------
    relevance_vectors_ : array, shape (m, d)
        The training rows whose function is active, in any of the machines; their row numbers are ``support_``.
    dual_coef_ : array, shape (n_machines, m)
        Posterior means of the weights.
    intercept_ : array, shape (n_machines,)
        Weight of the constant.
    n_relevance_ : array of int
        Number of relevance vectors of each machine.
    precision_ : array (or a list of them)
        Precisions of the active weights, the constant first if it is active.
    kernel_, likelihood_, log_evidence_, history_, n_iter_, converged_, relevance_, classes_
        As in :class:`~bayesvm.BayesianSVC`; ``log_evidence_`` contains Occam factors for the active functions (see
        :mod:`bayesvm.hyper.relevance`).
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

    def __init__(
        self,
        kernel: Any = None,
        *,
        ard: bool = False,
        likelihood: Any = "logistic",
        fit_intercept: bool = True,
        optimizer: str | None = "lbfgs",
        n_starts: int = 3,
        max_vectors: int = 1000,
        hyperprior: Any = None,
        standardize: bool = True,
        class_weight: Any = None,
        class_prior: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        tol: float = 0.1,
        max_iter: int = 200,
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
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def _likelihood(self) -> Classification:
        likelihood = from_name(self.likelihood) if isinstance(self.likelihood, str) else self.likelihood
        if not isinstance(likelihood, Classification) or not likelihood.traits.normalized:
            raise ValueError(
                "likelihood: expected 'logistic', 'probit' or an object for two classes that is a normalised probability, "
                f"found {self.likelihood!r}"
            )
        return likelihood

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn kernel, precisions and weights from the training data.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, d)
            Inputs.
        y : array, shape (n,)
            Labels of two or more classes.
        sample_weight : array, shape (n,), optional
            Non-negative weights; rows of weight zero are left out.

        Returns
        -------
        self : the estimator
        """
        self._check_arguments()
        likelihood: Likelihood = self._likelihood()
        X, codes, weights, rows = self._labelled(X, y, sample_weight)
        w = None if weights is None else weights[rows]
        if w is not None:
            likelihood = Weighted(likelihood, w)
        positives = range(self.classes_.size) if self.classes_.size > 2 else (1,)
        problems = [(np.where(codes[rows] == k, 1.0, -1.0), likelihood) for k in positives]
        self._finish(self._fit_machines(self._prepare(X[rows], w), problems), X, rows)
        self.intercept_ = np.array([m.intercept for m in self._machines])
        self._relevance_report(self._machines)
        return self

    def _log_odds(self, inputs: Inputs) -> Matrix:
        """Return the log odds of each machine's averaged probability, one column per machine."""
        pairs = [(m.likelihood.plain, m.latent(inputs)) for m in self._machines]
        return np.column_stack([likelihood.log_odds(*latent) for likelihood, latent in pairs])


class RelevanceVectorRegressor(_RelevanceVectors, SelfTuningRegressor):
    r"""Relevance vector regressor: few kernel functions, each with a precision of its own, and Gaussian noise.

    The model is that of :class:`RelevanceVectorClassifier` with :math:`y = f(x) + \epsilon`; precisions, noise and the width of
    the kernel maximise the exact evidence, Thesis (3.38).

    Parameters
    ----------
    kernel, ard, fit_intercept, optimizer, n_starts, max_vectors
        As in :class:`RelevanceVectorClassifier`.
    hyperprior, standardize, n_jobs, random_state, tol, max_iter, verbose
        As in :class:`~bayesvm.BayesianSVR`.

    Attributes
    ----------
    relevance_vectors_, dual_coef_, n_relevance_, precision_, log_marginal_likelihood_
        As in :class:`RelevanceVectorClassifier`, one machine per output; the mean of a target is
        ``kernel_.gram(X, relevance_vectors_) @ dual_coef_.T + intercept_``.
    intercept_ : array, shape (n_outputs,)
        In the user's units.
    noise_std_ : float or array
        Standard deviation of the noise in the user's units.
    kernel_, likelihood_, log_evidence_, history_, n_iter_, converged_, relevance_
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

    def __init__(
        self,
        kernel: Any = None,
        *,
        ard: bool = False,
        fit_intercept: bool = True,
        optimizer: str | None = "lbfgs",
        n_starts: int = 3,
        max_vectors: int = 1000,
        hyperprior: Any = None,
        standardize: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        tol: float = 0.1,
        max_iter: int = 200,
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
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    #: The scale of the predictions is that of the model.
    calibrate = None

    def _likelihood(self) -> Regression:
        # the search begins at a tenth of the standard deviation of the targets; below a thousandth rounding takes over
        return GaussianNoise(0.01).bounded(variance=(LEAST_NOISE, 1e2))

    def _refined(self, machine: Any) -> Any:
        return machine

    def _leave_one_out(self, weights: Vector) -> None:
        self.calibration_ = [ScaleCalibration() for _ in self._machines]

    @property
    def _in_user_units(self) -> bool:
        return False

    @property
    def _shares(self) -> bool:
        return False

    def _finish(self, machines: list[RelevanceMachine], X: Any, rows: Indices) -> None:
        super()._finish(machines, X, rows)
        intercepts = np.array([[m.intercept for m in machines]])
        self.intercept_ = self._targets.outer(intercepts)[0]

    def _report(self, X: Any, Y: Matrix, n: float) -> None:
        super()._report(X, Y, n)
        self._relevance_report(self._machines)


__all__ = ["RelevanceVectorClassifier", "RelevanceVectorRegressor"]
