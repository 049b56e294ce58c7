r"""Tilted distributions: :math:`\hat p(f) \propto p(y|f)\, \mathcal N(f; m, v)`, what expectation propagation asks of a likelihood.

All of it follows from :math:`\ln Z(m) = \ln \int p(y|f)\, \mathcal N(f; m, v)\, df` and its derivatives in the mean,

.. math:: \hat m = m + v \,\partial_m \ln Z, \qquad \hat v = v + v^2 \,\partial_m^2 \ln Z,

and, for a parameter :math:`\phi` of the likelihood, :math:`\partial_\phi \ln Z = -\langle \partial_\phi \ell \rangle_{\hat p}`.

Three ways lead there. Closed forms (Gaussian noise, probit) are written with their likelihoods. :func:`step_tilted` serves
likelihoods that rise from zero to one within (-1, 1), by one fixed rule. :func:`tilted_nodes` makes quadrature nodes for any
other loss: on each piece between knots a convex loss falls away from the mode of :math:`\hat p` at least as fast as its tangent, which
bounds the panel without a search.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import erfc

from bayesvm.likelihoods.adaptive_quadrature import Profile, gaussian_panels
from bayesvm.typing import Indices, Matrix, Vector

if TYPE_CHECKING:
    from bayesvm.likelihoods.base import Derivatives, Likelihood

#: A panel ends where the integrand has fallen to exp(-DROP) of its maximum; the rule integrates a Gaussian cut there to 1e-14.
DROP = 34.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
_LOG_WEIGHTS = np.log(_WEIGHTS) - 0.5 * np.log(2.0 * np.pi)
_REACH = float(np.sqrt(2.0 * DROP))
#: Smallest distance from an infinite loss at which it is evaluated.
_EDGE = 1e-100


@dataclasses.dataclass(frozen=True)
class Tilted:
    r"""Normaliser of tilted distributions with its derivatives, one entry per sample.

    Attributes
    ----------
    log_z : array, shape (n,)
        :math:`\ln Z`.
    slope, bend : arrays, shape (n,)
        :math:`\partial_m \ln Z` and :math:`\partial_m^2 \ln Z`; the latter is above :math:`-1/v`, and not positive if the loss is
        convex.
    """

    log_z: Vector
    slope: Vector
    bend: Vector


# -- quadrature nodes -----------------------------------------------------------------------------------------------------
@dataclasses.dataclass(frozen=True)
class TiltedNodes:
    r"""Nodes under tilted distributions of t, one row per sample and panel.

    Attributes
    ----------
    sample : array, shape (rows,)
        The sample to which each row belongs.
    x : array, shape (rows, nodes)
        Nodes, measured from the origin of the likelihood.
    u : array, shape (rows, nodes)
        Nodes in units of the standard deviation, measured from a point near the mode of the sample's tilted distribution.
    weight : array, shape (rows, nodes)
        Weights; those of a sample sum to one.
    centre, log_z : arrays, shape (n,)
        That point, as a distance from the mean in standard deviations, and the logarithm of the normaliser.
    """

    sample: Indices
    x: Matrix
    u: Matrix
    weight: Matrix
    centre: Vector
    log_z: Vector

    def moments(self, var: Vector, sign: Vector) -> Tilted:
        """Return the derivatives in the mean of f; ``sign`` is dt/df."""
        n = self.log_z.size
        first = np.bincount(self.sample, np.einsum("ij,ij->i", self.weight, self.u), n)
        d = self.u - first[self.sample, None]
        second = np.bincount(self.sample, np.einsum("ij,ij,ij->i", self.weight, d, d), n)
        return Tilted(self.log_z, sign * (self.centre + first) / np.sqrt(var), (second - 1.0) / var)

    def average(self, values: Matrix) -> Matrix:
        """Return the mean under the tilted distributions of functions given at the nodes, shape (p, rows, nodes)."""
        rows = np.einsum("ij,pij->pi", self.weight, values)
        return np.array([np.bincount(self.sample, row, self.log_z.size) for row in rows]).reshape(len(rows), -1)


def tilted_nodes(likelihood: Likelihood, t: Vector, var: Vector, weights: Vector | None = None) -> TiltedNodes:
    """Return quadrature nodes for the tilted distributions of t (margins or residuals).

    Parameters
    ----------
    likelihood : Likelihood
        The loss of one sample; a loss that is not convex must be convex between its knots.
    t, var : arrays, shape (n,)
        Means and variances of the Gaussians; the variances are positive.
    weights : array, shape (n,), optional
        Powers of the likelihood.
    """
    weights = np.ones_like(t) if weights is None else weights
    if not likelihood.traits.convex:
        return _searched(likelihood, t, var, weights)
    return _convex(_Exponents(likelihood, t - likelihood.origin, np.sqrt(var), weights))


def _searched(likelihood: Likelihood, t: Vector, var: Vector, weights: Vector) -> TiltedNodes:
    """Return nodes on panels that were found piece by piece, for all samples of one weight at a time."""
    parts = []
    for weight in np.unique(weights):
        rows = np.flatnonzero(weights == weight)
        profile = _power(likelihood.shifted_profile, float(weight))
        panels = gaussian_panels(
            profile, likelihood.knots, likelihood.domain, t[rows], var[rows], origin=likelihood.origin
        )
        exponent = panels.log_weight - profile(panels.x).loss + panels.base[:, None]
        parts.append((rows[panels.sample], panels.x, panels.u, exponent))
    sample, x, u, exponent = (np.concatenate(pieces) for pieces in zip(*parts))
    return _normalised(sample, x, u, exponent, np.zeros_like(t), np.zeros_like(t))


def _power(profile: Profile, weight: float) -> Profile:
    """Return the profile of a power of the likelihood."""

    def weighted(x: Vector) -> Derivatives:
        d = profile(x)
        return type(d)(weight * d.loss, weight * d.gradient, weight * d.curvature, weight * d.third)

    return profile if weight == 1.0 else weighted


def _normalised(
    sample: Indices, x: Matrix, u: Matrix, exponent: Matrix, centre: Vector, log_scale: Vector
) -> TiltedNodes:
    """Return nodes whose weights sum to one for each sample."""
    n = centre.size
    top = np.full(n, -np.inf)
    np.maximum.at(top, sample, np.max(exponent, axis=1))
    weight = exponent - top[sample, None]
    np.exp(weight, out=weight)
    total = np.bincount(sample, weight.sum(axis=1), n)
    weight /= total[sample, None]
    return TiltedNodes(sample, x, u, weight, centre, log_scale + top + np.log(total))


@dataclasses.dataclass(frozen=True)
class _Exponents:
    r"""Exponents :math:`g(x) = -w \ell(x) - (x-m)^2/2v` of tilted distributions with a convex loss, x being t - origin."""

    likelihood: Likelihood
    mean: Vector
    scale: Vector
    weights: Vector

    def take(self, rows: Indices) -> _Exponents:
        """Return some of the samples, with repetitions."""
        return _Exponents(self.likelihood, self.mean[rows], self.scale[rows], self.weights[rows])

    def fall(self, x: Vector, centre: Vector, at_centre: Vector) -> tuple[Vector, Vector]:
        """Return how far g lies below its value at the centre, and its slope, both in standard units of x."""
        d = self.likelihood.shifted_profile(x)
        r = (x - centre) / self.scale
        u = (centre - self.mean) / self.scale
        return self.weights * d.loss - at_centre + (u + 0.5 * r) * r, -self.scale * self.weights * d.gradient - (u + r)

    def slope(self, x: Vector) -> tuple[Vector, Vector]:
        """Return g' and -g'' in standard units."""
        d = self.likelihood.shifted_profile(x)
        first = -self.scale * self.weights * d.gradient - (x - self.mean) / self.scale
        return first, 1.0 + self.scale**2 * self.weights * d.curvature

    def pieces(self) -> Vector:
        """Return the ends of the pieces between which the loss is smooth."""
        origin, knots = self.likelihood.origin, self.likelihood.knots
        low, high = (end - origin for end in self.likelihood.domain)
        return np.array([low, *(k - origin for k in knots if low < k - origin < high), high])

    def mode(self, ends: Vector) -> Vector:
        """Return a point near the maximum of g for each sample: the piece first, then safeguarded Newton steps."""
        inner = ends[1:-1]
        first, _ = self.take(np.tile(np.arange(self.mean.size), inner.size)).slope(np.repeat(inner, self.mean.size))
        piece = np.sum(first.reshape(inner.size, -1) > 0.0, axis=0)
        left, right = ends[piece], ends[piece + 1]
        x = np.clip(self.mean, np.nextafter(left, np.inf), np.nextafter(right, -np.inf))
        x = np.where(np.abs(x) < _EDGE, _EDGE, x)
        for step in range(80):
            first, second = self.slope(x)
            left, right = np.where(first > 0.0, x, left), np.where(first < 0.0, x, right)
            room = np.minimum(right - left, np.abs(first) * self.scale) / self.scale
            active = np.abs(first) * room > 0.5
            if not np.any(active):
                break
            trial = x + self.scale * first / second
            bounded = np.isfinite(left) & np.isfinite(right)
            middle = np.where(bounded, 0.5 * (np.where(bounded, left, 0.0) + np.where(bounded, right, 0.0)), trial)
            narrow = (trial > left) & (trial < right) & ((step % 2 == 0) | ~(x < 0.1 * right) | (x <= 0.0))
            x = np.where(active, np.where(narrow, trial, np.where(x > 0.0, _between(x, middle), middle)), x)
        return x


