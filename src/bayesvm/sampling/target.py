r"""The density that is sampled: evidence times hyperprior, in coordinates without bounds.

Every entry of :math:`\theta` lies between bounds; with :math:`\theta = l + (h - l)\, \sigma(u)` the sampler moves u on
the whole real line, and the logarithm of the density gains :math:`\ln |d\theta/du|`.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import expit, log_expit, logit

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper import EvidenceObjective
from bayesvm.solvers.base import Status
from bayesvm.typing import Vector


@dataclasses.dataclass(frozen=True)
class Target:
    """Log posterior density of theta in unbounded coordinates.

    Parameters
    ----------
    objective : EvidenceObjective
        Evidence and (proper) hyperprior.
    """

    objective: EvidenceObjective

    def theta(self, u: Vector) -> Vector:
        """Return theta at unbounded coordinates (a vector, or an array whose last axis they are)."""
        low, high = self.objective.bounds.T
        return np.asarray(low + (high - low) * expit(u))

    def coordinates(self, theta: Vector) -> Vector:
        """Return the unbounded coordinates of theta; values at a bound are moved inside."""
        low, high = self.objective.bounds.T
        share = np.clip((theta - low) / (high - low), 1e-3, 1.0 - 1e-3)
        return np.asarray(logit(share))

    def log_density(self, u: Vector, warm_start: Vector | None = None) -> tuple[float, Vector, Vector | None]:
        """Return the log density with its gradient in u (``-inf`` if not computable), and the next warm start."""
        u = np.asarray(u, dtype=float)
        low, high = self.objective.bounds.T
        try:
            found = self.objective.evaluate(self.theta(u), warm_start)
        except NotPositiveDefiniteError:
            return -np.inf, np.zeros_like(u), None
        if found.evidence.status is Status.MAX_ITER or not np.isfinite(found.value):
            return -np.inf, np.zeros_like(u), None
        share = expit(u)
        slope = (high - low) * share * (1.0 - share)
        jacobian = np.sum(np.log(high - low) + log_expit(u) + log_expit(-u))
        gradient = found.gradient * slope + 1.0 - 2.0 * share
        return found.value + float(jacobian), gradient, found.evidence.latent


__all__ = ["Target"]
