"""What all self-tuning estimators share: from constructor arguments and data to machines with learnt hyperparameters."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectFromModel
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from bayesvm.estimators._kernel_choice import choose_kernel
from bayesvm.estimators._machine import Machine, learn
from bayesvm.estimators._standardize import Standardizer, weighted_moments
from bayesvm.exceptions import ConvergenceWarning
from bayesvm.hyper import EvidenceObjective, Flat, Hyperprior, Maximizer, SharedObjective, starting_points
from bayesvm.hyper.progress import ProgressBar
from bayesvm.inference import Inference, Laplace
from bayesvm.kernels import Constant, Gaussian, Kernel, Rescaled, from_sklearn
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg import cholesky
from bayesvm.solvers import Newton, Solver
from bayesvm.typing import Indices, Matrix, Vector


def generator(random_state: Any) -> np.random.Generator:
    """Return a Generator for anything that scikit-learn takes as ``random_state``."""
    if random_state is None or isinstance(random_state, int | np.integer | np.random.Generator):
        return np.random.default_rng(random_state)
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1, size=4))


class SelfTuning(BaseEstimator, ABC):
    """Base of the estimators that learn their hyperparameters by the evidence; see the subclasses for the arguments."""

    @abstractmethod
    def _likelihood(self) -> Likelihood:
        """Return the likelihood that the constructor arguments ask for."""

    # -- from arguments to objects ------------------------------------------------------------------------------------
    def _check_arguments(self) -> None:
        """Refuse constructor arguments out of range, each with what was expected and what was found."""
        if isinstance(self.kernel, str) and (self.kernel != "auto" or self.optimizer is None):
            raise ValueError(f"kernel: expected an object, None, or 'auto' with an optimizer, found {self.kernel!r}")
        if self.optimizer not in ("lbfgs", None):
            raise ValueError(f"optimizer: expected 'lbfgs' or None, found {self.optimizer!r}")
        for name, least in (("n_starts", 1), ("max_iter", 1)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name}: expected an integer of at least {least}, found {value!r}")
        if not (isinstance(self.tol, int | float | np.number) and 0.0 < self.tol < np.inf):
            raise ValueError(f"tol: expected a positive number of nats, found {self.tol!r}")
        if not isinstance(self._prior(), Hyperprior):
            raise ValueError(f"hyperprior: expected None or a bayesvm.hyper.Hyperprior, found {self.hyperprior!r}")

    def _prior(self) -> Hyperprior:
        """Return the hyperprior that the constructor arguments ask for."""
        return Flat() if self.hyperprior is None else self.hyperprior

    def _solver(self) -> Solver:
        """Return the solver that finds modes; estimators with an argument ``solver`` let the user choose."""
        return Newton()

    def _inference(self) -> Inference:
        return Laplace()

    def _default_kernel(self, y: Vector) -> Kernel:
        """Return the kernel for ``kernel=None``, given the targets of one machine."""
        return Gaussian() + Constant()

    def _kernel(self, y: Vector) -> Kernel:
        """Return the kernel that the constructor arguments ask for, not yet bound to data."""
        if self.kernel is None:
            kernel = self._default_kernel(y)
            return kernel.with_ard() if self.ard else kernel
        kernel = self.kernel if isinstance(self.kernel, Kernel) else None
        if kernel is None and hasattr(self.kernel, "clone_with_theta"):
            kernel = from_sklearn(self.kernel)
        if kernel is None:
            raise ValueError(
                "kernel: expected None, 'auto', a bayesvm kernel or a scikit-learn Gaussian process kernel, "
                f"found {self.kernel!r}"
            )
        return kernel.with_ard() if self.ard else kernel

    def _maximizer(self, callback: Any = None) -> Maximizer:
        return Maximizer(tol=float(self.tol), max_evaluations=int(self.max_iter), n_jobs=self.n_jobs, callback=callback)

    # -- fitting ------------------------------------------------------------------------------------------------------
    def _prepare(self, X: Any, weights: Vector | None) -> Inputs:
        """Standardise validated inputs; remember how, and how far apart rows typically are."""
        self._standardizer = Standardizer.of(X, weights) if self.standardize else Standardizer.identity(X.shape[1])
        inputs = self._standardizer.inputs(X)
        spread = float(np.sum(weighted_moments(inputs.X, weights)[1]))
        self._distance = float(np.sqrt(2.0 * spread)) if spread > 0.0 else 1.0
        return inputs

    def _fit_machines(self, X: Inputs, problems: Sequence[tuple[Vector, Likelihood]]) -> list[Machine]:
        """Fit one machine per problem (targets and likelihood), all with the same kernel and starts."""
        with self._progress() as callback:
            maximizer = self._maximizer(callback)
            if len(problems) == 1:
                return [self._fit_machine(X, *problems[0], maximizer)]
            alone = dataclasses.replace(maximizer, n_jobs=1)
            pool = joblib.Parallel(n_jobs=self.n_jobs, prefer="threads")
            return list(pool(joblib.delayed(self._fit_machine)(X, y, likelihood, alone) for y, likelihood in problems))

    def _fit_machine(self, X: Inputs, y: Vector, likelihood: Likelihood, maximizer: Maximizer) -> Machine:
        """Fit one machine; with several columns of targets, find the theta that serves them all."""
        inference = self._inference()
        inference.check(likelihood)
        prior = self._prior()
        names = list(getattr(self, "feature_names_in_", [])) or None

        def fit(kernel: Kernel, given: Sequence[Vector], n_starts: int) -> Machine:
            kernel = kernel.bind(X.n_features, names)
            starts = self._starts(kernel, likelihood, X, given, n_starts)
            objective = self._objective(kernel, likelihood, inference, X, y, prior)
            return self._learnt(objective, starts, maximizer)

        if isinstance(self.kernel, str):
            return choose_kernel(fit, self._default_kernel(y), X.n_features, self.n_starts)
        kernel = self._kernel(y).bind(X.n_features, names)
        own = np.concatenate([kernel.theta, likelihood.theta])
        return fit(kernel, [] if self.kernel is None else [own], self.n_starts)

    def _objective(
        self, kernel: Kernel, likelihood: Likelihood, inference: Inference, X: Inputs, y: Vector, prior: Hyperprior
    ) -> EvidenceObjective:
        """Return the evidence as a function of theta, after a check that the kernel is one."""
        if not kernel.always_positive:
            cholesky(kernel.gram(X), jitter=True, what=f"the Gram matrix of {kernel!r}")
        kind = EvidenceObjective if y.ndim == 1 else SharedObjective
        return kind(kernel, likelihood, inference, X, y, prior)

    def _learnt(self, objective: EvidenceObjective, starts: Sequence[Vector], maximizer: Maximizer) -> Machine:
        """Return the machine with the highest evidence that the starts lead to."""
        return learn(objective, starts, maximizer, optimize=self.optimizer is not None)

    def _refined(self, machine: Machine) -> Machine:
        """Return the machine as predictions use it; a hook for another posterior at the same hyperparameters."""
        return machine

    def _starts(
        self, kernel: Kernel, likelihood: Likelihood, X: Inputs, given: Sequence[Vector], n_starts: int
    ) -> list[Vector]:
        """Return the given starts and as many of the library's as are missing; ties first where there are several.

        Starts are parameters of the kernel followed by those of the likelihood.
        """
        starts = list(given[:n_starts])
        missing = n_starts - len(starts)
        if missing:
            form = kernel.tied() if n_starts > 1 and self.optimizer is not None else kernel
            rng = generator(self.random_state)
            starts += self._library_starts(form, likelihood, X, missing, rng)
        return starts

    def _library_starts(
        self, kernel: Kernel, likelihood: Likelihood, X: Inputs, n_starts: int, rng: np.random.Generator
    ) -> list[Vector]:
        """Return starts that suit the data."""
        points = starting_points(kernel, X, n_starts, rng, distance=self._distance)
        return [np.concatenate([point, likelihood.theta]) for point in points]

    @contextlib.contextmanager
    def _progress(self) -> Iterator[Any]:
        if not self.verbose:
            yield None
            return
        with ProgressBar(type(self).__name__) as bar:
            yield bar

    def _finish(self, machines: list[Machine], X: Any, rows: Indices) -> None:
        """Set the fitted attributes that all estimators share, and warn if a machine did not converge.

        ``rows`` are the rows of X on which the machines were fitted.
        """
        machines = [self._refined(machine) for machine in machines]
        self._machines = machines
        first = machines[0]
        shift, scale = self._standardizer.shift, self._standardizer.scale
        kernels = [Rescaled(m.kernel, tuple(shift), tuple(scale)) for m in machines]
        single = len(machines) == 1
        self.kernel_ = kernels[0] if single else kernels
        self.likelihood_ = first.likelihood.plain if single else [m.likelihood.plain for m in machines]
        self.log_evidence_ = float(sum(m.evidence.value for m in machines))
        self._set_support(machines, X, rows)
        self.candidates_ = [m.candidates for m in machines] if not single else first.candidates
        self.history_ = first.maximum.history if single else [m.maximum.history for m in machines]
        self.n_iter_ = int(sum(record.evaluations for m in machines for record in m.maximum.history))
        self.converged_ = all(m.converged for m in machines)
        self.theta_names_ = first.objective.names
        self.relevance_per_class_ = self._relevance(machines)
        self.relevance_ = None if self.relevance_per_class_ is None else self.relevance_per_class_.mean(axis=0)
        self.named_relevance_ = self._named_relevance()
        trouble = sorted({m.trouble for m in machines if not m.converged})
        if trouble:
            warnings.warn(
                f"{type(self).__name__} did not converge: {'; '.join(trouble)}", ConvergenceWarning, stacklevel=3
            )

    def _set_support(self, machines: Sequence[Machine], X: Any, rows: Indices) -> None:
        """Set the attributes that name the rows with a coefficient that is not zero."""
        self.support_ = np.unique(np.concatenate([rows[m.support] for m in machines]))
        self.support_vectors_ = X[self.support_]
        self.dual_coef_ = np.zeros((len(machines), self.support_.size))
        for row, machine in zip(self.dual_coef_, machines):
            row[np.searchsorted(self.support_, rows[machine.support])] = machine.alpha

    def _named_relevance(self) -> dict[str, float] | None:
        """Return the relevances by feature name, largest first."""
        if self.relevance_ is None:
            return None
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.relevance_.size)])
        return {str(names[i]): float(self.relevance_[i]) for i in np.argsort(-self.relevance_, kind="stable")}

    @staticmethod
    def _relevance(machines: Sequence[Machine]) -> Matrix | None:
        """Return the relevances, one row per machine; None if the kernel has no parameter per feature."""
        rows = [m.kernel.relevance(m.inputs.n_features) for m in machines]
        return None if any(row is None for row in rows) else np.asarray(rows)

    # -- prediction ---------------------------------------------------------------------------------------------------
    def _inputs(self, X: Any) -> Inputs:
        """Validate new rows and standardise them."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        return self._standardizer.inputs(X)

    def _latent(self, X: Any) -> tuple[Matrix, Matrix]:
        """Return latent means and variances, one column per machine."""
        inputs = self._inputs(X)
        pairs = [machine.latent(inputs) for machine in self._machines]
        return np.column_stack([mean for mean, _ in pairs]), np.column_stack([var for _, var in pairs])

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
        mean : array, shape (n,) or (n, n_machines)
            Posterior mean, Chu2003 (38).
        std : array of the same shape
            Posterior standard deviation; only if ``return_std``.
        """
        mean, var = self._latent(X)
        if len(self._machines) == 1:
            mean, var = mean[:, 0], var[:, 0]
        return (mean, np.sqrt(var)) if return_std else mean

    def log_evidence(self, theta: Any = None, gradient: bool = False) -> Any:
        r"""Return the log evidence of the training data (plus log hyperprior) at ``theta``.

        Parameters
        ----------
        theta : array, optional
            Logarithms of the hyperparameters, in the order of ``theta_names_``; the learnt ones if None. With several
            machines the same theta serves them all.
        gradient : bool
            Whether to return the gradient in theta too (for one machine, or a given theta).

        Returns
        -------
        value : float
            Summed over the machines.
        gradient : array
            Only if ``gradient``.
        """
        check_is_fitted(self)
        results = [
            m.objective.evaluate(m.theta if theta is None else np.asarray(theta, dtype=float)) for m in self._machines
        ]
        value = float(sum(r.value for r in results))
        return (value, np.sum([r.gradient for r in results], axis=0)) if gradient else value

    def select_features(self, threshold: Any = "mean") -> SelectFromModel:
        """Return a fitted transformer that keeps the features with enough relevance, for use in a pipeline.

        Parameters
        ----------
        threshold : float or str
            Least relevance, or what :class:`sklearn.feature_selection.SelectFromModel` takes ("mean", "0.1*mean", ...).

        Returns
        -------
        selector : SelectFromModel
            With ``transform``, ``get_support`` and ``get_feature_names_out``.
        """
        check_is_fitted(self)
        if self.relevance_ is None:
            raise ValueError("select_features: expected a machine with one relevance per feature; fit it with ard=True")
        selector = SelectFromModel(self, threshold=threshold, prefit=True, importance_getter="relevance_")
        return selector.fit(np.zeros((1, self.n_features_in_)))

    def sample(self, X: Any, n_samples: int = 1, random_state: Any = None) -> Matrix:
        """Return joint posterior draws of the latent function at the rows of X.

        Parameters
        ----------
        X : array, shape (n, d)
            Inputs in the user's units.
        n_samples : int
            Number of draws.
        random_state : int, Generator or RandomState, optional
            Seed of the draws.

        Returns
        -------
        draws : array, shape (n, n_samples), or (n, n_samples, n_machines) with several machines
        """
        inputs, rng = self._inputs(X), generator(random_state)
        draws = np.stack([machine.sample(inputs, n_samples, rng) for machine in self._machines], axis=-1)
        return draws[:, :, 0] if len(self._machines) == 1 else draws


__all__ = ["SelfTuning", "generator"]
