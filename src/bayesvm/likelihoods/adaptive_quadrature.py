r"""Quadrature panels under Gaussians, cut to where a piecewise smooth density has its weight.

The line is cut at the knots and at the ends of the domain. On each piece, with an anchor c in it, the exponent

.. math:: g(w) = -\ell(c + s w) - u_c w - w^2/2, \qquad s = \sqrt v,\quad u_c = (c-m)/s,

is smooth and concave in the standardised distance w from the anchor. The anchor is the mean if the piece contains it and the
nearest end of the piece if not; it moves to an end of the piece if the maximum of g turns out to lie there. So neither a huge
mean nor a tiny or huge variance cancels: the part of the exponent that does not depend on w, :math:`-u_c^2/2`, is set apart.

A few safeguarded Newton steps come near the maximum of g, a few more find where g has fallen by ``DROP`` on either side, and
one Gauss-Legendre rule covers what lies between. Pieces that cannot matter are dropped early.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesvm.typing import Indices, Matrix, Vector

if TYPE_CHECKING:
    from bayesvm.likelihoods.base import Derivatives

#: A panel ends where the integrand has fallen to exp(-DROP) of its maximum (or to at least exp(-1.5 DROP)).
DROP = 34.0
#: Distance from an infinite loss that still counts as inside; its third power is a normal number.
_EDGE = 1e-100
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
_LOG_WEIGHTS = np.log(_WEIGHTS)
_HALF_LOG_2PI = 0.5 * np.log(2.0 * np.pi)

Profile = Callable[[Vector], "Derivatives"]


@dataclasses.dataclass(frozen=True)
class Panels:
    r"""Quadrature panels: :math:`\int \phi(t)\, \mathcal N(t; m_i, v_i)\, dt = \sum e^{a + b}\, \phi(t)`.

    The sum runs over the rows that belong to sample i and over all their nodes.

    Attributes
    ----------
    sample : array, shape (rows,)
        The sample to which each row belongs.
    base : array, shape (rows,)
        a, the part of the logarithm of the weights that a row has in common; may be huge.
    log_weight : array, shape (rows, nodes)
        b, the remaining part.
    x : array, shape (rows, nodes)
        Nodes, measured from the origin: :math:`t = \text{origin} + x`.
    u : array, shape (rows, nodes)
        Nodes in standard units, :math:`(t - m)/\sqrt v`.
    """

    sample: Indices
    base: Vector
    log_weight: Matrix
    x: Matrix
    u: Matrix


@dataclasses.dataclass
class _Rows:
    """One row per sample and piece: the exponent g on its piece, as a function of w."""

    profile: Profile
    origin: float
    sample: Indices
    mean: Vector
    scale: Vector
    start: Vector  # ends of the piece, in t
    end: Vector
    c: Vector  # anchor, in t

    def __post_init__(self) -> None:
        self.u = (self.c - self.mean) / self.scale
        self.low, self.high = (self.start - self.c) / self.scale, (self.end - self.c) / self.scale
        # the loss is evaluated strictly inside the piece, where its derivatives are those of the piece
        low, high = np.nextafter(self.start - self.origin, np.inf), np.nextafter(self.end - self.origin, -np.inf)
        self._x_low = np.where(np.abs(low) < _EDGE, _EDGE, low)
        self._x_high = np.where(np.abs(high) < _EDGE, -_EDGE, high)

    def take(self, rows: Indices) -> _Rows:
        """Return some of the rows."""
        return self.anchored(rows, self.c[rows])

    def anchored(self, rows: Indices, c: Vector) -> _Rows:
        """Return some of the rows with new anchors."""
        parts = (self.sample[rows], self.mean[rows], self.scale[rows], self.start[rows], self.end[rows])
        return _Rows(self.profile, self.origin, *parts, c)

    def x(self, w: Vector) -> Vector:
        """Return t - origin for w of shape (rows,) or (nodes, rows)."""
        return np.clip((self.c - self.origin) + self.scale * w, self._x_low, self._x_high)

    def exponent(self, w: Vector) -> tuple[Vector, Vector, Vector]:
        """Return g, g' and -g''."""
        p = self.profile(self.x(w))
        g = -p.loss - (self.u + 0.5 * w) * w
        return g, -self.scale * p.gradient - self.u - w, 1.0 + self.scale**2 * p.curvature


