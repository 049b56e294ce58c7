r"""Tilted distributions :math:`\hat p(f) \propto p(y|f)\, \mathcal N(f; m, v)`: prediction, expectation propagation.

All of it follows from :math:`\ln Z(m) = \ln \int p(y|f)\, \mathcal N(f; m, v)\, df` and its derivatives in the mean,

.. math:: \hat m = m + v \,\partial_m \ln Z, \qquad \hat v = v + v^2 \,\partial_m^2 \ln Z,

and, for a parameter :math:`\phi` of the likelihood,
:math:`\partial_\phi \ln Z = -\langle \partial_\phi \ell \rangle_{\hat p}`.

The functions here are in the margin or residual t and by quadrature; likelihoods register their closed forms.
:class:`~bayesvm.likelihoods.base.Likelihood` turns them into functions of y and f.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING

import numpy as np

from bayesvm.likelihoods.quadrature import PiecewiseLoss, density_nodes, in_blocks
from bayesvm.typing import Matrix, Vector

if TYPE_CHECKING:
    from bayesvm.likelihoods.base import Likelihood


@dataclasses.dataclass(frozen=True)
class Tilted:
    r"""Normaliser of tilted distributions with its derivatives, one entry per sample.

    Attributes
    ----------
    log_z : array, shape (n,)
        :math:`\ln Z`.
    slope, bend : arrays, shape (n,)
        :math:`\partial_m \ln Z` and :math:`\partial_m^2 \ln Z`; the latter is above :math:`-1/v`, and not positive if
        the loss is convex.
    """

    log_z: Vector
    slope: Vector
    bend: Vector


@functools.singledispatch
def log_normalizer(likelihood: Likelihood, t: Vector, var: Vector) -> Vector:
    r"""Return :math:`\ln \int e^{-\ell(x)}\, \mathcal N(x; t, v)\, dx` for vectors of means and positive variances."""
    loss = PiecewiseLoss.of(likelihood)
    return in_blocks(lambda t, var: density_nodes(loss, t, var).log_z, t, var)


@functools.singledispatch
def tilted(likelihood: Likelihood, t: Vector, var: Vector) -> Tilted:
    """Return the normalisers with their derivatives in t, for vectors of means and positive variances."""
    return tilted_power(likelihood, t, var)


@functools.singledispatch
def tilted_theta(likelihood: Likelihood, t: Vector, var: Vector) -> Matrix:
    """Return the derivatives of the logarithms of the normalisers in theta, shape (p, n); p is positive."""
    return tilted_power_theta(likelihood, t, var, np.ones_like(t))


def tilted_power(likelihood: Likelihood, t: Vector, var: Vector, *power: Vector) -> Tilted:
    """Return the same as :func:`tilted` by quadrature, for powers of the likelihood if they are given."""
    loss = PiecewiseLoss.of(likelihood)

    def block(t: Vector, var: Vector, *power: Vector) -> Matrix:
        nodes = density_nodes(loss, t, var, *power)
        mean, spread = nodes.moments()
        return np.array([nodes.log_z, mean / np.sqrt(var), (spread - 1.0) / var])

    return Tilted(*in_blocks(block, t, var, *power))


def tilted_power_theta(likelihood: Likelihood, t: Vector, var: Vector, power: Vector) -> Matrix:
    """Return the same as :func:`tilted_theta` by quadrature, for powers of the likelihood."""
    loss = PiecewiseLoss.of(likelihood)

    def block(t: Vector, var: Vector, power: Vector) -> Matrix:
        nodes = density_nodes(loss, t, var, power)
        return -power * nodes.average(likelihood.profile_theta(likelihood.origin + nodes.x).loss)

    return in_blocks(block, t, var, power)


__all__ = ["Tilted", "log_normalizer", "tilted", "tilted_power", "tilted_power_theta", "tilted_theta"]
