r"""Laplace's method: a Gaussian at the mode.

Around the mode, :math:`S(f) \approx S(\hat f) + \tfrac12 (f - \hat f)^\top (K^{-1} + W) (f - \hat f)` (Chu2003 (31),
Thesis (4.36)), hence

.. math:: \ln Z = -S(\hat f) - \tfrac12 \ln |I + K W|

(Chu2003 (32), Thesis (4.38); the normalising constants of the likelihood are part of its loss). With
:math:`\alpha = -\ell'`, :math:`R = (K + W^{-1})^{-1}` on the support and the posterior variances v on it, the
derivative has an explicit, a determinant and an implicit part (through the mode,
:math:`d\hat f = (I + K W)^{-1} dK\, \alpha`):

.. math::

    \frac{\partial \ln Z}{\partial K} = \tfrac12 \alpha \alpha^\top - \tfrac12 R
    - \operatorname{sym}(q \alpha^\top), \qquad q = (I - R K) u, \quad u_m = \tfrac12 v_m \ell'''_m .

This is Chu2003 (33) for all covariance parameters at once; for losses with :math:`\ell''' = 0` the last part vanishes
and Thesis (4.41) remains. For a parameter :math:`\phi` of the likelihood, with partial derivatives at fixed f,

.. math:: \frac{\partial \ln Z}{\partial \phi} = -\sum_i \partial_\phi \ell_i - \tfrac12 \sum_m v_m\, \partial_\phi
          \ell''_m + (K q)^\top \partial_\phi \ell'

(Thesis (4.39), (4.40)).
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.exceptions import IncompatibleError
from bayesvm.inference.base import Evidence, Inference, Inferred, Posterior, gram_cotangent
from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg import SupportFactor
from bayesvm.solvers import MAPResult, Newton, Solver
from bayesvm.solvers.base import require
from bayesvm.solvers.newton import times
from bayesvm.typing import Indices, Matrix, Vector


@dataclasses.dataclass(frozen=True)
class Laplace(Inference):
    """Laplace's method with the mode found by ``solver``.

    Parameters
    ----------
    solver : Solver
        Finds the mode.
    """

    solver: Solver = dataclasses.field(default_factory=Newton)

    def check(self, likelihood: Likelihood) -> None:
        """Refuse losses with kinks: their curvature at a kink is infinite, and the expansion means nothing there."""
        require("Laplace's method", likelihood, smoothness=1, convex=True)
        self.solver.check(likelihood)

    def suited(self, likelihood: Likelihood) -> Laplace:
        """Return the method with Newton's solver if its own cannot treat the likelihood."""
        try:
            self.solver.check(likelihood)
        except IncompatibleError:
            return dataclasses.replace(self, solver=Newton())
        return self

    def infer(self, K: Matrix, y: Vector, likelihood: Likelihood, *, warm_start: Vector | None = None) -> Inferred:
        """Return posterior and evidence; see :meth:`bayesvm.inference.base.Inference.infer`."""
        self.check(likelihood)
        mode = self.solver.solve(K, y, likelihood, warm_start=warm_start)
        return gaussian_at_mode(K, y, likelihood, mode, SupportFactor.of(K, mode.derivatives.curvature))


def gaussian_at_mode(K: Matrix, y: Vector, likelihood: Likelihood, mode: MAPResult, factor: SupportFactor) -> Inferred:
    """Return posterior and evidence from the mode and the factor of the curvatures there; see the module."""
    R, inverse_diagonal = factor.inverse()
    var = factor.variances(K, inverse_diagonal)
    q = _implicit(K, factor, 0.5 * var * mode.derivatives.third[factor.support])
    posterior = Posterior.of(mode.alpha, factor)
    dK = gram_cotangent(mode.alpha, R, factor.support, posterior.support, q)
    moved = times(K, q) if likelihood.theta.size else q
    return posterior, evidence_at_mode(y, likelihood, mode, factor, Slopes(posterior.support, dK, var, moved))


@dataclasses.dataclass(frozen=True)
class Slopes:
    r"""What the derivatives of the evidence are made of.

    Attributes
    ----------
    rows : array of int
        Those of ``dK``.
    dK : array
        :math:`\partial \ln Z / \partial K`.
    var : array
        Posterior variances on the support of the factor.
    K_moved : array
        :math:`K q`; read for likelihoods with parameters only.
    """

    rows: Indices
    dK: Matrix
    var: Vector
    K_moved: Vector


def evidence_at_mode(
    y: Vector, likelihood: Likelihood, mode: MAPResult, factor: SupportFactor, slopes: Slopes
) -> Evidence:
    """Return the evidence from the mode, the factor of the curvatures there, and what its derivatives are made of."""
    terms = {
        "prior": float(-0.5 * (mode.alpha @ mode.f)),
        "loss": float(-np.sum(mode.derivatives.loss)),
        "determinant": -0.5 * factor.log_det(),
    }
    dphi = np.empty(0)
    if likelihood.theta.size:
        p = likelihood.theta_derivatives(y, mode.f)
        dphi = -p.loss.sum(axis=1) - 0.5 * (p.curvature[:, factor.support] @ slopes.var) + p.gradient @ slopes.K_moved
    return Evidence(sum(terms.values()), terms, slopes.rows, slopes.dK, dphi, mode.status, mode.f, mode.n_iter)


def _implicit(K: Matrix, factor: SupportFactor, u: Vector) -> Vector:
    """Return q = (I - R K) u for u on the support, as a vector over all points."""
    q = np.zeros(K.shape[0])
    if np.any(u):
        q[factor.support] = u
        q[factor.support] -= factor.apply(times(K, q)[factor.support])
    return q


__all__ = ["Laplace", "Slopes", "evidence_at_mode", "gaussian_at_mode"]
