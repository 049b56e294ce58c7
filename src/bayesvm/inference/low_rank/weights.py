r"""Laplace's method for the weights of m features, with the variational term for what the features leave over.

The latent values are :math:`f = \Phi w` with :math:`w \sim \mathcal N(0, I)`; of the prior variances :math:`k_i` the
features leave :math:`r_i = k_i - |\phi_i|^2 \ge 0`. With the mode :math:`\hat w` of
:math:`\sum_i \ell_i(\phi_i^\top w) + \tfrac12 |w|^2`, :math:`W_i = \ell''_i` there and
:math:`S = I + \Phi^\top W \Phi`,

.. math:: \ln Z = -\sum_i \ell_i - \tfrac12 |\hat w|^2 - \tfrac12 \ln |S| - \tfrac12 \sum_i W_i r_i .

For Gaussian noise this is Titsias' lower bound of the evidence (Titsias2009, (9)), for other losses Laplace's
approximation of the analogous one. Everything is a sum over rows of numbers, of m-vectors or of m x m matrices, taken
in three kinds of passes over the rows (:class:`ModeShare`, :class:`EndShare` and, for derivatives in the features,
:meth:`ModeEvidence.feature_cotangent`). So it does not matter where the rows are and how they are split, a pass takes
O(n m^2), and the memory is that of a block of rows and of a few m x m matrices.

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

import numpy as np

from bayesvm.inference.low_rank.evidence import RowMoments, WeightEvidence, WeightPosterior
from bayesvm.inference.low_rank.features import FeatureBlock, Features, Sums
from bayesvm.likelihoods.base import Derivatives, Likelihood
from bayesvm.likelihoods.native import fast_derivatives
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
#: Factors by which the weights of a warm start are tried.
SHRINK = (1.0, 0.7, 0.4)


@dataclasses.dataclass(frozen=True)
class ModeEvidence(WeightEvidence):
    r"""Laplace's evidence with its cotangents; see the module for the formulas.

    Attributes
    ----------
    s : array, shape (m,)
        :math:`V \Phi^\top u`, where u are the weights of the mode's own change.
    squares : tuple of float
        :math:`\sum g^2 / W` and :math:`\sum W (f - g / W)^2` of the rows with a curvature: what the upper bound needs;
        zeros if the losses are not quadratic.
    quadratic : bool
        Whether the losses are quadratic, so that there is an upper bound.
    """

    s: Vector
    squares: tuple[float, float]
    quadratic: bool

    def start(self, prior: Cholesky) -> Matrix:
        """Return the latent values at the inducing inputs."""
        return np.asarray(prior.lower() @ self.posterior.mean)

    def moments(self, block: FeatureBlock) -> RowMoments:
        """Return the latent values of a block of rows."""
        f = block.phi @ self.posterior.mean
        d = block.likelihood.derivatives(block.target(self.output), f)
        var = self.posterior.explained(block.phi) + block.residual
        return RowMoments(f, var, block.residual, d.curvature, d.gradient)

    def feature_cotangent(self, block: FeatureBlock) -> tuple[Matrix, Vector]:
        r"""Return :math:`\bar\Phi` and :math:`\bar k` of a block of rows."""
        w, s, phi = self.posterior.mean, self.s, block.phi
        d = block.likelihood.derivatives(block.target(self.output), phi @ w)
        W, g = d.curvature, d.gradient
        bar = -self.posterior.factor.solve(phi.T).T
        moved = 0.5 * d.third * (block.residual - np.einsum("ij,ij->i", phi, bar))
        bar += phi
        bar *= W[:, None]
        bar -= np.outer(g + moved - W * (phi @ s), w)
        if np.any(s):
            bar += np.outer(g, s)
        return bar, -0.5 * W

    def gram_cotangent(self) -> Matrix:
        r"""Return :math:`\Phi^\top \bar\Phi`."""
        w, s, factor = self.posterior.mean, self.s, self.posterior.factor
        lower = factor.lower()
        bar = factor.inverse() + lower @ lower.T + np.outer(w - s, w - s) - np.outer(s, s)
        bar[np.diag_indices_from(bar)] -= 2.0
        return bar

    def upper_bound(self) -> float:
        """Return the upper bound of the log evidence, NaN if the losses are not quadratic."""
        if not self.quadratic:
            return super().upper_bound()
        w, factor, (misfit, targets) = self.posterior.mean, self.posterior.factor, self.squares
        least, left = -self.terms["loss"] - 0.5 * misfit, 2.0 * self.left
        lower = factor.lower()
        wider = lower @ lower.T
        target = wider @ w  # Phi' W y, since S w = Phi' W y at the mode
        wider[np.diag_indices_from(wider)] += left
        explained = target @ cholesky(wider, overwrite=True).solve(target)
        return float(-least + self.terms["determinant"] - 0.5 * (targets - explained) / (1.0 + left))


@dataclasses.dataclass(frozen=True)
class ModeShare:
    r"""What a block adds at given weights: :math:`\sum \ell_i`, :math:`\Phi^\top g`, and :math:`\Phi^\top W \Phi`.

    ``curved`` says whether the matrix is wanted, ``far`` whether majorants of the losses take the place of W.
    """

    w: Vector
    output: int
    curved: bool
    far: bool = False

    def __call__(self, block: FeatureBlock) -> Sums:
        """Return the sums; the matrix only if ``curved``."""
        y, f, likelihood = block.target(self.output), block.phi @ self.w, block.likelihood
        d = fast_derivatives(likelihood, y, f)
        first = float(np.sum(d.loss)), block.phi.T @ d.gradient
        if not self.curved:
            return first
        W = likelihood.majorant(likelihood.argument(y, f)) if self.far else d.curvature
        return (*first, weighted_gram(block.phi, W))


@dataclasses.dataclass(frozen=True)
class EndShare:
    r"""What a block adds once the posterior is known.

    :math:`\sum W_i r_i`, :math:`\Phi^\top u`, the two sums of squares of the upper bound, and for the parameters of the
    likelihood :math:`-\sum \partial_\phi \ell_i - \tfrac12 \sum v_i\, \partial_\phi \ell''_i` and
    :math:`\partial_\phi \ell'^\top \Phi`.
    """

    posterior: WeightPosterior
    output: int

    def __call__(self, block: FeatureBlock) -> Sums:
        """Return the sums."""
        y, f = block.target(self.output), block.phi @ self.posterior.mean
        d, var = block.likelihood.derivatives(y, f), self.posterior.explained(block.phi) + block.residual
        squares = _squares(f, d) if block.likelihood.traits.quadratic else (0.0, 0.0)
        sums = (float(d.curvature @ block.residual), block.phi.T @ (0.5 * var * d.third), *squares)
        if not block.likelihood.theta.size:
            return (*sums, np.empty(0), np.empty((0, block.phi.shape[1])))
        p = block.likelihood.theta_derivatives(y, f)
        return (*sums, -p.loss.sum(axis=1) - 0.5 * (p.curvature @ var), p.gradient @ block.phi)


def _squares(f: Vector, d: Derivatives) -> tuple[float, float]:
    r"""Return :math:`\sum g^2 / W` and :math:`\sum W (f - g / W)^2`, sums over the rows with a curvature."""
    used = d.curvature > 0.0
    W, g = d.curvature[used], d.gradient[used]
    return float(np.sum(g**2 / W)), float(np.sum(W * (f[used] - g / W) ** 2))


def weighted_gram(phi: Matrix, weights: Vector) -> Matrix:
    r"""Return :math:`\Phi^\top \operatorname{diag}(w)\, \Phi` for weights that are not negative."""
    used = weights > 0.0
    scaled = (phi if used.all() else phi[used]) * np.sqrt(weights[used])[:, None]
    return np.asarray(scaled.T @ scaled)


def plus_identity(A: Matrix) -> Matrix:
    """Add the identity in place, and return the matrix."""
    A.flat[:: A.shape[0] + 1] += 1.0
    return A


def infer_weights(
    features: Features,
    likelihood: Likelihood,
    *,
    n_rows: int,
    output: int = 0,
    warm_start: Vector | None = None,
) -> ModeEvidence:
    """Return the evidence and the posterior of the weights.

    Parameters
    ----------
    features : Features
        Of all rows, with their targets.
    likelihood : Likelihood
        With continuous first derivative and convex; weights of rows are in ``features``.
    n_rows : int
        Number of rows.
    output : int
        Column of the targets.
    warm_start : array, shape (m,), optional
        Weights from which the search for the mode starts; they change the cost, not the result.
    """
    require("Laplace's method", likelihood, smoothness=1, convex=True)
    quadratic = likelihood.traits.quadratic
    search = WeightSearch(features, output, quadratic, TOLERANCE * math.sqrt(n_rows))
    point, factor, status, n_iter = search.mode(None if quadratic else warm_start)
    posterior = WeightPosterior(point.w, factor)
    left, moved, misfit, targets, dphi, across = features.total(EndShare(posterior, output))
    terms = {
        "prior": -0.5 * float(point.w @ point.w),
        "loss": -point.loss,
        "determinant": -0.5 * factor.log_det(),
        "trace": -0.5 * left,
    }
    s = factor.solve(moved) if np.any(moved) else np.zeros(point.w.size)
    value, dphi = sum(terms.values()), dphi + across @ s
    found = (value, terms, posterior, output, 0.5 * left, dphi, status, n_iter)
    return ModeEvidence(*found, s, (misfit, targets), quadratic)


@dataclasses.dataclass(frozen=True)
class WeightPoint:
    """An iterate: weights, the sum of the losses, the gradient of what is minimised, and S - I, if it is known."""

    w: Vector
    loss: float
    slope: Vector
    added: Matrix | None = None

    @property
    def objective(self) -> float:
        """What is minimised."""
        return float(0.5 * (self.w @ self.w) + self.loss)


@dataclasses.dataclass(frozen=True)
class WeightSearch:
    """The search for the mode of one output.

    Parameters
    ----------
    features, output : Features, int
        Rows, and the column of their targets.
    quadratic : bool
        Whether the losses are quadratic.
    tolerance : float
        Newton decrement at which the mode counts as found.
    chords : bool
        Whether steps are repeated with the last factor: with many features a factor takes longer than several passes.
    """

    features: Features
    output: int
    quadratic: bool
    tolerance: float
    chords: bool = True

    def mode(self, warm_start: Vector | None) -> tuple[WeightPoint, Cholesky, Status, int]:
        """Return the mode, the factor of S there, how the search ended and the number of factorisations.

        After a step that had to be shortened the next one takes the majorants of the losses for their curvatures: it
        is shorter where losses bend on the way, and always goes down. The search ends at a Newton step alone.
        """
        point, factor = self._factored(self._start(warm_start))
        n_iter, last, far = 0, np.inf, False
        while True:
            n_iter += 1
            step = -factor.solve(point.slope)
            decrement = _decrement(point.slope, step)
            if far:
                new, _ = self._line_search(point, step, decrement)
                point, factor = self._factored(point if new is None else new)
                far = False
                continue
            if decrement <= self.tolerance:
                return point, factor, Status.CONVERGED, n_iter
            if decrement > 0.5 * last and 0.5 * decrement**2 <= _rounding(point):  # weights of 1e5 and next to no noise
                return point, factor, Status.STALLED, n_iter
            if n_iter >= MAX_STEPS:
                return point, factor, Status.MAX_ITER, n_iter
            last = decrement
            new, full = self._line_search(point, step, decrement)
            if new is None:
                return point, factor, Status.STALLED, n_iter
            point = self._chord_steps(new, factor, decrement) if full and self.chords else new
            if not self.quadratic:  # the curvature of a quadratic loss is the same everywhere
                far = not full
                point, factor = self._factored(point, far=far)

    def _point(self, w: Vector, *, curved: bool, far: bool = False) -> WeightPoint:
        loss, slope, *rest = self.features.total(ModeShare(w, self.output, curved=curved, far=far))
        return WeightPoint(w, loss, w + slope, *rest)

    def _factored(self, point: WeightPoint, *, far: bool = False) -> tuple[WeightPoint, Cholesky]:
        """Return the point and the factor of S there, with majorants in place of curvatures if it is ``far``."""
        if point.added is None or far:
            point = self._point(point.w, curved=True, far=far)
        assert point.added is not None
        return WeightPoint(point.w, point.loss, point.slope), cholesky(plus_identity(point.added), overwrite=True)

    def _start(self, warm_start: Vector | None) -> WeightPoint:
        """Return the point to begin with: given weights, smaller if they are too large, or zero if all are worse."""
        zero = self._point(np.zeros(self.features.n_features), curved=warm_start is None)
        if warm_start is None:
            return zero
        for shrink in SHRINK:
            point = self._point(shrink * warm_start, curved=not self.chords)
            if point.objective < zero.objective:
                return point
        return zero

    def _line_search(self, point: WeightPoint, step: Vector, decrement: float) -> tuple[WeightPoint | None, bool]:
        """Return a lower point along the step (None if there is none), and whether it is the full step."""
        rounding, t = _rounding(point), 1.0
        for _ in range(HALVINGS):
            new = self._point(point.w + t * step, curved=not (self.chords or self.quadratic))
            if new.objective <= point.objective - 1e-4 * t * decrement**2 + rounding:
                return new, t == 1.0
            t *= 0.5
        return None, False

    def _chord_steps(self, point: WeightPoint, factor: Cholesky, decrement: float) -> WeightPoint:
        """Repeat steps with the factor at hand while each divides the decrement by ``CHORD_GAIN`` or more."""
        while True:
            step = -factor.solve(point.slope)
            smaller = _decrement(point.slope, step)
            if not 0.0 < CHORD_GAIN * smaller < decrement:
                return point
            new = self._point(point.w + step, curved=False)
            if not np.isfinite(new.objective):
                return point
            point, decrement = new, smaller


def _rounding(point: WeightPoint) -> float:
    """Return the change of the objective that cannot be told from rounding."""
    return 1e-14 * (1.0 + abs(point.objective))


def _decrement(slope: Vector, step: Vector) -> float:
    """Return the Newton decrement, the root of twice the predicted decrease."""
    return math.sqrt(max(0.0, -float(slope @ step)))


__all__ = [
    "TOLERANCE",
    "EndShare",
    "ModeEvidence",
    "ModeShare",
    "WeightPoint",
    "WeightSearch",
    "infer_weights",
    "plus_identity",
    "weighted_gram",
]
