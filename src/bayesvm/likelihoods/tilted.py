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
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import erfc

from bayesvm.likelihoods.panels import DROP, gaussian_panels
from bayesvm.typing import Indices, Matrix, Vector

if TYPE_CHECKING:
    from collections.abc import Callable

    from bayesvm.likelihoods.base import Likelihood

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
        The loss of one sample; a loss that is not convex must be convex between its knots, and takes no weights.
    t, var : arrays, shape (n,)
        Means and variances of the Gaussians; the variances are positive.
    weights : array, shape (n,), optional
        Powers of the likelihood.
    """
    if not likelihood.traits.convex:
        return _searched(likelihood, t, var)
    return _convex(_Loss(likelihood, t - likelihood.origin, np.sqrt(var), weights))


def _searched(likelihood: Likelihood, t: Vector, var: Vector) -> TiltedNodes:
    """Return nodes on panels that were found piece by piece."""
    panels = gaussian_panels(
        likelihood.shifted_profile, likelihood.knots, likelihood.domain, t, var, origin=likelihood.origin
    )
    exponent = panels.log_weight - likelihood.shifted_profile(panels.x).loss + panels.base[:, None]
    return _normalised(panels.sample, panels.x, panels.u, exponent, np.zeros_like(t), np.zeros_like(t))


def _normalised(
    sample: Indices, x: Matrix, u: Matrix, exponent: Matrix, centre: Vector, log_scale: Vector
) -> TiltedNodes:
    """Return nodes whose weights sum to one for each sample."""
    n = centre.size
    top = np.full(n, -np.inf)
    np.maximum.at(top, sample, np.max(exponent, axis=1))
    weight = np.exp(exponent - top[sample, None])
    total = np.bincount(sample, weight.sum(axis=1), n)
    return TiltedNodes(sample, x, u, weight / total[sample, None], centre, log_scale + top + np.log(total))


class _Loss:
    """A convex loss in units of the Gaussians, r = (t - m) / s - centre, with the centre near the mode of each sample."""

    def __init__(self, likelihood: Likelihood, mean: Vector, scale: Vector, weights: Vector | None) -> None:
        self.likelihood = likelihood
        self.scale = scale
        self.weights = np.ones_like(mean) if weights is None else weights
        self.mean = mean  # of x = t - origin
        low, high = (end - likelihood.origin for end in likelihood.domain)
        inner = [k - likelihood.origin for k in likelihood.knots]
        self.ends = [low, *(k for k in inner if low < k < high), high]
        self.mode = self._mode(low, high)
        self.centre = (self.mode - mean) / scale
        self.at_mode = self.weights * likelihood.shifted_profile(self.mode).loss

    def _mode(self, low: float, high: float) -> Vector:
        """Return points near the modes: bracketed Newton steps on the slope of the exponent."""
        low, high = (low + _EDGE if np.isfinite(low) else low), (high - _EDGE if np.isfinite(high) else high)
        x = np.clip(self.mean, low, high)
        v = self.scale**2
        d = self.likelihood.shifted_profile(x)
        slope = self.mean - x - v * self.weights * d.gradient
        left, right = np.where(slope > 0.0, x, -np.inf), np.where(slope > 0.0, np.inf, x)
        outer = [e for e in self.ends if np.isfinite(e)]
        # beyond its outermost knots, and below the mean, a loss that falls to a flat part pushes no further
        left, right = np.maximum(left, low), np.minimum(right, high)
        step = slope / (1.0 + v * self.weights * d.curvature)
        for _ in range(60):
            if np.all(np.abs(slope) < 0.05 * self.scale):
                break
            trial = x + step
            inside = (trial > left) & (trial < right)
            bounded = np.isfinite(left) & np.isfinite(right)
            middle = np.where(bounded, 0.5 * (np.where(bounded, left, 0.0) + np.where(bounded, right, 0.0)), x + slope)
            x = np.where(np.abs(slope) < 0.05 * self.scale, x, np.where(inside, trial, middle))
            d = self.likelihood.shifted_profile(x)
            slope = self.mean - x - v * self.weights * d.gradient
            left, right = np.where(slope > 0.0, x, left), np.where(slope > 0.0, right, x)
            step = slope / (1.0 + v * self.weights * d.curvature)
            del outer
            outer = []
        return x
