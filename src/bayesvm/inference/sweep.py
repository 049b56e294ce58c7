r"""One sweep of expectation propagation: everything that follows from given sites, and what sites belong to.

:mod:`bayesvm.inference.ep` states the formulas.
"""

from __future__ import annotations

import dataclasses
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bayesvm.inference.base import Factor
from bayesvm.inference.leave_one_out import Marginals
from bayesvm.likelihoods.base import Traits
from bayesvm.likelihoods.tilted import Tilted
from bayesvm.linalg.site_posterior import SitePosterior, site_posterior
from bayesvm.typing import Matrix, Vector

Mask = NDArray[np.bool_]


class SitePrior(Protocol):
    """What sites are multiplied by: a Gaussian prior of all latent values."""

    def diagonal(self) -> Vector:
        """Return the prior variances."""

    def posterior(self, tau: Vector, nu: Vector) -> SitePosterior:
        """Return the posterior with given sites."""


class SiteTerms(Protocol):
    """What sites stand for: the terms of all rows, such as a likelihood has them."""

    @property
    def traits(self) -> Traits:
        """Properties of the loss."""

    @property
    def copies(self) -> Vector | float:
        """How often each row occurs."""

    def tilted(self, y: Vector, mean: Vector, var: Vector) -> Tilted:
        """Return the normalisers with their derivatives in the mean."""


@dataclasses.dataclass(frozen=True)
class GramPrior:
    """The prior of latent values with a Gram matrix."""

    K: Matrix

    def diagonal(self) -> Vector:
        """Return the prior variances."""
        return np.diagonal(self.K)

    def posterior(self, tau: Vector, nu: Vector) -> SitePosterior:
        """Return the posterior with given sites."""
        return site_posterior(self.K, tau, nu)


@dataclasses.dataclass(frozen=True)
class Sweep:
    """Everything that follows from given sites: the state of the iteration."""

    sites: Matrix  #: tau and nu, shape (2, n)
    posterior: SitePosterior
    matched: Matched

    @property
    def factor(self) -> Factor:
        """The factor of the posterior."""
        return self.posterior.factor

    @property
    def residual(self) -> float:
        """Largest mismatch of a moment."""
        return self.matched.residual

    @property
    def image(self) -> Matrix:
        """The sites that match the moments."""
        return self.matched.image


@dataclasses.dataclass(frozen=True)
class Matched:
    """What follows from sites and marginals."""

    marginals: Marginals  #: of the posterior with these sites
    tilted: Tilted  #: normalisers at the cavities
    image: Matrix  #: the sites that match the moments
    residual: float  #: largest mismatch of a mean (in standard deviations) or of a variance (relative)


def evidence_terms(sweep: Sweep) -> dict[str, float]:
    r"""Return the summands of the evidence.

    With :math:`m = v \nu + (1 - v \tau)\, m_{-i}` and :math:`\alpha = \nu - \tau m` the terms of the sites are
    :math:`-\tfrac12 \alpha_i m_{-i} - \tfrac12 \ln (1 - v_i \tau_i)` for each point, where nothing cancels.
    """
    q = sweep.matched.marginals
    return {
        "tilted": float(np.sum(q.copies * sweep.matched.tilted.log_z)),
        "sites": float(-0.5 * (q.alpha @ q.cavity_mean) - 0.5 * np.sum(q.copies * np.log(q.rest))),
        "determinant": -0.5 * sweep.factor.log_det(),
    }


__all__ = ["GramPrior", "Mask", "Matched", "SitePrior", "SiteTerms", "Sweep", "evidence_terms"]
