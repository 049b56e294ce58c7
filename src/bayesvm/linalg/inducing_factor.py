r"""Posteriors over the values at inducing inputs, in the form that prediction shares.

With :math:`K_{mm} = L L^\top` and the posterior :math:`\mathcal N(\hat w, S^{-1})` of the weights of the features
:math:`K_{nm} L^{-\top}`, new points have the covariance :math:`K_{**} - K_{*m} R K_{m*}`,

.. math:: R = L^{-\top} (I - S^{-1}) L^{-1} .
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.linalg.cholesky import Cholesky
from bayesvm.linalg.support_factor import at_least_floor
from bayesvm.typing import Indices, Matrix, Vector


@dataclasses.dataclass(frozen=True)
class InducingFactor:
    """What prediction needs of a posterior over the values at inducing inputs.

    Attributes
    ----------
    support : array of int, shape (m,)
        Training rows that are the inducing inputs, increasing.
    prior : Cholesky
        Factor L of their Gram matrix, with its jitter.
    weights : Cholesky
        Factor of S.
    """

    support: Indices
    prior: Cholesky
    weights: Cholesky

    @property
    def curvature(self) -> Vector:
        r"""Diagonal of :math:`L^{-\top} (S - I) L^{-1}`, the precision that the data add at the inducing inputs."""
        inverse = self.prior.half_solve(np.eye(self.support.size))
        half = self.weights.lower().T @ inverse
        return np.asarray(np.einsum("ij,ij->j", half, half) - np.einsum("ij,ij->j", inverse, inverse))

    def log_det(self) -> float:
        r"""Return :math:`\ln |S|`, the ratio of the prior's and the posterior's determinants."""
        return self.weights.log_det()

    def apply(self, x: Matrix) -> Matrix:
        """Return R x for a vector or a matrix of columns."""
        half = self.prior.half_solve(x)
        return self.prior.back_solve(half - self.weights.solve(half))

    def explained(self, K_support: Matrix) -> Vector:
        r"""Return :math:`k^\top R k` for each column k of ``K_support``."""
        half = self.prior.half_solve(K_support)
        left = self.weights.half_solve(half)
        return np.asarray(np.einsum("ij,ij->j", half, half) - np.einsum("ij,ij->j", left, left))

    def matrix(self) -> Matrix:
        """Return R."""
        return self.apply(np.eye(self.support.size))

    def marginals(self, K: Matrix) -> tuple[Vector, Vector]:
        """Return the posterior variances v at the inducing inputs, and 1 - v W with W the ``curvature``."""
        var = at_least_floor(np.diagonal(K) - self.explained(K), K)
        return var, 1.0 - var * self.curvature


__all__ = ["InducingFactor"]
