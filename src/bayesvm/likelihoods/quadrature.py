r"""Integrals under Gaussians :math:`t \sim \mathcal N(m, v)` by rules of Gauss and Legendre, for many m and v at once.

:func:`fixed_rule` and :func:`moving_rule` give those of functions that are smooth between two points: by nodes that all
samples share, where the Gaussians are wide, or by nodes that cover what lies within reach of each mean.
:mod:`~bayesvm.likelihoods.averages` puts them together for functions that are smooth between several points.

:func:`density_nodes` gives nodes for the densities :math:`\hat p(t) \propto e^{-w\ell(t)}\, \mathcal N(t; m, v)` and
the logarithms of their normalisers. The loss must be convex on each piece between its knots. There, with an anchor c,

.. math:: g(r) = -w\,\ell(c + s r) - u_c r - r^2/2, \qquad s = \sqrt v,\quad u_c = (c-m)/s,

is smooth and concave in the standardised distance r from the anchor. The anchor is the mean if the piece contains it
and the nearest end of the piece if not; it moves to an end of the piece if the maximum of g turns out to lie there. So
neither a huge mean nor a tiny or huge variance cancels: what does not depend on r is set apart. A few safeguarded
Newton steps come near the maximum of g, a few more find where g has fallen by :data:`DROP` on either side, and one rule
covers what lies between, the panel. Pieces that cannot matter are dropped early. Where the loss becomes infinite and w
is below one, :math:`e^{-w\ell}` is a power of the distance from there that no polynomial is near: nodes are graded.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayesvm.likelihoods.normal_tails import density
from bayesvm.typing import Indices, Matrix, Vector

if TYPE_CHECKING:
    from bayesvm.likelihoods.base import Derivatives, Likelihood

#: Maps points of any shape to the values of one or several functions, stacked along a new first axis.
Functions = Callable[[Vector], Matrix]
Profile = Callable[[Vector], "Derivatives"]
Rule = tuple[Vector, Vector]

#: Integrands count down to exp(-DROP) of their maximum (a panel may end where they have fallen to exp(-1.5 DROP)).
DROP = 34.0
#: Standard deviations beyond which a Gaussian does not count.
REACH = float(np.sqrt(2.0 * DROP))
#: Rules, and the half-widths, in standard deviations, up to which they resolve a Gaussian to 1e-15 of its height.
RULES: tuple[Rule, ...] = tuple(np.polynomial.legendre.leggauss(count) for count in (24, 40))
WIDTHS = (4.5, 8.0)
NODES, WEIGHTS = RULES[-1]
#: With powers below one a panel that ends at an infinite loss is split: NEAR of its width is next to that end, with
#: nodes at the GRADE-th powers of those of the rule on (0, 1). Then any power of the distance from the end is resolved.
NEAR, GRADE = 0.125, 6
SHARES = 0.5 * (1.0 + NODES)
#: Distance from an infinite loss that still counts as inside; its third power is a normal number.
EDGE = 1e-100
#: Samples treated at once: the nodes of a block stay within the cache.
BLOCK = 1024
ROOT_2PI = float(np.sqrt(2.0 * np.pi))


def in_blocks(function: Callable[..., Matrix], *arrays: Vector) -> Matrix:
    """Return ``function`` of vectors of one length, which keeps their last axis, computed block by block."""
    n = arrays[0].size
    if n <= BLOCK:
        return function(*arrays)
    return np.concatenate([function(*(a[i : i + BLOCK] for a in arrays)) for i in range(0, n, BLOCK)], axis=-1)


def check_gaussians(mean: Vector, var: Vector) -> None:
    """Raise ``ValueError`` unless the means are finite and the variances finite and not negative."""
    good = np.isfinite(mean)
    if not np.all(good):
        raise ValueError(f"mean: expected finite numbers, found {float(mean[~good].flat[0])}")
    good = (var >= 0.0) & (var < np.inf)
    if not np.all(good):
        raise ValueError(f"var: expected finite non-negative variances, found {float(var[~good].flat[0])}")


def by_variance(integral: Callable[[Vector, Vector], Matrix], value: Functions, mean: Vector, var: Vector) -> Matrix:
    """Return ``integral(mean, var)`` where the variance is positive and ``value(mean)`` where it is zero."""
    spread = np.flatnonzero(var)
    if spread.size == var.size:
        return integral(mean, var)
    found = value(mean)
    found[..., spread] = integral(mean[spread], var[spread])
    return found


# -- averages of functions --------------------------------------------------------------------------------------------
def fixed_rule(values: Matrix, x: Vector, mean: Vector, scale: Vector, moments: int) -> Matrix:
    """Return the integrals by nodes x common to all samples, ``values`` being the functions there times the weights.

    As many rows as there are ``moments`` follow: those of the last function times the powers of u = (t - m)/s.
    """
    u = np.subtract.outer(x, mean)
    u /= scale
    bell = u * u
    bell *= -0.5
    np.exp(bell, out=bell)
    rows = [values @ bell]
    for _ in range(moments):
        bell *= u
        rows.append(values[-1:] @ bell)
    return np.asarray(np.concatenate(rows) / (ROOT_2PI * scale))


def moving_rule(
    functions: Functions, rule: Rule, a: Vector | float, b: Vector | float, mean: Vector, scale: Vector, moments: int
) -> Matrix:
    """Return the same from a to b by nodes on what lies within reach of the means."""
    low, high = np.maximum((a - mean) / scale, -REACH), np.minimum((b - mean) / scale, REACH)
    half = 0.5 * (high - low)
    u = half * rule[0][:, None]
    u += low + half
    bell = density(u)
    bell *= half
    bell *= rule[1][:, None]
    values = functions(_inside(u, mean, scale, np.nextafter(a, np.inf), np.nextafter(b, -np.inf)))
    rows = [np.einsum("fij,ij->fj", values, bell)]
    for _ in range(moments):
        bell *= u
        rows.append(np.einsum("ij,ij->j", values[-1], bell)[None])
    return np.concatenate(rows)


def _inside(r: Vector, at: Vector, scale: Vector, low: Vector | float, high: Vector | float) -> Vector:
    """Return at + scale r, kept between the ends."""
    x = scale * r
    x += at
    np.maximum(x, low, out=x)
    return np.minimum(x, high, out=x)


# -- densities --------------------------------------------------------------------------------------------------------
@dataclasses.dataclass(frozen=True)
class PiecewiseLoss:
    """A loss that is convex, and smooth at the scale of a rule, between its increasing knots; finite within the domain.

    ``profile`` and ``loss`` map an array of x = t - origin to the loss with its derivatives, and to the loss alone. The
    origin is the end of the domain where the loss is infinite, if there is one, so that distances from it are exact.
    """

    profile: Profile
    loss: Callable[[Vector], Vector]
    knots: Sequence[float]
    domain: tuple[float, float]
    origin: float

    @classmethod
    def of(cls, likelihood: Likelihood) -> PiecewiseLoss:
        """Return the loss of a likelihood."""
        functions = likelihood.shifted_profile, likelihood.shifted_loss
        return cls(*functions, likelihood.knots, likelihood.domain, likelihood.origin)


@dataclasses.dataclass(frozen=True)
class DensityNodes:
    r"""Nodes under the densities :math:`\hat p(t) \propto e^{-w\ell(t)}\, \mathcal N(t; m, v)`, one column per panel.

    Attributes
    ----------
    sample : array, shape (panels,)
        The sample to which each panel belongs.
    x, r : arrays, shape (nodes, panels)
        Nodes, measured from the origin of the loss, and in standard deviations from a point of the panel, the centre.
    height : array, shape (nodes, panels)
        The density at the nodes, as a part of its maximum over the panel; times the derivative of their positions where
        they are not those of the rule.
    factor, centre : arrays, shape (panels,)
        What turns sums over the rule into integrals under the density; the distance of the centre from the mean in
        standard deviations.
    log_z : array, shape (n,)
        The logarithm of :math:`\int e^{-w\ell(t)}\, \mathcal N(t; m, v)\, dt`.
    """

    sample: Indices
    x: Matrix
    r: Matrix
    height: Matrix
    factor: Vector
    centre: Vector
    log_z: Vector

    def average(self, values: Matrix) -> Matrix:
        """Return the averages of functions given at the nodes, shape (p, nodes, panels)."""
        return np.array([self._sums(self.factor * (WEIGHTS @ (self.height * function))) for function in values])

    def moments(self) -> tuple[Vector, Vector]:
        """Return mean and variance of (t - m)/s."""
        share = self.factor * (WEIGHTS @ self.height)
        product = self.height * self.r
        first = WEIGHTS @ product * self.factor / share
        product *= self.r
        second = WEIGHTS @ product * self.factor / share - first * first
        panel = self.centre + first
        mean = self._sums(share * panel)
        return mean, self._sums(share * (second + (panel - mean[self.sample]) ** 2))

    def _sums(self, panels: Vector) -> Vector:
        """Return the sums over the panels of each sample."""
        return np.asarray(np.bincount(self.sample, panels, self.log_z.size), dtype=float)


@np.errstate(over="ignore")  # a squared distance beyond 1e308 is as good as infinite
def density_nodes(loss: PiecewiseLoss, mean: Vector, var: Vector, power: Vector | None = None) -> DensityNodes:
    """Return nodes that integrate mild functions under the densities; variances are positive, ``power`` is w or one."""
    scale = np.sqrt(var)
    nearest = np.clip(mean, *loss.domain)
    offset = (nearest - mean) / scale
    rows, state = _best_rows(_Rows.all(loss, mean, scale, nearest, power), offset)
    panels = _panels(rows, state[0], *_reach(rows, state))
    rows, graded = rows if panels.row is None else rows.take(panels.row), panels.graded
    r = panels.width * SHARES[:, None]
    r[:, graded] = panels.width[graded] * SHARES[:, None] ** GRADE
    r += panels.start
    x = _inside(r, *rows.local[:4])
    height = -0.5 * r
    height -= rows.u
    height *= r
    height -= loss.loss(x) if power is None else rows.power * loss.loss(x)
    top = np.max(height, axis=0)
    height -= top
    np.exp(height, out=height)
    height[:, graded] *= GRADE * SHARES[:, None] ** (GRADE - 1)
    mass = WEIGHTS @ height
    level = top + np.log(0.5 * np.abs(panels.width) * mass) + rows.base(offset)
    best = np.full(mean.size, -np.inf)
    np.maximum.at(best, rows.sample, level)
    share = np.exp(level - best[rows.sample])
    total = np.bincount(rows.sample, share, mean.size)
    r -= panels.centre
    log_z = best + np.log(total / ROOT_2PI) - 0.5 * offset**2
    return DensityNodes(rows.sample, x, r, height, share / (mass * total[rows.sample]), rows.u + panels.centre, log_z)


class _Rows:
    """One row per sample and piece: the exponent g on the piece, as a function of r.

    The table has the rows m, s, the point of the domain nearest to m, w, the ends of the piece and the anchor.
    """

    def __init__(self, loss: PiecewiseLoss, sample: Indices, table: Matrix) -> None:
        self.loss, self.sample, self.table = loss, sample, table
        mean, self.scale, nearest, self.power, self.start, self.end, anchor = table
        self.u, self.shift = (anchor - mean) / self.scale, (anchor - nearest) / self.scale
        self.low, self.high = (self.start - anchor) / self.scale, (self.end - anchor) / self.scale
        # the loss is evaluated strictly inside the piece, where its derivatives are those of the piece
        low, high = np.nextafter(self.start - loss.origin, np.inf), np.nextafter(self.end - loss.origin, -np.inf)
        low, high = np.where(np.abs(low) < EDGE, EDGE, low), np.where(np.abs(high) < EDGE, -EDGE, high)
        self.at = anchor - loss.origin
        self.local = np.array([self.at, self.scale, low, high, self.u, self.power])

    @classmethod
    def all(cls, loss: PiecewiseLoss, mean: Vector, scale: Vector, nearest: Vector, power: Vector | None) -> _Rows:
        """Return the rows of all pieces, piece after piece; one that starts at an infinite loss is kept bounded."""
        low, high = loss.domain
        ends = [low, *(k for k in loss.knots if low < k < high), high]
        if np.isfinite(low) and ends[1] == np.inf:
            ends.insert(1, low + 1.0)
        if np.isfinite(high) and ends[-2] == -np.inf:
            ends.insert(-1, high - 1.0)
        n, pieces = mean.size, len(ends) - 1
        table = np.empty((7, pieces, n))
        table[:4] = np.array([mean, scale, nearest, np.ones(n) if power is None else power])[:, None]
        table[4], table[5] = np.reshape(ends[:-1], (-1, 1)), np.reshape(ends[1:], (-1, 1))
        table[6] = np.clip(mean, table[4], table[5])
        return cls(loss, np.tile(np.arange(n), pieces), table.reshape(7, -1))

    def take(self, rows: Indices) -> _Rows:
        """Return some of the rows."""
        return _Rows(self.loss, self.sample[rows], self.table[:, rows])

    def base(self, offset: Vector) -> Vector:
        """Return the Gaussian exponent at the anchors minus that at the point of the domain nearest to the mean."""
        return np.asarray(-self.shift * (offset[self.sample] + 0.5 * self.shift))

    def exponent(self, r: Vector, rows: Indices | slice = slice(None)) -> Matrix:
        """Return r, g, g' and -g'' as four rows, for all rows or some."""
        at, scale, low, high, u, power = self.local[:, rows]
        p = self.loss.profile(_inside(r, at, scale, low, high))
        steep = scale * power
        g, slope = -power * p.loss - (u + 0.5 * r) * r, -steep * p.gradient - u - r
        return np.array([r, g, slope, 1.0 + steep * scale * p.curvature])


