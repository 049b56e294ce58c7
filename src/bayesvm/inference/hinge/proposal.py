r"""Gaussians near the effective prior :math:`Q(\theta) N^n(\theta)`, from which the hinge normaliser is sampled.

With many samples the effective prior has its mass where the prior has hardly any: at functions of size one if the
prior's are large, or at functions without a change of sign, because every point inside the gap costs a factor. Draws
that begin at the prior miss them, and their average is too small, by hundreds of nats if the variance is large. So
draws begin at

.. math:: q_k = \tfrac12 \mathcal N(m, \Sigma) + \tfrac12 \mathcal N(-m, \Sigma), \qquad
          \Sigma = (K^{-1} + T)^{-1}, \qquad m = K \alpha,

T diagonal, as the effective prior is even in :math:`\theta`. Stationary points of
:math:`n \ln \langle N \rangle_q - \mathrm{KL}(q, Q)` have

.. math:: \alpha_j = \frac{n \omega_j}{\langle N \rangle}\, \partial_m \langle \nu(\theta_j) \rangle, \qquad
          T_j = -\frac{n \omega_j}{\langle N \rangle}\, \partial_m^2 \langle \nu(\theta_j) \rangle,

and are found by iteration, with :math:`T \ge 0`: one from the prior with m = 0 (wide), one from functions without a
change of sign (narrow; its m may vanish). With shares :math:`c_k` that sum to one,

.. math:: \overline{N^n} = \sum_k c_k \Bigl\langle e^{h} \Bigr\rangle_{q_k}, \qquad
          h(\theta) = n \ln N(\theta) - \ln \sum_k c_k\, q_k(\theta)/Q(\theta),

for any q (the balance heuristic of Veach1995); a better fit only lowers the scatter. The ratios need no inverse:

.. math:: \ln \frac{q_k}{Q} = \tfrac12 \ln |I + K T| - \tfrac12 b^\top m - \tfrac12 \theta^\top T \theta
          + \ln \cosh b^\top \theta, \qquad b = \alpha + T m .
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from bayesvm.inference.hinge.elliptical_slice import LogFactor
from bayesvm.likelihoods.normal_tails import log_exponential_tail, log_ndtr
from bayesvm.linalg import cholesky
from bayesvm.typing import Matrix, Vector

#: Change of a mean (in standard deviations) or variance (relative) at which a Gaussian is found; most iterations.
ENOUGH, ITERATIONS = 0.02, 40
#: Height of the functions at which the narrow Gaussian begins, and the noise with which the prior is fitted to them.
HEIGHT, NOISE = 1.2, 0.1
#: Share of a step that is taken.
STEP = 0.7
#: Means below it in size are zero.
VANISHED = 1e-3


@dataclasses.dataclass(frozen=True)
class Proposal:
    r"""A pair of Gaussians :math:`\mathcal N(\pm m, \Sigma)`."""

    mean: Vector  #: :math:`m`; shape (m,).
    tilt: Vector  #: :math:`b`; shape (m,).
    precision: Vector  #: Diagonal of T; shape (m,).
    root: Matrix  #: A with :math:`A A^\top = \Sigma`; shape (m, m).
    offset: float  #: :math:`\tfrac12 \ln |I + K T| - \tfrac12 b^\top m`.


def proposals(L: Matrix, C: float, count: float, weights: Vector) -> tuple[Proposal, ...]:
    """Return the wide and the narrow Gaussian for the prior with the lower factor L; they depend smoothly on it."""
    zero = np.zeros_like(weights)
    wide = _iterated(L, C, count * weights, zero, zero)
    K = L @ L.T
    K[np.diag_indices_from(K)] += NOISE
    factor = cholesky(K, overwrite=True, what="the Gram matrix of the normaliser's nodes")
    narrow = _iterated(L, C, count * weights, factor.solve(np.full(weights.size, HEIGHT)), C * count * weights)
    return wide, narrow


def proposal_factor(log_factor: LogFactor, chosen: Sequence[Proposal]) -> LogFactor:
    r"""Return h, of functions in columns, for given :math:`n \ln N`; all shares are equal."""
    T, b = np.stack([q.precision for q in chosen]), np.stack([q.tilt for q in chosen])
    offset = np.array([[q.offset] for q in chosen]) - np.log(2.0 * len(chosen))

    def over_proposals(f: Matrix) -> Vector:
        u = np.abs(b @ f)
        ratios = offset - 0.5 * (T @ (f * f)) + u + np.log1p(np.exp(-2.0 * u))
        return np.asarray(log_factor(f) - np.logaddexp.reduce(ratios, axis=0))

    return over_proposals


def _iterated(L: Matrix, C: float, mass: Vector, alpha: Vector, T: Vector) -> Proposal:
    r"""Iterate to a proposal, from :math:`\alpha` and T; ``mass`` is :math:`n \omega`."""
    m = L @ (alpha @ L)
    A, log_det = _root(L, T)
    for _ in range(ITERATIONS):
        v = np.einsum("ij,ij->i", A, A)
        level, slope, bend = nu_moments(m, v, C)
        share = mass / float(mass @ level) * float(np.sum(mass))
        slope, new = share * slope, np.maximum(-share * bend, 0.0)
        change = max(float(np.max(np.abs(slope - alpha) * np.sqrt(v))), float(np.max(np.abs(new - T) * v)))
        if change < ENOUGH:
            break
        both = (new > 0.0) & (T > 0.0)
        T = np.where(both, np.sqrt(new * T), 0.5 * (new + T))
        A, log_det = _root(L, T)
        if np.any(m):
            force = slope + T * m
            aim = A @ (force @ A)
            m, alpha = m + STEP * (aim - m), alpha + STEP * (force - T * aim - alpha)
    if np.max(np.abs(m)) < VANISHED:
        m, alpha = np.zeros_like(m), np.zeros_like(m)
    b = alpha + T * m
    return Proposal(m, b, T, A, 0.5 * log_det - 0.5 * float(b @ m))


def _root(L: Matrix, T: Vector) -> tuple[Matrix, float]:
    r"""Return A with :math:`A A^\top = (K^{-1} + T)^{-1}` for :math:`K = L L^\top`, and :math:`\ln |I + K T|`."""
    M = L.T @ (T[:, None] * L)
    M[np.diag_indices_from(M)] += 1.0
    factor = cholesky(M, overwrite=True, what="the precision of a Gaussian near the effective prior")
    return factor.half_solve(np.asfortranarray(L.T)).T, factor.log_det()


def nu_moments(mean: Vector, var: Vector, C: float) -> tuple[Vector, Vector, Vector]:
    r"""Return :math:`\langle \nu \rangle` under :math:`\mathcal N(m, v)` and its first two derivatives in m.

    With :math:`s = \sqrt v`, :math:`u = (m - 1)/s` and :math:`E(u) = \int_u^\infty e^{-C s (x - u)} \phi(x)\, dx` the
    factor of the label +1 has the mean :math:`\Phi(u) + E(u)` and the derivatives :math:`C E(u)` and
    :math:`C^2 E(u) - C \phi(u)/s`; that of -1 follows with -m.
    """
    s = np.sqrt(var)
    level, slope, bend = np.zeros_like(mean), np.zeros_like(mean), np.zeros_like(mean)
    for sign in (1.0, -1.0):
        u = (sign * mean - 1.0) / s
        tail = np.exp(log_exponential_tail(u, C * s))
        level += np.exp(log_ndtr(u)) + tail
        slope += sign * C * tail
        bend += C * (C * tail - np.exp(-0.5 * u * u) / (np.sqrt(2.0 * np.pi) * s))
    kappa = 1.0 / (1.0 + float(np.exp(-2.0 * C)))
    return kappa * level, kappa * slope, kappa * bend


__all__ = ["Proposal", "nu_moments", "proposal_factor", "proposals"]
