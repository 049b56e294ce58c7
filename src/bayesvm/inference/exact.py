r"""Exact inference for Gaussian noise.

.. math:: \ln Z = -\tfrac12 y^\top (K + \sigma^2 I)^{-1} y - \tfrac12 \ln |K + \sigma^2 I| - \tfrac n2 \ln 2\pi

(Thesis (1.28)), in the form that all methods share: :math:`W = 1/\sigma^2`,
:math:`\alpha = (K + \sigma^2 I)^{-1} y = R y`. The posterior is Gaussian, so Laplace's method is exact, and its mode is
the solution of one linear system.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.exceptions import IncompatibleError
from bayesvm.inference.base import Inference, Inferred
from bayesvm.inference.laplace import Laplace, gaussian_at_mode
from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg import SupportFactor
from bayesvm.solvers.base import MAPResult, Status
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

    def suited(self, likelihood: Likelihood) -> Inference:
        """Return the method itself for Gaussian noise, and Laplace's for others."""
        return self if likelihood.traits.quadratic else Laplace()

    def infer(self, K: Matrix, y: Vector, likelihood: Likelihood, *, warm_start: Vector | None = None) -> Inferred:
        """Return posterior and evidence; see :meth:`bayesvm.inference.base.Inference.infer`."""
        self.check(likelihood)
        origin = likelihood.derivatives(y, np.zeros_like(y))
        factor = SupportFactor.of(K, origin.curvature)
        M, alpha = factor.support, np.zeros_like(y)
        alpha[M] = factor.apply((-origin.gradient[M]) / origin.curvature[M])  # R y, since -loss'(0) = W y
        f = K @ alpha
        d = likelihood.derivatives(y, f)
        objective = float(0.5 * (alpha @ f) + np.sum(d.loss))
        mode = MAPResult(alpha, f, objective, d, 0.0, 1, Status.CONVERGED)
        return gaussian_at_mode(K, y, likelihood, mode, factor)


__all__ = ["Exact"]
