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
from bayesvm.likelihoods.normal_tails import density
from bayesvm.likelihoods.quadrature import REACH, Functions, averages, in_blocks
from bayesvm.typing import Matrix, Vector

if TYPE_CHECKING:
    from bayesvm.likelihoods.base import Likelihood

#: Ratio of the sizes of neighbouring pieces beyond the knots.
GROWTH = 8.0


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

    def rows(self) -> Matrix:
        """Return the five vectors as the rows of a matrix."""
        return np.array([self.loss, self.gradient, self.curvature, self.third, self.fourth])

    def scaled(self, weight: Vector | float, sign: Vector | float = 1.0) -> Expected:
        """Return the expectations of ``weight`` times the loss, as functions of ``sign`` (+1 or -1) times t."""
        odd = weight * sign
        return Expected(
            weight * self.loss, odd * self.gradient, weight * self.curvature, odd * self.third, weight * self.fourth
        )

    def moved(self, mean: Vector, var: Vector) -> Expected:
        r"""Return the expectations after small changes of means and variances.

        With changes of the size h, in standard deviations and relative to the variances, the first two are right to the
        order h^3 and the curvature to h^2; the higher derivatives are left as they are.
        """
        half = 0.5 * (mean * mean + var)
        gradient = self.gradient + self.curvature * mean + self.third * half
        loss = self.loss + self.gradient * mean + self.curvature * half
        curvature = self.curvature + self.third * mean + self.fourth * half
        return Expected(loss, gradient, curvature, self.third, self.fourth)

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

    The first three are right to about 1e-12, relative to the larger of one and the value. The third and fourth
    derivative lose digits as the variance becomes small; they are meant to steer Newton steps.
    """

    def functions(x: Vector) -> Matrix:
        p = likelihood.profile(x)
        return np.stack([p.loss, p.gradient, p.curvature])

    scale = np.sqrt(var)
    sums = _averages(likelihood, functions, t, scale, moments=2)
    if likelihood.traits.smoothness == 0:
        knots = np.asarray(likelihood.knots)
        jump = slope_jumps(likelihood, knots)
        u = (knots - t[:, None]) / scale[:, None]
        bell = density(u)
        sums[2:] += np.stack([bell @ jump, (bell * u) @ jump, (bell * (u * u - 1.0)) @ jump]) / scale
    return Expected(sums[0], sums[1], sums[2], sums[3] / scale, sums[4] / var)


@functools.singledispatch
def expected_theta(likelihood: Likelihood, t: Vector, var: Vector) -> Matrix:
    """Return the derivatives of the expected losses in theta, shape (p, n); p and the variances are positive."""
    return _averages(likelihood, lambda x: likelihood.profile_theta(x).loss, t, np.sqrt(var))


def expected_ramp(t: Vector, var: Vector) -> Expected:
    r"""Return the closed form for the loss :math:`[t]_+`: the mean is :math:`s (z \Phi(z) + \phi(z))` with z = t/s."""
    scale = np.sqrt(var)
    z = t / scale
    bell, share = density(z), ndtr(z)
    bend = bell / scale
    return Expected(scale * (z * share + bell), share, bend, -z * bend / scale, (z * z - 1.0) * bend / var)


def slope_jumps(likelihood: Likelihood, knots: Vector) -> Vector:
    """Return the jumps of the slope of the loss at knots."""
    above, below = (likelihood.profile(np.nextafter(knots, side)).gradient for side in (np.inf, -np.inf))
    return above - below


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
