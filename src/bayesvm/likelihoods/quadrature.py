r"""Logarithms of :math:`\int e^{-\ell(t)}\, \mathcal N(t; m, v)\, dt` for a piecewise smooth loss.

The line is cut at the knots and at the ends of the domain. On each piece the exponent

.. math:: g(w) = -\ell(c + s w) - u_c w - w^2/2, \qquad s = \sqrt v,\quad u_c = (c-m)/s,

is smooth and concave in the standardised distance w from the anchor c. The anchor is the mean if the piece contains it
and the nearest end of the piece if not, so that neither a huge mean nor a tiny variance cancels: the part of the
exponent that does not depend on w, :math:`-u_c^2/2`, is set apart. A few safeguarded Newton steps come near the
maximum of g, a few more find where g has fallen by ``DROP`` on either side, and one Gauss-Legendre rule covers what
lies between. Pieces that cannot matter are dropped before the rule is applied.

:func:`gaussian_panels` makes the panels (nodes and logarithms of weights), :func:`log_sum_exp` reduces them;
:func:`log_gaussian_integral` is the two together.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesvm.typing import Indices, Matrix, Vector

if TYPE_CHECKING:
    from bayesvm.likelihoods.base import Derivatives

#: A panel ends where the integrand has fallen to exp(-DROP) of its maximum (or to at least exp(-1.5 DROP)).
DROP = 34.0
#: Samples treated at once: the nodes of a block stay within the cache.
BLOCK = 2048
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


@dataclasses.dataclass(frozen=True)
class _Rows:
    """One row per sample and piece: the exponent g on its piece, as a function of w."""

    profile: Profile
    sample: Indices
    scale: Vector  # s
    anchor: Vector  # c - origin
    u: Vector  # u_c
    low: Vector  # ends of the piece, in w
    high: Vector
    x_low: Vector  # ends of the piece as t - origin, moved inwards by one rounding unit
    x_high: Vector

    def take(self, rows: Indices) -> _Rows:
        """Return some of the rows."""
        parts = (self.scale, self.anchor, self.u, self.low, self.high, self.x_low, self.x_high)
        return _Rows(self.profile, self.sample[rows], *(p[rows] for p in parts))

    def x(self, w: Vector) -> Vector:
        """Return t - origin, strictly inside the piece."""
        return np.clip(self.anchor + self.scale * w, self.x_low, self.x_high)

    def exponent(self, w: Vector) -> tuple[Vector, Vector, Vector]:
        """Return g, g' and -g''."""
        p = self.profile(self.x(w))
        return (
            -p.loss - (self.u + 0.5 * w) * w,
            -self.scale * p.gradient - self.u - w,
            1.0 + self.scale**2 * p.curvature,
        )


def _inwards(end: float, direction: float) -> float:
    """Return the first number from ``end`` towards ``direction`` at which the loss can be relied on."""
    inside = float(np.nextafter(end, direction))
    return inside if abs(inside) > _EDGE else float(np.copysign(_EDGE, direction))


def _pieces(knots: Sequence[float], domain: tuple[float, float]) -> list[tuple[float, float]]:
    """Return the pieces of the line; one that starts where the loss is infinite is kept bounded."""
    low, high = domain
    ends = [low, *(k for k in knots if low < k < high), high]
    if np.isfinite(low) and ends[1] == np.inf:
        ends.insert(1, low + 1.0)
    if np.isfinite(high) and ends[-2] == -np.inf:
        ends.insert(-1, high - 1.0)
    return list(itertools.pairwise(ends))


def _rows(
    profile: Profile, pieces: list[tuple[float, float]], origin: float, mean: Vector, scale: Vector, sample: Indices
) -> _Rows:
    """Return the rows of all pieces, piece after piece."""
    columns: list[tuple[Vector, ...]] = []
    for low, high in pieces:
        c = np.clip(mean, low, high)
        ones = np.ones_like(mean)
        x_low, x_high = _inwards(low - origin, np.inf), _inwards(high - origin, -np.inf)
        columns.append(
            (scale, c - origin, (c - mean) / scale, (low - c) / scale, (high - c) / scale, x_low * ones, x_high * ones)
        )
    stacked = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    return _Rows(profile, np.tile(sample, len(pieces)), *stacked)


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


def _reach(rows: _Rows, w: Vector, top: Vector, slope: Vector, curvature: Vector, side: float) -> Vector:
    r"""Return how far from w, to the given side, g falls by DROP or the piece ends: there the panel ends.

    The fall :math:`D(r) = g(w) - g(w \pm r)` is convex with D(0) = 0. So a Newton step from a point beyond the root
    ends beyond the root, and :math:`r \cdot DROP / D(r)` ends short of it: a bracket, of which the geometric mean is
    tried next.
    """
    uphill = side * slope
    room = rows.high - w if side > 0.0 else w - rows.low
    root = np.sqrt(uphill**2 + 2.0 * DROP)
    # The Gaussian alone makes g fall by DROP within this reach.
    reach = np.where(uphill > 0.0, uphill + root, 2.0 * DROP / np.where(uphill > 0.0, 1.0, root - uphill))
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


