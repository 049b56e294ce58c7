r"""Semismooth Newton for the mode.

With the residual :math:`r = \alpha + \ell'(f)`, :math:`f = K \alpha`, the Newton step on :math:`r = 0` is

.. math:: \Delta\alpha = -(I + W K)^{-1} r = -(r - R K r), \qquad W = \ell''(f), \quad R = (K + W^{-1})^{-1},

where R is defined on the points with curvature (:class:`~bayesvm.linalg.support_factor.SupportFactor`). A line search
on the convex :math:`S(f)` makes it global; a step to an infinite loss is rejected like any other that does not lower S.

Where the loss has straight parts (beyond the zones of an insensitive loss) :math:`W = 0` there, and the step, which
knows nothing of the bends ahead, can be far too long. After such a step, and after a warm start far from the mode, the
next one takes the majorant of the loss (:meth:`~bayesvm.likelihoods.base.Likelihood.majorant`) for W.
Should such a search stall, by rounding with a Gram matrix of 1e10 say, it is repeated without majorants.

Three things keep the number of factorisations small.

* A warm start is a vector of latent values f, not of coefficients. The first step,
  :math:`\alpha = (I + W K)^{-1} (W f - \ell'(f))`, needs no :math:`f = K \alpha`; when the Gram matrix has changed
  since f was found, this is the first-order prediction of the new mode along the change.
* Once a full step was taken and the residual is small, further steps use the same factor (chord steps: two
  matrix-vector products), mixed (:mod:`bayesvm.solvers.anderson`), as long as each divides the residual by five or more
  (``CHORD_GAIN``).
* The products with K touch only the rows whose coefficient changes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from bayesvm._core import mode as native
from bayesvm._core.gram import rows_times
from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.likelihoods.base import Derivatives, Likelihood
from bayesvm.likelihoods.native import NativeLoss, native_loss
from bayesvm.likelihoods.weighted import Weighted
from bayesvm.linalg import SupportFactor
from bayesvm.linalg.support_factor import B_NAME
from bayesvm.solvers.anderson import AndersonMixer
from bayesvm.solvers.base import MAPResult, Solver, Status
from bayesvm.typing import Matrix, Vector


class Iterate(Protocol):
    """What a line search reads of an iterate: S, the residual of the optimality conditions, and its relative size."""

    @property
    def objective(self) -> float: ...  # noqa: D102

    @property
    def residual(self) -> Matrix: ...  # noqa: D102

    @property
    def kkt(self) -> float: ...  # noqa: D102


P = TypeVar("P", bound=Iterate)


@dataclasses.dataclass(frozen=True)
class _Point:
    """An iterate: coefficients, latent values, objective, derivatives of the loss, and how often each point occurs."""

    alpha: Vector
    f: Vector
    objective: float
    d: Derivatives
    copies: Vector | float

    @property
    def residual(self) -> Vector:
        return self.alpha + self.d.gradient

    @property
    def kkt(self) -> float:
        """Residual per occurrence, so that weighted and repeated points are solved to the same digit."""
        scale = max(1.0, float(np.max(np.abs(self.d.gradient) / self.copies)))
        return float(np.max(np.abs(self.residual) / self.copies)) / scale


class _Progress:
    """Knows what S and the residual were when they last made progress."""

    def __init__(self, point: _Point) -> None:
        self._objective, self._kkt, self._steps = point.objective, point.kkt, 0

    def ended(self, point: _Point) -> bool:
        """Whether steps go on without any."""
        rounding = 1e-14 * (1.0 + abs(self._objective))
        if point.objective < self._objective - rounding or point.kkt < 0.5 * self._kkt:
            self._objective, self._kkt, self._steps = point.objective, point.kkt, 0
        else:
            self._steps += 1
        return self._steps >= STEPS_WITHOUT_PROGRESS


@dataclasses.dataclass(frozen=True)
class Newton(Solver):
    """Semismooth Newton with line search, warm start and chord steps.

    Parameters
    ----------
    tol : float
        Relative KKT residual at which the mode counts as found.
    max_iter : int
        Largest number of factorisations; a few suffice, but weights of many orders of magnitude take hundreds.
    """

    needs_smoothness: ClassVar[int] = 1
    needs_convex: ClassVar[bool] = True

    tol: float = 1e-9
    max_iter: int = 400

    def solve(self, K: Matrix, y: Vector, likelihood: Likelihood, *, warm_start: Vector | None = None) -> MAPResult:
        """Return the mode; see :meth:`bayesvm.solvers.base.Solver.solve`.

        Losses that native code knows are treated there, in the same steps.
        """
        self.check(likelihood)
        loss = native_loss(likelihood)
        if loss is None:
            return self.solve_in_numpy(K, y, likelihood, warm_start=warm_start)
        return native_mode(native.newton(K, y, *self.native_arguments(y, likelihood, loss, warm_start)), lambda: K)

    def native_arguments(
        self, y: Vector, likelihood: Likelihood, loss: NativeLoss, warm_start: Vector | None
    ) -> tuple[Any, ...]:
        """Return what native code is given besides the covariance and the targets."""
        weights, copies = _EMPTY, _EMPTY
        if isinstance(likelihood, Weighted):
            weights, copies = likelihood.checked(y.size), likelihood.copies
        start = _EMPTY if warm_start is None else np.ascontiguousarray(warm_start)
        return loss.kind, loss.parameters, weights, copies, start, self.tol, self.max_iter

    def solve_in_numpy(
        self, K: Matrix, y: Vector, likelihood: Likelihood, *, warm_start: Vector | None = None
    ) -> MAPResult:
        """Return the mode, step by step in NumPy: for losses that native code does not know, and as its reference."""
        first, helped = self._search(K, y, likelihood, warm_start, 0, majorants=True)
        if not (first.status is Status.STALLED and helped and first.n_iter < self.max_iter):
            return first
        return self._search(K, y, likelihood, warm_start, first.n_iter, majorants=False)[0]

    def _search(
        self, K: Matrix, y: Vector, likelihood: Likelihood, warm_start: Vector | None, spent: int, *, majorants: bool
    ) -> tuple[MAPResult, bool]:
        """Return the end of the steps, with majorants or without, and whether some step took one."""
        point, begun = _start(K, y, likelihood, warm_start, self.tol)
        n_iter, helped = spent + begun, False
        far = majorants and warm_start is not None and point.kkt > FAR
        status = Status.CONVERGED
        progress = _Progress(point)
        while point.kkt > self.tol:
            if n_iter >= self.max_iter:
                status = Status.MAX_ITER
                break
            W = likelihood.majorant(likelihood.argument(y, point.f)) if far else point.d.curvature
            factor = SupportFactor.of(K, W)
            n_iter, helped = n_iter + 1, helped or far
            new, full = _line_search(K, y, likelihood, point, _newton_direction(K, factor, point.residual))
            if new is None and not far:
                status = Status.STALLED
                break
            if new is not None:
                point = _chord_steps(K, y, likelihood, new, factor, self.tol) if full and not far else new
            far = majorants and new is not None and not full
            if progress.ended(point) and point.kkt > self.tol:
                status = Status.STALLED
                break
        return MAPResult(-point.d.gradient, point.f, point.objective, point.d, point.kkt, n_iter, status), helped


def native_mode(found: tuple[Any, ...], gram: Callable[[], Matrix]) -> MAPResult:
    """Return what native code found; ``gram`` returns the Gram matrix, for a message about it."""
    ending, order, n_iter, objective, kkt, f, *d = found
    if ending is native.Ending.NOT_POSITIVE_DEFINITE:
        reason = "is not positive definite" if np.all(np.isfinite(gram())) else "contains non-finite values"
        raise NotPositiveDefiniteError(f"{B_NAME} ({order} x {order}) {reason}")
    derivatives = Derivatives(*d)
    return MAPResult(-derivatives.gradient, f, objective, derivatives, kkt, n_iter, Status[ending.name])


def times(K: Matrix, x: Vector) -> Vector:
    """Return K x for a symmetric K, touching only the rows where x is not zero."""
    rows = np.flatnonzero(x)
    return K @ x if rows.size > 0.7 * x.size else rows_times(K, rows, x[rows])


def _newton_direction(K: Matrix, factor: SupportFactor, residual: Vector) -> Vector:
    """Return -(I + W K)^-1 r."""
    direction = -residual
    direction[factor.support] += factor.apply(times(K, residual)[factor.support])
    return direction


def _point(y: Vector, likelihood: Likelihood, alpha: Vector, f: Vector) -> _Point:
    d = likelihood.derivatives(y, f)
    return _Point(alpha, f, float(0.5 * (alpha @ f) + np.sum(d.loss)), d, likelihood.copies)


def _start(K: Matrix, y: Vector, likelihood: Likelihood, warm_start: Vector | None, tol: float) -> tuple[_Point, int]:
    """Return the first iterate and the number of factorisations spent on it."""
    zero = _point(y, likelihood, np.zeros_like(y), np.zeros_like(y))
    if warm_start is None:
        return zero, 0
    d = likelihood.derivatives(y, warm_start)
    if not np.all(np.isfinite(d.loss)):
        return zero, 0
    target = d.curvature * warm_start - d.gradient
    factor = SupportFactor.of(K, d.curvature)
    alpha = -_newton_direction(K, factor, target)
    f = times(K, alpha)
    for shrink in (1.0, 0.9, 0.7, 0.5, 0.25):
        point = _point(y, likelihood, shrink * alpha, shrink * f)
        if point.objective < zero.objective:
            return _chord_steps(K, y, likelihood, point, factor, tol), 1
    return zero, 1


def _line_search(
    K: Matrix, y: Vector, likelihood: Likelihood, point: _Point, direction: Vector
) -> tuple[_Point | None, bool]:
    """Return a lower point along the direction (None if there is none) and whether it is the full step."""
    Kd = times(K, direction)
    return line_search(point, Kd, lambda t: _point(y, likelihood, point.alpha + t * direction, point.f + t * Kd))


def line_search(point: P, Kd: Matrix, at: Callable[[float], P]) -> tuple[P | None, bool]:
    """Return a lower point along a direction (None if there is none) and whether it is the full step.

    The full step is taken if it lowers S enough. Otherwise the minimum of S along the direction, a convex function of
    one number, is bracketed by the sign of its slope, first by factors of ten: with a large Gram matrix and a loss that
    is straight almost everywhere the full step can be too long by many orders of magnitude. Costs no product with K.

    Parameters
    ----------
    point : Iterate
        Where the search begins.
    Kd : array
        K times the direction, of the shape of the residual.
    at : callable
        Returns the iterate after a step of the given length along the direction.
    """
    slope = float(np.vdot(point.residual, Kd))  # dS/dt at t = 0
    rounding = 1e-14 * (1.0 + abs(point.objective))
    t, low, high = 1.0, 0.0, 1.0
    best: P | None = None
    for _ in range(LINE_STEPS):
        new = at(t)
        ahead = float(np.vdot(new.residual, Kd)) if np.isfinite(new.objective) else np.inf
        if new.objective <= point.objective + 1e-4 * t * slope + rounding and (
            new.objective < point.objective - rounding or new.kkt < point.kkt
        ):
            best = new
            if t == 1.0 or abs(ahead) <= 0.1 * abs(slope):
                break
        low, high = (t, high) if ahead < 0.0 else (low, t)
        if low >= high:
            break
        t = 0.1 * high if low == 0.0 else float(np.sqrt(low * high)) if low < 0.1 * high else 0.5 * (low + high)
    return best, t == 1.0


def _chord_steps(
    K: Matrix, y: Vector, likelihood: Likelihood, point: _Point, factor: SupportFactor, tol: float
) -> _Point:
    """Repeat steps with the factor at hand as long as they pay.

    They are mixed: that the curvatures of the factor are not those at the point slows few combinations of coefficients
    down, and mixing takes these out.
    """
    mixer = AndersonMixer(CHORD_DEPTH)

    def step(point: _Point) -> _Point:
        image = point.alpha + _newton_direction(K, factor, point.residual)
        change = mixer.next(point.alpha, image, 1.0) - point.alpha  # small, and so is the rounding of its product
        return _point(y, likelihood, point.alpha + change, point.f + times(K, change))

    return chord_steps(point, step, tol)


def chord_steps(point: P, step: Callable[[P], P], tol: float) -> P:
    """Repeat full steps with the factor at hand while each divides the residual by CHORD_GAIN or more."""
    while POLISH * tol < point.kkt < CHORD_FROM:
        new = step(point)
        if not CHORD_GAIN * new.kkt < point.kkt:
            break
        point = new
    return point


_EMPTY = np.empty(0)
#: Largest number of points that a line search looks at.
LINE_STEPS = 50

#: Steps after which S must have fallen by more than rounding, or the residual to a half; less is noise, and steps of
#: that kind would go on to the last.
STEPS_WITHOUT_PROGRESS = 25

#: Residual from which on the first step after a warm start takes the majorant.
FAR = 0.3

#: A chord step costs about a third of a Newton step: it pays from this residual on, if it divides it by this much.
CHORD_FROM = 0.1
CHORD_GAIN = 5.0
#: Earlier chord steps that mixing looks at.
CHORD_DEPTH = 4
#: Chord steps go on to this share of the tolerance: differences of evidences show the error of a mode.
POLISH = 0.01

__all__ = ["Iterate", "Newton", "chord_steps", "line_search", "native_mode", "times"]
