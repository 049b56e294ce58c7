"""Likelihoods of labels that rise from zero to one within margins between -1 and 1."""

from __future__ import annotations

import dataclasses
import functools
from abc import abstractmethod

import numpy as np
from scipy.special import erfc

from bayesvm.likelihoods.base import Classification, Derivatives
from bayesvm.likelihoods.quadrature import EDGE, NODES, RULES, WEIGHTS, WIDTHS, fixed_rule, in_blocks, moving_rule
from bayesvm.likelihoods.tilted import Tilted, log_normalizer, tilted, tilted_power
from bayesvm.typing import Matrix, Vector

#: Means below -1 - DEEP standard deviations are left to the general quadrature: what counts there is the corner at -1.
DEEP = 3.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class CompactSigmoid(Classification):
    r"""A probability p(t) that is zero for :math:`t \le -1` and one for :math:`t \ge 1`, symmetric and log-concave."""

    knots = (1.0,)
    domain = (-1.0, np.inf)

    @abstractmethod
    def curved(self, x: Vector, q: Vector) -> Derivatives:
        """Return the loss and its derivatives between -1 and 1, from the distances x to -1 and q to 1."""

    @abstractmethod
    def probability(self, x: Vector) -> Vector:
        """Return p at t = -1 + x, x between 0 and 2."""

    @abstractmethod
    def rate(self, x: Vector) -> Vector:
        """Return dp/dt at t = -1 + x, x between 0 and 2."""

    def profile(self, t: Vector) -> Derivatives:
        """Return the loss and its first three derivatives."""
        t = np.asarray(t, dtype=float)
        return self._zoned(1.0 + t, 1.0 - t)

    def shifted_profile(self, x: Vector) -> Derivatives:
        """Return the profile at t = -1 + x."""
        x = np.asarray(x, dtype=float)
        return self._zoned(x, 2.0 - x)

    def shifted_loss(self, x: Vector) -> Vector:
        """Return the loss alone at t = -1 + x."""
        return np.where(x > 0.0, -np.log(self.probability(np.clip(x, EDGE, 2.0))), np.inf)

    def _zoned(self, x: Vector, q: Vector) -> Derivatives:
        inside = (x > 0.0) & (q > 0.0)
        p = self.curved(x[inside], q[inside])  # most margins are beyond 1, where there is nothing to compute
        parts = [np.where(x > 0.0, 0.0, np.inf), *(np.zeros_like(x) for _ in range(3))]
        for part, values in zip(parts, (p.loss, p.gradient, p.curvature, p.third), strict=True):
            part[inside] = values
        return Derivatives(*parts)


@tilted.register
def _(likelihood: CompactSigmoid, t: Vector, var: Vector) -> Tilted:
    r"""Return the normalisers from integrals over (-1, 1).

    :math:`Z = \Phi((m-1)/s) + \int p N`, :math:`Z' = \int p' N`, :math:`Z'' = \int p' \frac{t - m}{v} N`: none of them
    cancels where p is flat, so that far points get exactly as little as they should.
    """
    scale = np.sqrt(var)
    found, deep = np.empty((3, t.size)), t < -1.0 - DEEP * scale
    found[:, ~deep] = in_blocks(functools.partial(_inner, likelihood), t[~deep], scale[~deep])
    if np.any(deep):
        found[:, deep] = dataclasses.astuple(tilted_power(likelihood, t[deep], var[deep]))
    return Tilted(*found)


@log_normalizer.register
def _(likelihood: CompactSigmoid, t: Vector, var: Vector) -> Vector:
    """Return the logarithms of the same integrals for wide Gaussians; for narrow ones the distance to -1 counts."""
    wide = np.sqrt(var) * WIDTHS[-1] >= 1.0
    found = np.empty(t.size)
    found[wide] = tilted(likelihood, t[wide], var[wide]).log_z
    if not np.all(wide):
        found[~wide] = log_normalizer.dispatch(object)(likelihood, t[~wide], var[~wide])
    return found


def _functions(likelihood: CompactSigmoid, t: Vector) -> Matrix:
    return np.array([likelihood.probability(1.0 + t), likelihood.rate(1.0 + t)])


@functools.cache
def _at_nodes(likelihood: CompactSigmoid) -> Matrix:
    return _functions(likelihood, NODES) * WEIGHTS


def _inner(likelihood: CompactSigmoid, t: Vector, scale: Vector) -> Matrix:
    """Return the normalisers with their derivatives by fixed nodes on (-1, 1), by moving nodes for narrow Gaussians."""
    p, dp, bend = found = np.empty((3, t.size))
    wide = scale * WIDTHS[-1] >= 1.0
    found[:, wide] = fixed_rule(_at_nodes(likelihood), NODES, t[wide], scale[wide], 1)
    if not np.all(wide):
        functions = functools.partial(_functions, likelihood)
        found[:, ~wide] = moving_rule(functions, RULES[-1], -1.0, 1.0, t[~wide], scale[~wide], 1)
    total = p + 0.5 * erfc((1.0 - t) / (np.sqrt(2.0) * scale))
    ratio = dp / total
    return np.array([np.log(total), ratio, np.minimum(bend / (scale * total) - ratio**2, 0.0)])


__all__ = ["CompactSigmoid"]
