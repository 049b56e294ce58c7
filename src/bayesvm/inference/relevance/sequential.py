r"""Sequential maximisation of the evidence of a relevance vector machine: add, re-estimate, delete.

Seen from one basis function, with all others as they are, the evidence as a function of its precision a is

.. math:: \tfrac12 \Bigl[ \ln \frac{a}{a + s} + \frac{q^2}{a + s} \Bigr] + \text{const}

with the scores s and q of :class:`~bayesvm.inference.relevance.problem.Scores` (Tipping2003). If :math:`q^2 > s` it has its maximum at
:math:`a = s^2/(q^2 - s)`, otherwise at infinity: the function drops out. In the coordinates of
:mod:`~bayesvm.inference.relevance.problem` an active function is to be deleted if :math:`v_i^2 \le \Sigma_{ii} (1 - \Sigma_{ii})`.

Problem: maximise :math:`\ln Z` over all precisions, infinity included, and over the parameters of the likelihood.
Method: from the empty model (or a given one), add the function with the largest gain; re-estimate all active precisions by
:math:`a_i \leftarrow a_i (1 - \Sigma_{ii})/v_i^2` and, after the first few additions, the noise by a scaled gradient step; delete what should be infinite; repeat. Before the end the active
precisions and the noise are brought to convergence together, by quasi-Newton steps with the exact gradient. Every change is kept
only if the evidence rises: for a loss that is not quadratic the gains are approximate, which can mislead the order, not the end.
Stop: no addition promises more than ``tol`` nats, and the active precisions have converged.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy.optimize import minimize

from bayesvm.exceptions import IncompatibleError
from bayesvm.inference.relevance.problem import RelevanceProblem, State, basis_cotangent
from bayesvm.inference.relevance.quadratic import QuadraticProblem
from bayesvm.inference.relevance.rows import RowsProblem
from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg.eigen import symmetric_eigen
from bayesvm.solvers.base import Status
from bayesvm.typing import Indices, Matrix, Vector

#: Logarithms of precisions stay within this distance of zero.
WIDEST = 60.0
#: A function of which the active ones leave less than this share adds nothing but rounding errors.
INSIDE = 1e-10
#: Functions whose squared cosine is this close to one are the same function.
SAME = 1e-10
#: Re-estimations after an addition; largest change of a logarithm in one of them; quasi-Newton steps at the end.
SWEEPS, LEAP, STEPS = 2, 3.0, 50
#: Newton steps after them, and the least curvature (nats per squared unit) that they take for real.
NEWTON, FLAT = 12, 1e-5
#: Gradient (nats per unit of a logarithm) at which they end.
SMALL = 1e-8
#: Additions to the empty model during which the noise stays as given: what the first few functions leave is not noise.
HOLD = 10


@dataclasses.dataclass(frozen=True)
class RelevanceStart:
    """From where to begin: active functions, logarithms of their precisions, logarithms of the likelihood's parameters."""

    active: Indices
    log_precision: Vector
    phi: Vector


@dataclasses.dataclass(frozen=True)
class Relevance:
    r"""A relevance vector machine at an optimum of its evidence.

    Attributes
    ----------
    active : array of int, shape (m,)
        Columns of the basis with a finite precision, increasing.
    precision : array, shape (m,)
        Their precisions (Tipping's :math:`\alpha_i`, the thesis' :math:`A_i`).
    weights : array, shape (m,)
        Posterior means of their weights.
    covariance : array, shape (m, m)
        Posterior covariance of the weights.
    likelihood : Likelihood
        With its learnt parameters.
    log_evidence : float
        :math:`\ln P(D | a, \phi)`.
    cotangent : array, shape (n, m)
        Its derivative in the active columns of the basis.
    status : Status
        Whether the search ended by its own rule.
    n_iter : int
        Additions that were tried.
    """

    active: Indices
    precision: Vector
    weights: Vector
    covariance: Matrix
    likelihood: Likelihood
    log_evidence: float
    cotangent: Matrix
    status: Status
    n_iter: int

    @property
    def start(self) -> RelevanceStart:
        """From where a later search at neighbouring basis functions may begin."""
        return RelevanceStart(self.active, np.log(self.precision), self.likelihood.theta)


