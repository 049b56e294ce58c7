"""Support vector and Gaussian process classifiers tuned by a variational bound on the evidence."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any, ClassVar

import numpy as np

from bayesvm.estimators._classifier import SelfTuningClassifier
from bayesvm.estimators._machine import Machine
from bayesvm.estimators._mode import find_mode
from bayesvm.exceptions import ConvergenceWarning
from bayesvm.hyper import ByName, Flat, Hyperprior, RelevanceShares
from bayesvm.inference import Inference, Variational, VariationalEvidence
from bayesvm.inference.factor_analysed import FactorAnalysed
from bayesvm.inference.variational import SAME
from bayesvm.kernels import Constant, Gaussian, Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import Classification, NormalizedHinge
from bayesvm.typing import Indices, Matrix, Vector

#: Variance of the constant that stands for a flat prior on the bias; margins are of order one to ten.
FLAT = 1e6
#: Inner starts that are compared at the learnt hyperparameters if the loss is not convex.
FINAL_STARTS = 5

#: Hyperprior of length scales of single features; a feature whose relevance falls to a hundredth costs about one nat.
SHARES = ByName({"*lengthscale[*": RelevanceShares(0.25)})


class VariationalSVC(SelfTuningClassifier):
    r"""Classifier that adapts any number of kernel parameters by a smooth lower bound on the evidence (Seeger1999).

    The posterior of the latent function is approximated by the Gaussian nearest to it in the sense of Kullback and Leibler.
    What this leaves is a bound on the log evidence, Seeger1999 (5), which is smooth in the hyperparameters also where the loss has
    kinks, as that of the support vector machine does. The hyperparameters maximise it with its exact gradient. Predictions come
    from the Gaussian, or from the support vector machine (or Gaussian process) with the adapted kernel.

    Parameters
    ----------
    kernel : Kernel, scikit-learn Gaussian process kernel, "auto" or None
        Covariance of the latent function; None: ``Gaussian() + Constant()``, which with ``ard=True`` is the kernel of Seeger1999 (8).
    ard : bool
        One length scale per feature in every part of the kernel that can have it.
    likelihood : str or likelihood
        "svc", the hinge loss normalised over the labels (:class:`~bayesvm.likelihoods.NormalizedHinge` with C = 1);
        "normalized-hinge", the same with C learnt; "logistic"; "probit"; or an object of :mod:`bayesvm.likelihoods` that is positive
        everywhere. Likelihoods that vanish somewhere (trigonometric, raised cosine) have no finite bound.
    covariance : {"full", "factor"}
        Family of the Gaussian: all Gaussians, or those with covariance :math:`\mathrm{diag}(d) + \sum_{j \le M} c_j c_j^\top`.
    rank : int or None
        M, for ``covariance="factor"``; 0 is the diagonal family.
    predict_with : {"mean", "mode"}
        "mean": posterior mean, with probabilities averaged over the posterior. "mode": the mode with the adapted kernel, for "svc"
        the support vector machine with C = 1 and few support vectors; probabilities are then those at the mode. Read at
        prediction time, so it may be changed by ``set_params`` after fitting.
    bias : bool
        Whether an unpenalised bias is added to the latent function (Seeger1999, footnote 3): in inference a constant of variance
        10^6, in the support vector machine a true bias. The default kernel then has no constant of its own.
    calibrate : {None, "auto", "loo"}
        Correction of averaged log odds on leave-one-out predictions; see :class:`~bayesvm.BayesianSVC`.
    hyperprior : Hyperprior, "auto" or None
        Density of the hyperparameters. "auto": with ``ard=True``, :class:`~bayesvm.hyper.RelevanceShares` with concentration 1/4
        for the length scales of the features; flat otherwise. None: flat, as in the paper.
    optimizer, n_starts, standardize, class_weight, class_prior, n_jobs, random_state, tol, max_iter, verbose
        As in :class:`~bayesvm.BayesianSVC`.

    Attributes
    ----------
    log_evidence_ : float
        The bound at the optimum, summed over the machines: the log evidence is at least this large.
    free_energy_terms_ : dict (a list, one per class, with more than two classes)
        Summands of the free energy, minus the bound: "loss", the expected loss; "mean", "spread" and "determinant", which together
        are the divergence of the Gaussian from the prior.
    multimodal_ : bool
        Whether, at the learnt hyperparameters, different inner starts ended at different optima of the Gaussian. The best one is kept.
    inner_bounds_ : tuple of float (a list of them with more than two classes)
        The bounds that were compared.
    support_, support_vectors_, dual_coef_, intercept_ : arrays
        Rows with a coefficient, those rows of X, the coefficients and biases, of the function that ``predict_with`` named when the
        machine was fitted. The mean rests on all rows; the mode of "svc" on the support vectors.
    kernel_, likelihood_, relevance_, named_relevance_, classes_, converged_, history_, n_iter_, loo_proba_, calibration_
        As in :class:`~bayesvm.BayesianSVC`.

    Notes
    -----
    The normalised hinge loss is not convex: its slope has a downward jump at margin -1. Points near it have negative precision in the
    Gaussian, and the Gaussian that is found can depend on where the search begins; hence ``multimodal_``.

    References
    ----------
    Seeger1999; Sollich1999 (form of the optimal covariance).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayesvm import VariationalSVC
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> machine = VariationalSVC(predict_with="mode").fit(X, y)
    >>> len(machine.support_) < len(X)
    True
    """

    inference: ClassVar[str] = "variational"
    posterior: ClassVar[None] = None

    def __init__(
        self,
        kernel: Any = None,
        *,
        ard: bool = False,
        likelihood: Any = "svc",
        covariance: str = "full",
        rank: int | None = None,
        predict_with: str = "mean",
        bias: bool = False,
        calibrate: str | None = None,
        optimizer: str | None = "lbfgs",
        n_starts: int = 4,
        hyperprior: Any = "auto",
        standardize: bool = True,
        class_weight: Any = None,
        class_prior: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        tol: float = 3e-3,
        max_iter: int = 500,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.ard = ard
        self.likelihood = likelihood
        self.covariance = covariance
        self.rank = rank
        self.predict_with = predict_with
        self.bias = bias
        self.calibrate = calibrate
        self.optimizer = optimizer
        self.n_starts = n_starts
        self.hyperprior = hyperprior
        self.standardize = standardize
        self.class_weight = class_weight
        self.class_prior = class_prior
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    # -- from arguments to objects ------------------------------------------------------------------------------------
    def _check_arguments(self) -> None:
        super()._check_arguments()
        self._uses_mode()
        if self.covariance not in ("full", "factor"):
            raise ValueError(f"covariance: expected 'full' or 'factor', found {self.covariance!r}")
        whole = isinstance(self.rank, int | np.integer) and not isinstance(self.rank, bool) and self.rank >= 0
        if self.covariance == "full" and self.rank is not None:
            raise ValueError(f"rank: expected None with covariance='full', found {self.rank!r}")
        if self.covariance == "factor" and not whole:
            raise ValueError(
                f"rank: expected a number of factors, 0 or more, with covariance='factor', found {self.rank!r}"
            )

    def _uses_mode(self) -> bool:
        if self.predict_with not in ("mean", "mode"):
            raise ValueError(f"predict_with: expected 'mean' or 'mode', found {self.predict_with!r}")
        return self.predict_with == "mode"

    def _likelihood(self) -> Classification:
        return NormalizedHinge().fix("C") if self.likelihood == "svc" else super()._likelihood()

    def _prior(self) -> Hyperprior:
        automatic = isinstance(self.hyperprior, str) and self.hyperprior == "auto"
        if not automatic:
            return super()._prior()
        return SHARES if self.ard else Flat()

    def _inference(self) -> Inference:
        return Variational() if self.covariance == "full" else FactorAnalysed(int(self.rank or 0))

    def _default_kernel(self, y: Vector) -> Kernel:
        return Gaussian() + self._bias_kernel() if self.bias else super()._default_kernel(y)

    def _kernel(self, y: Vector) -> Kernel:
        kernel = super()._kernel(y)
        return kernel if self.kernel is None or not self.bias else kernel + self._bias_kernel()

    @staticmethod
    def _bias_kernel() -> Kernel:
        return Constant(FLAT).fix()

    # -- fitting ------------------------------------------------------------------------------------------------------
    def _refined(self, machine: Machine) -> Machine:
        return super()._refined(_best_start(machine))

    def _finish(self, machines: list[Machine], X: Any, rows: Indices) -> None:
        super()._finish(machines, X, rows)
        terms = [{name: -value for name, value in m.evidence.terms.items()} for m in self._machines]
        bounds = [_bounds(m) for m in self._machines]
        self.multimodal_ = any(max(values) - min(values) > SAME for values in bounds)
        single = len(machines) == 1
        self.free_energy_terms_, self.inner_bounds_ = (terms[0], bounds[0]) if single else (terms, bounds)
        self._modes = [
            find_mode(m, m.kernel.gram(m.objective.X), bias_variance=FLAT if self.bias else 0.0) for m in self._machines
        ]
        self.intercept_ = np.zeros(len(machines))
        if self._uses_mode():
            self._set_support([mode.machine for mode in self._modes], X, rows)
            self.intercept_ = np.array([mode.bias for mode in self._modes])
        trouble = sorted({mode.status.value for mode in self._modes if not mode.status.ok})
        if trouble:
            self.converged_ = False
            warnings.warn(
                f"{type(self).__name__}: the mode was not found: {'; '.join(trouble)}", ConvergenceWarning, stacklevel=4
            )

    # -- prediction ---------------------------------------------------------------------------------------------------
    def _log_odds(self, inputs: Inputs) -> Matrix:
        if not self._uses_mode():
            return super()._log_odds(inputs)
        pairs = zip(self._machines, self._modes)
        zero = np.zeros(len(inputs))
        return np.column_stack([m.likelihood.plain.log_odds(mode.mean(inputs), zero) for m, mode in pairs])

    def _latent(self, X: Any) -> tuple[Matrix, Matrix]:
        mean, var = super()._latent(X)
        if self._uses_mode():
            inputs = self._inputs(X)
            mean = np.column_stack([mode.mean(inputs) for mode in self._modes])
        return mean, var


def _best_start(machine: Machine) -> Machine:
    """Return the machine with the best of several Gaussians at its hyperparameters, if there may be several."""
    objective = machine.objective
    if objective.likelihood.traits.convex or not isinstance(objective.inference, Variational):
        return machine
    several = dataclasses.replace(objective.inference, starts=FINAL_STARTS)
    posterior, evidence = several.infer(machine.kernel.gram(objective.X), objective.y, machine.likelihood)
    found = dataclasses.replace(evidence, bounds=(machine.evidence.value, *evidence.bounds))
    if evidence.value <= machine.evidence.value + SAME:
        own = {field.name: getattr(machine.evidence, field.name) for field in dataclasses.fields(machine.evidence)}
        return dataclasses.replace(machine, evidence=VariationalEvidence(**{**own, "bounds": found.bounds}))
    return dataclasses.replace(machine, posterior=posterior, evidence=found, inputs=objective.X.take(posterior.support))


def _bounds(machine: Machine) -> tuple[float, ...]:
    """Return the bounds that were compared."""
    evidence = machine.evidence
    return evidence.bounds if isinstance(evidence, VariationalEvidence) else (evidence.value,)


__all__ = ["VariationalSVC"]
