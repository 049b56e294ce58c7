"""The Bayesian least-squares support vector classifier."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

import joblib
import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayesvm.estimators._labels import LabelProbabilities
from bayesvm.estimators._ls_svm import LeastSquares, LevelsProblem
from bayesvm.inference.ls_svm import Moderator, softmax_log_odds
from bayesvm.kernels.inputs import Inputs
from bayesvm.typing import Matrix, Vector


class BayesianLSSVC(LeastSquares, LabelProbabilities):
    r"""Least-squares support vector classifier with three levels of inference (VanGestel2002).

    The labels -1 and +1 are regressed on :math:`w^\top\varphi(x) + b` with a Gaussian prior of precision :math:`\mu` on
    w, a flat prior on b, and Gaussian noise of precision :math:`\zeta`. Level 1 gives w and b, level 2 gives :math:`\mu` and
    :math:`\zeta`, and level 3 the parameters of the kernel, by maximising (5.3) with its exact gradient. Class probabilities
    are those of the moderated output, (3.16) and (3.17).

    Parameters
    ----------
    kernel : Kernel, scikit-learn Gaussian process kernel, list of them, "auto" or None
        None: ``Gaussian()`` with its length scale learnt. A list is ranked by evidence (step 5 of section 6.1) and the best
        kernel kept, see ``compare``; "auto" is a list of linear, polynomial and Gaussian kernels. The evidence does not change
        when a kernel is multiplied by a number, so the variance of a kernel's only part may as well be fixed.
    ard : bool
        One length scale per feature in every part of the kernel that can have it.
    bias : bool
        Whether the model has an unregularised bias; without it the latent function is that of Gaussian process regression.
    decision : {"moderated", "latent"}
        Class probabilities by (3.17), or the sign of the latent function, (2.22) with the y_i dropped. The latter knows
        no class priors and no costs; its probabilities are the softmax of the latent values.
    softmax : bool
        Whether moderated probabilities are those of the softmax function averaged over the posterior (section 3.2) instead of
        (3.17).
    multi_class : {"shared", "ovr"}
        With more than two classes: one output per class with common hyperparameters and one eigen-decomposition, or a machine
        per class against the rest.
    n_components : "auto" or int
        Leading eigenpairs of the centred Gram matrix that are kept. "auto": all for up to 3000 rows, 500 beyond. With
        fewer than all, coefficients come from preconditioned conjugate gradients, variances are never understated, and
        ``approximation_`` says what was left out.
    landmarks : int, optional
        Number of rows, drawn with ``random_state``, in whose span the machine lives (Nystrom); all rows are fitted. For n up
        to 100000 and more.
    prune : float or int, optional
        Fraction or number of rows on which the machine shall rest, found by leaving out the smallest support values with
        refits; see ``pruning_curve_``.
    robust : bool
        Whether rows with large residuals lose their weight, after which levels 1 and 2 are repeated at the same kernel.
    optimizer : {"lbfgs", None}
        Quasi-Newton ascent of the evidence, or None to keep the parameters of ``kernel``. Beyond 3000 rows they are learnt from
        2000 rows drawn with ``random_state``; levels 1 and 2 use all rows.
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
        Entry (i, j) is the cost of predicting class j where class i is true; ``predict`` minimises the expected cost. Read at
        prediction time.
    n_jobs : int, optional
        Starts, or one-vs-rest machines, that are fitted at the same time.
    random_state : int, Generator or RandomState, optional
        Seed of further starts, of samples of rows and of the eigensolver.
    tol : float
        Predicted gain in evidence per hyperparameter, in nats, at which a climb has converged.
    max_iter : int
        Largest number of evaluations per start.
    verbose : int
        1 shows a progress bar on a terminal.

    Attributes
    ----------
    kernel_, likelihood_ : Kernel, GaussianNoise (lists with ``multi_class="ovr"``)
        The kernel with its learnt parameters, for inputs in the user's units, and the noise :math:`1/\zeta`.
    log_evidence_ : float
        :math:`\ln p(D \mid \mathcal H)`, (5.3), constants left out: comparable among least-squares machines on the same data.
    gamma_, mu_, zeta_, gamma_eff_ : float
        Level 2: :math:`\gamma = \zeta/\mu`, precisions of weights and noise, and effective number of parameters.
    support_, support_vectors_, dual_coef_, intercept_ : arrays
        Rows on which the machine rests, those rows of X, coefficients (one row per output) and bias.
    approximation_ : Approximation
        What was left out: residuals and bounds.
    pruning_curve_ : tuple of (int, float)
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
    >>> from bayesvm.estimators.ls_svm import BayesianLSSVC
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> machine = BayesianLSSVC().fit(X, y)
    >>> machine.predict_proba(X[:2]).shape
    (2, 2)
    """

    _least_noise = 1e-2
    _relearns = False

    def __init__(
        self,
        kernel: Any = None,
        *,
        ard: bool = False,
        bias: bool = True,
        decision: str = "moderated",
        softmax: bool = False,
        multi_class: str = "shared",
        n_components: int | str = "auto",
        landmarks: int | None = None,
        prune: float | int | None = None,
        robust: bool = False,
        optimizer: str | None = "lbfgs",
        n_starts: int = 4,
        hyperprior: Any = None,
        standardize: bool = True,
        class_weight: Any = None,
        class_prior: Any = None,
        class_cost: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        tol: float = 3e-3,
        max_iter: int = 500,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.ard = ard
        self.bias = bias
        self.decision = decision
        self.softmax = softmax
        self.multi_class = multi_class
        self.n_components = n_components
        self.landmarks = landmarks
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
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def _check_arguments(self) -> None:
        super()._check_arguments()
        for name, values in (("decision", ("moderated", "latent")), ("multi_class", ("shared", "ovr"))):
            if getattr(self, name) not in values:
                raise ValueError(f"{name}: expected {' or '.join(map(repr, values))}, found {getattr(self, name)!r}")

    # -- fitting ------------------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Infer parameters, hyperparameters and kernel from the training data.

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
        self._check_arguments()
        X, codes, weights, rows = self._labelled(X, y, sample_weight)
        w = None if weights is None else weights[rows]
        inputs = self._prepare(X[rows], w)
        groups = np.eye(self.classes_.size)[codes[rows]]
        positive = np.eye(self.classes_.size) if self.classes_.size > 2 else np.array([[0.0], [1.0]])
        parts = [positive] if self.multi_class == "shared" else list(positive.T[:, :, None])
        problems = [LevelsProblem(inputs, 2.0 * groups @ part - 1.0, w, groups) for part in parts]
        with self._progress() as callback:
            maximizer = self._maximizer(callback)
            if len(problems) == 1:
                machines = [self._fit_levels(problems[0], maximizer)]
            else:
                alone = dataclasses.replace(maximizer, n_jobs=1)
                pool = joblib.Parallel(n_jobs=self.n_jobs, prefer="threads")
                machines = list(pool(joblib.delayed(self._fit_levels)(problem, alone) for problem in problems))
        counts = np.ones(rows.size) if w is None else w
        self._moderators = [
            Moderator.of(m.levels.latent, groups, counts, part, m.levels.found.gamma_eff)
            for m, part in zip(machines, parts)
        ]
        self._record(machines, X, rows)
        return self

    # -- prediction ---------------------------------------------------------------------------------------------------
    def _log_odds(self, inputs: Inputs) -> Matrix:
        """Return the log odds of every output, under the class frequencies of the training rows."""
        columns = []
        for machine, moderator in zip(self._machines, self._moderators):
            if self.decision == "latent":
                columns.append(machine.latent(inputs)[0])
            elif self.softmax:
                columns.append(softmax_log_odds(*machine.latent(inputs)))
            else:
                columns.append(moderator.log_odds(*machine.moments(inputs, moderator.mixtures)))
        return np.hstack(columns)

    def _prior_shift(self, class_prior: Any) -> Vector | None:
        if self.decision == "latent" and class_prior is not None:
            raise ValueError("class_prior: the sign of the latent function knows no priors; use decision='moderated'")
        return super()._prior_shift(class_prior)

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
                f"class_cost: expected a finite {size} x {size} matrix in which every mistake costs more than the right "
                f"answer of its row, found {self.class_cost!r}"
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

        Its sign, or its largest column, is the class that ``predict`` returns. With costs and more than two classes it is
        minus the expected cost.
        """
        check_is_fitted(self)
        costs = self._costs()
        if costs is None:
            return super().decision_function(X)
        if self.classes_.size > 2:
            return -self.predict_proba(X) @ costs
        missed, alarm = costs[1, 0] - costs[1, 1], costs[0, 1] - costs[0, 0]
        return super().decision_function(X) + np.log(missed / alarm)


__all__ = ["BayesianLSSVC"]
