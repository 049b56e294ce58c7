r"""Exact inference for Gaussian noise.

.. math:: \ln Z = -\tfrac12 y^\top (K + \sigma^2 I)^{-1} y - \tfrac12 \ln |K + \sigma^2 I| - \tfrac n2 \ln 2\pi

(Thesis (1.28)), in the form that all methods share: :math:`W = 1/\sigma^2`, :math:`\alpha = (K + \sigma^2 I)^{-1} y = R y`.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.exceptions import IncompatibleError
from bayesvm.inference.base import Evidence, Inference, Posterior
from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg import SupportFactor
from bayesvm.solvers.base import Status
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class Exact(Inference):
    """Gaussian process regression in closed form; the likelihood's curvature must not depend on f."""

    def check(self, likelihood: Likelihood) -> None:
        """Refuse every likelihood but a Gaussian one."""
        if not likelihood.traits.quadratic:
            raise IncompatibleError(
                f"exact inference cannot treat {type(likelihood).__name__}: it needs a quadratic loss (Gaussian noise)"
            )

    def infer(
        self, K: Matrix, y: Vector, likelihood: Likelihood, *, warm_start: Vector | None = None
    ) -> tuple[Posterior, Evidence]:
        """Return posterior and evidence; see :meth:`bayesvm.inference.base.Inference.infer`."""
        self.check(likelihood)
        origin = likelihood.derivatives(y, np.zeros_like(y))
        W = origin.curvature
        factor = SupportFactor.of(K, W)
        M = factor.support
        alpha = np.zeros_like(y)
        alpha[M] = factor.apply((-origin.gradient[M]) / W[M])  # R y, since -loss'(0) = W y
        f = K @ alpha
        at_mean = likelihood.derivatives(y, f)
        terms = {
            "prior": float(-0.5 * (alpha @ f)),
            "loss": float(-np.sum(at_mean.loss)),
            "determinant": -0.5 * factor.log_det(),
        }
        R, inverse_diagonal = factor.inverse()
        dK = np.outer(alpha[M], 0.5 * alpha[M]) - 0.5 * R
        p = likelihood.theta_derivatives(y, f)
        dphi = -p.loss.sum(axis=1) - 0.5 * (p.curvature[:, M] @ factor.variances(K, inverse_diagonal))
        posterior = Posterior.of(alpha, factor)
        evidence = Evidence(sum(terms.values()), terms, M, dK, dphi, Status.CONVERGED, f, 1)
        return posterior, evidence


__all__ = ["Exact"]
