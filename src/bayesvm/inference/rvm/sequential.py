r"""Sequential maximisation of the evidence of a relevance vector machine: add, re-estimate, delete.

Seen from one basis function, with all others as they are, the evidence as a function of its precision a is

.. math:: \tfrac12 \Bigl[ \ln \frac{a}{a + s} + \frac{q^2}{a + s} \Bigr] + \text{const}

with the scores s and q of :class:`~bayesvm.inference.rvm.problem.Scores` (Tipping2003). If :math:`q^2 > s` it has its
maximum at :math:`a = s^2/(q^2 - s)`, otherwise at infinity: the function drops out. In the coordinates of
:mod:`~bayesvm.inference.rvm.problem` an active function is to be deleted if
:math:`v_i^2 \le \Sigma_{ii} (1 - \Sigma_{ii})`.

Problem: maximise :math:`\ln Z` over all precisions, infinity included, and over the parameters of the likelihood.
Method: from the empty model (or a given one), add the function with the largest gain; re-estimate all active precisions
by :math:`a_i \leftarrow a_i (1 - \Sigma_{ii})/v_i^2` and, after the first few additions, the noise by a scaled gradient
step; delete what should be infinite; repeat. Before the end the active precisions and the noise are brought to
convergence together, by Newton steps with the exact gradient and deletions between them. A change is kept only if the
evidence rises: for a loss that is not quadratic the gains are approximate, which can change the order of additions, not
where they end. A change is refused where the Hessian of the weights cannot be factored (priors wider than the digits of
the inner products). Stop: no addition promises more than ``tol`` nats, and the active precisions have converged.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.inference.rvm.gaussian import GaussianRVM
from bayesvm.inference.rvm.laplace import LaplaceRVM
from bayesvm.inference.rvm.problem import RVMProblem, RVMState, basis_cotangent
from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg.eigen import symmetric_eigen
from bayesvm.solvers.base import Status, require
from bayesvm.typing import Indices, Matrix, Vector

#: A function of which the active ones leave less than this share adds nothing but rounding errors.
INSIDE = 1e-10
#: Functions whose squared cosine is this close to one are the same function.
SAME = 1e-10
#: Re-estimations after an addition; largest change of a logarithm in one of them.
SWEEPS, LEAP = 2, 3.0
#: Newton steps at the end, the largest of them (in a logarithm), and the least curvature (nats per unit squared) used.
NEWTON, STRIDE, FLAT = 60, 2.0, 1e-7
#: Gradient (nats per unit of a logarithm) at which they end.
SMALL = 1e-8
#: Gradient below which steps that no longer halve it are rounding errors.
ROUNDING = 1e-5
#: Additions to the empty model during which the noise stays as given: what the first few functions leave is not noise.
HOLD = 10


@dataclasses.dataclass(frozen=True)
class RVMStart:
    """From where to begin: active functions, logarithms of their precisions and of the likelihood's parameters."""

    active: Indices
    log_precision: Vector
    phi: Vector


@dataclasses.dataclass(frozen=True)
class RVMResult:
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
    def start(self) -> RVMStart:
        """From where a later search at neighbouring basis functions may begin."""
        return RVMStart(self.active, np.log(self.precision), self.likelihood.theta)


