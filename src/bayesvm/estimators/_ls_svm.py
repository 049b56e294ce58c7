"""What the least-squares estimators share: from constructor arguments and data to machines by three levels of inference."""

from __future__ import annotations

import dataclasses
import logging
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from bayesvm.estimators._ls_machine import Levels, LSMachine, complete_levels, landmark_levels, leading_levels
from bayesvm.estimators._ls_prune import prune
from bayesvm.estimators._machine import Candidate
from bayesvm.estimators._self_tuning import SelfTuning, generator
from bayesvm.exceptions import ConvergenceWarning, NotPositiveDefiniteError
from bayesvm.hyper import ClimbStatus, Flat, Maximizer, Maximum, StartRecord
from bayesvm.hyper.ls_svm import LevelsObjective, maximize_levels
from bayesvm.inference.ls_svm import Design, robust_weights
from bayesvm.kernels import Gaussian, Kernel, Linear, Polynomial, Rescaled, from_sklearn
from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.scale import Scale
from bayesvm.likelihoods import GaussianNoise
from bayesvm.typing import Indices, Matrix, Vector

logger = logging.getLogger(__name__)

#: Rows up to which ``n_components="auto"`` keeps all eigenpairs, how many it keeps beyond, and rows of which theta is learnt.
COMPLETE = 3000
KEPT = 500
SEARCHED = 2000
#: Length scales of the first starts, relative to the typical distance of two rows.
RELATIVE_SCALES = (0.35, 0.15, 0.8, 2.0, 0.06, 5.0)


@dataclasses.dataclass(frozen=True)
class KernelRank:
    """A kernel in the ranking of VanGestel2002 section 5: its form, log evidence and p(H_j | D) under equal priors."""

    kernel: str
    log_evidence: float
    probability: float


@dataclasses.dataclass(frozen=True)
class LevelsProblem:
    """Targets of one machine: inputs, outputs (n, q), weights (None: all one), groups of rows (n, C)."""

    X: Inputs
    y: Matrix
    weights: Vector | None
    groups: Matrix

    def design(self, bias: bool, least_noise: float) -> Design:
        """Return weights and bias."""
        return Design(len(self.X), bias, self.weights, least_noise)


