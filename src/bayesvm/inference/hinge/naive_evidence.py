r"""The simple estimate of the naive evidence, Sollich1999 (8).

.. math:: \ln Q(D) \approx -\tfrac12 \sum_i y_i \alpha_i \theta^*_i - C \sum_i l(y_i \theta^*_i) - n \ln(1 + e^{-2C})
          - \tfrac12 \ln \det(I + L_m K_m), \qquad (L_m)_{ii} = 2\pi \bigl[\alpha_i (C - \alpha_i)/C\bigr]^2,

m running over the marginal points. Without the heuristic :math:`I +` the determinant is that of :math:`L_m K_m`, which
diverges when a marginal point is about to leave the set. The formula is Laplace's with :math:`W = L_m`, so the
posterior has the shared form :math:`\mathcal N(K\alpha, (K^{-1} + L_m)^{-1})`: :math:`L_m` is the precision of the
Gaussian with the same height and the same area as the two-sided exponential :math:`e^{-\alpha u}, e^{(C-\alpha) u}` of
a marginal point.

Derivatives at a fixed marginal set F, with :math:`t = y\alpha`, the posterior variances v and
:math:`R = (K_{FF} + W^{-1})^{-1}`:

.. math:: \frac{\partial \ln Q}{\partial K} = \tfrac12 \alpha\alpha^\top - \tfrac12 R
          - \operatorname{sym}(q \alpha^\top), \qquad K_{FF}\, q_F = -\tfrac12 y_F v_F\, \frac{dW}{dt},

the last part because :math:`K_{FF}\, d\alpha_F = -dK_{F\cdot}\, \alpha - K_{FB}\, d\alpha_B`. The estimate is
continuous in the hyperparameters, with kinks where the marginal set changes.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import expit

from bayesvm.inference.base import Evidence, Inference, Inferred, Posterior, gram_cotangent
from bayesvm.inference.hinge.mode import HingeMode, hinge_bounds, hinge_mode
from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg import SupportFactor, cholesky
from bayesvm.typing import Indices, Matrix, Vector


@dataclasses.dataclass(frozen=True)
class NaiveHinge(Inference):
    """Sollich1999 (8).

    Parameters
    ----------
    guarded : bool
        Whether the determinant is that of I + L K (the heuristic of the paper) or of L K. The latter has no derivatives
        here: it is for comparison.
    """

    guarded: bool = True

    def check(self, likelihood: Likelihood) -> None:
        """Refuse every likelihood but the hinge loss."""
        hinge_bounds(np.ones(1), likelihood.plain)

    def infer(self, K: Matrix, y: Vector, likelihood: Likelihood, *, warm_start: Vector | None = None) -> Inferred:
        """Return posterior and evidence; ``warm_start`` is the ``latent`` of an earlier one (shares of the bounds)."""
        C, bound = hinge_bounds(y, likelihood)
        mode = hinge_mode(K, y, bound, warm_start=warm_start)
        factor = SupportFactor.of(K, marginal_precision(mode))
        posterior = Posterior.of(mode.alpha, factor)
        log_det = factor.log_det() if self.guarded else _unguarded(K, mode)
        terms = {
            "prior": float(-0.5 * (mode.alpha @ mode.f)),
            "loss": float(-(mode.bound @ mode.slack)),
            "kappa": log_kappa(C, bound),
            "determinant": -0.5 * log_det,
        }
        dK, dC = _cotangents(K, mode, factor, posterior.support)
        dphi = np.full(likelihood.theta.size, dC + kappa_slope(C, bound))
        evidence = Evidence(
            sum(terms.values()), terms, posterior.support, dK, dphi, mode.status, mode.share, mode.n_iter
        )
        return posterior, evidence


def log_kappa(C: float, bound: Vector) -> float:
    r"""Return :math:`\sum_i w_i \ln \kappa(C) = -\sum_i w_i \ln(1 + e^{-2C})`, the constant of Sollich1999 (2)."""
    return float(-np.sum(bound) / C * np.log1p(np.exp(-2.0 * C)))


def kappa_slope(C: float, bound: Vector) -> float:
    """Return its derivative in ln C (at fixed weights)."""
    return float(2.0 * np.sum(bound) * expit(-2.0 * C))


def marginal_precision(mode: HingeMode) -> Vector:
    r"""Return :math:`L_m = 2\pi [t (c - t)/c]^2` for the marginal points, zero elsewhere."""
    W = np.zeros_like(mode.alpha)
    t, c = np.abs(mode.alpha[mode.marginal]), mode.bound[mode.marginal]
    W[mode.marginal] = 2.0 * np.pi * (t * (c - t) / c) ** 2
    return W


def _unguarded(K: Matrix, mode: HingeMode) -> float:
    F = mode.marginal
    W = marginal_precision(mode)[F]
    return float(np.sum(np.log(W))) + cholesky(K[np.ix_(F, F)], jitter=True).log_det()


def _cotangents(K: Matrix, mode: HingeMode, factor: SupportFactor, rows: Indices) -> tuple[Matrix, float]:
    """Return dlnQ/dK on ``rows`` and dlnQ/dlnC without the part of kappa."""
    F, B, a = mode.marginal, mode.bounded, mode.alpha
    R, inverse_diagonal = factor.inverse()
    v, q = np.zeros(K.shape[0]), np.zeros(K.shape[0])
    v[factor.support] = factor.variances(K, inverse_diagonal)
    dC = -float(mode.bound @ mode.slack)
    if F.size:
        t, c = np.abs(a[F]), mode.bound[F]
        half = 0.5 * v[F] * 4.0 * np.pi * t * (c - t) / c  # v/2 times the derivative of W in the width t (c - t)/c
        pull = -half * (c - 2.0 * t) / c * np.sign(a[F])
        q[F] = cholesky(K[np.ix_(F, F)], jitter=True, what="the Gram matrix of the marginal points").solve(pull)
        dC -= float(q[F] @ (K[np.ix_(F, B)] @ a[B])) + float(np.sum(half * t**2 / c))
    return gram_cotangent(a, R, factor.support, rows, q), dC


__all__ = ["NaiveHinge", "kappa_slope", "log_kappa", "marginal_precision"]