def _cut(
    profile: Profile, knots: Sequence[float], domain: tuple[float, float], mean: Vector, scale: Vector, origin: float
) -> _Rows:
    """Return the rows of all pieces, piece after piece; one that starts at an infinite loss is kept bounded."""
    low, high = domain
    ends = [low, *(k for k in knots if low < k < high), high]
    if np.isfinite(low) and ends[1] == np.inf:
        ends.insert(1, low + 1.0)
    if np.isfinite(high) and ends[-2] == -np.inf:
        ends.insert(-1, high - 1.0)
    n, pieces = mean.size, len(ends) - 1
    start, end = np.repeat(ends[:-1], n), np.repeat(ends[1:], n)
    mean, scale = np.tile(mean, pieces), np.tile(scale, pieces)
    return _Rows(profile, origin, np.tile(np.arange(n), pieces), mean, scale, start, end, np.clip(mean, start, end))


def _near_maximum(rows: _Rows, steps: int = 60) -> Matrix:
    """Return w near the maximum of g (within half a unit of g) with g, g' and -g'' there, as four rows.

    g' falls at least as fast as -w, so that the maximum lies between the anchor and the anchor plus g', and g is within
    g'^2/2 of it. Newton steps alternate with geometric bisection, since the scale of w is not known.
    """
    state = np.stack([np.zeros_like(rows.scale), *rows.exponent(np.zeros_like(rows.scale))])  # w, g, g', -g''
    best = state.copy()
    slope = state[2]
    left, right = np.clip(np.minimum(slope, 0.0), rows.low, 0.0), np.clip(np.maximum(slope, 0.0), 0.0, rows.high)
    active = np.flatnonzero(np.abs(slope) * np.minimum(right - left, 0.5 * np.abs(slope)) > 0.5)
    for step in range(steps):
        if active.size == 0:
            break
        a, b, at = left[active], right[active], state[0, active]
        trial = np.clip(at + state[2, active] / state[3, active], a, b)
        outer, inner = np.maximum(np.abs(a), np.abs(b)), np.minimum(np.abs(a), np.abs(b))
        middle = np.copysign(np.sqrt(np.maximum(inner, 1e-16 * outer) * outer), a + b)
        trial = np.where((trial == at) | (step % 2 == 1), middle, trial)
        found = np.stack([trial, *rows.take(active).exponent(trial)])
        state[:, active] = found
        best[:, active] = np.where(found[1] > best[1, active], found, best[:, active])
        slope = found[2]
        left[active], right[active] = np.where(slope >= 0.0, trial, a), np.where(slope <= 0.0, trial, b)
        gap = np.abs(slope) * np.minimum(right[active] - left[active], 0.5 * np.abs(slope))
        active = active[gap > 0.5]
    return best


def _best_rows(rows: _Rows) -> tuple[_Rows, Matrix]:
    """Return the rows that can matter, well anchored, with the result of :func:`_near_maximum`."""
    state = _near_maximum(rows)
    _, top, slope, curvature = state
    # The integral over a piece is at most e^(bound + 4), a panel being no wider than 2 sqrt(2 DROP), and at least about
    # e^bound times the width over which g changes by a unit.
    bound = top - 0.5 * rows.u**2
    least = bound - np.log(np.sqrt(curvature) + np.abs(slope) + 1.0 / np.maximum(rows.high - rows.low, 1e-300))
    best = np.full(int(np.max(rows.sample, initial=-1)) + 1, -np.inf)
    np.maximum.at(best, rows.sample, least)
    keep = np.flatnonzero((bound + 4.0 >= best[rows.sample] - DROP) & (rows.high > rows.low))
    state, rows = state[:, keep], rows.take(keep)
    w = state[0]
    end = np.where(w < 0.0, rows.start, rows.end)
    room = np.where(w < 0.0, w - rows.low, rows.high - w)
    moved = np.flatnonzero(np.isfinite(end) & (w != 0.0) & (room < 0.5 * np.abs(w)))
    if moved.size:
        c = rows.c.copy()
        c[moved] = end[moved]
        rows = rows.anchored(np.arange(c.size), c)
        state[:, moved] = _near_maximum(rows.take(moved))
    return rows, state