class LeastSquares(SelfTuning):
    """Base of the Bayesian least-squares machines; see :class:`~bayesvm.BayesianLSSVC` for arguments and attributes."""

    #: Least ratio of noise to prior variance (see Design), and whether robust reweighting learns the kernel again.
    _least_noise: float = 1e-7
    _relearns: bool = True

    def _likelihood(self) -> GaussianNoise:
        return GaussianNoise()

    def _check_arguments(self) -> None:
        super()._check_arguments()
        if isinstance(self.kernel, list | tuple) and len(self.kernel) == 0:
            raise ValueError("kernel: expected at least one kernel in the list, found none")
        n = self.n_components
        if not ((isinstance(n, str) and n == "auto") or _is_count(n)):
            raise ValueError(f"n_components: expected 'auto' or a positive integer, found {n!r}")
        if self.landmarks is not None and not _is_count(self.landmarks):
            raise ValueError(f"landmarks: expected None or a positive integer, found {self.landmarks!r}")
        share = isinstance(self.prune, float | np.floating) and 0.0 < self.prune <= 1.0
        if self.prune is not None and not (share or _is_count(self.prune)):
            raise ValueError(f"prune: expected None, a fraction in (0, 1] or a number of rows, found {self.prune!r}")

    # -- kernels ------------------------------------------------------------------------------------------------------
    def _kernels(self) -> list[Kernel]:
        """Return the kernels that are to be compared, not yet bound to data."""
        if self.kernel is None:
            kernels: Sequence[Any] = [Gaussian().fix("variance")]  # the scale of the kernel is mu's business
        elif isinstance(self.kernel, str):
            kernels = [Linear().fix(), Polynomial(2).fix("variance"), Polynomial(3).fix("variance")]
            kernels = [*kernels, Gaussian().fix("variance")]
        else:
            kernels = self.kernel if isinstance(self.kernel, list | tuple) else [self.kernel]
        resolved = [_resolved(kernel) for kernel in kernels]
        return [kernel.with_ard() for kernel in resolved] if self.ard else resolved

    def _level_starts(self, kernel: Kernel) -> list[Vector]:
        """Return starts for the maximiser; a kernel that the user gave is the first."""
        starts = [] if self.kernel is None or isinstance(self.kernel, str) else [kernel.theta]
        missing = self.n_starts - len(starts)
        form = kernel.tied() if self.n_starts > 1 else kernel
        rng = generator(self.random_state)
        drawn = rng.lognormal(np.log(0.5), 1.0, size=max(0, missing - len(RELATIVE_SCALES)))
        scales = [*RELATIVE_SCALES, *drawn][: max(0, missing)]
        d = self.n_features_in_
        points = [form.at_scale(Scale(1.0, float(s) * self._distance, 1.0, d)).theta for s in scales]
        distinct = [p for i, p in enumerate(points) if not any(np.array_equal(p, other) for other in points[:i])]
        return [*starts, *distinct]

    # -- fitting ------------------------------------------------------------------------------------------------------
    def _fit_levels(self, problem: LevelsProblem, maximizer: Maximizer) -> LSMachine:
        """Fit one machine: steps 1 to 5 of VanGestel2002 section 6.1, then what was asked for beyond."""
        found = self._choose(problem, maximizer)
        machine = self._at_optimum(problem, *found)
        if self.robust:
            weights = robust_weights(problem.y - machine.levels.latent)
            again = dataclasses.replace(
                problem, weights=weights if problem.weights is None else weights * problem.weights
            )
            objective, maximum, candidates = found
            objective = dataclasses.replace(
                objective, design=self._searched(again)[1].design(self.bias, self._least_noise)
            )
            if self._relearns and self.optimizer is not None and objective.theta0.size:
                new = maximize_levels(maximizer, objective, [maximum.theta])
                maximum = dataclasses.replace(new, history=maximum.history + new.history)
            found = (objective, maximum, candidates)
            machine = self._at_optimum(again, *found)
        return machine

    def _searched(self, problem: LevelsProblem) -> tuple[Indices, LevelsProblem]:
        """Return the rows on which theta is learnt: all, or a sample with every class in proportion."""
        n = len(problem.X)
        if n <= COMPLETE:
            return np.arange(n), problem
        shuffled = generator(self.random_state).permutation(n)
        order = shuffled[np.argsort(np.argmax(problem.groups[shuffled], axis=1), kind="stable")]
        rows = np.sort(order[np.unique(np.linspace(0, n - 1, SEARCHED).astype(int))])
        weights = None if problem.weights is None else problem.weights[rows]
        return rows, LevelsProblem(problem.X.take(rows), problem.y[rows], weights, problem.groups[rows])

    def _choose(
        self, problem: LevelsProblem, maximizer: Maximizer
    ) -> tuple[LevelsObjective, Maximum, tuple[Candidate, ...]]:
        """Return objective and maximum of the kernel with the highest evidence, and all that were tried."""
        part = self._searched(problem)[1]
        prior = Flat() if self.hyperprior is None else self.hyperprior
        names = list(getattr(self, "feature_names_in_", [])) or None
        tried: list[tuple[LevelsObjective, Maximum | None, str]] = []
        for given in self._kernels():
            kernel = given.bind(part.X.n_features, names)
            objective = LevelsObjective(kernel, part.X, part.y, part.design(self.bias, self._least_noise), prior)
            try:
                tried.append((objective, self._search(objective, maximizer), ""))
            except NotPositiveDefiniteError as error:
                logger.warning("kernel %r is left out: %s", given, error)
                tried.append((objective, None, str(error)))
        values = [-np.inf if maximum is None else maximum.value for _, maximum, _ in tried]
        best = int(np.argmax(values))
        objective, maximum, problem_text = tried[best]
        if maximum is None:
            raise NotPositiveDefiniteError(problem_text)
        forms = [repr(o.kernel if m is None else o.kernel.with_theta(m.theta)) for o, m, _ in tried]
        candidates = tuple(Candidate(form, value, i == best) for i, (form, value) in enumerate(zip(forms, values)))
        return objective, maximum, candidates if len(tried) > 1 else ()

    def _search(self, objective: LevelsObjective, maximizer: Maximizer) -> Maximum:
        """Return the maximum of level 3 over theta, or its value at the given theta."""
        if self.optimizer is not None and objective.theta0.size:
            return maximize_levels(maximizer, objective, self._level_starts(objective.kernel))
        theta = objective.theta0
        evaluation = objective.evaluate(theta)
        record = StartRecord(theta, theta, evaluation.value, 1, ClimbStatus.CONVERGED, 0.0)
        return Maximum(theta, evaluation.value, evaluation.evidence.latent, ClimbStatus.CONVERGED, (record,))

    def _at_optimum(
        self, problem: LevelsProblem, objective: LevelsObjective, maximum: Maximum, candidates: tuple[Candidate, ...]
    ) -> LSMachine:
        """Return the machine on all rows at the learnt theta."""
        kernel = objective.kernel.with_theta(maximum.theta)
        design = problem.design(self.bias, self._least_noise)
        levels = self._levels(kernel, problem, design)
        curve: tuple[tuple[int, float], ...] = ()
        if self.prune is not None:
            levels, curve = self._pruned(kernel, problem, design, levels)
        bare = dataclasses.replace(objective, X=objective.X.forget())
        inputs = problem.X.forget().take(levels.rows)
        return LSMachine(kernel, levels, inputs, bare, maximum, candidates, curve)

    def _levels(self, kernel: Kernel, problem: LevelsProblem, design: Design) -> Levels:
        X, y, groups = problem.X, problem.y, problem.groups
        n = len(X)
        rng = generator(self.random_state)
        if self.landmarks is not None and self.landmarks < n:
            rows = np.sort(rng.choice(n, size=self.landmarks, replace=False))
            return landmark_levels(kernel, X, y, design, groups, rows)
        automatic = isinstance(self.n_components, str)
        kept = KEPT if automatic else int(self.n_components)
        if (automatic and n <= COMPLETE) or kept >= design.size:
            return complete_levels(kernel, X, y, design, groups)
        return leading_levels(kernel, X, y, design, groups, kept, rng)

    def _pruned(
        self, kernel: Kernel, problem: LevelsProblem, design: Design, full: Levels
    ) -> tuple[Levels, tuple[tuple[int, float], ...]]:
        """Return the machine that rests on the rows with the largest support values, and evidence against size."""
        X, y, groups = problem.X, problem.y, problem.groups
        n = len(X)
        target = int(self.prune) if _is_count(self.prune) else max(1, round(float(self.prune) * n))
        if target >= n:
            return full, ((n, full.log_evidence),)

        def visit(rows: Indices) -> float:
            return landmark_levels(kernel, X, y, design, groups, rows).log_evidence

        kept, curve = prune(kernel, X, y, design, full.found.gamma, target, visit)
        levels = landmark_levels(kernel, X, y, design, groups, kept)
        return levels, ((n, full.log_evidence), *curve)

    def _record(self, machines: list[LSMachine], X: Any, rows: Indices) -> None:
        """Set the fitted attributes, and warn if a machine did not converge; ``rows`` are the rows of X in use."""
        self._machines = machines
        first, single = machines[0], len(machines) == 1
        shift, scale = tuple(self._standardizer.shift), tuple(self._standardizer.scale)
        kernels = [Rescaled(m.kernel, shift, scale) for m in machines]
        noises = [GaussianNoise(1.0 / m.levels.found.zeta).fix() for m in machines]
        self.kernel_ = kernels[0] if single else kernels
        self.likelihood_ = noises[0] if single else noises
        self.log_evidence_ = float(sum(m.levels.log_evidence for m in machines))
        self.support_ = np.unique(np.concatenate([rows[m.levels.rows] for m in machines]))
        self.support_vectors_ = X[self.support_]
        self.dual_coef_ = np.vstack([self._coefficients(m, rows) for m in machines])
        self.intercept_ = np.concatenate([m.levels.predictor.bias for m in machines])
        for name in ("gamma", "mu", "zeta", "gamma_eff"):
            values = np.array([getattr(m.levels.found, name) for m in machines])
            setattr(self, f"{name}_", float(values[0]) if single else values)
        self.approximation_ = first.levels.approximation if single else [m.levels.approximation for m in machines]
        self.pruning_curve_ = first.curve if single else [m.curve for m in machines]
        self.candidates_ = first.candidates if single else [m.candidates for m in machines]
        self.history_ = first.maximum.history if single else [m.maximum.history for m in machines]
        self.n_iter_ = int(sum(record.evaluations for m in machines for record in m.maximum.history))
        self.theta_names_ = first.objective.names
        relevances = [m.kernel.relevance(self.n_features_in_) for m in machines]
        self.relevance_ = None if any(r is None for r in relevances) else np.mean(relevances, axis=0)
        self.named_relevance_ = self._named_relevance()
        trouble = sorted({m.trouble for m in machines if m.trouble})
        self.converged_ = not trouble
        if trouble:
            text = f"{type(self).__name__} did not converge: {'; '.join(trouble)}"
            warnings.warn(text, ConvergenceWarning, stacklevel=3)

    def _coefficients(self, machine: LSMachine, rows: Indices) -> Matrix:
        """Return the coefficients of a machine over the support of all, one row per output."""
        beta = machine.levels.predictor.beta
        coefficients = np.zeros((beta.shape[1], self.support_.size))
        coefficients[:, np.searchsorted(self.support_, rows[machine.levels.rows])] = beta.T
        return coefficients

    # -- reading the model --------------------------------------------------------------------------------------------
    def compare(self) -> list[KernelRank]:
        """Return the kernels that were given, best first, with their log evidences and p(H_j | D), VanGestel2002 (5.1)."""
        check_is_fitted(self)
        several = [c for m in self._machines for c in m.candidates]
        if not several:
            raise ValueError("compare: expected a machine fitted with a list of kernels, found one kernel")
        if len(self._machines) > 1:
            raise ValueError("compare: expected one machine, found one per class; use multi_class='shared'")
        probabilities = softmax([c.log_evidence for c in several])
        ranks = [KernelRank(c.kernel, c.log_evidence, float(p)) for c, p in zip(several, probabilities)]
        return sorted(ranks, key=lambda rank: -rank.log_evidence)

    # -- prediction ---------------------------------------------------------------------------------------------------
    def _latent(self, X: Any) -> tuple[Matrix, Matrix]:
        """Return latent means and variances, one column per output."""
        inputs = self._inputs(X)
        pairs = [machine.latent(inputs) for machine in self._machines]
        means = [mean for mean, _ in pairs]
        return np.hstack(means), np.hstack([np.repeat(var[:, None], mean.shape[1], axis=1) for mean, var in pairs])

    def predict_latent(self, X: Any, return_std: bool = True) -> Any:
        """Return the mean of the latent function at the rows of X, and its standard deviation.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
            Inputs in the user's units.
        return_std : bool
            Whether to return the standard deviation too.

        Returns
        -------
        mean : array, shape (n,) or (n, n_outputs)
            (2.24) plus the bias.
        std : array of the same shape
            Posterior standard deviation, the bias included; only if ``return_std``.
        """
        mean, var = self._latent(X)
        if mean.shape[1] == 1:
            mean, var = mean[:, 0], var[:, 0]
        return (mean, np.sqrt(var)) if return_std else mean

    def sample(self, X: Any, n_samples: int = 1, random_state: Any = None) -> Matrix:
        """Return joint posterior draws of the latent function, shape (n, n_samples), with a last axis for several outputs."""
        inputs, rng = self._inputs(X), generator(random_state)
        draws = np.concatenate([machine.sample(inputs, n_samples, rng) for machine in self._machines], axis=2)
        return draws[:, :, 0] if draws.shape[2] == 1 else draws


def _is_count(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 1


def _resolved(kernel: Any) -> Kernel:
    """Return a kernel of this library, or say what was expected."""
    if isinstance(kernel, Kernel):
        return kernel
    if hasattr(kernel, "clone_with_theta"):
        return from_sklearn(kernel)
    raise ValueError(f"kernel: expected a bayesvm or scikit-learn Gaussian process kernel, found {kernel!r}")


__all__ = ["KernelRank", "LeastSquares", "LevelsProblem"]
