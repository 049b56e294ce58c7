r"""Laplace's method where a few features are the whole prior, :math:`K = \Phi \Phi^\top`.

The latent values are :math:`f = \Phi w`, and with the mode :math:`\hat w = \Phi^\top \alpha`, :math:`\alpha = -\ell'`,
and :math:`S = I + \Phi^\top W \Phi` the evidence of :mod:`bayesvm.inference.laplace` is

.. math:: \ln Z = -\sum_i \ell_i - \tfrac12 |\hat w|^2 - \tfrac12 \ln |S| .

With :math:`V = S^{-1}`, :math:`R \Phi = W \Phi V`, the variances :math:`v_i = \phi_i^\top V \phi_i`,
:math:`u = \tfrac12 v \ell'''`, :math:`s = V \Phi^\top u` and :math:`q = u - W \Phi s`, where :math:`K q = \Phi s`, its
derivative in K gives

.. math::

    \bar\Phi = 2\, \frac{\partial \ln Z}{\partial K} \Phi
    = (\alpha - q)\, \hat w^\top - \alpha s^\top - W \Phi V, \qquad
    \Phi^\top \bar\Phi = \hat w \hat w^\top - s \hat w^\top - \hat w s^\top + V - I .

Only rows with a curvature need a row of :math:`\Phi V`; a matrix of the features' size is left to whom it is of use.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bayesvm.inference.base import Evidence, Posterior
from bayesvm.inference.low_rank.features import FeatureBlock, Features, Sums
from bayesvm.inference.low_rank.weights import TOLERANCE, WeightSearch, plus_identity, weighted_gram
from bayesvm.likelihoods.base import Likelihood
from bayesvm.likelihoods.native import fast_derivatives
from bayesvm.linalg import cholesky
from bayesvm.linalg.feature_factor import FeatureFactor
from bayesvm.solvers.base import require
from bayesvm.typing import Indices, Matrix, Vector


@dataclasses.dataclass(frozen=True)
class FeatureCotangent:
    r"""The derivative in the features, :math:`\bar\Phi = A B^\top - W \Phi V`, without the matrix itself.

    Attributes
    ----------
    left, right : array, shapes (n, 2) and (r, 2)
        :math:`A = (\alpha - q,\, -\alpha)` and :math:`B = (\hat w,\, s)`.
    rows : array of int
        M, outside of which W is zero.
    weighted : array, shape (m, r)
        :math:`W_M \Phi_M`.
    V : array, shape (r, r)
        :math:`S^{-1}`.
    """

    left: Matrix
    right: Matrix
    rows: Indices
    weighted: Matrix
    V: Matrix

    @property
    def inner(self) -> Matrix:
        r"""Return :math:`\Phi^\top \bar\Phi`, symmetric."""
        w, s = self.right.T
        found = np.outer(w - s, w - s) - np.outer(s, s) + self.V
        found.flat[:: w.size + 1] -= 1.0
        return found

    def times(self, back: Callable[[Matrix], Matrix]) -> Matrix:
        r"""Return :math:`\bar\Phi C^\top` for the square matrix C that ``back`` multiplies with."""
        r = self.V.shape[0]
        small = back(np.hstack([self.V, self.right])).T
        found = self.left @ small[r:]
        if self.rows.size == len(found):
            found -= self.weighted @ small[:r]
        else:
            found[self.rows] -= self.weighted @ small[:r]
        return found


@dataclasses.dataclass(frozen=True)
class FeatureEvidence:
    """Posterior and evidence, which has no derivative in K, with that in the features."""

    posterior: Posterior
    evidence: Evidence
    bar: FeatureCotangent


def infer_features(
    phi: Matrix, y: Vector, likelihood: Likelihood, *, warm_start: Vector | None = None
) -> FeatureEvidence:
    """Return posterior, evidence and derivatives.

    Parameters
    ----------
    phi : array, shape (n, r)
        Features.
    y : array, shape (n,)
        Labels -1/+1 or targets.
    likelihood : Likelihood
        With continuous first derivative and convex.
    warm_start : array, shape (n,), optional
        Latent values from which the search for the mode starts; they change the cost, not the result.
    """
    require("Laplace's method", likelihood, smoothness=1, convex=True)
    rows, quadratic = FeatureBlock(phi, np.zeros_like(y), y[:, None], likelihood), likelihood.traits.quadratic
    search = WeightSearch(_Whole(rows), 0, quadratic, TOLERANCE * math.sqrt(y.size), chords=False)
    start = None if warm_start is None or quadratic else _first_weights(rows, warm_start)
    point, factor, status, n_iter = search.mode(start)
    w, f = point.w, phi @ point.w
    d, p, V = fast_derivatives(likelihood, y, f), likelihood.theta_derivatives(y, f), factor.inverse()
    M = np.flatnonzero((d.curvature > 0.0) | (d.third != 0.0) | p.curvature.any(axis=0))
    W, phi_M = d.curvature[M], phi if M.size == y.size else phi[M]
    var = np.einsum("ij,ij->i", phi_M @ V, phi_M)
    u = 0.5 * var * d.third[M]
    s = V @ (phi_M.T @ u)
    left = np.stack([-d.gradient, d.gradient], axis=1)
    left[M, 0] += W * (phi_M @ s) - u
    bar = FeatureCotangent(left, np.stack([w, s], axis=1), M, W[:, None] * phi_M, V)
    terms = {"prior": -0.5 * float(w @ w), "loss": -point.loss, "determinant": -0.5 * factor.log_det()}
    dphi = -p.loss.sum(axis=1) - 0.5 * (p.curvature[:, M] @ var) + p.gradient @ (phi @ s)
    none = np.empty(0, dtype=np.intp), np.empty((0, 0))
    evidence = Evidence(sum(terms.values()), terms, *none, dphi, status, f, n_iter)
    return FeatureEvidence(Posterior.of(-d.gradient, FeatureFactor.of(phi, d.curvature, factor)), evidence, bar)


def _first_weights(rows: FeatureBlock, latent: Vector) -> Vector | None:
    r"""Return the weights after a Newton step from given latent values, :math:`S^{-1} \Phi^\top (W f - \ell'(f))`.

    None where the loss is infinite.
    """
    d = fast_derivatives(rows.likelihood, rows.target(0), latent)
    if not np.all(np.isfinite(d.loss)):
        return None
    S = cholesky(plus_identity(weighted_gram(rows.phi, d.curvature)), overwrite=True)
    return S.solve(rows.phi.T @ (d.curvature * latent - d.gradient))


@dataclasses.dataclass(frozen=True)
class _Whole(Features):
    """All rows in one block."""

    block: FeatureBlock

    @property
    def n_features(self) -> int:
        return int(self.block.phi.shape[1])

    def total(self, share: Callable[[Any], Sums]) -> Sums:
        return share(self.block)


__all__ = ["FeatureEvidence", "infer_features"]