def _near_maximum(rows: _Rows, steps: int = 60) -> Matrix:
    """Return r near the maximum of g (within half a unit of g) with g, g' and -g'' there, as four rows.

    g' falls at least as fast as -r, so that the maximum lies between the anchor and the anchor plus g', and g is within
    g'^2/2 of it. Newton steps alternate with geometric bisection, since the scale of r is not known.
    """
    state = rows.exponent(np.zeros_like(rows.scale))
    slope = state[2]
    left, right = np.minimum(np.maximum(slope, rows.low), 0.0), np.maximum(np.minimum(slope, rows.high), 0.0)
    active = np.flatnonzero(np.abs(slope) * np.minimum(right - left, 0.5 * np.abs(slope)) > 0.5)
    best = state.copy()
    for step in range(steps):
        if active.size == 0:
            break
        a, b, at = left[active], right[active], state[0, active]
        trial = np.clip(at + state[2, active] / state[3, active], a, b)
        outer, inner = np.maximum(np.abs(a), np.abs(b)), np.minimum(np.abs(a), np.abs(b))
        middle = np.copysign(np.sqrt(np.maximum(inner, 1e-16 * outer) * outer), a + b)
        found = rows.exponent(np.where((trial == at) | (step % 2 == 1), middle, trial), active)
        state[:, active] = found
        best[:, active] = np.where(found[1] > best[1, active], found, best[:, active])
        trial, slope = found[0], found[2]
        left[active], right[active] = np.where(slope >= 0.0, trial, a), np.where(slope <= 0.0, trial, b)
        gap = np.abs(slope) * np.minimum(right[active] - left[active], 0.5 * np.abs(slope))
        active = active[gap > 0.5]
    return best


