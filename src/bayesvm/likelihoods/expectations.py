r"""Expectations of a loss under Gaussians, what the variational bound asks of a likelihood (Seeger1999 (6)).

For :math:`t \sim \mathcal N(m, v)` and a piecewise smooth loss,

.. math:: E\ell, \qquad \partial_m E\ell = E\ell', \qquad
          \partial_m^2 E\ell = E\ell'' + \sum_k [\ell']_k\, \mathcal N(k; m, v), \qquad
          \partial_v E\ell = \tfrac12 \partial_m^2 E\ell,

where :math:`[\ell']_k` is the jump of the slope at the knot k: by Stein's identity the second derivative is
:math:`E[\ell'(t)(t-m)]/v`, and integrating by parts between the knots leaves a sum that cannot cancel. So kinks are no problem.

The line is cut at the knots, and the outer pieces by factors of eight. A piece on which the Gaussian is wide has a rule with fixed
nodes, the more of them the narrower the Gaussian: the loss is evaluated once for all samples, and only the Gaussian density is left per
sample. On the others the rule covers what lies within reach of the mean.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from bayesvm.exceptions import IncompatibleError
from bayesvm.likelihoods.normal_tails import density
from bayesvm.typing import Indices, Matrix, Vector

if TYPE_CHECKING:
    from bayesvm.likelihoods.base import Likelihood

#: Rules of Gauss and Legendre: number of nodes, and half-width of an interval, in standard deviations, up to which they resolve the
#: Gaussian to 1e-15 of its height.
_COUNTS, _WIDTHS = (24, 40), (4.5, 8.0)
_RULES = tuple(np.polynomial.legendre.leggauss(count) for count in _COUNTS)
#: Standard deviations beyond which the Gaussian does not count.
REACH = 8.3
#: Ratio of the sizes of neighbouring outer pieces.
GROWTH = 8.0
ROOT_2PI = float(np.sqrt(2.0 * np.pi))
#: Samples treated at once: the nodes of a block stay within the cache.
BLOCK = 512

#: Maps nodes t of any shape to the functions to be averaged, stacked along the first axis.
Functions = Callable[[Vector], Matrix]


@dataclasses.dataclass(frozen=True)
class Expected:
    r"""Expectation of the loss under Gaussians, one entry per sample.

    Attributes
    ----------
    loss, gradient, curvature, third, fourth : arrays, shape (n,)
        :math:`E\ell` with its first four derivatives in the mean of f.
    """

    loss: Vector
    gradient: Vector
    curvature: Vector
    third: Vector
    fourth: Vector

    def scaled(self, weight: Vector | float, sign: Vector | float = 1.0) -> Expected:
        """Return the expectations of ``weight`` times the loss, as a function of ``sign`` (+1 or -1) times the argument."""
        odd = weight * sign
        return Expected(
            weight * self.loss, odd * self.gradient, weight * self.curvature, odd * self.third, weight * self.fourth
        )

    def moved(self, mean: Vector, var: Vector) -> Expected:
        r"""Return the expectations after a small change of means and variances, from :math:`\partial_v = \tfrac12 \partial_m^2`.

        With changes of the size h, in standard deviations and relative to the variances, the first two are right to the order
        h^3 and the curvature to h^2; the higher derivatives are left as they are.
        """
        half = 0.5 * (mean * mean + var)
        gradient = self.gradient + self.curvature * mean + self.third * half
        loss = self.loss + self.gradient * mean + self.curvature * half
        return Expected(
            loss, gradient, self.curvature + self.third * mean + self.fourth * half, self.third, self.fourth
        )

    def __add__(self, other: Expected) -> Expected:
        return Expected(*(a + b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other))))


def require_finite(likelihood: Likelihood) -> None:
    """Raise :class:`~bayesvm.exceptions.IncompatibleError` if the loss is infinite somewhere."""
    low, high = likelihood.domain
    if np.isfinite(low) or np.isfinite(high):
        raise IncompatibleError(
            f"the expected loss of {type(likelihood.plain).__name__} under a Gaussian is infinite: its loss is finite only "
            f"between {low:g} and {high:g}; use a likelihood that is positive everywhere (logistic, probit, "
            "normalized-hinge), or Laplace's method or expectation propagation"
        )


def expected(likelihood: Likelihood, t: Vector, var: Vector, slope: Vector) -> Expected:
    """Return the expectations for means ``t`` and variances of the margin or residual, ``slope`` being dt/df.

    The first three are right to about 1e-12, relative to the larger of one and the value. The third and fourth derivative lose
    digits as the variance becomes small; they are meant to steer Newton steps.
    """
    require_finite(likelihood)

    def functions(x: Vector) -> Matrix:
        p = likelihood.profile(x.ravel())
        return np.stack([p.loss, p.gradient, p.curvature]).reshape(3, *x.shape)

    sums = _averages(likelihood, functions, 3, t, var, hermite=True)
    if likelihood.traits.smoothness == 0:
        sums[2:] += _kinks(likelihood, t, var)
    scale = np.sqrt(np.where(var > 0.0, var, np.inf))
    return Expected(sums[0], sums[1], sums[2], sums[3] / scale, sums[4] / scale**2).scaled(1.0, slope)


def expected_theta(likelihood: Likelihood, t: Vector, var: Vector) -> Matrix:
    """Return the derivatives of the expected losses in the free parameters' logarithms, shape (p, n)."""
    require_finite(likelihood)
    if likelihood.theta.size == 0:
        return np.zeros((0, t.size))
    count = likelihood.theta.size
    return _averages(likelihood, lambda x: likelihood.profile_theta(x).loss, count, t, var, hermite=False)


