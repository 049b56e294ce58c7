r"""What one evaluation of an evidence that jumps says about the surroundings of its :math:`\theta`.

Between two jumps the Laplace evidence is smooth; it jumps where a row enters or leaves a zone of the loss. Both can be
foreseen. With :math:`f = K \alpha`, :math:`\alpha = -\ell'(f)` the mode moves along :math:`\theta` by

.. math:: J_j = (I + K W)^{-1} u_j, \qquad u_j = \frac{\partial K}{\partial \theta_j} \alpha \quad\text{or}\quad
          u_j = -K \frac{\partial \ell'}{\partial \theta_j},

for a parameter of the kernel or of the likelihood (the implicit function theorem on the mode). So after a step
:math:`\delta` the latent values are about :math:`f + J \delta`, which tells the rows c that then lie in another zone.
They change the determinant by the exact factor

.. math:: |I + K (W + D)| = |I + K W| \; |I + \Sigma_{cc} D_c|, \qquad \Sigma = K - K_{\cdot M} R K_{M \cdot},

with :math:`D_c` the change of their curvatures, and the evidence by :math:`-\tfrac12` of its logarithm. The rest is a
parabola: the gradient, and the curvature

.. math:: H_{jk} \approx \tfrac12 u_j^\top R\, u_k, \qquad
          H_{j\phi} = u_j^\top \Big(\frac{\partial \ell'}{\partial \phi} + W J_\phi\Big), \qquad
          H_{\phi\psi} = \sum_i \frac{\partial^2 \ell_i}{\partial \phi\, \partial \psi}
          + \Big(\frac{\partial \ell'}{\partial \phi}\Big)^{\!\top} J_\psi,

the average of observed and expected information for the kernel (Gilmour1995), the second derivatives of the penalised
loss at its minimum for the likelihood and between both. A prediction of a step costs next to nothing, so hundreds of
steps can be looked at, and the best be evaluated.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bayesvm.hyper.bfgs import unblocked
from bayesvm.hyper.covariance import PosteriorCovariance, PriorCovariance, differences
from bayesvm.hyper.objective import Evaluation, EvidenceObjective
from bayesvm.inference.base import Posterior
from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg.determinant_update import log_det_change
from bayesvm.linalg.eigen import symmetric_eigen
from bayesvm.typing import Indices, Matrix, Vector

#: Least curvature, in nats per squared unit of a logarithm, as where a search begins (:mod:`bayesvm.hyper.bfgs`).
LEAST_CURVATURE = 1.0
#: Steps whose determinant is computed: those that are best if every row's change is counted by itself.
SHORT_LIST = 16


class Knots(NamedTuple):
    """Knots of a loss, and their derivatives in theta, a row each."""

    values: Vector
    slopes: Matrix


class Crossings(NamedTuple):
    """Some rows, and whether each of them changes its zone in each of some steps, which are the columns."""

    rows: Indices
    changed: NDArray[np.bool_]

    def of_steps(self, steps: Indices) -> Crossings:
        """Return the same for some of the steps."""
        return Crossings(self.rows, self.changed[:, steps])


@dataclasses.dataclass(frozen=True)
class OutputOutlook:
    """How the latent values of one output move.

    Attributes
    ----------
    y, latent, curvature, copies : array, shape (n,)
        Targets, latent values at the mode, curvatures of the loss there, how often a row occurs.
    covariance : PosteriorCovariance
        Of the latent values.
    J : array, shape (n, p)
        Derivatives of the latent values in theta.
    H : array, shape (p, p)
        Curvature of minus the log evidence between jumps.
    """

    y: Vector
    latent: Vector
    curvature: Vector
    copies: Vector
    covariance: PosteriorCovariance
    J: Matrix
    H: Matrix

    @classmethod
    def of(
        cls,
        K: PriorCovariance,
        y: Vector,
        likelihood: Likelihood,
        posterior: Posterior,
        latent: Vector,
        images: Matrix,
    ) -> Self:
        r"""Compute the derivatives; ``images`` are :math:`u_j` of the kernel's parameters, one column each."""
        factor, p = posterior.factor, images.shape[1]
        M, own = factor.support, likelihood.theta_derivatives(y, latent)
        slopes = own.gradient.T
        curvature = np.zeros_like(y)
        curvature[M] = factor.curvature
        u = np.hstack([images, -K.times(slopes)])
        J = u - K.times(factor.apply(u[M]), M)
        H = np.empty((u.shape[1], u.shape[1]))
        H[:p, :p] = 0.5 * (images[M].T @ factor.apply(images[M]))
        H[:p, p:] = images.T @ (slopes + curvature[:, None] * J[:, p:])
        H[p:, :p] = H[:p, p:].T

        def loss_slope(other: Likelihood) -> Vector:
            return np.asarray(other.theta_derivatives(y, latent).loss.sum(axis=1))

        H[p:, p:] = differences(loss_slope, likelihood, own.loss.sum(axis=1)) + slopes.T @ J[:, p:]
        copies, H = likelihood.copies * np.ones_like(y), 0.5 * (H + H.T)
        return cls(y, latent, curvature, copies, K.given(factor), J, H)

    def crossings(self, likelihood: Likelihood, basis: Matrix, steps: Matrix, knots: Knots) -> Crossings:
        r"""Return which rows change their zone in which of the steps, a row per row that does in one of them or may.

        Row i lies beyond knot k after a step if :math:`(s_i J_i - \kappa_k)^\top \delta > k - t_i`, for the slope
        :math:`s_i = dt/df` and the derivatives :math:`\kappa_k` of the knot. In the coordinates of an orthonormal
        basis the left-hand side is at most :math:`\sum_l |(Q^\top (s_i J_i - \kappa_k))_l| \max_\delta
        |(Q^\top \delta)_l|`; all other pairs of rows and knots need not be looked at.
        """
        t, moves = likelihood.argument(self.y, self.latent), likelihood.slope(self.y)[:, None] * self.J
        along, reach = moves @ basis, np.abs(steps @ basis).max(axis=0)
        turned, ahead = knots.slopes @ basis, knots.values - t[:, None]
        bounds = np.stack([np.abs(along - knot) @ reach for knot in turned], axis=1)
        rows, at = np.nonzero(np.abs(ahead) <= bounds)  # in the order of the rows
        if not rows.size:
            return Crossings(rows, np.zeros((0, len(steps)), dtype=bool))
        distance = ahead[rows, at][:, None]
        crossed = ((moves[rows] - knots.slopes[at]) @ steps.T > distance) != (distance < 0.0)
        first = np.diff(rows, prepend=-1) > 0
        changed, own = crossed[first], np.cumsum(first) - 1
        for knot in range(1, len(knots.values)):  # rows that may pass several knots
            more = np.flatnonzero(~first & (at == knot))
            changed[own[more]] |= crossed[more]
        return Crossings(rows[first], changed)

    def jumps(self, likelihood: Likelihood, steps: Matrix, moved: Crossings, smooth: Vector) -> Vector:
        r"""Return :math:`-\tfrac12 \ln |I + \Sigma_{cc} D_c|` for each step, ``-inf`` if it is not among the best.

        ``moved`` are the rows that change their zone in these steps, ``smooth`` is what a step gains besides.
        """
        used = moved.changed.any(axis=1)
        near, changed = moved.rows[used], moved.changed[used]
        W, var, copies = self.curvature[near], self.covariance.variances(near), self.copies[near]
        # a row that occurs c times counts as c rows, each by itself
        entering = np.log1p(float(np.max(self.curvature / self.copies, initial=0.0)) * var)
        leaving = np.log(np.maximum(1.0 - W / copies * var, np.finfo(float).eps))
        alone = -0.5 * copies * np.where(W > 0.0, leaving, entering)
        best = np.argsort(-(smooth + alone @ changed), kind="stable")[:SHORT_LIST]
        found = np.full(len(steps), -np.inf)
        found[best] = self._determinants(likelihood, steps[best], near, changed[:, best])
        return found

    def _determinants(self, likelihood: Likelihood, steps: Matrix, near: Indices, changed: NDArray[np.bool_]) -> Vector:
        r"""Return :math:`-\tfrac12 \ln |I + \Sigma_{cc} D_c|` for each step; ``changed`` tells the rows c of each."""
        used = changed.any(axis=1)
        near, changed = near[used], changed[used]
        k, part = np.nonzero(changed.T)
        counts = changed.sum(axis=0)
        ends, rows = np.cumsum(counts), near[part]
        y, latent = self.y[rows], self.latent[rows] + np.einsum("ij,ij->i", self.J[rows], steps[k])
        there = likelihood.theta + steps[k, self.J.shape[1] - likelihood.n_free :]
        W = likelihood.part(rows).curvatures(y, latent, there)
        at = np.zeros((len(steps), int(counts.max(initial=0))), dtype=np.intp)
        D, place = np.zeros(at.shape), np.arange(rows.size) - (ends - counts)[k]
        at[k, place], D[k, place] = part, W - self.curvature[rows]  # a D of zero changes no determinant
        S = self.covariance.block(near)
        return -0.5 * log_det_change(S[at[:, :, None], at[:, None, :]], D)