def _best_rows(rows: _Rows, offset: Vector) -> tuple[_Rows, Matrix]:
    """Return the rows that can matter, well anchored, with the result of :func:`_near_maximum`."""
    state = _near_maximum(rows)
    _, top, slope, curvature = state
    # The integral over a piece is at most e^(bound + 4), a panel being no wider than 2 sqrt(2 DROP), and at least about
    # e^bound times the width over which g changes by a unit.
    bound = top + rows.base(offset)
    least = bound - np.log(np.sqrt(curvature) + np.abs(slope) + 1.0 / np.maximum(rows.high - rows.low, 1e-300))
    best = np.full(offset.size, -np.inf)
    np.maximum.at(best, rows.sample, least)
    keep = np.flatnonzero((bound + 4.0 >= best[rows.sample] - DROP) & (rows.high > rows.low))
    state, rows = state[:, keep], rows.take(keep)
    r = state[0]
    end = np.where(r < 0.0, rows.start, rows.end)
    room = np.where(r < 0.0, r - rows.low, rows.high - r)
    # an anchor that is not far away costs no digits, neither of the nodes nor of their exponents
    far = (np.abs(rows.at) > 4.0 * np.abs(end - rows.loss.origin)) | (np.abs(r) > 30.0)
    moved = np.flatnonzero(far & np.isfinite(end) & (room < 0.5 * np.abs(r)))
    if moved.size:
        rows.table[-1, moved] = end[moved]
        rows = _Rows(rows.loss, rows.sample, rows.table)
        state[:, moved] = _near_maximum(rows.take(moved))
    return rows, state