def expected_ramp(t: Vector, var: Vector) -> Expected:
    r"""Return the closed form for the loss :math:`[t]_+`: with :math:`z = m/\sqrt v`, the mean is :math:`\sqrt v (z \Phi(z) + \phi(z))`."""
    scale = np.sqrt(var)
    z = np.where(var > 0.0, t, 0.0) / np.where(var > 0.0, scale, 1.0)
    bell, share = density(z), ndtr(z)
    bend = bell / np.where(var > 0.0, scale, np.inf)
    third, fourth = -z * bend, (z * z - 1.0) * bend
    width = np.where(var > 0.0, scale, 1.0)
    return Expected(
        np.where(var > 0.0, scale * (z * share + bell), np.maximum(t, 0.0)),
        np.where(var > 0.0, share, t > 0.0),
        bend,
        third / width,
        fourth / width**2,
    )


def _kinks(likelihood: Likelihood, t: Vector, var: Vector) -> Matrix:
    """Return the jumps of the slope times the densities at the knots, also with weights u and u^2 - 1.

    Without variance a sample sees none.
    """
    knots = np.asarray(likelihood.knots)
    jump = (
        likelihood.profile(np.nextafter(knots, np.inf)).gradient
        - likelihood.profile(np.nextafter(knots, -np.inf)).gradient
    )
    scale = np.sqrt(np.where(var > 0.0, var, np.inf))
    u = (knots - t[:, None]) / scale[:, None]
    bell = density(u)
    return np.stack([bell @ jump, (bell * u) @ jump, (bell * (u * u - 1.0)) @ jump]) / scale


def _averages(
    likelihood: Likelihood, functions: Functions, count: int, t: Vector, var: Vector, *, hermite: bool
) -> Matrix:
    """Return the expectations of all functions, shape (count, n).

    With ``hermite`` two rows follow: those of the last function times u and times u^2 - 1, u being (t - m)/sqrt(v).
    """
    height = count + 2 if hermite else count
    out = np.zeros((height, t.size))
    certain = var <= 0.0
    if np.any(certain):
        out[:count, certain] = functions(t[certain])
    spread = np.flatnonzero(~certain)
    for start in range(0, spread.size, BLOCK):
        rows = spread[start : start + BLOCK]
        out[:, rows] = _block(likelihood.knots, functions, t[rows], np.sqrt(var[rows]), height, hermite)
    return out


def _block(
    knots: tuple[float, ...], functions: Functions, mean: Vector, scale: Vector, height: int, hermite: bool
) -> Matrix:
    """Return the expectations, ``height`` rows, for samples with a variance."""
    total: Matrix = np.zeros((height, mean.size))
    low, high = mean - REACH * scale, mean + REACH * scale
    fixed: list[tuple[Indices, Vector, Vector]] = []  # samples, nodes, weights
    rows, start, end = [], [], []
    for a, b in _pieces(knots, float(np.min(low)), float(np.max(high))):
        touched = np.flatnonzero((low < b) & (high > a))
        half = 0.5 * (b - a)
        level = np.searchsorted(_WIDTHS, half / scale[touched])
        if a < 0.0 < b:  # here the losses bend; farther out the coarser rules resolve them too
            level = np.maximum(level, len(_RULES) - 1)
        for k, (nodes, weights) in enumerate(_RULES):
            samples = touched[level == k]
            if samples.size:
                fixed.append((samples, a + half * (1.0 + nodes), half * weights))
        moving = touched[level == len(_RULES)]
        rows.append(moving)
        start.append(np.full(moving.size, a))
        end.append(np.full(moving.size, b))
    _add_fixed(total, functions, mean, scale, fixed, hermite)
    _add_moving(
        total, functions, mean, scale, np.concatenate(rows), np.concatenate(start), np.concatenate(end), hermite
    )
    return total


