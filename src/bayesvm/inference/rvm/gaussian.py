r"""Relevance vector machines with a quadratic loss: inner products of basis functions instead of rows.

Where the loss is :math:`\ell_i(f) = \ell_i(0) - \kappa\, (g_i f - \tfrac12 w_i f^2)` with one factor :math:`\kappa` for
all samples (Gaussian noise: :math:`\kappa` is the precision), the evidence depends on the data through
:math:`\Phi^\top w \Phi` and :math:`b = \Phi^\top g` alone. A column of the former is computed when its function becomes
active; all else is algebra of the size of the active set.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.inference.rvm.problem import RVMProblem, RVMState, Scores, alignment
from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg import cholesky
from bayesvm.solvers.base import Status
from bayesvm.typing import Indices, Matrix, Vector

#: Largest prior standard deviation of one function's share of f, in units of the targets' size. Inner products square
#: the condition of the basis: weights that cancel one another beyond this leave no digits.
SPREAD = 300.0


@dataclasses.dataclass(frozen=True)
class _Factor:
    """The factor kappa (relative to the given likelihood) and the loss at f = 0, with their derivatives in phi."""

    kappa: float
    loss: float
    rate: Vector
    loss_rate: Vector


class GaussianRVM(RVMProblem):
    """Exact evidence from inner products; the likelihood's parameters must scale gradient and curvature alike."""

    def __init__(self, basis: Matrix, y: Vector, likelihood: Likelihood) -> None:
        # at f = y what is left of the loss is its normaliser, half a logarithm of the variance per sample
        rates = likelihood.theta_derivatives(y, y).loss.sum(axis=1)
        size, spread = 2.0 * float(np.max(rates, initial=0.5)), SPREAD * float(np.sqrt(np.mean(y**2)))
        super().__init__(basis, y, likelihood, size=size, spread=spread)
        origin = likelihood.derivatives(y, np.zeros_like(y))
        self._w, self._total = origin.curvature, float(np.sum(origin.curvature))
        self._b = -(origin.gradient @ basis)
        self._norm = np.einsum("nk,nk,n->k", basis, basis, self._w)
        self._place: dict[int, int] = {}
        self._cross = np.empty((16, basis.shape[1]))
        self._known: tuple[bytes, _Factor] | None = None

    def _rows(self, active: Indices) -> Indices:
        """Return where the inner products of the active functions with all others are kept; compute what is missing."""
        for j in active.tolist():
            if j not in self._place:
                if len(self._place) == self._cross.shape[0]:
                    self._cross = np.concatenate([self._cross, np.empty_like(self._cross)])
                self._cross[len(self._place)] = (self._w * self.basis[:, j]) @ self.basis
                self._place[j] = len(self._place)
        return np.array([self._place[j] for j in active.tolist()], dtype=np.intp)

    def _factor(self, phi: Vector) -> _Factor:
        """Return how the loss depends on the likelihood's parameters, remembered for the last ones."""
        key = phi.tobytes()
        if self._known is None or self._known[0] != key:
            likelihood, zeros = self.likelihood.with_theta(phi), np.zeros_like(self.y)
            d = likelihood.derivatives(self.y, zeros)
            kappa = float(np.sum(d.curvature)) / self._total
            p = likelihood.theta_derivatives(self.y, zeros)
            found = _Factor(
                kappa, float(np.sum(d.loss)), p.curvature.sum(axis=1) / (self._total * kappa), p.loss.sum(axis=1)
            )
            self._known = key, found
        return self._known[1]

    def state(self, active: Indices, log_precision: Vector, phi: Vector, weights: Vector | None = None) -> RVMState:
        """Return the evidence with its derivatives; a guess of the weights is of no use."""
        known = self._factor(phi)
        inverse = np.exp(-0.5 * log_precision)
        rows = self._rows(active)
        G = self._cross[np.ix_(rows, active)] * inverse[:, None] * inverse
        b = inverse * self._b[active]
        H = known.kappa * G
        H.flat[:: active.size + 1] += 1.0
        factor = cholesky(H, overwrite=True, what="the Hessian of the weights")
        v = factor.solve(known.kappa * b)
        Sigma = factor.inverse()
        value = -known.loss + 0.5 * known.kappa * float(b @ v) - 0.5 * factor.log_det()
        diagonal = np.diagonal(Sigma)
        gradient = 0.5 * (1.0 - v**2 - diagonal)
        if phi.size:
            explained = known.kappa * float(b @ v - 0.5 * (v @ G @ v))
            spread = 0.5 * (active.size - float(diagonal.sum()))
            gradient = np.concatenate([gradient, known.rate * (explained - spread) - known.loss_rate])
        return RVMState(active, log_precision, phi, v, factor, Sigma, value, gradient, Status.CONVERGED)

    def hessian(self, state: RVMState) -> Matrix:
        """Return the second derivatives, which the model gives without error."""
        return self.hessian_model(state)

    def scores(self, state: RVMState) -> Scores:
        """Return the scores from the stored inner products."""
        kappa = self._factor(state.phi).kappa
        rows = self._rows(state.active)
        cross, norm = self._cross[rows], kappa * self._norm
        V = state.factor.half_solve(kappa * cross / state.root[:, None])
        left = norm - np.einsum("mk,mk->k", V, V)
        near = alignment(cross, self._norm, state.active)
        return Scores(norm, left, kappa * (self._b - state.weights @ cross), near)


__all__ = ["GaussianRVM"]