def _between(x: Vector, middle: Vector) -> Vector:
    """Return the geometric mean where the middle of a bracket is farther by orders of magnitude from the edge at zero."""
    far = (x > 0.0) & (middle > 10.0 * x)
    return np.where(far, np.sqrt(np.where(far, x * middle, 1.0)), middle)


def _convex(g: _Exponents) -> TiltedNodes:
    """Return nodes for a convex loss, one panel per sample and piece that matters."""
    ends = g.pieces()
    n, count = g.mean.size, ends.size - 1
    mode = g.mode(ends)
    at_mode = g.weights * g.likelihood.shifted_profile(mode).loss
    sample = np.tile(np.arange(n), count)
    low, high = np.repeat(ends[:-1], n), np.repeat(ends[1:], n)
    keep = np.flatnonzero(
        (low < mode[sample] + _REACH * g.scale[sample]) & (high > mode[sample] - _REACH * g.scale[sample])
    )
    sample, low, high = sample[keep], low[keep], high[keep]
    part, centre, top = g.take(sample), mode[sample], at_mode[sample]
    start = np.clip(centre, np.nextafter(low, np.inf), np.nextafter(high, -np.inf))
    start = np.where(np.abs(start) < _EDGE, _EDGE, start)
    above, slope = part.fall(start, centre, top)
    matters = above < DROP + 8.0
    rows = np.flatnonzero(matters)
    sample, low, high, start, slope = sample[rows], low[rows], high[rows], start[rows], slope[rows]
    part, centre, top, above = part.take(rows), centre[rows], top[rows], above[rows]
    left = _panel_end(part, centre, top, above, start, slope, low, -1.0)
    right = _panel_end(part, centre, top, above, start, slope, high, 1.0)
    half = 0.5 * (right - left)
    x = (0.5 * (left + right))[:, None] + half[:, None] * _NODES
    r = (x - centre[:, None]) / part.scale[:, None]
    u = (centre - part.mean) / part.scale
    exponent = 0.5 * r
    exponent += u[:, None]
    exponent *= -r
    exponent -= part.weights[:, None] * g.likelihood.shifted_loss(x)
    exponent += (top + np.log(half / part.scale))[:, None]
    exponent += _LOG_WEIGHTS
    offset = (mode - g.mean) / g.scale
    return _normalised(sample, x, r, exponent, offset, -at_mode - 0.5 * offset**2)


