r"""Averaging over theta without a sampler: a fixed set of points about the optimum, with importance weights.

The posterior of :math:`\theta` is near the Gaussian :math:`\mathcal N(\hat\theta, C)` of Laplace's method. Points are
placed where that Gaussian has its mass: with the columns of ``axes`` as principal axes of one standard deviation,

.. math:: \theta_j = \hat\theta + \textstyle\sum_i z_{ji} a_i, \qquad z_{2m} = -z_{2m-1},

where the z are normal scores of a scrambled Sobol sequence with a fixed seed, each with its mirror image. A score
beyond ``reach`` is brought back to it: in directions that the data leave open the Gaussian is too wide, and what it
says far out is not to be trusted. The weights correct the rest,

.. math:: w_j \propto \exp\big(v(\theta_j) + \tfrac12 |z_j|^2\big) ,

cut at :math:`\sqrt M` times their mean so that no point rules alone. The effective number of points is :math:`1/\sum_j
w_j^2`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm, qmc

from bayesvm.typing import Matrix, Vector

#: Number of points, a power of two, and the largest score.
POINTS, REACH = 32, 2.0
#: Seed of the scrambling: the design is the same for the same number of hyperparameters.
SEED = 0


@dataclasses.dataclass(frozen=True)
class Design:
    """Points about an optimum.

    Attributes
    ----------
    theta : array, shape (M, k)
        The points, within the bounds.
    log_density : array, shape (M,)
        Logarithm of the density, up to a constant, with which they were placed.
    """

    theta: Matrix
    log_density: Vector


def integration_design(
    theta: Vector, axes: Matrix, bounds: Matrix, *, points: int = POINTS, reach: float = REACH
) -> Design:
    """Place the points.

    Parameters
    ----------
    theta : array, shape (k,)
        The optimum.
    axes : array, shape (k, m)
        Principal axes, each of a length of one standard deviation
        (:class:`~bayesvm.hyper.assessment.Assessment`).
    bounds : array, shape (k, 2)
        Points beyond are brought back to them.
    points : int
        M, a power of two and at least two.
    reach : float
        Largest score along an axis.
    """
    if points < 2 or points & (points - 1):
        raise ValueError(f"points: expected a power of two of at least 2, found {points}")
    m = axes.shape[1]
    if m == 0:
        return Design(theta[None, :].copy(), np.zeros(1))
    uniform = qmc.Sobol(m, seed=np.random.default_rng(SEED)).random(points // 2)
    half = np.clip(norm.ppf(np.clip(uniform, 1e-9, 1.0 - 1e-9)), -reach, reach)
    scores = np.concatenate([half, -half])
    placed = np.clip(theta + scores @ axes.T, bounds[:, 0], bounds[:, 1])
    return Design(placed, -0.5 * np.sum(scores**2, axis=1))


def importance_weights(values: Sequence[float] | Vector, log_density: Vector) -> tuple[Vector, float]:
    """Return the weights of the points, which add up to one, and their effective number.

    Parameters
    ----------
    values : array, shape (M,)
        Log evidence plus log hyperprior at the points; minus infinity where it cannot be computed.
    log_density : array, shape (M,)
        As in :class:`Design`.
    """
    log_weights = np.asarray(values, dtype=float) - log_density
    if not np.any(np.isfinite(log_weights)):
        raise ValueError("importance_weights: expected a finite value at one point at least, found none")
    weights = np.exp(log_weights - logsumexp(log_weights))
    weights = np.minimum(weights, np.sqrt(weights.size) * weights.mean())
    weights /= weights.sum()
    return weights, float(1.0 / np.sum(weights**2))


__all__ = ["Design", "importance_weights", "integration_design"]
