r"""The normalised evidence of the hinge model as a function of its hyperparameters, Sollich1999 (7).

.. math:: \ln P(D) = \ln Q(D) - \ln \overline{N^n} .

The first term comes from an inference method for the hinge loss, the second from a
:class:`~bayesvm.inference.hinge.normalizer.Normalizer` at nodes that stand for the input density. Without the second
the evidence is not a probability of data sets, and its maximum lies at too small a C.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import Self

import numpy as np

from bayesvm.hyper.bfgs import SearchStatus
from bayesvm.hyper.multistart import Maximizer, Maximum, StartRecord
from bayesvm.hyper.objective import Evaluation, EvidenceObjective
from bayesvm.hyper.search import maximize_evidence
from bayesvm.inference.hinge import Normalizer, NormalizerEstimate, hinge_bounds, normalizer_path, planned
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Likelihood
from bayesvm.typing import Indices, Matrix, Vector


@dataclasses.dataclass(frozen=True)
class HingeObjective(EvidenceObjective):
    r"""Normalised log evidence plus log hyperprior of (kernel parameters, C).

    Parameters
    ----------
    normalizer : Normalizer or None
        Estimates :math:`\ln \overline{N^n}`; None leaves the naive evidence Q(D).
    nodes : Inputs or None
        Where it looks at the draws of the prior.
    """

    normalizer: Normalizer | None = None
    nodes: Inputs | None = None

    def C_of(self, likelihood: Likelihood) -> float:  # noqa: N802
        """Return C of a (possibly weighted) hinge likelihood."""
        return hinge_bounds(np.ones(1), likelihood.plain)[0]

    def part(self, rows: Indices) -> Self:
        """Return the objective of some of the samples; the normaliser counts them alone."""
        part = super().part(rows)
        if self.normalizer is None:
            return part
        C, bound = hinge_bounds(part.outputs[0], part.likelihood)
        return dataclasses.replace(
            part, normalizer=dataclasses.replace(self.normalizer, count=float(np.sum(bound) / C))
        )

    def normalization(self, theta: Vector, *, gradient: bool = False) -> NormalizerEstimate | None:
        r"""Return the estimate of :math:`\ln \overline{N^n}` at theta, None without a normaliser."""
        if self.normalizer is None or self.nodes is None:
            return None
        kernel, likelihood = self.model(theta)
        return self.normalizer.estimate(kernel.gram(self.nodes), self.C_of(likelihood), gradient=gradient)

    def evaluate(self, theta: Vector, warm_start: Vector | None = None) -> Evaluation:
        """Return value, gradient, posterior and evidence at ``theta``; the evidence's ``terms`` name the normaliser."""
        naive = self.naive(theta, warm_start)
        estimate = self.normalization(theta, gradient=True)
        if estimate is None:
            return naive
        terms = {**naive.evidence.terms, "normalizer": -estimate.value}
        evidence = dataclasses.replace(naive.evidence, value=naive.evidence.value - estimate.value, terms=terms)
        gradient = naive.gradient - self._normalizer_gradient(theta, estimate)
        return Evaluation(naive.theta, naive.value - estimate.value, gradient, naive.posteriors, evidence)

    def naive(self, theta: Vector, warm_start: Vector | None = None) -> Evaluation:
        """Return the evaluation without the normaliser."""
        return EvidenceObjective.evaluate(self, theta, warm_start)

    def _normalizer_gradient(self, theta: Vector, estimate: NormalizerEstimate) -> Vector:
        kernel, likelihood = self.model(theta)
        return np.concatenate([kernel.pullback(self.nodes, estimate.dK), np.full(likelihood.theta.size, estimate.dC)])

    @property
    def cost(self) -> int:
        """Draws and moves of one estimate of the normaliser."""
        plan = None if self.normalizer is None else self.normalizer.annealing
        return 0 if plan is None else plan.paths * (1 + plan.moves * (plan.temperatures - 1))

    def planned(self, theta: Vector, tol: float, *, final: bool = False) -> HingeObjective:
        """Return the objective with as many draws as the tolerance (in nats) asks for at theta."""
        if self.normalizer is None or self.nodes is None:
            return self
        kernel, likelihood = self.model(theta)
        normalizer = planned(self.normalizer, kernel.gram(self.nodes), self.C_of(likelihood), tol, final=final)
        return dataclasses.replace(self, normalizer=normalizer)


