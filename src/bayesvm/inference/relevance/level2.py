r"""Evidence of the precisions, with its exact derivatives.

With :math:`\Sigma = (I + \Psi^\top W \Psi)^{-1}`, the variances :math:`s_n = \psi_n^\top \Sigma \psi_n` and
:math:`u_n = s_n \ell'''_n` (zero for a quadratic loss), Laplace's evidence has the derivatives

.. math::

    \frac{\partial \ln Z}{\partial \ln a_i} &= \tfrac12 (1 - v_i^2 - \Sigma_{ii}) + \tfrac12 v_i (\Sigma \Psi^\top u)_i, \\
    \frac{\partial \ln Z}{\partial \Phi} &= \bigl[ r v^\top - W \Psi \Sigma - \tfrac12 u v^\top - \tfrac12 r c^\top
        + \tfrac12 W \Psi c\, v^\top \bigr] A^{-1/2}, \qquad r = -\ell', \; c = \Sigma \Psi^\top u,

the terms with u and c being those through the mode, and the one for a parameter of the likelihood is that of
:mod:`bayesvm.inference.laplace`.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.inference.relevance.level1 import WeightPosterior
from bayesvm.likelihoods.base import Likelihood
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class ActiveEvidence:
    r"""Evidence of the precisions of the active functions.

    Attributes
    ----------
    value : float
        :math:`\ln Z`.
    gradient : array, shape (m + p,)
        Derivatives in the logarithms of the precisions, then of the likelihood's free parameters.
    covariance : array, shape (m, m)
        :math:`\Sigma`, of v.
    """

    value: float
    gradient: Vector
    covariance: Matrix


def active_evidence(post: WeightPosterior, y: Vector, likelihood: Likelihood) -> ActiveEvidence:
    """Return the evidence with its derivatives in the precisions and the likelihood's parameters."""
    Sigma = post.factor.inverse()
    projected = post.psi @ Sigma
    var = np.einsum("nm,nm->n", projected, post.psi)
    u = var * post.derivatives.third
    c = projected.T @ u
    slope = 0.5 * (1.0 - post.v**2 - np.diagonal(Sigma) + post.v * c)
    if likelihood.theta.size == 0:
        return ActiveEvidence(post.log_evidence, slope, Sigma)
    p = likelihood.theta_derivatives(y, post.f)
    # through the mode: df = -Psi Sigma Psi' (d loss'/d phi), and d ln Z = -1/2 u' df
    dphi = -p.loss.sum(axis=1) - 0.5 * (p.curvature @ var) + 0.5 * (p.gradient @ (post.psi @ c))
    return ActiveEvidence(post.log_evidence, np.concatenate([slope, dphi]), Sigma)


def basis_cotangent(post: WeightPosterior, Sigma: Matrix, root: Vector) -> Matrix:
    r"""Return :math:`\partial \ln Z/\partial \Phi` at fixed precisions, shape (n, m); ``root`` holds their square roots."""
    d = post.derivatives
    W, r = d.curvature, -d.gradient
    projected = post.psi @ Sigma
    u = np.einsum("nm,nm->n", projected, post.psi) * d.third
    c = projected.T @ u
    left = r - 0.5 * u + 0.5 * W * (post.psi @ c)
    G = np.outer(left, post.v) - W[:, None] * projected - 0.5 * np.outer(r, c)
    return np.asarray(G / root)


__all__ = ["ActiveEvidence", "active_evidence", "basis_cotangent"]