def _reach(rows: _Rows, state: Matrix, side: float) -> Vector:
    r"""Return how far from w, to the given side, g falls by DROP or the piece ends: there the panel ends.

    The fall :math:`D(r) = g(w) - g(w \pm r)` is convex with D(0) = 0. So a Newton step from a point beyond the root ends
    beyond the root, and :math:`r \cdot DROP / D(r)` ends short of it: a bracket, of which the geometric mean is tried next.
    """
    w, top, slope, curvature = state
    uphill = side * slope
    room = rows.high - w if side > 0.0 else w - rows.low
    root = np.sqrt(uphill**2 + 2.0 * DROP)
    # The Gaussian alone makes g fall by DROP within this reach.
    reach: Vector = np.where(uphill > 0.0, uphill + root, 2.0 * DROP / np.where(uphill > 0.0, 1.0, root - uphill))
    reach = np.minimum(reach, room)
    trial = np.minimum(reach, np.sqrt(2.0 * DROP / curvature) + np.maximum(uphill, 0.0))
    trial = np.where(reach == room, reach, trial)
    short = np.zeros_like(reach)
    active = np.flatnonzero(reach > 0.0)
    for _ in range(40):
        if active.size == 0:
            break
        r = trial[active]
        g, gradient, _ = rows.take(active).exponent(w[active] + side * r)
        fall, rate = top[active] - g, -side * gradient
        beyond = fall >= DROP
        reach[active] = np.where(beyond, r, reach[active])
        safe = beyond & (rate > 0.0)
        newton = r - (fall - DROP) / np.where(safe, rate, 1.0)
        lower = np.where(beyond, r * DROP / np.where(beyond, fall, 1.0), r)
        upper = np.where(safe, np.clip(newton, lower, r), reach[active])
        short[active] = np.maximum(short[active], np.minimum(lower, upper))
        trial[active] = np.sqrt(short[active] * upper)
        reach[active] = np.where(safe, upper, reach[active])
        at_end = ~beyond & (r >= reach[active])
        done = at_end | (beyond & (fall <= 1.5 * DROP)) | (reach[active] <= 1.2 * short[active])
        active = active[~done]
    return reach


@np.errstate(over="ignore")  # a squared distance beyond 1e308 is as good as infinite
def gaussian_panels(
    profile: Profile,
    knots: Sequence[float],
    domain: tuple[float, float],
    mean: Vector,
    var: Vector,
    *,
    origin: float = 0.0,
) -> Panels:
    """Return panels that integrate exp(-loss) times mild functions under each Gaussian; all variances positive.

    See :func:`~bayesvm.likelihoods.quadrature.log_gaussian_integral` for the parameters.
    """
    rows, state = _best_rows(_cut(profile, knots, domain, mean, np.sqrt(var), origin))
    left, right = _reach(rows, state, -1.0), _reach(rows, state, 1.0)
    half = 0.5 * (left + right)
    w = (state[0] + 0.5 * (right - left)) + half * _NODES[:, None]
    log_weight = -(rows.u + 0.5 * w) * w + (np.log(half) + _LOG_WEIGHTS[:, None])
    return Panels(rows.sample, -0.5 * rows.u**2 - _HALF_LOG_2PI, log_weight.T, rows.x(w).T, (rows.u + w).T)


__all__ = ["DROP", "Panels", "Profile", "gaussian_panels"]
