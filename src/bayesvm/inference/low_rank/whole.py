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
from bayesvm.linalg import cholesky
from bayesvm.linalg.feature_factor import FeatureFactor
from bayesvm.solvers.base import require
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class FeatureEvidence:
    r"""Posterior and evidence, which has no derivative in K, with those in the features.

    Attributes
    ----------
    posterior, evidence : Posterior, Evidence
        In the form that all methods share.
    bar : array, shape (n, r)
        :math:`\bar\Phi`.
    inner : array, shape (r, r)
        :math:`\Phi^\top \bar\Phi`, symmetric.
    """

    posterior: Posterior
    evidence: Evidence
    bar: Matrix
    inner: Matrix


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
    d, V = likelihood.derivatives(y, f), factor.inverse()
    spread = phi @ V
    var = np.einsum("ij,ij->i", spread, phi)
    u = 0.5 * var * d.third
    s = V @ (phi.T @ u)
    moved = phi @ s
    spread *= -d.curvature[:, None]
    spread += np.outer(d.curvature * moved - d.gradient - u, w)
    spread += np.outer(d.gradient, s)
    inner = np.outer(w - s, w - s) - np.outer(s, s) + V - np.eye(w.size)
    terms = {"prior": -0.5 * float(w @ w), "loss": -point.loss, "determinant": -0.5 * factor.log_det()}
    p = likelihood.theta_derivatives(y, f)
    dphi = -p.loss.sum(axis=1) - 0.5 * (p.curvature @ var) + p.gradient @ moved
    none = np.empty(0, dtype=np.intp), np.empty((0, 0))
    evidence = Evidence(sum(terms.values()), terms, *none, dphi, status, f, n_iter)
    posterior = Posterior.of(-d.gradient, FeatureFactor.of(phi, d.curvature, factor))
    return FeatureEvidence(posterior, evidence, spread, inner)


def _first_weights(rows: FeatureBlock, latent: Vector) -> Vector | None:
    r"""Return the weights after a Newton step from given latent values, :math:`S^{-1} \Phi^\top (W f - \ell'(f))`.

    None where the loss is infinite.
    """
    d = rows.likelihood.derivatives(rows.target(0), latent)
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