def _reach(rows: _Rows, state: Matrix) -> Matrix:
    r"""Return how far from r, to the left and to the right, g falls by DROP or the piece ends: there the panel ends.

    The fall :math:`D(d) = g(r) - g(r \pm d)` is convex with D(0) = 0. So a Newton step from a point beyond the root
    ends beyond it, and :math:`d \cdot DROP / D(d)` ends short of it: a bracket, whose geometric mean is tried next.
    """
    n = rows.sample.size
    side = np.repeat([-1.0, 1.0], n)
    r, top, slope, curvature = np.concatenate([state, state], axis=1)
    uphill = side * slope
    room = np.concatenate([r[:n] - rows.low, rows.high - r[n:]])
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
        d, away = trial[active], side[active]
        _, g, gradient, _ = rows.exponent(r[active] + away * d, active % n)
        fall, rate = top[active] - g, -away * gradient
        beyond = fall >= DROP
        safe = beyond & (rate > 0.0)
        newton = d - (fall - DROP) / np.where(safe, rate, 1.0)
        lower = np.where(beyond, d * DROP / np.where(beyond, fall, 1.0), d)
        upper = np.where(safe, np.clip(newton, lower, d), np.where(beyond, d, reach[active]))
        near = np.maximum(short[active], np.minimum(lower, upper))
        short[active], trial[active], reach[active] = near, np.sqrt(near * upper), upper
        at_end = ~beyond & (d >= upper)
        active = active[~(at_end | (beyond & (fall <= 1.5 * DROP)) | (upper <= 1.2 * near))]
    return reach.reshape(2, n)