@dataclasses.dataclass(frozen=True)
class SequentialRelevance:
    """Options of the sequential maximisation.

    Parameters
    ----------
    tol : float
        Gain in nats that an addition must promise.
    max_iter : int
        Largest number of additions that are tried.
    """

    tol: float = 1e-2
    max_iter: int = 1000

    def check(self, likelihood: Likelihood) -> None:
        """Refuse losses without a second derivative everywhere."""
        if not (likelihood.traits.convex and likelihood.traits.smoothness >= 2):
            raise IncompatibleError(
                f"a relevance vector machine cannot treat {type(likelihood).__name__}: it needs a convex loss with a "
                "continuous second derivative"
            )

    def maximize(
        self, basis: Matrix, y: Vector, likelihood: Likelihood, start: RelevanceStart | None = None
    ) -> Relevance:
        """Maximise the evidence over precisions and the likelihood's parameters.

        Parameters
        ----------
        basis : array, shape (n, k)
            All basis functions at the training inputs, one per column.
        y : array, shape (n,)
            Labels -1/+1 or targets.
        likelihood : Likelihood
            Its free parameters are learnt.
        start : RelevanceStart, optional
            The optimum for a similar basis. The evidence has many local optima in the precisions: the start decides which
            of them is followed.
        """
        self.check(likelihood)
        problem: RelevanceProblem = (QuadraticProblem if likelihood.traits.quadratic else RowsProblem)(
            basis, y, likelihood
        )
        if start is None:
            start = RelevanceStart(np.empty(0, dtype=np.intp), np.empty(0), likelihood.theta)
        state, status, rounds = self._search(problem, problem.state(start.active, start.log_precision, start.phi))
        order = np.argsort(state.active, kind="stable")
        covariance = state.covariance / state.root[:, None] / state.root
        return Relevance(
            state.active[order],
            np.exp(state.log_precision[order]),
            state.weights[order],
            covariance[np.ix_(order, order)],
            likelihood.with_theta(state.phi),
            state.value,
            basis_cotangent(problem, state)[:, order],
            status,
            rounds,
        )

    def _search(self, problem: RelevanceProblem, state: State) -> tuple[State, Status, int]:
        """Add, re-estimate and delete until nothing promises a gain."""
        tried = np.zeros(problem.basis.shape[1], dtype=bool)
        hold = 0 if state.active.size else HOLD
        settled = False
        rounds = 0
        while rounds < self.max_iter:
            gain, precision = _additions(problem, state)
            gain[tried] = 0.0
            best = int(np.argmax(gain))
            if gain[best] <= self.tol:
                if settled:
                    return state, Status.CONVERGED, rounds
                state, settled = _pruned(problem, _converged(problem, state)), True
                continue
            rounds += 1
            new = np.clip(np.log(precision[best]), -WIDEST, WIDEST)
            grown = problem.state(
                np.append(state.active, best),
                np.append(state.log_precision, new),
                state.phi,
                np.append(state.weights, 0.0),
            )
            for _ in range(SWEEPS):
                grown = _pruned(problem, _reestimated(problem, grown, noise=rounds > hold))
            if grown.value > state.value + 0.1 * self.tol:
                state, settled = grown, False
                tried[:] = False
            else:
                tried[best] = True
        return state, Status.MAX_ITER, rounds


def _additions(problem: RelevanceProblem, state: State) -> tuple[Vector, Vector]:
    """Return the gain in nats that each inactive function promises, and the precision at which it is reached."""
    found = problem.scores(state)
    square = found.q**2
    usable = (found.s > INSIDE * found.norm) & (square > found.s) & (found.alignment < 1.0 - SAME)
    usable[state.active] = False
    s, square = np.where(usable, found.s, 1.0), np.where(usable, square, 2.0)
    gain = np.where(usable, 0.5 * ((square - s) / s + np.log(s / square)), 0.0)
    return gain, np.where(usable, s * s / (square - s), np.inf)


