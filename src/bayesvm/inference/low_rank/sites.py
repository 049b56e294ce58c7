r"""Expectation propagation for the weights of m features.

The latent values are :math:`f_i = t_i + e_i` with :math:`t = \Phi w`, :math:`w \sim \mathcal N(0, I)`, and independent
:math:`e_i \sim \mathcal N(0, r_i)` for the prior variance that the features leave over (the FITC prior, for labels
NaishGuzman2007). Sites are functions of :math:`t_i`, so that everything is that of
:class:`~bayesvm.inference.ep.EP` with the Gram matrix :math:`\Phi\Phi^\top` and the terms
:math:`\int p(y_i | t_i + e)\, \mathcal N(e; 0, r_i)\, de`: their normalisers at a cavity :math:`\mathcal N(m, v)` are
those of the likelihood at :math:`\mathcal N(m, v + r_i)`. With sites :math:`\tau, \nu` and
:math:`T = \mathrm{diag}(\tau)`,

.. math:: S = I + \Phi^\top T \Phi, \quad \hat w = S^{-1} \Phi^\top \nu, \quad m_i = \phi_i^\top \hat w, \quad
          v_i = \phi_i^\top S^{-1} \phi_i, \quad \alpha = \nu - T m .

A sweep takes two passes over the rows of :math:`O(n m^2)`, and keeps two numbers per row between sweeps. Only
parallel updates in mixed steps are made: the response of all marginals to all sites would be a matrix of all rows.

*Derivatives.* The evidence is stationary in the sites. With :math:`\Phi^\top \alpha = \hat w`,
:math:`R\,\Phi = T \Phi S^{-1}` for :math:`R = T - T\Phi S^{-1}\Phi^\top T`, and
:math:`\partial_v \ln Z_i = \tfrac12 (h_i + g_i^2)` for the derivatives g, h of :math:`\ln Z_i` in the cavity's mean,

.. math::

    \bar k = \tfrac12 (h + g^2), \qquad
    \bar\Phi = \alpha \hat w^\top - T \Phi S^{-1} - 2\, \mathrm{diag}(\bar k)\, \Phi,
    \qquad \Phi^\top \bar\Phi = \hat w \hat w^\top - I + S^{-1} - 2\, \Phi^\top \mathrm{diag}(\bar k)\, \Phi .
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from bayesvm.inference.ep import EP
from bayesvm.inference.low_rank.evidence import RowMoments, WeightEvidence, WeightPosterior
from bayesvm.inference.low_rank.features import FeatureBlock, FeaturesHere
from bayesvm.inference.sweep import Sweep, evidence_terms
from bayesvm.likelihoods.base import Likelihood, Traits
from bayesvm.likelihoods.tilted import Tilted
from bayesvm.linalg import Cholesky, InducingFactor, cholesky
from bayesvm.linalg.site_posterior import SitePosterior
from bayesvm.solvers.base import Status
from bayesvm.typing import Matrix, Vector

#: Least ratio of a marginal's variance to that of its cavity, and to the largest prior variance of all rows.
LEAST_REST = 1e-12
LEAST_VAR = 1e-30


@dataclasses.dataclass(frozen=True)
class BlurredTerms:
    """Terms of a likelihood whose argument has a further variance of its own.

    Parameters
    ----------
    likelihood : Likelihood
        Of all rows.
    extra : array, shape (n,)
        The variances.
    """

    likelihood: Likelihood
    extra: Vector

    @property
    def traits(self) -> Traits:
        """Properties of the loss."""
        return self.likelihood.traits

    @property
    def copies(self) -> Vector | float:
        """How often each row occurs."""
        return self.likelihood.copies

    def tilted(self, y: Vector, mean: Vector, var: Vector) -> Tilted:
        """Return the normalisers with their derivatives in the mean."""
        return self.likelihood.tilted(y, mean, var + self.extra)


@dataclasses.dataclass(frozen=True)
class FeaturePrior:
    """The prior of latent values in the span of features.

    Parameters
    ----------
    features : FeaturesHere
        Of all rows.
    variances : array, shape (n,)
        Squared lengths of the features.
    """

    features: FeaturesHere
    variances: Vector

    def diagonal(self) -> Vector:
        """Return the prior variances."""
        return self.variances

    def posterior(self, tau: Vector, nu: Vector) -> SitePosterior:
        """Return the posterior with given sites."""
        m = self.features.n_features
        S, target = np.eye(m), np.zeros(m)
        for block in self.features.blocks():
            own = block.rows
            S += block.phi.T @ (tau[own, None] * block.phi)
            target += block.phi.T @ nu[own]
        factor = cholesky(S, overwrite=True, what="the precision of the weights")
        weights = WeightPosterior(factor.solve(target), factor)
        mean, var = np.empty(tau.size), np.empty(tau.size)
        for block in self.features.blocks():
            mean[block.rows], var[block.rows] = block.phi @ weights.mean, weights.explained(block.phi)
        np.maximum(var, LEAST_VAR * np.max(self.variances), out=var)  # rows that the features say nothing of
        rest = np.maximum(1.0 - var * tau, LEAST_REST)
        among = InducingFactor(np.arange(m), self.features.prior, factor)
        return SitePosterior(among, nu - tau * mean, mean, var, rest)


@dataclasses.dataclass(frozen=True)
class SiteEvidence(WeightEvidence):
    r"""Evidence of expectation propagation with its cotangents; see the module for the formulas.

    Attributes
    ----------
    sites : array, shape (2, n)
        :math:`\tau` and :math:`\nu` of all rows.
    alpha, slope : arrays, shape (n,)
        Coefficients, and :math:`\bar k`.
    curved : array, shape (m, m)
        :math:`\Phi^\top \mathrm{diag}(\bar k)\, \Phi`.
    """

    sites: Matrix
    alpha: Vector
    slope: Vector
    curved: Matrix

    def start(self, prior: Cholesky) -> Matrix:
        """Return the sites."""
        return self.sites

    def moments(self, block: FeatureBlock) -> RowMoments:
        """Return the latent values of a block of rows."""
        own, residual = block.rows, block.residual
        var = self.posterior.explained(block.phi) + residual
        return RowMoments(block.phi @ self.posterior.mean, var, residual, self.sites[0, own], -self.alpha[own])

    def feature_cotangent(self, block: FeatureBlock) -> tuple[Matrix, Vector]:
        r"""Return :math:`\bar\Phi` and :math:`\bar k` of a block of rows."""
        own, phi = block.rows, block.phi
        bar = np.outer(self.alpha[own], self.posterior.mean)
        bar -= self.sites[0, own, None] * self.posterior.factor.solve(phi.T).T
        bar -= 2.0 * self.slope[own, None] * phi
        return bar, self.slope[own]

    def gram_cotangent(self) -> Matrix:
        r"""Return :math:`\Phi^\top \bar\Phi`."""
        w = self.posterior.mean
        bar = self.posterior.factor.inverse() + np.outer(w, w) - 2.0 * self.curved
        bar[np.diag_indices_from(bar)] -= 1.0
        return bar


def infer_sites(
    method: EP, features: FeaturesHere, likelihood: Likelihood, *, output: int = 0, warm_start: Matrix
) -> SiteEvidence:
    """Return evidence and posterior of the weights by expectation propagation.

    Parameters
    ----------
    method : EP
        Tolerance and number of sweeps.
    features : FeaturesHere
        Of all rows, with their targets.
    likelihood : Likelihood
        Of all rows, with their weights.
    output : int
        Column of the targets.
    warm_start : array, shape (2, n)
        The first sites.
    """
    parts = [(b.target(output), b.residual, np.einsum("ij,ij->i", b.phi, b.phi)) for b in features.blocks()]
    y, residual, variances = (np.concatenate(column) for column in zip(*parts, strict=True))
    terms = BlurredTerms(likelihood, residual)
    sweep, status, n_iter = method.iterate(FeaturePrior(features, variances), y, terms, warm_start)
    return _evidence(sweep, terms, y, features, output, status, n_iter)


def _evidence(
    sweep: Sweep, terms: BlurredTerms, y: Vector, features: FeaturesHere, output: int, status: Status, n_iter: int
) -> SiteEvidence:
    """Return the evidence at the fixed point."""
    q, tilted, likelihood = sweep.matched.marginals, sweep.matched.tilted, terms.likelihood
    slope = 0.5 * q.copies * (tilted.bend + tilted.slope**2)
    m, factor = features.n_features, sweep.factor
    assert isinstance(factor, InducingFactor)
    curved, mean = np.zeros((m, m)), np.zeros(m)
    for block in features.blocks():
        curved += block.phi.T @ (slope[block.rows, None] * block.phi)
        mean += block.phi.T @ q.alpha[block.rows]  # Phi' alpha is the mean of the weights
    dphi = np.sum(q.copies * likelihood.tilted_theta(y, q.cavity_mean, q.cavity_var + terms.extra), axis=1)
    summands: Mapping[str, float] = evidence_terms(sweep)
    left = 0.5 * float(np.maximum(sweep.sites[0], 0.0) @ terms.extra)
    return SiteEvidence(
        sum(summands.values()),
        summands,
        WeightPosterior(mean, factor.weights),
        output,
        left,
        dphi,
        status,
        n_iter,
        sweep.sites,
        q.alpha,
        slope,
        curved,
    )


__all__ = ["SiteEvidence", "infer_sites"]
