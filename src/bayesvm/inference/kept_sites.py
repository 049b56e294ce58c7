r"""Gaussian terms in place of the likelihood, kept as they are while the kernel changes.

With the sites :math:`\exp(\nu_i f_i - \tfrac12 \tau_i f_i^2)` of expectation propagation in place of the likelihood the
evidence is that of a regression with Gaussian noise of its own at every row, up to a constant that does not depend on
the kernel,

.. math:: \ln Z = \tfrac12 \nu^\top m - \tfrac12 \ln |I + K T|, \qquad m = (K^{-1} + T)^{-1} \nu, \qquad
          \frac{\partial \ln Z}{\partial K} = \tfrac12 \alpha \alpha^\top - \tfrac12 R, \quad \alpha = \nu - T m .

It costs one factorisation. Next to the kernel for which the sites were found its gradient is that of expectation
propagation; the curvature lacks the response of the sites (:mod:`bayesvm.hyper.assessment`).
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.exceptions import IncompatibleError
from bayesvm.inference.base import Evidence, Factor, Inference, Inferred, Posterior, gram_cotangent
from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg import SignedFactor, SupportFactor
from bayesvm.solvers.base import Status
from bayesvm.solvers.newton import times
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class KeptSites(Inference):
    """Posterior and evidence for given sites, which are the warm start."""

    def check(self, likelihood: Likelihood) -> None:
        """Refuse likelihoods with parameters to learn: their derivatives need the sites to respond."""
        if likelihood.theta.size:
            raise IncompatibleError(f"{likelihood!r}: expected a likelihood without free parameters")

    def infer(self, K: Matrix, y: Vector, likelihood: Likelihood, *, warm_start: Vector | None = None) -> Inferred:
        r"""Return posterior and evidence; ``warm_start`` holds the sites, :math:`\tau` and :math:`\nu`."""
        self.check(likelihood)
        if warm_start is None or warm_start.shape != (2, y.size):
            found = None if warm_start is None else warm_start.shape
            raise ValueError(f"KeptSites: expected sites of shape {(2, y.size)}, found {found}")
        tau, nu = warm_start
        factor: Factor = SupportFactor.of(K, tau) if np.all(tau >= 0.0) else SignedFactor.of(K, tau)
        M, alpha = factor.support, nu.copy()
        prior = times(K, nu)
        alpha[M] -= factor.apply(prior[M])
        terms = {"sites": 0.5 * float(prior @ alpha), "determinant": -0.5 * factor.log_det()}
        dK = gram_cotangent(alpha, factor.matrix(), M, M)
        evidence = Evidence(sum(terms.values()), terms, M, dK, np.zeros(0), Status.CONVERGED, warm_start, 1)
        return Posterior.of(alpha, factor), evidence


__all__ = ["KeptSites"]
