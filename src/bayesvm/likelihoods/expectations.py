r"""Expectations of a loss under Gaussians, what the variational bound asks of a likelihood (Seeger1999 (6)).

For :math:`t \sim \mathcal N(m, v)` and a piecewise smooth loss,

.. math:: E\ell, \qquad \partial_m E\ell = E\ell', \qquad
          \partial_m^2 E\ell = E\ell'' + \sum_k [\ell']_k\, \mathcal N(k; m, v), \qquad
          \partial_v E\ell = \tfrac12 \partial_m^2 E\ell,

where :math:`[\ell']_k` is the jump of the slope at the knot k: by Stein's identity the second derivative is
:math:`E[\ell'(t)(t-m)]/v`, and integrating by parts between the knots leaves a sum that cannot cancel. So kinks are no
problem.

The functions here are in the margin or residual t and by quadrature; likelihoods register their closed forms.
:class:`~bayesvm.likelihoods.base.Likelihood` turns them into functions of y and f.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from bayesvm.exceptions import IncompatibleError
from bayesvm.likelihoods.averages import averages
from bayesvm.likelihoods.normal_tails import density
from bayesvm.likelihoods.quadrature import REACH, Functions, in_blocks
from bayesvm.typing import Matrix, Vector

if TYPE_CHECKING:
    from bayesvm.likelihoods.base import Likelihood

#: Scales whose fourth power is a normal number, with room for sums that are divided by it.
LEAST_SCALE = 1e-60
#: Jumps of the slope, relative to the largest, that are rounding.
ROUNDING = 1e-13
#: Ratio of the sizes of neighbouring pieces beyond the knots.
GROWTH = 8.0


@dataclasses.dataclass(frozen=True)
class Expected:
    r"""Expectation of the loss under Gaussians, one entry per sample.

    Attributes
    ----------
    loss, gradient, curvature, third, fourth, fifth, sixth : arrays, shape (n,)
        :math:`E\ell` with its first six derivatives in the mean of f.
    """

    loss: Vector
    gradient: Vector
    curvature: Vector
    third: Vector
    fourth: Vector
    fifth: Vector
    sixth: Vector

    @classmethod
    def of_moments(cls, loss: Vector, gradient: Vector, moments: Matrix, scale: Vector) -> Expected:
        r"""Build from :math:`m_k`, the mean second derivative times the powers :math:`u^k`, k = 0 to 4.

        By Stein's identity the derivatives of a mean are means with Hermite's polynomials of u, over powers of the
        scale. The last two are zero for scales of which the fourth power is no number.
        """
        m0, m1, m2, m3, m4 = moments
        var, wide = scale * scale, scale > LEAST_SCALE
        above = 1.0 / np.where(wide, var, 1.0)
        fifth = np.where(wide, (m3 - 3.0 * m1) / scale * above, 0.0)
        sixth = np.where(wide, (m4 - 6.0 * m2 + 3.0 * m0) * above * above, 0.0)
        return cls(loss, gradient, m0, m1 / scale, (m2 - m0) / var, fifth, sixth)

    def rows(self) -> Matrix:
        """Return the seven vectors as the rows of a matrix."""
        return np.array([self.loss, self.gradient, self.curvature, self.third, self.fourth, self.fifth, self.sixth])

    def scaled(self, weight: Vector | float, sign: Vector | float = 1.0) -> Expected:
        """Return the expectations of ``weight`` times the loss, as functions of ``sign`` (+1 or -1) times t."""
        odd = weight * sign
        return Expected(*((odd if k % 2 else weight) * row for k, row in enumerate(vars(self).values())))

    def moved(self, mean: Vector, var: Vector) -> Expected:
        r"""Return the expectations after small changes of means and variances.

        With changes of the size h, in standard deviations and relative to the variances, the first three are right up
        to terms of the order h^3, the next two up to h^2; the last two are left as they are. From
        :math:`\partial_v = \tfrac12 \partial_m^2`, with changes :math:`\delta` and :math:`\eta`, these are
        :math:`f + f_1 \delta + \tfrac12 f_2 (\delta^2 + \eta) + \tfrac12 f_3 \delta \eta + \tfrac18 f_4 \eta^2`.
        """
        half, cross, square = 0.5 * (mean * mean + var), 0.5 * mean * var, 0.125 * var * var
        f = tuple(vars(self).values())
        first = (f[k] + f[k + 1] * mean + f[k + 2] * half + f[k + 3] * cross + f[k + 4] * square for k in range(3))
        return Expected(*first, *(f[k] + f[k + 1] * mean + f[k + 2] * (0.5 * var) for k in (3, 4)), *f[5:])

    def __add__(self, other: Expected) -> Expected:
        return Expected(*(self.rows() + other.rows()))


def require_finite(likelihood: Likelihood) -> None:
    """Raise :class:`~bayesvm.exceptions.IncompatibleError` if the loss is infinite somewhere."""
    low, high = likelihood.domain
    if np.isfinite(low) or np.isfinite(high):
        raise IncompatibleError(
            f"the expected loss of {type(likelihood.plain).__name__} under a Gaussian is infinite: its loss is finite "
            f"only between {low:g} and {high:g}; use a likelihood that is positive everywhere (logistic, probit, "
            "normalized-hinge), or Laplace's method or expectation propagation"
        )


@functools.singledispatch
def expected(likelihood: Likelihood, t: Vector, var: Vector) -> Expected:
    """Return the expectations with their derivatives in t, for vectors of means and positive variances.

    The first three are right to about 1e-12, relative to the larger of one and the value. The third and higher
    derivatives lose digits as the variance becomes small; they are meant to steer Newton steps.
    """

    def functions(x: Vector) -> Matrix:
        p = likelihood.profile(x)
        return np.stack([p.loss, p.gradient, p.curvature])

    scale = np.sqrt(var)
    sums = _averages(likelihood, functions, t, scale, moments=4)
    if likelihood.traits.smoothness == 0:
        kinks, jump = _kinks(likelihood)
        u = (kinks[:, None] - t) / scale
        bell = density(u) / scale
        for row in sums[2:]:
            row += jump @ bell
            bell *= u
    return Expected.of_moments(sums[0], sums[1], sums[2:], scale)


@functools.singledispatch
def expected_theta(likelihood: Likelihood, t: Vector, var: Vector) -> Matrix:
    """Return the derivatives of the expected losses in theta, shape (p, n); p and the variances are positive."""
    return _averages(likelihood, lambda x: likelihood.profile_theta(x).loss, t, np.sqrt(var))


def expected_ramp(t: Vector, var: Vector) -> Expected:
    r"""Return the closed form for the loss :math:`[t]_+`: the mean is :math:`s (z \Phi(z) + \phi(z))` with z = t/s."""
    scale = np.sqrt(var)
    z = t / scale
    bell, share = density(z), ndtr(z)
    moments = bell / scale * np.array([(-z) ** k for k in range(5)])
    return Expected.of_moments(scale * (z * share + bell), share, moments, scale)


def slope_jumps(likelihood: Likelihood, knots: Vector) -> Vector:
    """Return the jumps of the slope of the loss at knots."""
    above, below = (likelihood.profile(np.nextafter(knots, side)).gradient for side in (np.inf, -np.inf))
    return above - below


@functools.lru_cache(maxsize=16)
def _kinks(likelihood: Likelihood) -> tuple[Vector, Vector]:
    """Return the knots at which the slope of the loss jumps, and by how much."""
    knots = np.asarray(likelihood.knots)
    jump = slope_jumps(likelihood, knots)
    used = np.abs(jump) > ROUNDING * np.abs(jump).max()
    return knots[used], jump[used]


def _averages(likelihood: Likelihood, functions: Functions, t: Vector, scale: Vector, moments: int = 0) -> Matrix:
    """Return Gaussian averages of functions that are smooth between the knots."""
    knots = likelihood.knots
    size = max(1.0, knots[-1] - knots[0], *(abs(k) for k in knots))

    def block(t: Vector, scale: Vector) -> Matrix:
        low, high = np.min(t - REACH * scale, initial=0.0), np.max(t + REACH * scale, initial=0.0)
        left, right, step = [knots[0]], [knots[-1]], GROWTH * size
        while left[-1] > low or right[-1] < high:
            left.append(knots[0] - step)
            right.append(knots[-1] + step)
            step *= GROWTH
        return averages(functions, [*reversed(left[1:]), *knots, *right[1:]], t, scale, moments)

    return in_blocks(block, t, scale)


__all__ = ["Expected", "expected", "expected_ramp", "expected_theta", "require_finite", "slope_jumps"]
