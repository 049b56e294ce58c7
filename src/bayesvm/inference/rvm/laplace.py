"""Relevance vector machines with any smooth convex loss: Laplace's method on the active weights."""

from __future__ import annotations

import numpy as np

from bayesvm.inference.rvm.problem import RVMProblem, RVMState, Scores, alignment
from bayesvm.likelihoods.base import Derivatives, Likelihood
from bayesvm.linalg import Cholesky, cholesky
from bayesvm.solvers.base import Status
from bayesvm.typing import Indices, Matrix, Vector

#: Largest prior standard deviation of one function's share of f. Labels that can be separated push it to infinity, and
#: with it Laplace's evidence to that of a certain prediction: at the mode the loss has neither slope nor curvature
#: there, and the spread is not seen.
SPREAD = 30.0


class LaplaceRVM(RVMProblem):
    """Works on the rows of the active columns: Newton's method for the mode at every state.

    The likelihood needs a convex loss with a continuous second derivative. ``tol`` is the largest entry of the gradient
    of the weights, relative to the size of its terms, ``max_iter`` the largest number of Newton steps.
    """

    def __init__(
        self, basis: Matrix, y: Vector, likelihood: Likelihood, *, tol: float = 1e-12, max_iter: int = 50
    ) -> None:
        super().__init__(basis, y, likelihood, size=float(y.size), spread=SPREAD)
        self._tol, self._max_iter, self._squares = tol, max_iter, np.square(basis)

    def state(self, active: Indices, log_precision: Vector, phi: Vector, weights: Vector | None = None) -> RVMState:
        """Find the mode and return the evidence with its derivatives."""
        likelihood = self.likelihood.with_theta(phi)
        root = np.exp(0.5 * log_precision)
        psi = self.basis[:, active] / root
        v, d, factor, status = self._mode(psi, likelihood, None if weights is None else weights * root)
        value = float(-np.sum(d.loss) - 0.5 * (v @ v) - 0.5 * factor.log_det())
        Sigma = factor.inverse()
        projected = psi @ Sigma
        var = np.einsum("nm,nm->n", projected, psi)
        c = projected.T @ (var * d.third)
        gradient = 0.5 * (1.0 - v**2 - np.diagonal(Sigma) + v * c)
        if phi.size:
            p = likelihood.theta_derivatives(self.y, psi @ v)
            # through the mode: df = -Psi Sigma Psi' (d loss'/d phi), and d ln Z = -1/2 u' df
            dphi = -p.loss.sum(axis=1) - 0.5 * (p.curvature @ var) + 0.5 * (p.gradient @ (psi @ c))
            gradient = np.concatenate([gradient, dphi])
        return RVMState(active, log_precision, phi, v, factor, Sigma, value, gradient, status)

    def scores(self, state: RVMState) -> Scores:
        """Return the scores, at the cost of one product of the basis with the active functions."""
        d = self.derivatives(state)
        norm = d.curvature @ self._squares
        cross = (self.basis[:, state.active] * d.curvature[:, None]).T @ self.basis
        V = state.factor.half_solve(cross / state.root[:, None])
        left = norm - np.einsum("mk,mk->k", V, V)
        return Scores(norm, left, -(d.gradient @ self.basis), alignment(cross, norm, state.active))

    def _mode(
        self, psi: Matrix, likelihood: Likelihood, start: Vector | None
    ) -> tuple[Vector, Derivatives, Cholesky, Status]:
        """Find the mode of v by Newton's method with step halving."""
        v, d, objective = self._at(psi, likelihood, np.zeros(psi.shape[1]) if start is None else start)
        if not np.isfinite(objective):
            v, d, objective = self._at(psi, likelihood, np.zeros(psi.shape[1]))
        factor, status = _factor(psi, d.curvature), Status.MAX_ITER
        for _ in range(self._max_iter):
            gradient = psi.T @ d.gradient + v
            scale = 1.0 + np.max(np.abs(v), initial=0.0) + np.max(np.abs(psi).T @ np.abs(d.gradient), initial=0.0)
            if np.max(np.abs(gradient), initial=0.0) <= self._tol * scale:
                status = Status.CONVERGED
                break
            step, t = factor.solve(gradient), 1.0
            ceiling = objective + 1e-13 * (1.0 + abs(objective))
            new = self._at(psi, likelihood, v - step)
            while not new[2] <= ceiling and t > 1e-8:
                t *= 0.5
                new = self._at(psi, likelihood, v - t * step)
            if not new[2] <= ceiling:
                status = Status.STALLED
                break
            v, d, objective = new
            factor = _factor(psi, d.curvature)
        return v, d, factor, status

    def _at(self, psi: Matrix, likelihood: Likelihood, v: Vector) -> tuple[Vector, Derivatives, float]:
        d = likelihood.derivatives(self.y, psi @ v)
        return v, d, float(np.sum(d.loss) + 0.5 * (v @ v))


def _factor(psi: Matrix, curvature: Vector) -> Cholesky:
    H = psi.T @ (curvature[:, None] * psi)
    H.flat[:: psi.shape[1] + 1] += 1.0
    return cholesky(H, overwrite=True, what="the Hessian of the weights")


__all__ = ["LaplaceRVM"]