@dataclasses.dataclass(frozen=True)
class Outlook:
    """Predictions around one evaluation.

    Attributes
    ----------
    objective, here : EvidenceObjective, Evaluation
        What was evaluated, and what it gave.
    likelihood, K : Likelihood, PriorCovariance
        Of the rows there.
    outputs : tuple of OutputOutlook
        One per output.
    eigenvalues, eigenvectors : array
        Of the curvature in the coordinates that no bound holds, with eigenvalues of at least ``LEAST_CURVATURE``.
    """

    objective: EvidenceObjective
    here: Evaluation
    likelihood: Likelihood
    K: PriorCovariance
    outputs: tuple[OutputOutlook, ...]
    eigenvalues: Vector
    eigenvectors: Matrix

    @classmethod
    def of(cls, objective: EvidenceObjective, here: Evaluation) -> Self:
        """Compute the derivatives of the modes and the curvature.

        Parameters
        ----------
        objective : EvidenceObjective
            By Laplace's method.
        here : Evaluation
            Of the objective.
        """
        kernel, likelihood = objective.model(here.theta)
        n, ys = objective.n_rows, objective.outputs
        K, latents = objective.covariance(kernel), np.atleast_2d(here.evidence.latent)
        images = K.slopes(np.stack([posterior.coefficients(n) for posterior in here.posteriors], axis=1))
        outputs = tuple(
            OutputOutlook.of(K, y, likelihood, posterior, latent, images[:, :, k].T)
            for k, (y, posterior, latent) in enumerate(zip(ys, here.posteriors, latents, strict=True))
        )
        free = np.flatnonzero(unblocked(here.theta, here.gradient, objective.bounds))
        w, V = symmetric_eigen(np.sum([output.H for output in outputs], axis=0)[np.ix_(free, free)])
        V = np.eye(here.theta.size)[:, free] @ V
        return cls(objective, here, likelihood, K, outputs, np.maximum(w, LEAST_CURVATURE), V)

    def latent(self, step: Vector) -> Vector:
        """Return the latent values to be expected after a step: the warm start of its evaluation."""
        found = np.stack([output.latent + output.J @ step for output in self.outputs])
        return np.asarray(found[0] if self.here.evidence.latent.ndim == 1 else found)

    @functools.cached_property
    def _knots(self) -> Knots:
        """Knots of the loss, and their derivatives in theta: zero for the parameters of the kernel."""
        values = np.array(self.likelihood.knots)
        own = differences(lambda other: np.array(other.knots), self.likelihood, values)
        slopes = np.zeros((values.size, self.here.theta.size))
        slopes[:, self.here.theta.size - len(own) :] = own.T
        return Knots(values, slopes)

    @functools.cached_property
    def _basis(self) -> Matrix:
        """Eigenvectors, and the coordinates that a bound holds."""
        held = np.flatnonzero(~self.eigenvectors.any(axis=1))
        return np.hstack([self.eigenvectors, np.eye(self.here.theta.size)[:, held]])

    def steps(self, rng: np.random.Generator, n: int, radius: float) -> Matrix:
        """Return n steps around a part of Newton's, drawn in the metric of the curvature, the first Newton's itself.

        No step is drawn farther than about ``radius``, in standard deviations of theta.
        """
        bounds, theta, p = self.objective.bounds, self.here.theta, self.eigenvalues.size
        newton = self.eigenvectors @ ((self.eigenvectors.T @ self.here.gradient) / self.eigenvalues)
        newton *= radius / max(radius, float(np.sqrt(newton @ self.here.gradient)))
        lengths = radius * 10.0 ** (-DECADES * rng.random(n)) / np.sqrt(max(1, p))
        drawn = lengths[:, None] * rng.normal(size=(n, p)) / np.sqrt(self.eigenvalues) @ self.eigenvectors.T
        drawn += np.minimum(1.0, 1.5 * rng.random(n))[:, None] * newton
        drawn[0] = newton
        return np.asarray(np.clip(theta + drawn, bounds[:, 0], bounds[:, 1]) - theta)

    def gains(self, steps: Matrix, least: float, most: float) -> tuple[Vector, Vector]:
        """Return the predicted gains, ``-inf`` for steps that are not among the best, and how many rows change zones.

        Steps are left out if fewer than ``least`` or more than ``most`` rows do.
        """
        moved = [o.crossings(self.likelihood, self._basis, steps, self._knots) for o in self.outputs]
        pairs = list(zip(self.outputs, moved, strict=True))
        count = np.sum([o.copies[part.rows] @ part.changed for o, part in pairs], axis=0)
        few = np.flatnonzero((count >= least) & (count <= most))
        gains = np.full(len(steps), -np.inf)
        if few.size:
            along = steps[few] @ self.eigenvectors
            smooth = steps[few] @ self.here.gradient - 0.5 * along**2 @ self.eigenvalues
            jumps = [o.jumps(self.likelihood, steps[few], part.of_steps(few), smooth) for o, part in pairs]
            gains[few] = smooth + sum(jumps)
        return gains, count


#: Decades of lengths among the steps that are drawn.
DECADES = 1.3

__all__ = ["Outlook", "OutputOutlook"]