def _reestimated(problem: RelevanceProblem, state: State, *, noise: bool) -> State:
    """Return the state after one re-estimation of precisions and (if ``noise``) likelihood, unless the evidence would fall."""
    m = state.active.size
    determined = np.maximum(1.0 - np.diagonal(state.covariance), 1e-300)
    with np.errstate(divide="ignore"):
        change = np.clip(np.log(determined) - np.log(state.v**2), -LEAP, LEAP)
    logs = np.clip(state.log_precision + change, -WIDEST, WIDEST)
    # n/2 is the information about the logarithm of a noise variance
    step = np.clip(state.gradient[m:] / (0.5 * problem.size), -LEAP, LEAP) if noise else 0.0
    phi = np.clip(state.phi + step, problem.phi_bounds[:, 0], problem.phi_bounds[:, 1])
    new = problem.state(state.active, logs, phi, state.weights)
    return new if new.value > state.value else state


def _pruned(problem: RelevanceProblem, state: State) -> State:
    """Return the state without the functions whose precision has its optimum at infinity, as far as the evidence agrees."""
    while state.active.size:
        Sigma = np.diagonal(state.covariance)
        surplus = state.v**2 - Sigma * (1.0 - Sigma)
        worst = int(np.argmin(surplus))
        if surplus[worst] > 0.0:
            break
        keep = np.arange(state.active.size) != worst
        smaller = problem.state(state.active[keep], state.log_precision[keep], state.phi, state.weights[keep])
        if smaller.value < state.value:
            break
        state = smaller
    return state


def _converged(problem: RelevanceProblem, state: State) -> State:
    """Return the state with all active precisions and the likelihood's parameters at their joint optimum.

    Quasi-Newton steps lead near it; a few Newton steps, to the last digits, so that
    equal data in another order or form give the same machine.
    """
    m = state.active.size
    if m + state.phi.size == 0:
        return state
    bounds = np.concatenate([np.tile([-WIDEST, WIDEST], (m, 1)), problem.phi_bounds])
    best = state

    def at(x: Vector) -> State:
        return problem.state(state.active, x[:m], x[m:], best.weights)

    def cost(x: Vector) -> tuple[float, Vector]:
        nonlocal best
        here = at(x)
        if here.value > best.value:
            best = here
        return -here.value, -here.gradient

    options: dict[str, Any] = {"maxiter": STEPS, "ftol": 1e-6, "gtol": 1e-3}
    minimize(cost, _point(state), jac=True, method="L-BFGS-B", bounds=bounds, options=options)  # type: ignore[call-overload]
    for _ in range(NEWTON):
        x, g = _point(best), best.gradient
        size = float(np.max(np.abs(g)))
        if size < SMALL:
            break
        H = problem.hessian(best)
        values, vectors = symmetric_eigen(0.5 * (H + H.T))
        step = vectors @ ((g @ vectors) / np.maximum(np.abs(values), FLAT))
        step /= max(1.0, float(np.max(np.abs(step))))
        new = at(np.clip(x + step, bounds[:, 0], bounds[:, 1]))
        if new.value < best.value - 1e-11 * (1.0 + abs(best.value)):
            new = at(np.clip(x + 0.2 * step, bounds[:, 0], bounds[:, 1]))
            if new.value < best.value:
                break
        best = new
        if size < 1e-4 and float(np.max(np.abs(new.gradient))) > 0.1 * size:
            break  # rounding is all that is left
    return best


def _point(state: State) -> Vector:
    return np.concatenate([state.log_precision, state.phi])


__all__ = ["Relevance", "RelevanceStart", "SequentialRelevance"]
