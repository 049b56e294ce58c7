r"""The factor that inference needs, for a Gram matrix of low rank, :math:`K = \Phi \Phi^\top`.

With :math:`S = I + \Phi^\top W \Phi`, of the order of the rank,

.. math:: R = (K_{MM} + W_M^{-1})^{-1} = W_M - W_M \Phi_M S^{-1} \Phi_M^\top W_M, \qquad |I + K W| = |S|

(Woodbury's and Sylvester's identities).
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.linalg.cholesky import Cholesky
from bayesvm.linalg.support_factor import at_least_floor, share_left
from bayesvm.typing import Indices, Matrix, Vector


@dataclasses.dataclass(frozen=True)
class FeatureFactor:
    r"""What prediction needs of :math:`R`; see the module."""

    support: Indices  #: Row numbers of M, increasing.
    curvature: Vector  #: W on the support.
    phi: Matrix  #: Rows of the features on the support.
    S: Cholesky  #: Factor of S.

    @classmethod
    def of(cls, phi: Matrix, W: Vector, S: Cholesky) -> FeatureFactor:
        """Build from the features and curvatures of all rows, and the factor of S."""
        support = np.flatnonzero(W > 0.0)
        return cls(support, W[support], phi if support.size == W.size else phi[support], S)

    def log_det(self) -> float:
        r"""Return :math:`\ln |S| = \ln |I + K W|`."""
        return self.S.log_det()

    def apply(self, x: Matrix) -> Matrix:
        """Return R x for x given on the support (a vector or a matrix of columns)."""
        W = self.curvature if x.ndim == 1 else self.curvature[:, None]
        return np.asarray(W * (x - self.phi @ self.S.solve(self.phi.T @ (W * x))))

    def explained(self, K_support: Matrix) -> Vector:
        r"""Return :math:`k^\top R k` for each column k of ``K_support`` (rows: the support)."""
        return np.asarray(np.einsum("ij,ij->j", K_support, self.apply(K_support)))

    def matrix(self) -> Matrix:
        """Return R."""
        return self.apply(np.eye(self.support.size))

    def marginals(self, K: Matrix) -> tuple[Vector, Vector]:
        """Return the posterior variances v of all training points, and 1 - v W, with W zero off the support."""
        var = at_least_floor(np.diagonal(K) - self.explained(K[self.support]), K)
        rest = np.ones(var.size)
        rest[self.support] = share_left(var[self.support], self.curvature)
        return var, rest


__all__ = ["FeatureFactor"]