@dataclasses.dataclass(frozen=True)
class FixedProductObjective(HingeObjective):
    r"""The same as a function of C alone, with the product of C and the kernel kept (Sollich1999 section 2, Figure 2).

    The support vector machine depends on that product only, so its solution stays: as a warm start it is recognised as
    optimal after one linear system in the marginal points. Theta is :math:`\ln C`; the kernel, given at the
    likelihood's own C, is multiplied by :math:`C_0/C` and its parameters are not learnt.
    """

    @property
    def theta0(self) -> Vector:
        """The logarithm of the given C."""
        return np.log([self.C_of(self.likelihood)])

    @property
    def bounds(self) -> Matrix:
        """Bounds of ln C."""
        return self.likelihood.bounds

    @property
    def names(self) -> tuple[str, ...]:
        """The name of C."""
        return ("likelihood.C",)

    def model(self, theta: Vector) -> tuple[Kernel, Likelihood]:
        """Return the scaled kernel and the likelihood with the given C."""
        if np.shape(theta) != (1,):
            raise ValueError(f"theta: expected 1 logarithm (likelihood.C), found an array of shape {np.shape(theta)}")
        scale = float(self.C_of(self.likelihood) / np.exp(theta[0]))
        return scale * self.kernel.fix(), self.likelihood.with_theta(theta)

    def naive(self, theta: Vector, warm_start: Vector | None = None) -> Evaluation:
        """Return the evaluation without the normaliser."""
        theta = np.asarray(theta, dtype=float)
        kernel, likelihood = self.model(theta)
        K = kernel.gram(self.X)
        (y,) = self.outputs
        posterior, evidence = self.inference.infer(K, y, likelihood, warm_start=warm_start)
        rows = evidence.rows
        gradient = evidence.dphi - float(np.sum(evidence.dK * K[np.ix_(rows, rows)]))  # dK/dlnC = -K
        log_prior, prior_gradient = self.prior.log_density(theta, self.names)
        return Evaluation(theta, evidence.value + log_prior, gradient + prior_gradient, (posterior,), evidence)

    def _normalizer_gradient(self, theta: Vector, estimate: NormalizerEstimate) -> Vector:
        kernel, _ = self.model(theta)
        return np.array([estimate.dC - float(np.sum(estimate.dK * kernel.gram(self.nodes)))])


@dataclasses.dataclass(frozen=True)
class EvidenceCurve:
    r"""The evidence against C at a fixed product of C and the kernel: what Figure 2 of Sollich1999 shows.

    Attributes
    ----------
    C, naive, normalizer, error : arrays
        :math:`C`, :math:`\ln Q(D)`, :math:`\ln \overline{N^n}` and the Monte Carlo error of the latter.
    """

    C: Vector
    naive: Vector
    normalizer: Vector
    error: Vector

    @property
    def log_evidence(self) -> Vector:
        r"""Return :math:`\ln P(D) = \ln Q(D) - \ln \overline{N^n}`."""
        return self.naive - self.normalizer

    @property
    def best(self) -> float:
        """The C with the highest evidence on the grid."""
        return float(self.C[np.argmax(self.log_evidence)])

    @property
    def naive_best(self) -> float:
        """The C with the highest naive evidence on the grid."""
        return float(self.C[np.argmax(self.naive)])

    @property
    def interior(self) -> bool:
        """Whether the evidence has its maximum inside the range of C."""
        return 0 < int(np.argmax(self.log_evidence)) < self.C.size - 1

    def peak(self) -> float:
        """Return the C of the maximum, by a parabola through the highest point and its neighbours."""
        v, x = self.log_evidence, np.log(self.C)
        k = int(np.argmax(v))
        if not self.interior:
            return float(self.C[k])
        left, right = (v[k] - v[k - 1]) / (x[k] - x[k - 1]), (v[k + 1] - v[k]) / (x[k + 1] - x[k])
        middle = 0.5 * (x[k] + x[k - 1])
        step = 0.5 * (x[k + 1] - x[k - 1])
        return float(np.exp(middle + step * left / max(left - right, np.finfo(float).tiny)))


def evidence_curve(objective: FixedProductObjective, C: Vector, *, paths: int = 600) -> EvidenceCurve:
    """Return the evidence on a grid of C; the machine is solved once, and one population of draws serves all C."""
    naive = np.empty_like(C)
    latent: Vector | None = None
    for i, theta in enumerate(np.log(C)):
        evidence = objective.naive(theta[None], latent).evidence
        naive[i], latent = evidence.value, evidence.latent
    values, errors = _normalizers(objective, C, paths)
    return EvidenceCurve(np.asarray(C), naive, values, errors)


def evidence_fall(objective: FixedProductObjective, C: Vector, *, paths: int = 600) -> tuple[float, float]:
    """Return the fall of the evidence from the first to the last C of a grid, and the Monte Carlo error at the last.

    Only the normaliser needs the values in between, as steps of its population of draws.
    """
    first = objective.naive(np.log(C[:1])).evidence
    last = objective.naive(np.log(C[-1:]), first.latent).evidence
    values, errors = _normalizers(objective, C, paths)
    return float(first.value - values[0] - (last.value - values[-1])), float(errors[-1])


def _normalizers(objective: FixedProductObjective, C: Vector, paths: int) -> tuple[Vector, Vector]:
    """Return the normaliser and its error on a grid of C, zeros if there is none."""
    if objective.normalizer is None or objective.nodes is None:
        return np.zeros_like(C), np.zeros_like(C)
    C0 = objective.C_of(objective.likelihood)
    return normalizer_path(objective.normalizer, objective.kernel.gram(objective.nodes), C0, C, paths=paths)


