r"""The hinge machine with its marginal set, exact to rounding.

The mode of :math:`\tfrac12 f^\top K^{-1} f + \sum_i c_i [1 - y_i f_i]_+` is the support vector machine without an
equality constraint; :math:`c_i = w_i C` with sample weights. With :math:`f = K a` and :math:`t = y a` a training point
is *inactive* (:math:`y f \ge 1` and :math:`t = 0`), *marginal* (:math:`y f = 1` and :math:`0 < t < c`) or *bounded*
(:math:`y f \le 1` and :math:`t = c`; Sollich1999, after (6)). Given the three sets F (marginal), B (bounded) and the
rest, the solution is one linear system, :math:`K_{FF}\, a_F = y_F - K_{FB}\, a_B`. The sets come from a warm start or
from the working-set solver; points that violate their conditions change sets until none does. So the evidence, which
depends on the marginal set, does not depend on a solver's tolerance.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm._core.working_set import DenseColumns
from bayesvm.exceptions import IncompatibleError, NotPositiveDefiniteError
from bayesvm.likelihoods.base import Likelihood
from bayesvm.likelihoods.dual import Dual
from bayesvm.likelihoods.hinge import Hinge
from bayesvm.linalg import cholesky
from bayesvm.solvers.base import Status
from bayesvm.solvers.newton import times
from bayesvm.solvers.working_set import WorkingSet
from bayesvm.typing import Indices, Matrix, Vector

#: Violation of a margin below which a point stays where it is.
EXACT = 1e-9
#: Rounds of changing sets before the working-set solver is asked.
ROUNDS = 12
#: Gaps that the working-set solver is asked for, one after the other, until its sets can be made exact.
GAPS = (1e-4, 1e-6, 1e-9)

INACTIVE, MARGINAL, BOUNDED = 0, 1, 2


@dataclasses.dataclass(frozen=True)
class HingeMode:
    r"""The solution and its sets."""

    #: Signed coefficients :math:`a = y t` and latent values :math:`f = K a`; shape (n,) each.
    alpha: Vector
    f: Vector
    bound: Vector  #: :math:`c_i`; shape (n,).
    slack: Vector  #: :math:`[1 - y_i f_i]_+`, exactly zero for marginal and inactive points; shape (n,).
    #: Row numbers of F and B.
    marginal: Indices
    bounded: Indices
    violation: float  #: Largest violation of the conditions on the margins.
    n_iter: int  #: Linear systems that were solved.
    status: Status  #: CONVERGED if the conditions hold to rounding; otherwise the working-set solver's.

    @property
    def share(self) -> Vector:
        """Coefficients as shares of their bounds, in [0, 1]: a warm start that stays right when C and K change."""
        return np.asarray(np.abs(self.alpha) / self.bound)


def hinge_bounds(y: Vector, likelihood: Likelihood) -> tuple[float, Vector]:
    """Return C and the bounds :math:`c_i = w_i C` of a hinge loss, or refuse another likelihood."""
    plain = likelihood.plain
    if not isinstance(plain, Hinge):
        raise IncompatibleError(f"the hinge machine cannot treat {type(plain).__name__}: it needs the likelihood Hinge")
    dual = likelihood.dual(y)
    assert dual is not None  # the hinge loss has one
    return plain.C, np.asarray(dual.upper - dual.lower)


def hinge_mode(K: Matrix, y: Vector, bound: Vector, *, warm_start: Vector | None = None) -> HingeMode:
    """Return the mode.

    Parameters
    ----------
    K : array, shape (n, n)
        Gram matrix, bias variance included.
    y : array, shape (n,)
        Labels -1 and +1.
    bound : array, shape (n,)
        Positive :math:`c_i`.
    warm_start : array, shape (n,), optional
        ``share`` of an earlier mode.
    """
    spent = 0
    if warm_start is not None:
        mode = _polished(K, y, bound, _sets(warm_start))
        if mode.status.ok:
            return mode
        spent = mode.n_iter
    begin = None if warm_start is None else np.clip(warm_start, 0.0, 1.0) * bound * y
    dual = Dual.margin(y, 1.0).weighted(bound)
    run = WorkingSet(tol=GAPS[0]).start(DenseColumns(np.ascontiguousarray(K)), dual, equality=False, start=begin)
    for gap in GAPS:
        run.sharpen(gap)
        result = run.finish()
        mode = _polished(K, y, bound, _sets(y * result.alpha / bound))
        spent += mode.n_iter
        if mode.status.ok:
            return dataclasses.replace(mode, n_iter=spent)
        if not result.status.ok:
            break
    rest = _assembled(y, bound, result.alpha, result.f, _sets(y * result.alpha / bound), spent)
    return dataclasses.replace(rest, status=result.status)


def _sets(share: Vector) -> Indices:
    """Return the set of every point, from coefficients as shares of their bounds."""
    return np.where(share <= 1e-12, INACTIVE, np.where(share >= 1.0 - 1e-12, BOUNDED, MARGINAL)).astype(np.intp)


def _polished(K: Matrix, y: Vector, bound: Vector, sets: Indices) -> HingeMode:
    """Solve for given sets and let points change sets until none violates its conditions, or rounds run out."""
    sets = sets.copy()
    scale = EXACT * max(1.0, float(np.sqrt(np.max(np.diagonal(K)))))
    for n_iter in range(1, ROUNDS + 1):
        alpha = _coefficients(K, y, bound, sets)
        f = times(K, alpha)
        margin, t = y * f, y * alpha
        fitted = bool(np.all(np.abs(margin[sets == MARGINAL] - 1.0) <= scale))
        low = (sets == MARGINAL) & (t <= 0.0)
        high = (sets == MARGINAL) & (t >= bound)
        enter = ((sets == INACTIVE) & (margin < 1.0 - scale)) | ((sets == BOUNDED) & (margin > 1.0 + scale))
        if fitted and not (np.any(low) or np.any(high) or np.any(enter)):
            return _assembled(y, bound, alpha, f, sets, n_iter)
        if not fitted:
            break
        sets[low], sets[high], sets[enter] = INACTIVE, BOUNDED, MARGINAL
    return dataclasses.replace(_assembled(y, bound, alpha, f, sets, n_iter), status=Status.STALLED)


def _coefficients(K: Matrix, y: Vector, bound: Vector, sets: Indices) -> Vector:
    """Return the coefficients for given sets; steps of refinement take away what a jitter leaves."""
    F, B = np.flatnonzero(sets == MARGINAL), np.flatnonzero(sets == BOUNDED)
    alpha = np.zeros_like(y)
    alpha[B] = bound[B] * y[B]
    if F.size:
        K_FF = K[np.ix_(F, F)]
        target = y[F] - times(K, alpha)[F]
        try:
            factor = cholesky(K_FF, jitter=True, what="the Gram matrix of the marginal points")
        except NotPositiveDefiniteError:
            return alpha
        a = factor.solve(target)
        for _ in range(3):
            a = a + factor.solve(target - K_FF @ a)
        alpha[F] = a
    return alpha


def _assembled(y: Vector, bound: Vector, alpha: Vector, f: Vector, sets: Indices, n_iter: int) -> HingeMode:
    F, B = np.flatnonzero(sets == MARGINAL), np.flatnonzero(sets == BOUNDED)
    slack = np.zeros_like(y)
    slack[B] = np.maximum(1.0 - (y * f)[B], 0.0)
    gaps = np.where(sets == MARGINAL, np.abs(y * f - 1.0), np.where(sets == BOUNDED, y * f - 1.0, 1.0 - y * f))
    return HingeMode(alpha, f, bound, slack, F, B, float(np.max(gaps)), n_iter, Status.CONVERGED)


__all__ = ["HingeMode", "hinge_bounds", "hinge_mode"]
