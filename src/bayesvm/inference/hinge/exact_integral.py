r"""Exact Gaussian integrals of hinge factors in up to three dimensions.

For :math:`u \sim \mathcal N(m, V)` (u the margins) and slopes c, the integrand :math:`\prod_i e^{-c_i [1 - u_i]_+}` is
an exponential of a linear function in each of the :math:`2^d` *patterns*, the sets of points that lie below their
margin. This module computes the mass of every pattern: a closed form for the last margin given the others,
Gauss-Legendre panels for the others, broken at the kinks. From the masses follow, by partial integration, all moments
that the evidence and its derivatives need, without any inverse of V: with :math:`s_i = c_i [u_i < 1]` and the density
:math:`p_i` of :math:`u_i` at the kink,

.. math:: V^{-1} (\langle u \rangle - m) = \langle s \rangle, \qquad
          V^{-1} - V^{-1} \operatorname{Cov}(u) V^{-1} = \operatorname{diag}(c_i p_i) - \operatorname{Cov}(s),

.. math:: \langle s_i u_i \rangle = m_i \langle s_i \rangle - V_{ii} c_i p_i + \sum_j V_{ij} \langle s_i s_j \rangle .
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import logsumexp

from bayesvm.likelihoods.normal_tails import log_exponential_tail, log_ndtr
from bayesvm.typing import Matrix, Vector

#: Largest number of points.
LARGEST = 3
#: Panels between two breaks, the power with which they shorten towards the breaks, nodes per panel.
PANELS, GRADING, NODES = 8, 4.0, 8
#: Standard deviations that the panels reach from the largest value of the integrand, known to one of them.
REACH = 9.0
#: Sections of the range in which that value is looked for, and how often at most the range is cut to an eighth.
SECTIONS, ROUNDS = 16, 20
#: Least variance of a margin given others, relative to its own: what is less is rounding.
FLOOR = 1e-12


@dataclasses.dataclass(frozen=True)
class HingeMoments:
    r"""Result of an integration over all patterns."""

    log_z: float  #: Logarithm of the integral.
    slope: Vector  #: :math:`\langle s \rangle`; shape (d,).
    precision: Matrix  #: :math:`V^{-1} - V^{-1} \operatorname{Cov}(u) V^{-1}`; shape (d, d).
    #: :math:`\sum_i c_i \langle [1 - u_i]_+ \rangle`, minus the derivative of ``log_z`` in the logarithm of all c.
    loss: float


def integrate_hinges(mean: Vector, cov: Matrix, c: Vector) -> HingeMoments:
    """Integrate the hinge factors over the Gaussian of the margins, up to :data:`LARGEST` of them (of none: 1)."""
    d = mean.size
    below = _patterns(d)
    log_masses = _log_masses(mean[None], cov, c)[0]
    log_z = float(logsumexp(log_masses))
    p = np.exp(log_masses - log_z)
    S = below * c
    slope = p @ S
    second = (S * p[:, None]).T @ S
    kink = c * np.exp([_log_kink_density(mean, cov, c, i) - log_z for i in range(d)])
    precision = np.diag(kink) - (second - np.outer(slope, slope))
    moved = mean * slope - np.diagonal(cov) * kink + np.sum(cov * second, axis=1)  # <s_i u_i>
    return HingeMoments(log_z, slope, precision, float(np.sum(slope - moved)))


def _patterns(d: int) -> Matrix:
    """Return one row per pattern; entry 1.0 where the margin is below one. The last margin varies fastest."""
    return np.array([[(k >> (d - 1 - i)) & 1 for i in range(d)] for k in range(2**d)], dtype=float).reshape(2**d, d)


def _log_masses(mean: Matrix, cov: Matrix, c: Vector) -> Matrix:
    """Return the log masses of all patterns for a batch of means, shape (b, 2**d); without margins the mass is 1."""
    if mean.shape[1] == 0:
        return np.zeros((mean.shape[0], 1))
    s = np.sqrt(max(float(cov[0, 0]), np.finfo(float).tiny))
    if mean.shape[1] == 1:
        u = (mean[:, 0] - 1.0) / s
        return np.stack([log_ndtr(u), log_exponential_tail(u, c[0] * s)], axis=1)
    nodes, log_weights = _nodes(mean, cov, c, s)
    total = log_weights[:, :, None] + _log_integrand(nodes, mean, cov, c, s)
    below = (nodes < 1.0)[:, :, None]
    parts = [logsumexp(np.where(side, total, -np.inf), axis=1) for side in (~below, below)]
    return np.concatenate(parts, axis=1)


def _log_integrand(nodes: Matrix, mean: Matrix, cov: Matrix, c: Vector, s: float) -> Matrix:
    """Return the log density of the first margin times the masses of the others given it, (b, nodes, 2**(d - 1))."""
    rest_cov = cov[1:, 1:] - np.outer(cov[1:, 0], cov[0, 1:]) / s**2
    rest_cov[np.diag_indices_from(rest_cov)] = np.maximum(np.diagonal(rest_cov), FLOOR * np.diagonal(cov)[1:])
    z = (nodes - mean[:, :1]) / s
    rest_mean = mean[:, None, 1:] + (z / s)[:, :, None] * cov[0, 1:]
    inner = _log_masses(rest_mean.reshape(-1, mean.shape[1] - 1), rest_cov, c[1:])
    outer = -0.5 * z**2 - np.log(s) - 0.5 * np.log(2.0 * np.pi) - c[0] * np.maximum(1.0 - nodes, 0.0)
    return np.asarray(outer[:, :, None] + inner.reshape(*nodes.shape, -1))


def _nodes(mean: Matrix, cov: Matrix, c: Vector, s: float) -> tuple[Matrix, Matrix]:
    """Return nodes for the first margin and the logarithms of their weights, one row per mean.

    The integrand is log-concave, more so than the Gaussian of standard deviation s: it is below its largest value by
    the factor :math:`e^{-r^2/2}` at the distance r s, wherever the hinge factors have pulled it. Panels are broken at
    the maximum, at the margin's own kink and where the conditional means of the other margins cross theirs (with nearly
    equal inputs the inner integrals have kinks there), and are short beside the breaks, where the integrand may fall
    within 1/c.
    """
    row, first = cov[0], mean[:, 0]
    peak = _peak(mean, cov, c, s)
    low, high = peak - REACH * s, peak + REACH * s
    coupled = [j for j in range(1, row.size) if abs(row[j]) > FLOOR * s * s]
    breaks = [peak, np.ones_like(first), *(first + (1.0 - mean[:, j]) * s * s / row[j] for j in coupled)]
    edges = np.stack([low, *(np.clip(b, low, high) for b in breaks), high], axis=1)
    edges.sort(axis=1)
    width = np.maximum(np.diff(edges, axis=1), np.finfo(float).tiny)[:, :, None]
    nodes = edges[:, :-1, None] + width * STEP
    return nodes.reshape(first.size, -1), np.log(width * WEIGHT).reshape(first.size, -1)


def _peak(mean: Matrix, cov: Matrix, c: Vector, s: float) -> Vector:
    """Return where the integrand of the first margin is largest, to a standard deviation, by repeated sections."""
    tilt = c * cov[0]
    low = mean[:, 0] + np.sum(np.minimum(tilt, 0.0))
    high = mean[:, 0] + np.sum(np.maximum(tilt, 0.0))
    share = np.linspace(0.0, 1.0, SECTIONS + 1)
    at = np.arange(low.size)
    for _ in range(ROUNDS):
        if np.max(high - low) <= s:
            break
        trial = low[:, None] + (high - low)[:, None] * share
        best = np.argmax(logsumexp(_log_integrand(trial, mean, cov, c, s), axis=2), axis=1)
        low, high = trial[at, np.maximum(best - 1, 0)], trial[at, np.minimum(best + 1, SECTIONS)]
    return np.asarray(0.5 * (low + high))


def _panels() -> tuple[Vector, Vector]:
    """Return nodes and weights on [0, 1]: Gauss-Legendre panels that become short towards both ends."""
    t = np.linspace(0.0, 1.0, PANELS + 1) ** GRADING
    edges = t / (t + t[::-1])
    x, w = np.polynomial.legendre.leggauss(NODES)
    width = np.diff(edges)[:, None]
    return (edges[:-1, None] + 0.5 * width * (x + 1.0)).ravel(), (0.5 * width * w).ravel()


STEP, WEIGHT = _panels()


def _log_kink_density(mean: Vector, cov: Matrix, c: Vector, i: int) -> float:
    """Return the logarithm of the unnormalised density of margin i at the kink."""
    var = float(cov[i, i])
    own = -0.5 * (1.0 - mean[i]) ** 2 / var - 0.5 * np.log(2.0 * np.pi * var)
    rest = [j for j in range(mean.size) if j != i]
    rest_mean = mean[rest] + cov[rest, i] / var * (1.0 - mean[i])
    rest_cov = cov[np.ix_(rest, rest)] - np.outer(cov[rest, i], cov[i, rest]) / var
    diagonal = np.diag_indices_from(rest_cov)
    rest_cov[diagonal] = np.maximum(rest_cov[diagonal], FLOOR * np.diagonal(cov)[rest])
    return float(own + logsumexp(_log_masses(rest_mean[None], rest_cov, c[rest])[0]))


__all__ = ["LARGEST", "HingeMoments", "integrate_hinges"]