#: Values of C per factor of e on which the evidence is first looked at.
DENSITY = 6.0


def maximize_over_C(objective: FixedProductObjective) -> Maximum:  # noqa: N802
    """Maximise over C alone, on a grid of its range."""
    began = time.perf_counter()
    low, high = objective.bounds[0]
    curve = evidence_curve(objective, np.exp(np.linspace(low, high, 2 + int(DENSITY * (high - low)))))
    theta = np.log([curve.peak()])
    value = float(np.max(curve.log_evidence))
    seconds = time.perf_counter() - began
    record = StartRecord(objective.theta0, theta, value, curve.C.size, SearchStatus.CONVERGED, seconds)
    return Maximum(theta, value, None, SearchStatus.CONVERGED, (record,))


@dataclasses.dataclass(frozen=True)
class HingeMaximum(Maximum):
    """A maximum with its objective, whose normaliser has as many draws as a final estimate asks for."""

    objective: HingeObjective = dataclasses.field(kw_only=True)

    @classmethod
    def of(cls, objective: HingeObjective, maximum: Maximum) -> HingeMaximum:
        """Return the maximum with its objective."""
        m = maximum
        return cls(m.theta, m.value, m.latent, m.status, m.history, objective=objective)

    @property
    def plain(self) -> Maximum:
        """The maximum alone."""
        return Maximum(self.theta, self.value, self.latent, self.status, self.history)


#: Share of the accuracy asked of the normaliser that is the least gain per parameter worth a step on guided paths.
BELOW_NOISE = 0.25
#: Largest overestimate of a maximum by too few draws, in nats, after which the search goes on from there alone.
LARGEST_OVERESTIMATE = 2.0


def maximize_normalized(
    maximizer: Maximizer, objective: HingeObjective, starts: Sequence[Vector], tol: float
) -> HingeMaximum:
    """Maximise with as many draws as ``tol`` nats ask for at the first start, and again if the end asks for more.

    The second time begins at the end of the first, and at all starts too if more draws lower the value at that end by
    more than ``LARGEST_OVERESTIMATE``.
    """
    if isinstance(objective, FixedProductObjective):
        maximum = maximize_over_C(objective)
    else:
        objective = objective.planned(starts[0], tol)
        maximum = maximize_evidence(_as_fine(maximizer, objective, tol), objective, starts, subsample=False)
        finer = objective.planned(maximum.theta, tol)
        if finer.cost > objective.cost:
            objective, first = finer, maximum
            overestimate = first.value - objective.evaluate(first.theta, first.latent).value
            begin = [first.theta] if overestimate <= LARGEST_OVERESTIMATE else [first.theta, *starts]
            maximum = maximize_evidence(_as_fine(maximizer, objective, tol), objective, begin, subsample=False)
            maximum = dataclasses.replace(maximum, history=first.history + maximum.history)
    return HingeMaximum.of(objective.planned(maximum.theta, tol, final=True), maximum)


def _as_fine(maximizer: Maximizer, objective: HingeObjective, tol: float) -> Maximizer:
    """Return the maximiser with a tolerance above the noise of guided paths.

    With plain draws the estimate is a smooth function, and the maximiser stays as it is.
    """
    if objective.normalizer is None or objective.normalizer.annealing.resample == 0.0:
        return maximizer
    return dataclasses.replace(maximizer, tol=max(maximizer.tol, BELOW_NOISE * tol))


#: Evaluations that each start may take on some of the samples before only the best goes on.
EXPLORATION = 50
#: Evaluations that the refinement on all samples may take: what is left to win there is of the size of the Monte Carlo
#: error.
REFINEMENT = 20


def maximize_through_part(
    maximizer: Maximizer, objective: HingeObjective, starts: Sequence[Vector], rows: Indices, tol: float
) -> HingeMaximum:
    """Maximise on some of the samples, then on all with a small budget.

    On some of the samples all starts search for a while, and the best of them to the end.
    """
    part = objective.part(rows)
    if np.unique(part.outputs[0]).size < 2:
        return maximize_normalized(maximizer, objective, starts, tol)
    brief = dataclasses.replace(maximizer, max_evaluations=min(EXPLORATION, maximizer.max_evaluations))
    explored = maximize_normalized(brief, part, starts, 2.0 * tol)
    best = maximize_normalized(maximizer, part, [explored.theta], 2.0 * tol)
    short = dataclasses.replace(maximizer, max_evaluations=min(REFINEMENT, maximizer.max_evaluations))
    maximum = maximize_normalized(short, objective, [best.theta], tol)
    capped = maximum.status is SearchStatus.LIMIT and short.max_evaluations < maximizer.max_evaluations
    status = best.status if capped else maximum.status
    history = explored.history + best.history + maximum.history
    return dataclasses.replace(maximum, status=status, history=history)


__all__ = [
    "EvidenceCurve",
    "FixedProductObjective",
    "HingeObjective",
    "evidence_curve",
    "evidence_fall",
    "maximize_normalized",
    "maximize_over_C",
    "maximize_through_part",
]
