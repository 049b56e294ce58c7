r"""Laplace's method for the weights of m features, with the variational term for what the features leave over.

The latent values are :math:`f = \Phi w` with :math:`w \sim \mathcal N(0, I)`; of the prior variances :math:`k_i` the
features leave :math:`r_i = k_i - |\phi_i|^2 \ge 0`. With the mode :math:`\hat w` of
:math:`\sum_i \ell_i(\phi_i^\top w) + \tfrac12 |w|^2`, :math:`W_i = \ell''_i` there and
:math:`S = I + \Phi^\top W \Phi`,

.. math:: \ln Z = -\sum_i \ell_i - \tfrac12 |\hat w|^2 - \tfrac12 \ln |S| - \tfrac12 \sum_i W_i r_i .

For Gaussian noise this is Titsias' lower bound of the evidence (Titsias2009, (9)), for other losses Laplace's
approximation of the analogous one. All sums are over rows, so any split of the rows gives the same result, one pass
takes O(n m^2), and the memory is that of a block of rows and of a few m x m matrices.

*Derivatives.* With :math:`V = S^{-1}`, :math:`g = \ell'`, the marginal variances
:math:`v_i = \phi_i^\top V \phi_i + r_i`, :math:`u = \tfrac12 v \ell'''` and :math:`s = V \Phi^\top u`, where the mode
moves by :math:`S\, d\hat w = -d\Phi^\top g - \Phi^\top W\, d\Phi\, \hat w`,

.. math::

    \bar\Phi = W \Phi (I - V) - (g + u - W \Phi s)\, \hat w^\top + g s^\top, \qquad \bar k = -\tfrac12 W,

and :math:`\Phi^\top \bar\Phi = \hat w \hat w^\top - s \hat w^\top - \hat w s^\top + V + S - 2 I` by
:math:`\Phi^\top g = -\hat w`. That matrix is symmetric, so with :math:`\Phi = K_{nm} L^{-\top}`, :math:`K_{mm} = L
L^\top` the derivatives in the two Gram matrices are :math:`\bar\Phi L^{-1}` and :math:`-\tfrac12 L^{-\top} \Phi^\top
\bar\Phi L^{-1}`. For a parameter :math:`\phi` of the likelihood

.. math:: \frac{\partial \ln Z}{\partial \phi} = -\sum_i \partial_\phi \ell_i - \tfrac12 \sum_i v_i\, \partial_\phi
          \ell''_i + (\Phi s)^\top \partial_\phi \ell' .

*Upper bound* (Gaussian noise; Titsias2014): with :math:`t = \sum_i W_i r_i \ge |W^{1/2} (K - \Phi\Phi^\top) W^{1/2}|`
and :math:`\tilde y = W^{1/2} y`, the exact log evidence is at most

.. math:: -\sum_i \min_f \ell_i - \tfrac12 \ln |S| - \tfrac12 \tilde y^\top \bigl(W^{1/2} \Phi\Phi^\top W^{1/2} +
          (1 + t) I\bigr)^{-1} \tilde y .
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

import numpy as np

from bayesvm.inference.low_rank.features import Features
from bayesvm.likelihoods.base import Derivatives, Likelihood
from bayesvm.linalg import Cholesky, cholesky
from bayesvm.solvers.base import Status, require
from bayesvm.typing import Matrix, Vector

#: Newton decrement, per root of the number of rows, at which the mode counts as found.
TOLERANCE = 1e-10
#: Largest number of Newton steps.
MAX_STEPS = 100
#: Halvings of a step that a line search tries.
HALVINGS = 60
#: A step with the last factor is repeated while each divides the decrement by this much.
CHORD_GAIN = 5.0


@dataclasses.dataclass(frozen=True)
class WeightPosterior:
    r"""Gaussian posterior of the weights, :math:`\mathcal N(\hat w, S^{-1})`.

    Attributes
    ----------
    mean : array, shape (m,)
        :math:`\hat w`.
    factor : Cholesky
        Of S.
    """

    mean: Vector
    factor: Cholesky

    def explained(self, phi: Matrix) -> Vector:
        r"""Return the variances :math:`\phi^\top S^{-1} \phi` for rows of features."""
        half = self.factor.half_solve(phi.T)
        return np.asarray(np.einsum("ij,ij->j", half, half))


@dataclasses.dataclass(frozen=True)
class WeightEvidence:
    r"""Evidence with its cotangents; see the module for the formulas.

    Attributes
    ----------
    value, terms : float, mapping
        Log evidence, and its named summands.
    posterior : WeightPosterior
        Of the weights.
    var, residual : arrays, shape (n,)
        Marginal variances of the latent values, and the part of them that the features leave over, v and r.
    derivatives : Derivatives
        Of the losses at the mode.
    moved : array, shape (n,)
        u, the weights of the mode's own change.
    s : array, shape (m,)
        :math:`V \Phi^\top u`.
    dphi : array, shape (p,)
        Derivatives in the logarithms of the likelihood's free parameters.
    status : Status
        How the search for the mode ended.
    latent : array, shape (n,)
        Latent values at the mode: a later call may start there.
    n_iter : int
        Factorisations.
    """

    value: float
    terms: Mapping[str, float]
    posterior: WeightPosterior
    var: Vector
    residual: Vector
    derivatives: Derivatives
    moved: Vector
    s: Vector
    dphi: Vector
    status: Status
    latent: Vector
    n_iter: int

    def feature_cotangent(self, rows: slice, phi: Matrix) -> Matrix:
        r"""Return :math:`\bar\Phi` of a block of rows."""
        w, s, d = self.posterior.mean, self.s, self.derivatives
        W, g = d.curvature[rows], d.gradient[rows]
        bar = phi - self.posterior.factor.solve(phi.T).T
        bar *= W[:, None]
        bar -= np.outer(g + self.moved[rows] - W * (phi @ s), w)
        if np.any(s):
            bar += np.outer(g, s)
        return bar

    def gram_cotangent(self) -> Matrix:
        r"""Return :math:`\Phi^\top \bar\Phi`."""
        w, s, factor = self.posterior.mean, self.s, self.posterior.factor
        lower = factor.lower()
        bar = factor.inverse() + lower @ lower.T + np.outer(w - s, w - s) - np.outer(s, s)
        bar[np.diag_indices_from(bar)] -= 2.0
        return bar

    def upper_bound(self) -> float:
        """Return the upper bound of the log evidence; the losses must be quadratic."""
        d, w, factor = self.derivatives, self.posterior.mean, self.posterior.factor
        used = d.curvature > 0.0
        scaled = d.gradient[used] / np.sqrt(d.curvature[used])  # W^1/2 (f - y)
        least = d.loss.sum() - 0.5 * (scaled @ scaled)
        centred = scaled - np.sqrt(d.curvature[used]) * self.latent[used]  # -W^1/2 y
        left = -2.0 * self.terms["trace"]
        lower = factor.lower()
        wider = lower @ lower.T
        target = wider @ w  # Phi' W y, since S w = Phi' W y at the mode
        wider[np.diag_indices_from(wider)] += left
        explained = target @ cholesky(wider, overwrite=True).solve(target)
        quadratic = (centred @ centred - explained) / (1.0 + left)
        return float(-least + self.terms["determinant"] - 0.5 * quadratic)


def infer_weights(
    features: Features, residual: Vector, y: Vector, likelihood: Likelihood, *, warm_start: Vector | None = None
) -> WeightEvidence:
    """Return the evidence and the posterior of the weights.

    Parameters
    ----------
    features : Features
        Of all rows.
    residual : array, shape (n,)
        Prior variances that the features leave over, r.
    y : array, shape (n,)
        Labels -1/+1 or targets.
    likelihood : Likelihood
        With continuous first derivative and convex.
    warm_start : array, shape (n,), optional
        Latent values from which the search for the mode starts; they change the cost, not the result.
    """
    require("Laplace's method", likelihood, smoothness=1, convex=True)
    point, factor, status, n_iter = _mode(features, y, likelihood, warm_start)
    posterior, d = WeightPosterior(point.w, factor), point.d
    terms = {
        "prior": -0.5 * float(point.w @ point.w),
        "loss": -float(np.sum(d.loss)),
        "determinant": -0.5 * factor.log_det(),
        "trace": -0.5 * float(d.curvature @ residual),
    }
    var = np.array(residual)
    for rows, phi in features.blocks():
        var[rows] += posterior.explained(phi)
    moved = 0.5 * var * d.third
    s = factor.solve(features.transposed_times(moved)) if np.any(moved) else np.zeros(point.w.size)
    dphi = np.empty(0)
    if likelihood.theta.size:
        p = likelihood.theta_derivatives(y, point.f)
        dphi = -p.loss.sum(axis=1) - 0.5 * (p.curvature @ var)
        if np.any(s):
            dphi += p.gradient @ features.times(s)
    value = sum(terms.values())
    return WeightEvidence(value, terms, posterior, var, residual, d, moved, s, dphi, status, point.f, n_iter)


@dataclasses.dataclass(frozen=True)
class _Point:
    """An iterate: weights, latent values, derivatives of the losses, and what is minimised."""

    w: Vector
    f: Vector
    d: Derivatives
    objective: float

    @classmethod
    def at(cls, w: Vector, f: Vector, y: Vector, likelihood: Likelihood) -> _Point:
        d = likelihood.derivatives(y, f)
        return cls(w, f, d, float(0.5 * (w @ w) + np.sum(d.loss)))


def _mode(
    features: Features, y: Vector, likelihood: Likelihood, warm_start: Vector | None
) -> tuple[_Point, Cholesky, Status, int]:
    """Return the mode, the factor of S there, how the search ended and the number of factorisations."""
    tolerance = TOLERANCE * np.sqrt(y.size)
    quadratic, factor = likelihood.traits.quadratic, None
    point, n_iter = _start(features, y, likelihood, None if quadratic else warm_start)
    while True:
        if factor is None or not quadratic:  # the curvature of a quadratic loss is the same everywhere
            factor = _factor(features, point.d)
        n_iter += 1
        slope = point.w + features.transposed_times(point.d.gradient)
        step = -factor.solve(slope)
        decrement = _decrement(slope, step)
        if decrement <= tolerance:
            return point, factor, Status.CONVERGED, n_iter
        if n_iter >= MAX_STEPS:
            return point, factor, Status.MAX_ITER, n_iter
        new, full = _line_search(features, y, likelihood, point, step, decrement)
        if new is None:
            return point, factor, Status.STALLED, n_iter
        point = _chord_steps(features, y, likelihood, new, factor, decrement) if full else new


def _decrement(slope: Vector, step: Vector) -> float:
    """Return the Newton decrement, the root of twice the predicted decrease."""
    return math.sqrt(max(0.0, -float(slope @ step)))


def _factor(features: Features, d: Derivatives) -> Cholesky:
    S = features.weighted_gram(d.curvature)
    S[np.diag_indices_from(S)] += 1.0
    return cholesky(S, overwrite=True)


def _start(features: Features, y: Vector, likelihood: Likelihood, warm_start: Vector | None) -> tuple[_Point, int]:
    """Return the first iterate and the factorisations spent: a Newton step from given latent values, or zero."""
    zero = _Point.at(np.zeros(features.shape[1]), np.zeros_like(y), y, likelihood)
    if warm_start is None:
        return zero, 0
    d = likelihood.derivatives(y, warm_start)
    if not np.all(np.isfinite(d.loss)):
        return zero, 0
    w = _factor(features, d).solve(features.transposed_times(d.curvature * warm_start - d.gradient))
    f = features.times(w)
    for shrink in (1.0, 0.9, 0.7, 0.5, 0.25):
        point = _Point.at(shrink * w, shrink * f, y, likelihood)
        if point.objective < zero.objective:
            return point, 1
    return zero, 1


def _line_search(
    features: Features, y: Vector, likelihood: Likelihood, point: _Point, step: Vector, decrement: float
) -> tuple[_Point | None, bool]:
    """Return a lower point along the step (None if there is none), and whether it is the full step."""
    moved, rounding = features.times(step), 1e-14 * (1.0 + abs(point.objective))
    t = 1.0
    for _ in range(HALVINGS):
        new = _Point.at(point.w + t * step, point.f + t * moved, y, likelihood)
        if new.objective <= point.objective - 1e-4 * t * decrement**2 + rounding:
            return new, t == 1.0
        t *= 0.5
    return None, False


def _chord_steps(
    features: Features, y: Vector, likelihood: Likelihood, point: _Point, factor: Cholesky, decrement: float
) -> _Point:
    """Repeat steps with the factor at hand while each divides the decrement by ``CHORD_GAIN`` or more."""
    while True:
        slope = point.w + features.transposed_times(point.d.gradient)
        step = -factor.solve(slope)
        smaller = _decrement(slope, step)
        if not 0.0 < CHORD_GAIN * smaller < decrement:
            return point
        new = _Point.at(point.w + step, point.f + features.times(step), y, likelihood)
        if not np.isfinite(new.objective):
            return point
        point, decrement = new, smaller


__all__ = ["WeightEvidence", "WeightPosterior", "infer_weights"]