def _panel_end(
    g: _Exponents, centre: Vector, top: Vector, above: Vector, start: Vector, slope: Vector, end: Vector, side: float
) -> Vector:
    """Return where a panel ends: at the end of its piece, or where g has fallen by DROP from the panel's start.

    The fall is convex in the distance, and at least that of its tangent plus a parabola; Newton steps from beyond stay beyond.
    """
    down = np.maximum(-side * slope, 0.0)
    reach = g.scale * (2.0 * DROP / (down + np.sqrt(down**2 + 2.0 * DROP)))
    inside = np.nextafter(end, -side * np.inf)
    x = np.where(side * (start + side * reach - inside) > 0.0, inside, start + side * reach)
    x = np.where(np.abs(x) < _EDGE, _EDGE, x)
    active = np.arange(x.size)
    for _ in range(8):
        below, first = g.take(active).fall(x[active], centre[active], top[active])
        fall = below - above[active]
        far = (fall > 1.5 * DROP) & (-side * first > 0.0)
        if not np.any(far):
            break
        active = active[far]
        step = g.scale[active] * (fall[far] - DROP) / (-side * first[far])
        x[active] = np.where(np.isfinite(step), x[active] - side * step, 0.5 * (x[active] + start[active]))
    return x


# -- likelihoods that rise from zero to one within (-1, 1) -----------------------------------------------------------------
Step = Callable[[Matrix], tuple[Matrix, Matrix]]

