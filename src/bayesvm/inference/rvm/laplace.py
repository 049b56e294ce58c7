"""Relevance vector machines with any smooth convex loss: Laplace's method on the active weights."""

from __future__ import annotations

import numpy as np

from bayesvm.inference.rvm.problem import RVMProblem, RVMState, Scores, alignment, least_logs
from bayesvm.likelihoods.base import Derivatives, Likelihood
from bayesvm.linalg import Cholesky, cholesky
from bayesvm.solvers.base import Status
from bayesvm.typing import Indices, Matrix, Vector

#: Largest prior standard deviation of one function's share of f. Labels that can be separated push it to infinity, and with it Laplace's
#: evidence to that of a certain prediction: at the mode the loss has neither slope nor curvature there, and the spread is not seen.
SPREAD = 30.0


class LaplaceRVM(RVMProblem):
    """Works on the rows of the active columns: Newton's method for the mode at every state.

    Parameters
    ----------
    basis : array, shape (n, k)
        All basis functions at the training inputs.
    y : array, shape (n,)
        Labels -1/+1 or targets.
    likelihood : Likelihood
        With a convex loss whose second derivative is continuous.
    tol : float
        Largest entry of the gradient of the weights, relative to the size of its terms.
    max_iter : int
        Largest number of Newton steps.
    """

    def __init__(
        self, basis: Matrix, y: Vector, likelihood: Likelihood, *, tol: float = 1e-12, max_iter: int = 50
    ) -> None:
        self.basis = basis
        self.size = float(y.size)
        self._y, self._likelihood, self._tol, self._max_iter = y, likelihood, tol, max_iter
        self._squares = np.square(basis)
        self.least = least_logs(basis, SPREAD)

    @property
    def phi_bounds(self) -> Matrix:
        """Return the bounds of the likelihood's free parameters."""
        return self._likelihood.bounds.reshape(-1, 2)

    def derivatives(self, state: RVMState) -> Derivatives:
        """Return the derivatives of the loss at the mode."""
        f = self.basis[:, state.active] @ state.weights
        return self._likelihood.with_theta(state.phi).derivatives(self._y, f)

    def state(self, active: Indices, log_precision: Vector, phi: Vector, weights: Vector | None = None) -> RVMState:
        """Find the mode and return the evidence with its derivatives."""
        likelihood = self._likelihood.with_theta(phi)
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
            p = likelihood.theta_derivatives(self._y, psi @ v)
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
        d = likelihood.derivatives(self._y, psi @ v)
        return v, d, float(np.sum(d.loss) + 0.5 * (v @ v))


def _factor(psi: Matrix, curvature: Vector) -> Cholesky:
    H = psi.T @ (curvature[:, None] * psi)
    H.flat[:: psi.shape[1] + 1] += 1.0
    return cholesky(H, overwrite=True, what="the Hessian of the weights")


__all__ = ["LaplaceRVM"]
