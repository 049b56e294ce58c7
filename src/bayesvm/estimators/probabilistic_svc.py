"""The support vector machine as a probability model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayesvm.estimators._arguments import (
    Rule,
    hyperprior,
    kernel_candidates,
    one_of,
    real,
    search_options,
    whole,
)
from bayesvm.estimators._classifier import BayesianClassifier
from bayesvm.hyper.hinge_evidence import EvidenceCurve
from bayesvm.inference import Inference
from bayesvm.inference.hinge import HingeExactOrEP, NaiveHinge
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import Hinge
from bayesvm.models.base import TrainingData
from bayesvm.models.candidates import OneKernel
from bayesvm.models.hinge import HingeProcess, curve_grid, default_start
from bayesvm.typing import Matrix

#: Estimates of the naive evidence; the annealed one is searched by its cheaper surrogate.
EVIDENCES: Mapping[str, Callable[[], Inference]] = {
    "naive": NaiveHinge,
    "marginal": HingeExactOrEP,
    "annealed": HingeExactOrEP,
}
#: Range in which C is learnt. Beyond the upper end labels outside the gap are certain to one in 10^17.
C_RANGE = (0.05, 20.0)


class ProbabilisticSVC(BayesianClassifier):
    r"""The hinge-loss support vector machine as a probability model with a normalised evidence (Sollich1999).

    The latent function :math:`\theta(x)` has a Gaussian process prior with the given kernel (its constant part is the
    variance :math:`B^2` of the bias), labels have the likelihood :math:`\kappa(C)\, e^{-C [1 - y\theta(x)]_+}`, and
    with the remaining probability :math:`1 - \nu(\theta(x))` a point is not classified at all. The mode of the
    posterior is the plain support vector machine, and by default all decisions are its decisions. What the machine
    alone cannot tell, C apart from the scale of the kernel, follows from the evidence :math:`P(D) = Q(D) /
    \overline{N^n}`, which is normalised over all data sets of n samples.

    Parameters
    ----------
    kernel : Kernel, scikit-learn Gaussian process kernel, "auto" or None
        Covariance of the latent function; None: ``Gaussian() + Constant()``. Its parameters are the first start.
    C : float
        Noise parameter: the first start, or the value that is kept with ``optimizer=None``.
    ard : bool
        One length scale per feature in every part of the kernel that can have it.
    evidence : {"marginal", "naive", "annealed"}
        Estimate of Q(D). "marginal": up to three points in doubt are integrated exactly, more by expectation
        propagation. "naive": Sollich1999 (8), with the paper's ``I +``; made for ``tune="C"``, it misleads a search
        over the kernel (see Notes). "annealed": hyperparameters as for "marginal", and at the end an annealed estimate
        with an error bar.
    tune : {"all", "C"}
        Whether kernel and C are learnt, or C alone at a fixed product of C and the kernel. The latter leaves the given
        support vector machine as it is and gives it probabilities.
    normalized : bool
        Whether the evidence is divided by :math:`\overline{N^n}`. Without it C comes out too small.
    inputs : None, array or callable
        What stands for the input density Q(x): the training inputs, other rows, or ``inputs(rng, m)`` that draws m
        rows.
    n_nodes : int
        Largest number of rows at which draws of the prior are looked at.
    normalizer_tol : float
        Monte Carlo error of :math:`\ln \overline{N^n}`, in nats, for which draws are added.
    average : bool
        Whether probabilities are averaged over draws of the posterior; otherwise they are those of the mode, as in the
        paper.
    n_draws : int
        Number of those draws.
    optimizer, n_starts, hyperprior, standardize, class_weight, class_prior, n_jobs, random_state, evidence_tol,
    max_evaluations, verbose
        As in :class:`~bayesvm.BayesianSVC`; ``random_state`` seeds all draws too.

    Attributes
    ----------
    C_ : array, shape (n_outputs,)
        The noise parameter that was found: one for two classes, one per class for more.
    log_evidence_ : float
        :math:`\ln P(D)`, or :math:`\ln Q(D)` if not ``normalized``; summed over the outputs.
    log_naive_evidence_, log_normalizer_ : float
        Its two parts :math:`\ln Q(D)` and :math:`\ln \overline{N^n}`.
    log_evidence_error_ : float
        Monte Carlo standard error of ``log_evidence_``.
    remarks_ : tuple of str
        What the user should know: a C below ln 2, no interior maximum of the evidence, an uncertain normaliser or Q(D).
        Also sent to the log of this module as warnings.
    effective_sample_size_ : float or None
        With ``average=True``: the smallest effective number of posterior draws of a latent value.
    kernels_, likelihoods_, models_, support_, support_vectors_, dual_coef_, relevance_, history_, converged_, n_iter_,
    theta_names_
        As in :class:`~bayesvm.BayesianSVC`.

    Notes
    -----
    Sollich1999 (8) with ``I +`` tends to :math:`Q(D) = 1` for a kernel of large variance and short length scale, where
    every point is marginal with a small coefficient and the truth is :math:`2^{-n}`; without ``I +`` it diverges there.
    A search over all hyperparameters ends in that corner. So (8) is offered for what the paper uses it for, the choice
    of C at a fixed product with the kernel.

    With more than 500 samples the search begins on 300 of them, and its best end is refined on all. With several
    classes each is treated against the rest, and the odds are coupled as in :class:`~bayesvm.BayesianSVC`. A sample of
    weight w counts w times, in :math:`n` too.

    References
    ----------
    Sollich1999.

    Examples
    --------
    >>> from bayesvm import ProbabilisticSVC
    >>> from bayesvm.datasets import make_sollich
    >>> from bayesvm.kernels import Gaussian
    >>> X, y, f = make_sollich(50, random_state=1)
    >>> machine = ProbabilisticSVC(Gaussian(1.25, 0.05), C=2.0, tune="C", standardize=False, random_state=0).fit(X, y)
    >>> machine.predict_proba(X[:2]).shape
    (2, 2)
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "evidence": one_of(*EVIDENCES),
        "tune": one_of("all", "C"),
        "n_nodes": whole(2),
        "normalizer_tol": real(0.0),
    }

    def __init__(
        self,
        kernel: Any = None,
        *,
        C: float = 2.0,
        ard: bool = False,
        evidence: str = "marginal",
        tune: str = "all",
        normalized: bool = True,
        inputs: Any = None,
        n_nodes: int = 100,
        normalizer_tol: float = 0.2,
        average: bool = False,
        n_draws: int = 400,
        optimizer: str | None = "bfgs",
        n_starts: int = 4,
        hyperprior: Any = None,
        standardize: bool = True,
        class_weight: Any = None,
        class_prior: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        evidence_tol: float = 3e-3,
        max_evaluations: int = 500,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.ard = ard
        self.evidence = evidence
        self.tune = tune
        self.normalized = normalized
        self.inputs = inputs
        self.n_nodes = n_nodes
        self.normalizer_tol = normalizer_tol
        self.average = average
        self.n_draws = n_draws
        self.optimizer = optimizer
        self.n_starts = n_starts
        self.hyperprior = hyperprior
        self.standardize = standardize
        self.class_weight = class_weight
        self.class_prior = class_prior
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.evidence_tol = evidence_tol
        self.max_evaluations = max_evaluations
        self.verbose = verbose

    def _spec(self, data: TrainingData) -> HingeProcess:
        default = Gaussian() + Constant()
        fixed = self.tune == "C" or self.optimizer is None
        if self.tune == "C" and isinstance(self.kernel, str):
            raise ValueError(
                f"kernel: expected a kernel whose product with C is kept (tune='C'), found {self.kernel!r}"
            )
        candidates = kernel_candidates(self, default)
        if self.kernel is None and fixed:
            start = default_start(default.with_ard() if self.ard else default, data.n_features)
            candidates = OneKernel(start, given=True)
        low, high = C_RANGE
        likelihood = Hinge(float(self.C)).bounded(C=(min(low, float(self.C)), max(high, float(self.C))))
        options = search_options(self)
        return HingeProcess(
            candidates,
            likelihood,
            EVIDENCES[self.evidence](),
            tune_kernel=self.tune == "all",
            normalized=bool(self.normalized),
            density=self.inputs,
            n_nodes=int(self.n_nodes),
            normalizer_tol=float(self.normalizer_tol),
            annealed=self.evidence == "annealed",
            n_draws=int(self.n_draws) if self.average else 0,
            hyperprior=hyperprior(self),
            options=dataclasses.replace(options, n_starts=1) if self.tune == "C" else options,
        )

    # -- what was found -----------------------------------------------------------------------------------------------
    @property
    def log_naive_evidence_(self) -> float:
        r""":math:`\ln Q(D)`, summed over the outputs."""
        return float(sum(model.log_naive_evidence for model in self.models_))

    @property
    def log_normalizer_(self) -> float:
        r""":math:`\ln \overline{N^n}`, summed over the outputs."""
        return float(sum(model.log_normalizer for model in self.models_))

    @property
    def log_evidence_error_(self) -> float:
        """Monte Carlo standard error of ``log_evidence_``."""
        return float(np.sqrt(sum(model.log_evidence_error**2 for model in self.models_)))

    @property
    def remarks_(self) -> tuple[str, ...]:
        """What the user should know."""
        return tuple(dict.fromkeys(remark for model in self.models_ for remark in model.remarks))

    @property
    def effective_sample_size_(self) -> float | None:
        """The smallest effective number of posterior draws of a latent value, None without ``average``."""
        sizes = [float(np.min(model.draws.ess)) for model in self.models_ if model.draws is not None]
        return min(sizes) if sizes else None

    # -- prediction ---------------------------------------------------------------------------------------------------
    def _draws(self, average: bool | None) -> int:
        """Return the number of posterior draws to average over, 0 for the mode."""
        return int(self.n_draws) if (self.average if average is None else average) else 0

    def _log_odds(self, inputs: Inputs, average: bool | None = None) -> Matrix:
        return np.hstack([model.averaged_log_odds(inputs, self._draws(average)) for model in self.models_])

    def _odds_range(self, inputs: Inputs) -> None:
        """Return None: probabilities given that there is a decision have no such bounds."""

    def predict_log_proba(self, X: Any, class_prior: Any = None, *, average: bool | None = None) -> Matrix:
        """Return logarithms of class probabilities; see :meth:`predict_proba`."""
        return self._log_proba(self._log_odds(self._inputs(X), average), class_prior)

    def predict_proba(self, X: Any, class_prior: Any = None, *, average: bool | None = None) -> Matrix:
        """Return class probabilities, Sollich1999 (5), given that there is a decision.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, d)
            Inputs.
        class_prior : array, "empirical" or None
            Overrides the constructor's ``class_prior``.
        average : bool, optional
            Overrides the constructor's ``average``. Draws that were not made by ``fit`` are made anew in every call.

        Returns
        -------
        proba : array, shape (n, n_classes)
            Columns in the order of ``classes_``; rows sum to one.
        """
        return np.exp(self.predict_log_proba(X, class_prior, average=average))

    def predict_rejection(self, X: Any, *, average: bool | None = None) -> Any:
        r"""Return :math:`1 - \nu(\theta(x))`, the probability that there is no decision ("don't know").

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, d)
            Inputs.
        average : bool, optional
            Overrides the constructor's ``average``.

        Returns
        -------
        probability : array, shape (n,), or (n, n_classes) with more than two classes
        """
        inputs, n_draws = self._inputs(X), self._draws(average)
        columns = [model.rejection(inputs, n_draws) for model in self.models_]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)

    def evidence_curve(self, C: Any = None) -> EvidenceCurve:
        """Return naive and normalised evidence against C at the fixed product of C and the fitted kernel (two classes).

        Parameters
        ----------
        C : array, optional
            Increasing positive values; by default forty from a tenth to ten times the fitted one, within the range of
            C.
        """
        check_is_fitted(self)
        if len(self.models_) > 1:
            raise ValueError(f"evidence_curve: expected two classes, found {self.classes_.size}")
        return self.models_[0].curve(curve_grid(C, float(self.C_[0]), C_RANGE[1]))


__all__ = ["ProbabilisticSVC"]