#: Standard deviations from which the fixed nodes on (-1, 1) resolve the Gaussian.
_WIDE = 0.15
#: Means below -1 - DEEP standard deviations leave the fixed rule: what counts there is the corner at -1.
_DEEP = 3.0


@dataclasses.dataclass(frozen=True)
class FixedNodes:
    """A likelihood that rises from zero to one within (-1, 1), with its slope, at the nodes of a rule for that interval."""

    step: Step
    p: Vector
    dp: Vector

    @classmethod
    def of(cls, step: Step) -> FixedNodes:
        """Tabulate a function that returns p(t) and p'(t)."""
        return cls(step, *step(_NODES))


def step_tilted(likelihood: Likelihood, nodes: FixedNodes, t: Vector, var: Vector, sign: Vector) -> Tilted:
    r"""Return the tilted normalisers for a likelihood that rises from zero to one within (-1, 1).

    :math:`Z = \Phi((m-1)/s) + \int p N`, :math:`Z' = \int p' N`, :math:`Z'' = \int p' \frac{t - m}{v} N`, all integrals over
    (-1, 1): none of them cancels where p is flat, so that far points get exactly as little as they should.
    """
    scale = np.sqrt(var)
    wide = (scale >= _WIDE) & (t > -1.0 - _DEEP * scale)
    log_z, slope, bend = np.empty_like(t), np.empty_like(t), np.empty_like(t)
    if np.any(wide):
        log_z[wide], slope[wide], bend[wide] = _fixed_rule(nodes, t[wide], scale[wide])
    narrow = ~wide & (t > -1.0 - _DEEP * scale)
    if np.any(narrow):
        log_z[narrow], slope[narrow], bend[narrow] = _moving_rule(nodes.step, t[narrow], scale[narrow])
    deep = ~wide & ~narrow
    if np.any(deep):
        found = tilted_nodes(likelihood, t[deep], var[deep]).moments(var[deep], np.ones(int(np.sum(deep))))
        log_z[deep], slope[deep], bend[deep] = found.log_z, found.slope, found.bend
    return Tilted(log_z, sign * slope, bend)


def _combined(z: Vector, z1: Vector, z2: Vector, flat: Vector) -> tuple[Vector, Vector, Vector]:
    """Return ln Z and its derivatives from the integrals over (-1, 1) and the mass of the flat part."""
    total = z + flat
    ratio = z1 / total
    return np.log(total), ratio, np.minimum(z2 / total - ratio**2, 0.0)


def _fixed_rule(nodes: FixedNodes, t: Vector, scale: Vector) -> tuple[Vector, Vector, Vector]:
    u = (_NODES - t[:, None]) / scale[:, None]
    density = np.exp(-0.5 * u * u)
    density *= _WEIGHTS
    density *= (1.0 / (np.sqrt(2.0 * np.pi) * scale))[:, None]
    z, z1 = density @ nodes.p, density @ nodes.dp
    u *= density
    z2 = (u @ nodes.dp) / scale
    return _combined(z, z1, z2, 0.5 * erfc((1.0 - t) / (np.sqrt(2.0) * scale)))


def _moving_rule(step: Step, t: Vector, scale: Vector) -> tuple[Vector, Vector, Vector]:
    """Return the same on the part of (-1, 1) within reach of a narrow Gaussian."""
    low, high = np.clip(t - _REACH * scale, -1.0, 1.0), np.clip(t + _REACH * scale, -1.0, 1.0)
    half = 0.5 * (high - low)
    x = (low + half)[:, None] + half[:, None] * _NODES
    u = (x - t[:, None]) / scale[:, None]
    density = np.exp(-0.5 * u * u) * _WEIGHTS * (half / (np.sqrt(2.0 * np.pi) * scale))[:, None]
    p, dp = step(x)
    z, z1 = np.einsum("ij,ij->i", density, p), np.einsum("ij,ij->i", density, dp)
    z2 = np.einsum("ij,ij,ij->i", density, u, dp) / scale
    return _combined(z, z1, z2, 0.5 * erfc((1.0 - t) / (np.sqrt(2.0) * scale)))


__all__ = ["FixedNodes", "Tilted", "TiltedNodes", "step_tilted", "tilted_nodes"]