def _pieces(knots: tuple[float, ...], low: float, high: float) -> Iterator[tuple[float, float]]:
    """Yield the pieces that touch [low, high]: between the knots, and beyond them in steps that grow by ``GROWTH``."""
    scale = max(1.0, knots[-1] - knots[0], *(abs(k) for k in knots))
    left, right = [knots[0]], [knots[-1]]
    step = GROWTH * scale
    while left[-1] > low or right[-1] < high:
        left.append(knots[0] - step)
        right.append(knots[-1] + step)
        step *= GROWTH
    ends = [*reversed(left[1:]), *knots, *right[1:]]
    for a, b in itertools.pairwise(ends):
        if a < high and b > low:
            yield a, b


def _add_fixed(
    total: Matrix,
    functions: Functions,
    mean: Vector,
    scale: Vector,
    parts: list[tuple[Indices, Vector, Vector]],
    hermite: bool,
) -> None:
    """Add the integrals by rules whose nodes are the same for all their samples; the functions are evaluated once for all rules."""
    if not parts:
        return
    nodes, weights = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
    values = functions(nodes) * weights
    at = 0
    for samples, t, _ in parts:
        total[:, samples] += _fixed(values[:, at : at + t.size], t, mean[samples], scale[samples], hermite)
        at += t.size


def _fixed(values: Matrix, t: Vector, mean: Vector, scale: Vector, hermite: bool) -> Matrix:
    """Return the integrals with the given nodes, ``values`` being the functions there times the weights."""
    u = np.subtract.outer(t, mean)
    u /= scale
    weight = u * u
    weight *= -0.5
    np.exp(weight, out=weight)
    sums = values @ weight
    if hermite:
        weight *= u
        first = values[-1] @ weight
        weight *= u
        sums = np.concatenate([sums, [first, values[-1] @ weight - sums[-1]]])
    return np.asarray(sums / (ROOT_2PI * scale))


def _add_moving(
    total: Matrix,
    functions: Functions,
    mean: Vector,
    scale: Vector,
    sample: Indices,
    a: Vector,
    b: Vector,
    hermite: bool,
) -> None:
    """Add the integrals over the parts of [a, b] within reach of the means, one interval per entry of ``sample``."""
    m, s = mean[sample], scale[sample]
    low, high = np.maximum((a - m) / s, -REACH), np.minimum((b - m) / s, REACH)
    level = np.minimum(np.searchsorted(_WIDTHS, 0.5 * (high - low)), len(_RULES) - 1)
    for k, rule in enumerate(_RULES):
        i = np.flatnonzero(level == k)
        if not i.size:
            continue
        ends = np.nextafter(a[i], np.inf), np.nextafter(b[i], -np.inf)
        for sums, part in zip(total, _moving(functions, m[i], s[i], low[i], high[i], ends, rule, hermite)):
            sums += np.bincount(sample[i], part, mean.size)


def _moving(
    functions: Functions,
    mean: Vector,
    scale: Vector,
    low: Vector,
    high: Vector,
    ends: tuple[Vector, Vector],
    rule: tuple[Vector, Vector],
    hermite: bool,
) -> Matrix:
    """Return the integrals from ``low`` to ``high`` standard deviations, one per row, without leaving the ``ends``."""
    half = 0.5 * (high - low)
    u = (low + half)[:, None] + half[:, None] * rule[0]
    t = np.clip(mean[:, None] + scale[:, None] * u, ends[0][:, None], ends[1][:, None])
    weight = density(u) * rule[1] * half[:, None]
    values = functions(t)
    sums = np.einsum("fij,ij->fi", values, weight)
    if not hermite:
        return np.asarray(sums)
    weight *= values[-1]
    first = np.einsum("ij,ij->i", weight, u)
    return np.concatenate([sums, [first, np.einsum("ij,ij,ij->i", weight, u, u) - sums[-1]]])


__all__ = ["Expected", "expected", "expected_ramp", "expected_theta", "require_finite"]
