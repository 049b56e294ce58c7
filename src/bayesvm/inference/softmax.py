r"""Laplace's method for several classes as one model: softmax likelihood, one kernel for all classes.

Row i has one latent value per class, :math:`f_{i1}, \dots, f_{iC}`, and its class :math:`c_i` the probability
:math:`\pi_{i c_i}`, :math:`\pi_{ik} = e^{f_{ik}} / \sum_l e^{f_{il}}` (RasmussenWilliams2006 section 3.5); a weight
:math:`w_i` raises it to a power. The latent functions are independent a priori, each with the Gram matrix K. With
indicators :math:`y_{ik}` of the classes and :math:`f_k = K \alpha_k` the mode minimises the convex

.. math:: S(f) = \tfrac12 \sum_k \alpha_k^\top K \alpha_k
          + \sum_i w_i \Big(\ln \sum_k e^{f_{ik}} - \sum_k y_{ik} f_{ik}\Big) ,

where :math:`\alpha_{ik} = w_i (y_{ik} - \pi_{ik})`, and

.. math:: \ln Z = -S(\hat f) - \tfrac12 \ln |I + K W| ,

:math:`W_i = w_i (\operatorname{diag} \pi_i - \pi_i \pi_i^\top)` coupling the classes of a row. By
:mod:`bayesvm.linalg.softmax_factor` a factorisation costs :math:`C n^3`. The derivative has the three parts of
:mod:`bayesvm.inference.laplace`, summed over the classes:

.. math:: \frac{\partial \ln Z}{\partial K} = \sum_k \Big(\tfrac12 \alpha_k \alpha_k^\top - \tfrac12 R_{kk}
          - \operatorname{sym}(q_k \alpha_k^\top)\Big) , \qquad q = (I + W K)^{-1} u , \quad
          u = \tfrac12 \frac{\partial \ln |I + K W|}{\partial f} .

The mode is found by the Newton steps of :mod:`bayesvm.solvers.newton`, its line search, warm start and chord steps
included. The sum of the :math:`\alpha_{ik}` over the classes is zero: only differences of latent functions are learnt,
and their mean keeps its prior. For two classes the difference :math:`f_2 - f_1` has the logistic likelihood and the
Gram matrix 2 K: evidence and posterior of the difference are those of :class:`~bayesvm.inference.laplace.Laplace`.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import log_softmax, softmax

from bayesvm.inference.base import Evidence
from bayesvm.linalg.small_blocks import covariance_without
from bayesvm.linalg.softmax_factor import SoftmaxFactor
from bayesvm.solvers.base import Status
from bayesvm.solvers.newton import chord_steps, line_search
from bayesvm.typing import Blocks, Matrix, Vector

#: Residual of the optimality conditions at which the mode counts as found, and the most factorisations.
TOL, MAX_ITER = 1e-9, 400


@dataclasses.dataclass(frozen=True)
class _SoftmaxPoint:
    """An iterate: coefficients, latent values, S, probabilities, and what is left of the optimality conditions."""

    alpha: Matrix
    f: Matrix
    loss: float
    proba: Matrix
    gradient: Matrix
    copies: Vector

    @property
    def prior(self) -> float:
        return 0.5 * float(np.vdot(self.alpha, self.f))

    @property
    def objective(self) -> float:
        return self.prior + self.loss

    @property
    def residual(self) -> Matrix:
        return self.alpha + self.gradient

    @property
    def kkt(self) -> float:
        """Residual per occurrence of a row, so that weighted and repeated rows are solved to the same digit."""
        return float(np.max(np.abs(self.residual) / self.copies[:, None]))


@dataclasses.dataclass(frozen=True)
class _SoftmaxProblem:
    """Gram matrix, indicators of the classes and weights of the rows: the function S, and how well it is minimised."""

    K: Matrix
    Y: Matrix
    weights: Vector
    tol: float

    def point(self, alpha: Matrix, f: Matrix) -> _SoftmaxPoint:
        """Return the iterate with these coefficients and latent values."""
        log_proba = log_softmax(f, axis=1)
        proba = np.exp(log_proba)
        loss = -float(self.weights @ np.sum(self.Y * log_proba, axis=1))
        return _SoftmaxPoint(
            alpha, f, loss, proba, self.weights[:, None] * (proba - self.Y), np.maximum(self.weights, 1.0)
        )

    def factor(self, proba: Matrix) -> SoftmaxFactor:
        """Return the factor of the curvatures at these probabilities."""
        return SoftmaxFactor.of(self.K, proba, self.weights)

    def chords(self, point: _SoftmaxPoint, factor: SoftmaxFactor) -> _SoftmaxPoint:
        """Return the point after further steps with a factor at hand."""

        def step(point: _SoftmaxPoint) -> _SoftmaxPoint:
            direction = -factor.solve(self.K, point.residual)
            return self.point(point.alpha + direction, point.f + self.K @ direction)

        return chord_steps(point, step, self.tol)

    def start(self, latent: Matrix | None) -> tuple[_SoftmaxPoint, int]:
        """Return the first iterate and the number of factorisations spent on it.

        From latent values of an earlier mode one Newton step leads there, which needs no coefficients; it is shortened
        if it does not lower S below its value at zero.
        """
        zero = self.point(np.zeros_like(self.Y), np.zeros_like(self.Y))
        if latent is None:
            return zero, 0
        before = self.point(zero.alpha, latent)
        factor = self.factor(before.proba)
        alpha = factor.solve(self.K, factor.curvature_times(latent) - before.gradient)
        f = self.K @ alpha
        for shrink in (1.0, 0.9, 0.7, 0.5, 0.25):
            point = self.point(shrink * alpha, shrink * f)
            if point.objective < zero.objective:
                return self.chords(point, factor), 1
        return zero, 1

    def mode(self, latent: Matrix | None) -> tuple[_SoftmaxPoint, int, Status]:
        """Return the mode, the number of factorisations, and how the search ended."""
        point, n_iter = self.start(latent)
        while point.kkt > self.tol:
            if n_iter >= MAX_ITER:
                return point, n_iter, Status.MAX_ITER
            factor = self.factor(point.proba)
            n_iter += 1
            new, full = self.lower(point, -factor.solve(self.K, point.residual))
            if new is None:
                return point, n_iter, Status.STALLED
            point = self.chords(new, factor) if full else new
        return point, n_iter, Status.CONVERGED

    def lower(self, point: _SoftmaxPoint, direction: Matrix) -> tuple[_SoftmaxPoint | None, bool]:
        """Return a lower point along the direction, None if there is none, and whether it is the full step."""
        Kd = self.K @ direction
        return line_search(point, Kd, lambda t: self.point(point.alpha + t * direction, point.f + t * Kd))


def softmax_evidence(
    K: Matrix, Y: Matrix, weights: Vector, *, warm_start: Matrix | None = None, tol: float = TOL
) -> Evidence:
    r"""Return the evidence with its derivative in K; ``latent`` holds the mode, shape (n, C).

    Parameters
    ----------
    K : array, shape (n, n)
        Gram matrix of every latent function.
    Y : array, shape (n, C)
        Indicators of the classes, one column per class; a class may have no rows.
    weights : array, shape (n,)
        Non-negative weights of the rows.
    warm_start : array, shape (n, C), optional
        The ``latent`` of an earlier evidence.
    tol : float
        Largest violation of :math:`\alpha_{ik} = w_i (y_{ik} - \pi_{ik})`, per occurrence of a row, at which the mode
        counts as found.
    """
    problem = _SoftmaxProblem(K, Y, weights, tol)
    mode, n_iter, status = problem.mode(warm_start)
    factor, alpha = problem.factor(mode.proba), -mode.gradient
    terms = {"prior": -0.5 * float(np.vdot(alpha, mode.f)), "loss": -mode.loss, "determinant": -0.5 * factor.log_det()}
    R, slope = factor.derivatives()
    q = factor.solve(K, 0.5 * slope)
    dK = 0.5 * ((alpha - q) @ (alpha - q).T - q @ q.T - R)  # 1/2 a a' - sym(q a') = 1/2 (a - q)(a - q)' - 1/2 q q'
    return Evidence(sum(terms.values()), terms, np.arange(len(K)), dK, np.empty(0), status, mode.f, n_iter)


def softmax_coefficients(f: Matrix, Y: Matrix, weights: Vector) -> Matrix:
    r"""Return :math:`\alpha_{ik} = w_i (y_{ik} - \pi_{ik})` at a mode f, shape (n, C)."""
    return np.asarray(weights[:, None] * (Y - softmax(f, axis=1)))


@dataclasses.dataclass(frozen=True)
class SoftmaxPosterior:
    r"""Gaussian posterior of all latent functions about the mode.

    Attributes
    ----------
    alpha : array, shape (n, C)
        Coefficients, :math:`f_k = K \alpha_k`; rows sum to zero.
    factor : SoftmaxFactor
        Of the curvatures at the mode.
    """

    alpha: Matrix
    factor: SoftmaxFactor

    @classmethod
    def at(cls, K: Matrix, f: Matrix, Y: Matrix, weights: Vector) -> SoftmaxPosterior:
        """Return the posterior about a mode f (the ``latent`` of an evidence); the rest as in the evidence."""
        return cls(softmax_coefficients(f, Y, weights), SoftmaxFactor.of(K, softmax(f, axis=1), weights))

    def mean(self, K_s: Matrix) -> Matrix:
        """Return the means at new points, one column per class; ``K_s`` has a row per new point."""
        return np.asarray(K_s @ self.alpha)

    def covariances(self, K_s: Matrix, k_ss: Vector) -> Blocks:
        """Return the covariance of the classes at each new point, shape (m, C, C)."""
        return self.factor.covariances(K_s, k_ss)

    def cavities(self, rows: slice, K_s: Matrix, k_ss: Vector) -> tuple[Matrix, Blocks]:
        r"""Return means (m, C) and covariances (m, C, C) at training rows, each without its own term.

        With c occurrences of a row, :math:`c = \max(w_i, 1)`, of which one is left out,

        .. math:: \Sigma_{-i} = (\Sigma_i^{-1} - W_i / c)^{-1} = (I - \Sigma_i W_i / c)^{-1} \Sigma_i , \qquad
                  m_{-i} = m_i - \Sigma_{-i} \alpha_i / c :

        the posterior of the other rows with their terms as they are, as in :mod:`bayesvm.inference.leave_one_out`.

        Parameters
        ----------
        rows : slice
            Which training rows.
        K_s, k_ss : arrays, shapes (m, n) and (m,)
            Their rows of the Gram matrix, and their prior variances.
        """
        proba, weights = self.factor.proba[rows], self.factor.scale[rows] ** 2
        copies = np.maximum(weights, 1.0)
        W = -proba[:, :, None] * proba[:, None, :]
        classes = np.arange(proba.shape[1])
        W[:, classes, classes] += proba
        V = covariance_without(self.covariances(K_s, k_ss), (weights / copies)[:, None, None] * W)
        pull = self.alpha[rows] / copies[:, None]
        return self.mean(K_s) - np.einsum("iab,ib->ia", V, pull), V


__all__ = ["TOL", "SoftmaxPosterior", "softmax_coefficients", "softmax_evidence"]