@dataclasses.dataclass(frozen=True)
class _Panels:
    """Where the panels are, in units of r.

    Attributes
    ----------
    row : array, shape (panels,), or None
        The row to which each belongs; None if each row has one.
    centre, start, width : arrays, shape (panels,)
        The point next to the maximum, one end, and how far the other is from it, to the left if that is negative.
    graded : array, shape (panels,)
        Those whose start is at an infinite loss, with a power below one.
    """

    row: Indices | None
    centre: Vector
    start: Vector
    width: Vector
    graded: NDArray[np.bool_]


def _panels(rows: _Rows, r: Vector, left: Vector, right: Vector) -> _Panels:
    """Return the panels from r - left to r + right; those that end at an infinite loss, or next to it, in two parts."""
    low, high = rows.loss.domain
    most = NEAR * (left + right)
    at_low = (rows.power < 1.0) & (rows.start == low) & (r - left <= rows.low + most)
    at_high = (rows.power < 1.0) & (rows.end == high) & (r + right >= rows.high - most)
    left, right = np.where(at_low, r - rows.low, left), np.where(at_high, rows.high - r, right)
    start, width = np.where(at_high, r + right, r - left), np.where(at_high, -1.0, 1.0) * (left + right)
    ends = np.flatnonzero(at_low | at_high)
    if ends.size == 0:
        return _Panels(None, r, start, width, at_low)
    row = np.concatenate([np.arange(r.size), ends])
    near = NEAR * width[ends]
    start, width = np.append(start, start[ends]), np.append(width, near)
    start[ends] += near
    width[ends] -= near
    return _Panels(row, r[row], start, width, np.arange(row.size) >= r.size)


def log_gaussian_integral(
    profile: Profile,
    knots: Sequence[float],
    domain: tuple[float, float],
    mean: Vector,
    var: Vector,
    origin: float = 0.0,
) -> Vector:
    r"""Return :math:`\ln \int e^{-\ell(t)}\, \mathcal N(t; m, v)\, dt` for arrays of means and variances of one shape.

    The first three arguments and ``origin`` are those of :class:`PiecewiseLoss`; a variance of zero gives minus the
    loss at the mean. The result is right to about 1e-12, or to rounding where the logarithm itself is huge or the loss
    is steep: an error of the last bit in t counts with the slope of the loss.
    """
    check_gaussians(mean, var)
    loss = PiecewiseLoss(profile, lambda x: profile(x).loss, knots, domain, origin)
    integral = functools.partial(in_blocks, lambda mean, var: density_nodes(loss, mean, var).log_z)
    found = by_variance(integral, lambda t: -profile(t - origin).loss, mean.ravel(), var.ravel())
    return found.reshape(mean.shape)


__all__ = ["DensityNodes", "PiecewiseLoss", "check_gaussians", "density_nodes", "log_gaussian_integral"]