@dataclasses.dataclass(frozen=True)
class SequentialRVM:
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
        require("a relevance vector machine", likelihood, smoothness=2, convex=True)

    def maximize(self, basis: Matrix, y: Vector, likelihood: Likelihood, start: RVMStart | None = None) -> RVMResult:
        """Maximise the evidence over precisions and the likelihood's parameters.

        Parameters
        ----------
        basis : array, shape (n, k)
            All basis functions at the training inputs, one per column.
        y : array, shape (n,)
            Labels -1/+1 or targets.
        likelihood : Likelihood
            Its free parameters are learnt.
        start : RVMStart, optional
            The optimum for a similar basis. The evidence has many local optima in the precisions: the start decides
            which of them is followed.
        """
        self.check(likelihood)
        problem: RVMProblem = (GaussianRVM if likelihood.traits.quadratic else LaplaceRVM)(basis, y, likelihood)
        if start is None:
            start = RVMStart(np.empty(0, dtype=np.intp), np.empty(0), likelihood.theta)
        state, status, rounds = self._search(problem, _first(problem, start))
        order = np.argsort(state.active, kind="stable")
        covariance = state.covariance / state.root[:, None] / state.root
        return RVMResult(
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

    def _search(self, problem: RVMProblem, state: RVMState) -> tuple[RVMState, Status, int]:
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
                state, settled = _converged(problem, state), True
                continue
            rounds += 1
            active = np.append(state.active, best)
            logs = np.clip(np.append(state.log_precision, np.log(precision[best])), *problem.log_bounds(active).T)
            grown = _state(problem, active, logs, state.phi, np.append(state.weights, 0.0))
            if grown is None:
                tried[best] = True
                continue
            for _ in range(SWEEPS):
                grown = _pruned(problem, _reestimated(problem, grown, noise=rounds > hold))
            if grown.value > state.value + 0.1 * self.tol:
                state, settled = grown, False
                tried[:] = False
            else:
                tried[best] = True
        return state, Status.MAX_ITER, rounds


def _first(problem: RVMProblem, start: RVMStart) -> RVMState:
    """Return the state at a start, or that of no functions if it cannot be computed."""
    logs = np.clip(start.log_precision, *problem.log_bounds(start.active).T)
    found = _state(problem, start.active, logs, start.phi, None)
    return found or problem.state(start.active[:0], logs[:0], start.phi)


def _state(problem: RVMProblem, active: Indices, logs: Vector, phi: Vector, weights: Vector | None) -> RVMState | None:
    """Return the state, or None where it cannot be computed."""
    try:
        return problem.state(active, logs, phi, weights)
    except NotPositiveDefiniteError:
        return None


def _additions(problem: RVMProblem, state: RVMState) -> tuple[Vector, Vector]:
    """Return the gain in nats that each inactive function promises, and the precision at which it is reached."""
    found = problem.scores(state)
    square = found.q**2
    usable = (found.s > INSIDE * found.norm) & (square > found.s) & (found.alignment < 1.0 - SAME)
    usable[state.active] = False
    s, square = np.where(usable, found.s, 1.0), np.where(usable, square, 2.0)
    gain = np.where(usable, 0.5 * ((square - s) / s + np.log(s / square)), 0.0)
    return gain, np.where(usable, s * s / (square - s), np.inf)


def _reestimated(problem: RVMProblem, state: RVMState, *, noise: bool) -> RVMState:
    """Return the state after one re-estimation of precisions and (if ``noise``) likelihood, if the evidence rises."""
    m = state.active.size
    determined = np.maximum(1.0 - np.diagonal(state.covariance), 1e-300)
    with np.errstate(divide="ignore"):
        change = np.clip(np.log(determined) - np.log(state.v**2), -LEAP, LEAP)
    logs = np.clip(state.log_precision + change, *problem.log_bounds(state.active).T)
    # n/2 is the information about the logarithm of a noise variance
    step = np.clip(state.gradient[m:] / (0.5 * problem.size), -LEAP, LEAP) if noise else 0.0
    phi = np.clip(state.phi + step, problem.phi_bounds[:, 0], problem.phi_bounds[:, 1])
    new = _state(problem, state.active, logs, phi, state.weights)
    return new if new is not None and new.value > state.value else state


def _pruned(problem: RVMProblem, state: RVMState) -> RVMState:
    """Return the state without the functions whose precision has its optimum at infinity, if the evidence agrees."""
    while state.active.size:
        Sigma = np.diagonal(state.covariance)
        surplus = state.v**2 - Sigma * (1.0 - Sigma)
        worst = int(np.argmin(surplus))
        if surplus[worst] > 0.0:
            break
        keep = np.arange(state.active.size) != worst
        smaller = _state(problem, state.active[keep], state.log_precision[keep], state.phi, state.weights[keep])
        if smaller is None or smaller.value < state.value:
            break
        state = smaller
    return state


def _converged(problem: RVMProblem, state: RVMState) -> RVMState:
    """Return the state with all active precisions and the likelihood's parameters at their joint optimum.

    Newton's method to the last digits, so that equal data in another order, form or unit give the same machine. The
    Hessian is a model of it plus a correction, which is zero as long as steps halve the gradient, and else what the
    exact Hessian adds to the model. A function whose precision is on its way to infinity is deleted as soon as that
    does not cost evidence.
    """
    state, correction, last = _pruned(problem, state), np.empty((0, 0)), np.inf
    for _ in range(NEWTON):
        free = _free(problem, state)
        size = float(np.max(np.abs(state.gradient[free]), initial=0.0))
        slow = size > 0.5 * last
        if size < SMALL or (slow and size < ROUNDING and correction.size):
            break
        new, correction = _step(problem, state, free, correction, exact=slow)
        if new is None:
            break
        state, last = _pruned(problem, new), size
    return state


def _step(
    problem: RVMProblem, state: RVMState, free: NDArray[np.bool_], correction: Matrix, *, exact: bool
) -> tuple[RVMState | None, Matrix]:
    """Return the state after a Newton step (None if there is none uphill) and the correction of the Hessian it used.

    The correction is computed if ``exact`` or if no step with the given one succeeds; one of another size is dropped.
    """
    model = problem.hessian_model(state)
    if not exact:
        correction = correction if correction.shape == model.shape else np.empty((0, 0))
        new = _newton(problem, state, free, model + correction if correction.size else model)
        if new is not None:
            return new, correction
    correction = problem.hessian(state) - model
    return _newton(problem, state, free, model + correction), correction


def _bounds(problem: RVMProblem, state: RVMState) -> Matrix:
    return np.concatenate([problem.log_bounds(state.active), problem.phi_bounds])


def _free(problem: RVMProblem, state: RVMState) -> NDArray[np.bool_]:
    """Return which logarithms can move uphill: not those at a bound beyond which the evidence would rise."""
    x, (low, high) = np.concatenate([state.log_precision, state.phi]), _bounds(problem, state).T
    return np.asarray(~((x <= low) & (state.gradient < 0.0) | (x >= high) & (state.gradient > 0.0)))


def _newton(problem: RVMProblem, state: RVMState, free: NDArray[np.bool_], H: Matrix) -> RVMState | None:
    """Return the state after one step uphill in the free logarithms; None if no step raises the evidence."""
    part = H[np.ix_(free, free)]
    values, vectors = symmetric_eigen(0.5 * (part + part.T))
    step = np.zeros(free.size)
    step[free] = vectors @ ((state.gradient[free] @ vectors) / np.maximum(np.abs(values), FLAT))
    step /= max(1.0, float(np.max(np.abs(step))) / STRIDE)
    slack = 1e-14 * (1.0 + abs(state.value))
    x, (low, high), m = np.concatenate([state.log_precision, state.phi]), _bounds(problem, state).T, state.active.size
    for t in (1.0, 0.3, 0.1, 0.03, 0.01, 1e-3):
        z = np.clip(x + t * step, low, high)
        new = _state(problem, state.active, z[:m], z[m:], state.weights)
        if new is not None and new.value >= state.value + 1e-4 * float(state.gradient @ (z - x)) - slack:
            return new
    return None


__all__ = ["RVMResult", "RVMStart", "SequentialRVM"]