def gaussian_panels(
    profile: Profile,
    knots: Sequence[float],
    domain: tuple[float, float],
    mean: Vector,
    var: Vector,
    *,
    origin: float = 0.0,
) -> Panels:
    """Return panels that integrate :math:`e^{-loss}` times mild functions under each Gaussian; all ``var`` positive.

    See :func:`log_gaussian_integral` for the parameters.
    """
    scale = np.sqrt(var)
    rows = _rows(profile, _pieces(knots, domain), origin, mean, scale, np.arange(mean.size))
    with np.errstate(over="ignore"):
        base = -0.5 * rows.u**2 - _HALF_LOG_2PI
    w, top, slope, curvature = _near_maximum(rows)
    # The integral over a piece is at most e^(bound + 4), a panel being no wider than 2 sqrt(2 DROP); and at least about
    # e^bound times the width over which g changes by a unit.
    bound = base + top
    best = np.full(mean.size, -np.inf)
    width = 1.0 / (np.sqrt(curvature) + np.abs(slope) + 1.0 / np.maximum(rows.high - rows.low, 1e-300))
    np.maximum.at(best, rows.sample, bound + np.log(width))
    keep = np.flatnonzero((bound + 4.0 >= best[rows.sample] - DROP) & (rows.high > rows.low))
    rows, base = rows.take(keep), base[keep]
    w, top, slope, curvature = w[keep], top[keep], slope[keep], curvature[keep]
    left = _reach(rows, w, top, slope, curvature, -1.0)
    right = _reach(rows, w, top, slope, curvature, 1.0)
    half = 0.5 * (left + right)
    nodes = (w + 0.5 * (right - left))[:, None] + half[:, None] * _NODES
    x = np.clip(rows.anchor[:, None] + rows.scale[:, None] * nodes, rows.x_low[:, None], rows.x_high[:, None])
    log_weight = -(rows.u[:, None] + 0.5 * nodes) * nodes + (np.log(half)[:, None] + _LOG_WEIGHTS)
    return Panels(rows.sample, base, log_weight, x, rows.u[:, None] + nodes)


def log_sum_exp(panels: Panels, log_factor: Matrix, n: int) -> Vector:
    r"""Return, for each of n samples, :math:`\ln \sum e^{a + b + \text{log\_factor}}` over its rows and nodes."""
    terms = panels.log_weight + log_factor
    top = np.max(terms, axis=1)
    row = panels.base + top + np.log(np.sum(np.exp(terms - top[:, None]), axis=1))
    best = np.full(n, -np.inf)
    np.maximum.at(best, panels.sample, row)
    best_or_zero = np.where(np.isfinite(best), best, 0.0)
    total = np.zeros(n)
    np.add.at(total, panels.sample, np.exp(row - best_or_zero[panels.sample]))
    with np.errstate(divide="ignore"):
        return np.asarray(best_or_zero + np.log(total))


def check_gaussians(mean: Vector, var: Vector) -> None:
    """Raise ``ValueError`` unless the means are finite and the variances finite and not negative."""
    good = np.isfinite(mean)
    if not np.all(good):
        raise ValueError(f"mean: expected finite numbers, found {float(mean[~good].flat[0])}")
    good = (var >= 0.0) & (var < np.inf)
    if not np.all(good):
        raise ValueError(f"var: expected non-negative variances, found {float(var[~good].flat[0])}")


def log_gaussian_integral(
    profile: Profile,
    knots: Sequence[float],
    domain: tuple[float, float],
    mean: Vector,
    var: Vector,
    *,
    origin: float = 0.0,
) -> Vector:
    r"""Return :math:`\ln \int e^{-\ell(t)}\, \mathcal N(t; m, v)\, dt` for vectors of means and variances.

    Parameters
    ----------
    profile : callable
        Maps an array of :math:`x = t - \text{origin}` to the loss with its derivatives; the loss must be convex on each
        piece.
    knots : sequence of float
        Increasing points t between which the loss is smooth at the scale of the rule.
    domain : pair of float
        Open interval on which the loss is finite.
    mean, var : arrays of one shape
        Parameters of the Gaussians; a variance of zero gives minus the loss at the mean.
    origin : float
        The point from which ``profile`` measures t; the end of the domain where the loss is infinite, if there is one,
        so that distances from it are exact.

    Returns
    -------
    array of the shape of ``mean``
        Right to about 1e-12, or to rounding where the logarithm itself is huge.
    """
    check_gaussians(mean, var)
    shape = mean.shape
    mean, var = np.ravel(mean), np.ravel(var)
    out = np.empty(mean.size)
    spread = np.flatnonzero(var > 0.0)
    point = np.flatnonzero(var == 0.0)
    out[point] = -profile(mean[point] - origin).loss
    for start in range(0, spread.size, BLOCK):
        part = spread[start : start + BLOCK]
        panels = gaussian_panels(profile, knots, domain, mean[part], var[part], origin=origin)
        out[part] = log_sum_exp(panels, -profile(panels.x).loss, part.size)
    return out.reshape(shape)


__all__ = ["Panels", "check_gaussians", "gaussian_panels", "log_gaussian_integral", "log_sum_exp"]
