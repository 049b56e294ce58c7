"""Bayesian least-squares support vector machines."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from bayesvm.estimators._arguments import (
    Rule,
    hyperprior,
    is_real,
    is_whole,
    one_of,
    search_options,
    whole,
)
from bayesvm.estimators._classifier import BayesianClassifier
from bayesvm.estimators._large import known_models
from bayesvm.estimators._numbers import scaled_targets
from bayesvm.estimators._regressor import BayesianRegressor
from bayesvm.kernels import Gaussian, Linear, Polynomial, as_kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.models.base import TrainingData
from bayesvm.models.candidates import ListOfKernels
from bayesvm.models.ls_svm import COMPLETE, FixedSizeLeastSquares, LeastSquares
from bayesvm.models.scaling import TargetScale
from bayesvm.typing import Matrix, Vector

#: Rules of the arguments that both machines have.
RULES: Mapping[str, Rule] = {
    "kernel": Rule(
        lambda value: not isinstance(value, list | tuple) or len(value) > 0, "at least one kernel in the list"
    ),
    "n_components": whole(1, "auto"),
    "landmarks": whole(1, None),
    "prune": Rule(
        lambda value: value is None or (is_whole(value) and value >= 1) or (is_real(value) and 0.0 < value <= 1.0),
        "None, a fraction in (0, 1] or a number of rows",
    ),
}


@dataclasses.dataclass(frozen=True)
class KernelRank:
    """A kernel in the ranking of VanGestel2002 section 5: its form, log evidence and p(H_j | D) under equal priors."""

    kernel: str
    log_evidence: float
    probability: float


class BayesianLSSVC(BayesianClassifier):
    r"""Least-squares support vector classifier with three levels of inference (VanGestel2002).

    The labels -1 and +1 are regressed on :math:`w^\top\varphi(x) + b` with a Gaussian prior of precision :math:`\mu` on
    w, a flat prior on b, and Gaussian noise of precision :math:`\zeta`. Level 1 gives w and b, level 2 gives
    :math:`\mu` and :math:`\zeta`, and level 3 the parameters of the kernel, by maximising (5.3) with its exact
    gradient. Class probabilities are those of the moderated output, (3.16) and (3.17).

    Parameters
    ----------
    kernel : Kernel, scikit-learn Gaussian process kernel, list of them, "auto" or None
        None: ``Gaussian()`` with its length scale learnt. A list is ranked by evidence (step 5 of section 6.1) and the
        best kernel kept, see ``compare``; "auto" is a list of linear, polynomial and Gaussian kernels. The evidence
        does not change when a kernel is multiplied by a number, so the variance of a kernel's only part may as well be
        fixed.
    ard : bool
        One length scale per feature in every part of the kernel that can have it.
    fit_intercept : bool
        Whether the model has an unregularised bias; without it the latent function is that of Gaussian process
        regression.
    decision : {"moderated", "latent"}
        Class probabilities by (3.17), or the sign of the latent function, (2.22) with the y_i dropped. The latter knows
        no class priors and no costs; its probabilities are the softmax of the latent values.
    softmax : bool
        Whether moderated probabilities are those of the softmax function averaged over the posterior (section 3.2)
        instead of (3.17).
    multi_class : {"shared", "ovr"}
        With more than two classes: one output per class with common hyperparameters and one eigen-decomposition, or a
        machine per class against the rest.
    n_components : "auto" or int
        Leading eigenpairs of the centred Gram matrix that are kept. "auto": all for up to 4000 rows, 500 beyond (with
        ``inducing=None``). With
        fewer than all, coefficients come from preconditioned conjugate gradients, variances are never understated, and
        ``approximations_`` says what was left out.
    landmarks : int, optional
        Number of rows, drawn with ``random_state``, in whose span the machine lives (Nystrom); all rows are fitted. For
        n up to 100000 and more.
    inducing : "auto", int or None
        Many rows. None: as ``n_components`` and ``landmarks`` say. "auto": beyond 4000 rows, if none of
        ``n_components``, ``landmarks`` and ``prune`` is given, the kernel is learnt by the evidence with inducing
        inputs, and the machine rests on as many rows as are needed, up to 500, chosen one after the other where the
        ones before explain least (fixed-size LS-SVM). A number: on as many at most, whatever the number of rows.
    warm_start : bool
        Whether a fit by inducing inputs begins with the hyperparameters of the last one; see
        :class:`~bayesvm.BayesianSVC`.
    prune : float or int, optional
        Fraction or number of rows on which the machine shall rest, found by leaving out the smallest support values
        with refits; see ``pruning_curves_``.
    robust : bool
        Whether rows with large residuals lose their weight, after which levels 1 and 2 are repeated at the same kernel.
    optimizer : {"bfgs", None}
        BFGS ascent of the evidence, or None to keep the parameters of ``kernel``. Beyond 4000 rows they are learnt by
        the evidence with inducing inputs or, with ``inducing=None``, from 2000 rows drawn with ``random_state``; levels
        1 and 2 use all rows.
    n_starts : int
        Number of starts.
    hyperprior : Hyperprior, optional
        Density of the logarithms of the kernel's parameters; flat if None.
    standardize : bool
        Whether features are brought to zero mean and unit variance inside.
    class_weight : dict, "balanced" or None
        Weights of the classes, multiplied into ``sample_weight``.
    class_prior : array of shape (n_classes,), "empirical" or None
        P(y) of (3.17); None: the (weighted) frequencies of the training rows. Read at prediction time.
    class_cost : array of shape (n_classes, n_classes), optional
        Entry (i, j) is the cost of predicting class j where class i is true; ``predict`` minimises the expected cost.
        Read at prediction time.
    n_jobs : int, optional
        Starts, or one-vs-rest machines, that are fitted at the same time, and threads among which new rows are divided.
    random_state : int, Generator or RandomState, optional
        Seed of further starts, of samples of rows and of the eigensolver.
    evidence_tol : float
        Predicted gain in evidence per hyperparameter, in nats, at which the search has converged.
    max_evaluations : int
        Largest number of evaluations per start.
    verbose : int
        1 shows a progress bar on a terminal.

    Attributes
    ----------
    kernels_, likelihoods_ : tuples of Kernel and of GaussianNoise, one per output
        The kernels with their learnt parameters, for inputs in the user's units, and the noise :math:`1/\zeta`.
        ``kernel_`` and ``likelihood_`` are the common one, where there is one.
    log_evidence_ : float
        :math:`\ln p(D \mid \mathcal H)`, (5.3), constants left out: comparable among least-squares machines on the same
        data.
    gamma_, mu_, zeta_, gamma_eff_ : arrays, shape (n_models,)
        Level 2: :math:`\gamma = \zeta/\mu`, precisions of weights and noise, and effective number of parameters.
    support_, support_vectors_, dual_coef_, intercept_ : arrays
        Rows on which the machine rests, those rows of X, coefficients (one row per output) and bias.
    approximations_ : tuple of Approximation, one per model
        What was left out: residuals and bounds.
    pruning_curves_ : tuple of tuples of (int, float), one per model
        With ``prune``: number of rows on which the machine rests, and log evidence of all data.
    candidates_ : tuple
        With a list of kernels: each with its log evidence, and whether it was kept.
    relevance_, named_relevance_ : array or None, dict or None
        With ARD, :math:`1/\ell_l^2` per standardised feature.
    classes_, n_features_in_, feature_names_in_, converged_, n_iter_, history_, theta_names_
        As in :class:`~bayesvm.BayesianSVC`.

    Notes
    -----
    *Weights* are counts: a row of weight 2 is the same as two equal rows, on all three levels. *Several classes*: the
    odds of each output, its class against the rest, are coupled as in :class:`~bayesvm.BayesianSVC`.

    References
    ----------
    VanGestel2002.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayesvm import BayesianLSSVC
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> machine = BayesianLSSVC().fit(X, y)
    >>> machine.predict_proba(X[:2]).shape
    (2, 2)
    """

    _rules: ClassVar[dict[str, Rule]] = {
        **RULES,
        "decision": one_of("moderated", "latent"),
        "multi_class": one_of("shared", "ovr"),
    }

    def __init__(
        self,
        kernel: Any = None,
        *,
        ard: bool = False,
        fit_intercept: bool = True,
        decision: str = "moderated",
        softmax: bool = False,
        multi_class: str = "shared",
        n_components: int | str = "auto",
        landmarks: int | None = None,
        inducing: Any = "auto",
        warm_start: bool = False,
        prune: float | int | None = None,
        robust: bool = False,
        optimizer: str | None = "bfgs",
        n_starts: int = 4,
        hyperprior: Any = None,
        standardize: bool = True,
        class_weight: Any = None,
        class_prior: Any = None,
        class_cost: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        evidence_tol: float = 3e-3,
        max_evaluations: int = 500,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.ard = ard
        self.fit_intercept = fit_intercept
        self.decision = decision
        self.softmax = softmax
        self.multi_class = multi_class
        self.n_components = n_components
        self.landmarks = landmarks
        self.inducing = inducing
        self.warm_start = warm_start
        self.prune = prune
        self.robust = robust
        self.optimizer = optimizer
        self.n_starts = n_starts
        self.hyperprior = hyperprior
        self.standardize = standardize
        self.class_weight = class_weight
        self.class_prior = class_prior
        self.class_cost = class_cost
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.evidence_tol = evidence_tol
        self.max_evaluations = max_evaluations
        self.verbose = verbose

    def _spec(self, data: TrainingData) -> LeastSquares:
        options = {"relearn": False, "least_noise": 1e-2, "shared": self.multi_class == "shared"}
        return least_squares(self, data, **options)

    # -- prediction ---------------------------------------------------------------------------------------------------
    def _log_odds(self, inputs: Inputs) -> Matrix:
        """Return the log odds of every output, under the class frequencies of the training rows."""
        if self.decision == "latent":
            return np.hstack([model.mean(inputs) for model in self.models_])
        if self.softmax:
            return np.hstack([model.softmax_log_odds(inputs) for model in self.models_])
        return super()._log_odds(inputs)

    def _log_proba(self, odds: Matrix, class_prior: Any) -> Matrix:
        if self.decision == "latent" and (class_prior is not None or self.class_prior is not None):
            raise ValueError("class_prior: the sign of the latent function knows no priors; use decision='moderated'")
        return super()._log_proba(odds, class_prior)

    def compare(self) -> list[KernelRank]:
        """Return the given kernels, best first, with their log evidences and p(H_j | D), VanGestel2002 (5.1)."""
        return compare_kernels(self)

    def _costs(self) -> Matrix | None:
        """Return the checked costs, None if every mistake costs the same."""
        if self.class_cost is None:
            return None
        costs, size = np.asarray(self.class_cost, dtype=float), self.classes_.size
        if self.decision == "latent":
            raise ValueError("class_cost: the sign of the latent function knows no costs; use decision='moderated'")
        right = np.diagonal(costs)[:, None] if costs.shape == (size, size) else np.inf
        if not (np.all(np.isfinite(costs)) and np.all((costs > right) | np.eye(size, dtype=bool))):
            raise ValueError(
                f"class_cost: expected a finite {size} x {size} matrix in which every mistake costs more than the "
                f"right answer of its row, found {self.class_cost!r}"
            )
        return costs

    def predict(self, X: Any, class_prior: Any = None) -> Any:
        """Return the class with the smallest expected cost: without ``class_cost``, the most probable one."""
        costs = self._costs() if hasattr(self, "classes_") else None
        if costs is None:
            return super().predict(X, class_prior)
        risk = self.predict_proba(X, class_prior) @ costs
        return self.classes_[np.argmin(risk, axis=1)]

    def decision_function(self, X: Any) -> Any:
        """Return log odds (of the second class, or of each class against the rest), less what ``class_cost`` asks for.

        Its sign, or its largest column, is the class that ``predict`` returns. With costs and more than two classes it
        is minus the expected cost.
        """
        check_is_fitted(self)
        costs = self._costs()
        if costs is None:
            return super().decision_function(X)
        if self.classes_.size > 2:
            return -self.predict_proba(X) @ costs
        missed, alarm = costs[1, 0] - costs[1, 1], costs[0, 1] - costs[0, 0]
        return super().decision_function(X) + np.log(missed / alarm)


class BayesianLSSVR(BayesianRegressor):
    r"""Least-squares support vector regressor with three levels of inference (VanGestel2002).

    The same three levels as :class:`~bayesvm.BayesianLSSVC`, for real targets. Without bias the predictions are those
    of Gaussian process
    regression with covariance :math:`k/\mu` and noise :math:`1/\zeta`; with it, training errors have zero mean.

    Parameters
    ----------
    kernel, ard, fit_intercept, n_components, landmarks, inducing, warm_start, prune, robust, optimizer, n_starts,
    hyperprior, standardize
        See :class:`~bayesvm.BayesianLSSVC`. Targets need no scaling: levels 2 and 3 follow their scale.
    n_jobs, random_state, evidence_tol, max_evaluations, verbose
        See :class:`~bayesvm.BayesianLSSVC`.

    Attributes
    ----------
    kernels_, likelihoods_, log_evidence_, gamma_, mu_, zeta_, gamma_eff_, support_, support_vectors_, dual_coef_,
    intercept_
        See :class:`~bayesvm.BayesianLSSVC`.
    noise_std_ : float
        Standard deviation of the noise, :math:`\zeta^{-1/2}`.

    References
    ----------
    VanGestel2002.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesvm import BayesianLSSVR
    >>> X = np.linspace(-3.0, 3.0, 60)[:, None]
    >>> y = np.sinc(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=60)
    >>> machine = BayesianLSSVR().fit(X, y)
    >>> mean, std = machine.predict(X, return_std=True)
    >>> mean.shape, std.shape
    ((60,), (60,))
    """

    _rules: ClassVar[dict[str, Rule]] = dict(RULES)

    def __init__(
        self,
        kernel: Any = None,
        *,
        ard: bool = False,
        fit_intercept: bool = True,
        n_components: int | str = "auto",
        landmarks: int | None = None,
        inducing: Any = "auto",
        warm_start: bool = False,
        prune: float | int | None = None,
        robust: bool = False,
        optimizer: str | None = "bfgs",
        n_starts: int = 4,
        hyperprior: Any = None,
        standardize: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        evidence_tol: float = 3e-3,
        max_evaluations: int = 500,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.ard = ard
        self.fit_intercept = fit_intercept
        self.n_components = n_components
        self.landmarks = landmarks
        self.inducing = inducing
        self.warm_start = warm_start
        self.prune = prune
        self.robust = robust
        self.optimizer = optimizer
        self.n_starts = n_starts
        self.hyperprior = hyperprior
        self.standardize = standardize
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.evidence_tol = evidence_tol
        self.max_evaluations = max_evaluations
        self.verbose = verbose

    def _spec(self, data: TrainingData) -> LeastSquares:
        return least_squares(self, data)

    def _target_scale(self, Y: Matrix, weights: Vector | None) -> TargetScale:
        """Leave the targets as they are: levels 2 and 3 follow their scale."""
        return scaled_targets(Y, weights, standardize=False)

    def compare(self) -> list[KernelRank]:
        """Return the given kernels, best first, with their log evidences and p(H_j | D), VanGestel2002 (5.1)."""
        return compare_kernels(self)


def least_squares(estimator: Any, data: TrainingData, **options: Any) -> LeastSquares:
    """Return the specification that the two machines share."""
    kernel = estimator.kernel
    if kernel is None:
        kernels: Any = [Gaussian().fix("variance")]  # the scale of the kernel is that of mu
    elif isinstance(kernel, str) and kernel == "auto":
        kernels = [Linear().fix(), Polynomial(2).fix("variance"), Polynomial(3).fix("variance")]
        kernels = [*kernels, Gaussian().fix("variance")]
    else:
        kernels = [as_kernel(own) for own in (kernel if isinstance(kernel, list | tuple) else [kernel])]
    given = not (kernel is None or isinstance(kernel, str))
    candidates = ListOfKernels(tuple(own.with_ard() if estimator.ard else own for own in kernels), given)
    automatic = isinstance(estimator.n_components, str)
    given_options = {
        "fit_intercept": bool(estimator.fit_intercept),
        "n_components": None if automatic else int(estimator.n_components),
        "landmarks": estimator.landmarks,
        "prune": estimator.prune,
        "robust": bool(estimator.robust),
        "hyperprior": hyperprior(estimator),
        "options": search_options(estimator),
        **options,
    }
    asked = estimator.inducing
    plain = automatic and estimator.landmarks is None and estimator.prune is None
    if asked is None or (asked == "auto" and not (plain and data.n_rows > COMPLETE)):
        return LeastSquares(candidates, **given_options)
    if not plain:
        raise ValueError(
            f"inducing: expected 'auto' or None together with n_components, landmarks or prune, found {asked!r}"
        )
    only = candidates.kernels[0] if len(candidates.kernels) == 1 else None
    begin = known_models(estimator, data, only) or candidates
    return FixedSizeLeastSquares(begin, **given_options, size=None if asked == "auto" else int(asked))


def compare_kernels(estimator: Any) -> list[KernelRank]:
    """Return the kernels of a fitted machine, best first, with their probabilities under equal priors."""
    check_is_fitted(estimator)
    if not estimator.candidates_:
        raise ValueError("compare: expected a machine fitted with a list of kernels, found one kernel")
    if len(estimator.models_) > 1:
        raise ValueError("compare: expected one model, found one per output; use multi_class='shared'")
    probabilities = softmax([c.log_evidence for c in estimator.candidates_])
    ranks = [
        KernelRank(c.kernel, c.log_evidence, float(p))
        for c, p in zip(estimator.candidates_, probabilities, strict=True)
    ]
    return sorted(ranks, key=lambda rank: -rank.log_evidence)


__all__ = ["BayesianLSSVC", "BayesianLSSVR", "KernelRank"]
