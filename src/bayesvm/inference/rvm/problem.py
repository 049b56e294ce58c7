r"""What the sequential search asks of a relevance vector machine (the contract page of this folder).

The model is :math:`f = \Phi w` with :math:`w_i \sim \mathcal N(0, 1/a_i)`, Thesis (3.35), (3.39). The weights of the
active functions are written :math:`w = A^{-1/2} v`, so that v has a unit prior and, with :math:`\Psi = \Phi A^{-1/2}`,
the mode minimises :math:`\sum_i \ell(y_i, f_i) + \tfrac12 v^\top v`. The Hessian :math:`H = I + \Psi^\top W \Psi` has
eigenvalues of at least one, even if two functions coincide or precisions differ by many orders of magnitude. With
:math:`\Sigma = H^{-1}`, :math:`u_n = \psi_n^\top \Sigma \psi_n\, \ell'''_n` (zero for a quadratic loss) and
:math:`c = \Sigma \Psi^\top u`,

.. math::

    \ln Z &= -\textstyle\sum \ell - \tfrac12 v^\top v - \tfrac12 \ln |H|, \\
    \frac{\partial \ln Z}{\partial \ln a_i} &= \tfrac12 (1 - v_i^2 - \Sigma_{ii} + v_i c_i), \\
    \frac{\partial \ln Z}{\partial \Phi} &= \bigl[ r v^\top - W \Psi \Sigma - \tfrac12 u v^\top - \tfrac12 r c^\top
        + \tfrac12 W \Psi c\, v^\top \bigr] A^{-1/2}, \qquad r = -\ell' :

Laplace's method (Thesis (3.21)), exact for a quadratic loss (Thesis (3.38)); u and c enter through the mode.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable

import numpy as np

from bayesvm.likelihoods.base import Derivatives, Likelihood
from bayesvm.linalg import Cholesky
from bayesvm.solvers.base import Status
from bayesvm.typing import Indices, Matrix, Vector

#: Logarithms of precisions stay within this distance of zero.
WIDEST = 60.0
#: Step of the differences, in units of a logarithm.
DIFFERENCE = 1e-4


@dataclasses.dataclass(frozen=True)
class RVMState:
    r"""Active functions with their precisions, the posterior of their weights, and the evidence."""

    active: Indices  #: Columns of the basis; shape (m,).
    log_precision: Vector  #: Logarithms of the precisions :math:`a_i`; shape (m,).
    phi: Vector  #: Logarithms of the likelihood's free parameters.
    v: Vector  #: Mode of :math:`A^{1/2} w`; shape (m,).
    factor: Cholesky  #: Of H.
    covariance: Matrix  #: :math:`\Sigma`; shape (m, m).
    value: float  #: :math:`\ln Z`.
    gradient: Vector  #: Its derivatives in ``log_precision`` and ``phi``; shape (m + p,).
    status: Status  #: How the search for the mode ended.

    @property
    def root(self) -> Vector:
        """Square roots of the precisions."""
        return np.asarray(np.exp(0.5 * self.log_precision))

    @property
    def weights(self) -> Vector:
        """Posterior means of the weights w."""
        return self.v / self.root


@dataclasses.dataclass(frozen=True)
class Scores:
    r"""How all basis functions stand to the present model."""

    norm: Vector  #: :math:`\varphi^\top W \varphi`; shape (k,).
    s: Vector  #: :math:`\varphi^\top C^{-1} \varphi`, what the active functions leave of the norm; shape (k,).
    q: Vector  #: :math:`\varphi^\top C^{-1} \hat t = -\varphi^\top \ell'`, alignment with the residual; shape (k,).
    #: Largest squared cosine of the angle to an active function, in the metric W; 1 if the two coincide; shape (k,).
    alignment: Vector


def alignment(cross: Matrix, norm: Vector, active: Indices) -> Vector:
    """Return the largest squared cosine of each function with an active one, given inner products and squared norms."""
    tiny = np.finfo(float).tiny
    cosines = cross**2 / np.maximum(norm[active], tiny)[:, None] / np.maximum(norm, tiny)
    return np.asarray(np.max(cosines, axis=0, initial=0.0))


def least_logs(basis: Matrix, spread: float) -> Vector:
    """Return the log precisions at which each function's share of f has a prior deviation of at most ``spread``."""
    tiny = np.finfo(float).tiny
    logs = np.log(np.maximum(np.max(np.square(basis), axis=0), tiny)) - 2.0 * np.log(max(spread, np.sqrt(tiny)))
    return np.asarray(np.clip(logs, -WIDEST, WIDEST))


