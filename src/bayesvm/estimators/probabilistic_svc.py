"""The support vector machine as a probability model."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from bayesvm.estimators._kernel_choice import choose_kernel
from bayesvm.estimators._labels import LabelProbabilities
from bayesvm.estimators._machine import Machine, learn
from bayesvm.estimators._self_tuning import generator
from bayesvm.estimators._sollich import (
    Nodes,
    annealed_machine,
    curve_grid,
    curve_of,
    density_rows,
    input_nodes,
    log_odds,
    objective_of,
    posterior_draws,
    remarks,
    sollich_starts,
    start_kernel,
)
from bayesvm.hyper import Flat, Maximizer
from bayesvm.hyper.normalized import (
    EvidenceCurve,
    NormalizedObjective,
    ScaledObjective,
    maximize_normalized,
    maximize_through_part,
)
from bayesvm.inference import Inference
from bayesvm.inference.hinge import HingeExactOrEP, NaiveHinge, Normalizer, PosteriorDraws, hinge_bounds, rejection
from bayesvm.kernels import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import Hinge, Likelihood, Weighted
from bayesvm.linalg import cholesky
from bayesvm.typing import Matrix, Vector

logger = logging.getLogger(__name__)

#: Estimates of the naive evidence; the annealed one is climbed by its cheaper companion.
EVIDENCES: Mapping[str, Callable[[], Inference]] = {
    "naive": NaiveHinge,
    "marginal": HingeExactOrEP,
    "annealed": HingeExactOrEP,
}
#: Range in which C is learnt. Beyond the upper end labels outside the gap are certain to one in 10^17.
C_RANGE = (0.05, 20.0)
#: Beyond so many samples the starts climb on FEW of them first.
MANY, FEW = 500, 300


class ProbabilisticSVC(LabelProbabilities):
    r"""The hinge-loss support vector machine as a probability model with a normalised evidence (Sollich1999).

    The latent function :math:`\theta(x)` has a Gaussian process prior with the given kernel (its constant part is the variance
    :math:`B^2` of the bias), labels have the likelihood :math:`\kappa(C)\, e^{-C [1 - y\theta(x)]_+}`, and with the remaining probability
    :math:`1 - \nu(\theta(x))` a point is not classified at all. The mode of the posterior is the plain support vector machine, and by default
    all decisions are its decisions. What the machine alone cannot tell, C apart from the scale of the kernel, follows from
    the evidence :math:`P(D) = Q(D) / \overline{N^n}`, which is normalised over all data sets of n samples.

    Parameters
    ----------
    kernel : Kernel, scikit-learn Gaussian process kernel, "auto" or None
        Covariance of the latent function; None: ``Gaussian() + Constant()``. Its parameters are the first start.
    C : float
        Noise parameter: the first start, or the value that is kept with ``optimizer=None``.
    ard : bool
        One length scale per feature in every part of the kernel that can have it.
    evidence : {"marginal", "naive", "annealed"}
        Estimate of Q(D). "marginal": up to three points in doubt are integrated exactly, more by expectation propagation.
        "naive": Sollich1999 (8), with the paper's ``I +``; made for ``tune="C"``, it misleads a search over the kernel (see
        Notes). "annealed": hyperparameters as for "marginal", and at the end an annealed estimate with an error bar.
    tune : {"all", "C"}
        Whether kernel and C are learnt, or C alone at a fixed product of C and the kernel. The latter leaves the given
        support vector machine as it is and gives it probabilities.
    normalized : bool
        Whether the evidence is divided by :math:`\overline{N^n}`. Without it C comes out too small.
    inputs : None, array or callable
        What stands for the input density Q(x): the training inputs, other rows, or ``inputs(rng, m)`` that draws m rows.
    n_nodes : int
        Largest number of rows at which draws of the prior are looked at.
    normalizer_tol : float
        Monte Carlo error of :math:`\ln \overline{N^n}`, in nats, for which draws are added.
    average : bool
        Whether probabilities are averaged over draws of the posterior; otherwise they are those of the mode, as in the paper.
    n_samples : int
        Number of those draws.
    optimizer, n_starts, hyperprior, standardize, class_weight, class_prior, n_jobs, random_state, tol, max_iter, verbose
        As in :class:`~bayesvm.BayesianSVC`; ``random_state`` seeds all draws too.

    Attributes
    ----------
    C_ : float or array
        The noise parameter that was found (one per machine with more than two classes).
    log_evidence_ : float
        :math:`\ln P(D)`, or :math:`\ln Q(D)` if not ``normalized``; summed over one-vs-rest machines.
    log_naive_evidence_, log_normalizer_ : float
        Its two parts :math:`\ln Q(D)` and :math:`\ln \overline{N^n}`.
    log_evidence_error_ : float
        Monte Carlo standard error of ``log_evidence_``.
    remarks_ : tuple of str
        What the user should know: a C below ln 2, no interior maximum of the evidence, an uncertain normaliser or Q(D). Also sent to
        the log of this module as warnings.
    effective_sample_size_ : float or None
        With ``average=True``: the smallest effective number of posterior draws of a latent value.
    kernel_, likelihood_, support_, support_vectors_, dual_coef_, relevance_, history_, converged_, n_iter_, theta_names_
        As in :class:`~bayesvm.BayesianSVC`.

    Notes
    -----
    Sollich1999 (8) with ``I +`` tends to :math:`Q(D) = 1` for a kernel of large variance and short length scale, where every point is
    marginal with a small coefficient and the truth is :math:`2^{-n}`; without ``I +`` it diverges there. A search over all hyperparameters
    ends in that corner. So (8) is offered for what the paper uses it for, the choice of C at a fixed product with the kernel.

    With more than 500 samples the starts climb on 300 of them first, and the best end is refined on all. With several classes one
    machine per class is trained against the rest, and the odds are coupled as in :class:`~bayesvm.BayesianSVC`. A sample of
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
        n_samples: int = 400,
        optimizer: str | None = "lbfgs",
        n_starts: int = 4,
        hyperprior: Any = None,
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
        self.C = C
        self.ard = ard
        self.evidence = evidence
        self.tune = tune
        self.normalized = normalized
        self.inputs = inputs
        self.n_nodes = n_nodes
        self.normalizer_tol = normalizer_tol
        self.average = average
        self.n_samples = n_samples
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
        for name, allowed in (("evidence", tuple(EVIDENCES)), ("tune", ("all", "C"))):
            value = getattr(self, name)
            if value not in allowed:
                raise ValueError(f"{name}: expected one of {', '.join(map(repr, allowed))}, found {value!r}")
        if self.tune == "C" and isinstance(self.kernel, str):
            raise ValueError(
                f"kernel: expected a kernel whose product with C is kept (tune='C'), found {self.kernel!r}"
            )
        for name in ("n_nodes", "n_samples"):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 2:
                raise ValueError(f"{name}: expected an integer of at least 2, found {value!r}")
        for name in ("C", "normalizer_tol"):
            value = getattr(self, name)
            if not (isinstance(value, int | float | np.number) and 0.0 < value < np.inf):
                raise ValueError(f"{name}: expected a positive number, found {value!r}")

    def _likelihood(self) -> Hinge:
        low, high = C_RANGE
        return Hinge(float(self.C)).bounded(C=(min(low, float(self.C)), max(high, float(self.C))))

    def _inference(self) -> Inference:
        return EVIDENCES[self.evidence]()

    # -- fitting ------------------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn C, kernel and latent function from the training data.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, d)
            Inputs.
        y : array, shape (n,)
            Labels of two or more classes, of any type that scikit-learn takes.
        sample_weight : array, shape (n,), optional
            Non-negative weights; rows of weight zero are left out.
        """
        self._check_arguments()
        likelihood: Likelihood = self._likelihood()
        X, codes, weights, rows = self._labelled(X, y, sample_weight)
        used = None if weights is None else weights[rows]
        if used is not None:
            likelihood = Weighted(likelihood, tuple(used))
        inputs = self._prepare(X[rows], used)
        rng = generator(self.random_state)
        self._seed = int(rng.integers(2**31))
        self._nodes = self._density_nodes(inputs, used, rng) if self.normalized else None
        positives = range(self.classes_.size) if self.classes_.size > 2 else (1,)
        problems = [(np.where(codes[rows] == k, 1.0, -1.0), likelihood) for k in positives]
        self._finish(self._fit_machines(inputs, problems), X, rows)
        self._report()
        self._draws = [self._drawn(machine) for machine in self._machines] if self.average else None
        self.effective_sample_size_ = None if self._draws is None else float(min(np.min(d.ess) for d in self._draws))
        return self

    def _density_nodes(self, X: Inputs, weights: Vector | None, rng: np.random.Generator) -> Nodes:
        own = np.ones(len(X)) if weights is None else weights
        if self.inputs is None:
            return input_nodes(X, own, float(own.sum()), self.n_nodes, rng)
        other = self._standardizer.inputs(density_rows(self.inputs, self.n_nodes, X.n_features, rng))
        return input_nodes(other, np.ones(len(other)), float(own.sum()), self.n_nodes, rng)

    def _fit_machine(self, X: Inputs, y: Vector, likelihood: Likelihood, maximizer: Maximizer) -> Machine:
        names = list(getattr(self, "feature_names_in_", [])) or None
        optimize = self.optimizer is not None

        def fit(kernel: Kernel, given: Any, n_starts: int) -> Machine:
            kernel = kernel.bind(X.n_features, names)
            if not kernel.always_positive:
                cholesky(kernel.gram(X), jitter=True, what=f"the Gram matrix of {kernel!r}")
            objective = self._objective(kernel, likelihood, X, y)
            starts = [objective.theta0] if self.tune == "C" else self._starts(kernel, likelihood, X, given, n_starts)
            if not optimize:
                objective = objective.planned(starts[0], self.normalizer_tol, final=True)
                return learn(objective, starts, maximizer, optimize=False)
            if len(X) > MANY and len(starts) > 1:
                rows = np.sort(np.random.default_rng([self._seed, 4]).permutation(len(X))[:FEW])
                objective, maximum = maximize_through_part(maximizer, objective, starts, rows, self.normalizer_tol)
            else:
                objective, maximum = maximize_normalized(maximizer, objective, starts, self.normalizer_tol)
            machine = learn(objective, [maximum.theta], maximizer, optimize=False)
            return dataclasses.replace(machine, maximum=maximum)

        if isinstance(self.kernel, str):
            return choose_kernel(fit, self._default_kernel(y), X.n_features, self.n_starts)
        kernel = self._kernel(y).bind(X.n_features, names)
        if self.kernel is None and (self.tune == "C" or not optimize):
            kernel = start_kernel(kernel, X)
        given = [np.concatenate([kernel.theta, likelihood.theta])]
        return fit(kernel, given if self.kernel is not None or not optimize else [], self.n_starts)

    def _objective(self, kernel: Kernel, likelihood: Likelihood, X: Inputs, y: Vector) -> NormalizedObjective:
        kind = ScaledObjective if self.tune == "C" else NormalizedObjective
        prior = Flat() if self.hyperprior is None else self.hyperprior
        nodes = self._nodes
        normalizer = None if nodes is None else Normalizer(nodes.weights, nodes.count, seed=self._seed)
        rows = None if nodes is None else nodes.rows
        return kind(kernel, likelihood, self._inference(), X, y, prior, normalizer, rows)

    def _library_starts(
        self, kernel: Kernel, likelihood: Likelihood, X: Inputs, n_starts: int, rng: np.random.Generator
    ) -> list[Vector]:
        return sollich_starts(kernel, likelihood, X, n_starts, rng, self._distance)

    def _report(self) -> None:
        """Set what is special to this machine: C, the parts of the evidence, remarks."""
        estimates = [objective_of(m).normalization(m.theta) for m in self._machines]
        self.log_normalizer_ = float(sum(0.0 if e is None else e.value for e in estimates))
        variance = sum(0.0 if e is None else e.error**2 for e in estimates)
        self.log_naive_evidence_ = self.log_evidence_ + self.log_normalizer_
        if self.evidence == "annealed":
            rng = np.random.default_rng([self._seed, 1])
            runs = [annealed_machine(machine, rng) for machine in self._machines]
            self.log_naive_evidence_ = float(sum(run.log_mean for run in runs))
            self.log_evidence_ = self.log_naive_evidence_ - self.log_normalizer_
            variance += sum(run.error**2 for run in runs)
        self.log_evidence_error_ = float(np.sqrt(variance))
        values = np.array([hinge_bounds(np.ones(1), m.likelihood.plain)[0] for m in self._machines])
        self.C_ = float(values[0]) if values.size == 1 else values
        found = [
            remarks(m, C, e, learnt=self.optimizer is not None, tol=self.normalizer_tol)
            for m, C, e in zip(self._machines, values, estimates)
        ]
        self.remarks_ = tuple(dict.fromkeys(remark for own in found for remark in own))
        for remark in self.remarks_:
            logger.warning("%s: %s", type(self).__name__, remark)

    def _drawn(self, machine: Machine) -> PosteriorDraws:
        return posterior_draws(machine, int(self.n_samples), np.random.default_rng([self._seed, 2]))

    # -- prediction ---------------------------------------------------------------------------------------------------
    def _latent_values(self, inputs: Inputs, average: bool | None) -> list[Matrix]:
        """Return per machine the latent values at the inputs, one column per draw (one, the mode, if not averaged)."""
        if not (self.average if average is None else average):
            return [machine.mean(inputs)[:, None] for machine in self._machines]
        draws = self._draws if self._draws is not None else [self._drawn(machine) for machine in self._machines]
        values = []
        for machine, own in zip(self._machines, draws):
            K_s = machine.kernel.gram(inputs, machine.objective.X)
            values.append(own.at(K_s, machine.kernel.diag(inputs)))
        return values

    def _averaged_odds(self, inputs: Inputs, average: bool | None) -> Matrix:
        values = self._latent_values(inputs, average)
        return np.column_stack([log_odds(f, C) for f, C in zip(values, np.atleast_1d(self.C_))])

    def _log_odds(self, inputs: Inputs) -> Matrix:
        return self._averaged_odds(inputs, None)

    def predict_log_proba(self, X: Any, class_prior: Any = None, *, average: bool | None = None) -> Matrix:
        """Return logarithms of class probabilities; see :meth:`predict_proba`."""
        return self._log_proba(self._averaged_odds(self._inputs(X), average), class_prior)

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
        probability : array, shape (n,), or (n, n_classes) with one column per one-vs-rest machine
        """
        values = self._latent_values(self._inputs(X), average)
        columns = [np.mean(rejection(f, C), axis=1) for f, C in zip(values, np.atleast_1d(self.C_))]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)

    def evidence_curve(self, C: Any = None) -> EvidenceCurve:
        """Return naive and normalised evidence against C at the fixed product of C and the fitted kernel (two classes).

        Parameters
        ----------
        C : array, optional
            Increasing positive values; by default forty from a tenth to ten times the fitted one, within the range of C.
        """
        self._inputs(np.zeros((1, self.n_features_in_)))
        if len(self._machines) > 1:
            raise ValueError("evidence_curve: expected a machine of two classes, found several one-vs-rest machines")
        grid = curve_grid(C, float(np.ravel(self.C_)[0]), C_RANGE[1])
        return curve_of(self._machines[0], grid)


__all__ = ["ProbabilisticSVC"]