class RVMProblem(ABC):
    """Basis functions, targets and a likelihood: what can be asked about any choice of active functions.

    Parameters
    ----------
    basis : array, shape (n, k)
        All basis functions at the training inputs.
    y : array, shape (n,)
        Labels -1/+1 or targets.
    likelihood : Likelihood
        With the traits that the class needs.
    size : float
        Effective number of samples.
    spread : float
        Largest prior standard deviation of one function's share of f; it bounds the precisions from below.
    """

    def __init__(self, basis: Matrix, y: Vector, likelihood: Likelihood, *, size: float, spread: float) -> None:
        self.basis, self.y, self.likelihood, self.size = basis, y, likelihood, size
        self.least = least_logs(basis, spread)

    @abstractmethod
    def state(self, active: Indices, log_precision: Vector, phi: Vector, weights: Vector | None = None) -> RVMState:
        """Return the state; ``weights`` are a first guess of the weights (they change the cost, not the result)."""

    @abstractmethod
    def scores(self, state: RVMState) -> Scores:
        """Return the scores of all functions, of use for those that are not active."""

    def derivatives(self, state: RVMState) -> Derivatives:
        """Return the derivatives of the loss at the mode."""
        f = self.basis[:, state.active] @ state.weights
        return self.likelihood.with_theta(state.phi).derivatives(self.y, f)

    def log_bounds(self, active: Indices) -> Matrix:
        """Return the bounds of the logarithms of the active functions' precisions, one row (low, high) each."""
        return np.column_stack([self.least[active], np.full(active.size, WIDEST)])

    @property
    def phi_bounds(self) -> Matrix:
        """Bounds of ``phi``, one row (low, high) per entry."""
        return self.likelihood.bounds.reshape(-1, 2)

    def hessian(self, state: RVMState) -> Matrix:
        """Return the second derivatives of the evidence in ``log_precision`` and ``phi``, by differences."""
        return self._differences(state, range(state.gradient.size))

    def hessian_model(self, state: RVMState) -> Matrix:
        r"""Return a cheaper Hessian without the terms through the mode, exact for a quadratic loss.

        Precisions: :math:`v_i v_j \Sigma_{ij} + \tfrac12 \Sigma_{ij}^2 - \tfrac12 \delta_{ij} (v_i^2 + \Sigma_{ii})`.
        """
        m, v, Sigma = state.active.size, state.v, state.covariance
        H = np.empty((state.gradient.size, state.gradient.size))
        H[:m, :m] = np.outer(v, v) * Sigma + 0.5 * Sigma**2
        H[np.arange(m), np.arange(m)] -= 0.5 * (v**2 + np.diagonal(Sigma))
        H[m:] = self._differences(state, range(m, state.gradient.size))
        H[:m, m:] = H[m:, :m].T
        return H

    def _differences(self, state: RVMState, entries: Iterable[int]) -> Matrix:
        """Return rows of the Hessian by central differences of the exact gradient."""
        x, m = np.concatenate([state.log_precision, state.phi]), state.active.size
        rows = np.empty((0, x.size))
        for i in entries:
            e = np.zeros(x.size)
            e[i] = DIFFERENCE
            ends = [self.state(state.active, z[:m], z[m:], state.weights).gradient for z in (x + e, x - e)]
            rows = np.vstack([rows, (ends[0] - ends[1]) / (2.0 * DIFFERENCE)])
        return rows


def basis_cotangent(problem: RVMProblem, state: RVMState) -> Matrix:
    r"""Return :math:`\partial \ln Z/\partial \Phi` in the active columns at fixed precisions, shape (n, m)."""
    d = problem.derivatives(state)
    W, r, root = d.curvature, -d.gradient, state.root
    psi = problem.basis[:, state.active] / root
    projected = psi @ state.covariance
    u = np.einsum("nm,nm->n", projected, psi) * d.third
    c = projected.T @ u
    left = r - 0.5 * u + 0.5 * W * (psi @ c)
    G = np.outer(left, state.v) - W[:, None] * projected - 0.5 * np.outer(r, c)
    return np.asarray(G / root)


__all__ = ["RVMProblem", "RVMState", "Scores", "alignment", "basis_cotangent", "least_logs"]
