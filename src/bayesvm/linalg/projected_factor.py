r"""The factor of a posterior that was projected onto few rows B.

With the Cholesky factor :math:`K_{BB} = L L^\top` and the posterior covariance S of :math:`f_B`,

.. math:: K_{BB}^{-1} - K_{BB}^{-1} S K_{BB}^{-1} = R = T \,\mathrm{diag}(g)\, T^\top, \qquad
          L^{-1} (K_{BB} - S) L^{-\top} = U \,\mathrm{diag}(g)\, U^\top, \quad T = L^{-\top} U .

The gains g are at most one, the share of the prior variance that the data remove in each direction, and negative only
where the data add variance.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.linalg.cholesky import Cholesky
from bayesvm.linalg.eigen import symmetric_eigen
from bayesvm.linalg.support_factor import at_least_floor, share_left
from bayesvm.typing import Indices, Matrix, Vector


@dataclasses.dataclass(frozen=True)
class ProjectedFactor:
    r"""What prediction needs of :math:`R = T \,\mathrm{diag}(g)\, T^\top`; see the module."""

    support: Indices  #: Row numbers of B, increasing.
    T: Matrix  #: Directions; shape (b, r).
    gain: Vector  #: g; shape (r,).

    @classmethod
    def of(cls, rows: Indices, L: Cholesky, removed: Matrix) -> ProjectedFactor:
        r"""Build from the factor of :math:`K_{BB}` and :math:`L^{-1} (K_{BB} - S) L^{-\top}`, in any order of rows."""
        gain, U = symmetric_eigen(removed)
        order = np.argsort(rows)
        T = np.ascontiguousarray(L.back_solve(np.asfortranarray(U))[order])
        return cls(rows[order], T, np.ascontiguousarray(gain))

    @property
    def curvature(self) -> Vector:
        r"""Diagonal of the precision that the data add, :math:`S^{-1} - K_{BB}^{-1}`."""
        return np.asarray(self.T**2 @ (self.gain / (1.0 - self.gain)))

    def log_det(self) -> float:
        r"""Return :math:`\ln |K_{BB}| - \ln |S|`."""
        return -float(np.sum(np.log1p(-self.gain)))

    def apply(self, x: Matrix) -> Matrix:
        """Return R x for x given on B (a vector or a matrix of columns)."""
        gain = self.gain if x.ndim == 1 else self.gain[:, None]
        return np.asarray(self.T @ (gain * (self.T.T @ x)))

    def explained(self, K_support: Matrix) -> Vector:
        r"""Return :math:`k^\top R k` for each column k of ``K_support`` (rows: B)."""
        V = K_support.T @ self.T
        V *= V
        return np.asarray(V @ self.gain)

    def matrix(self) -> Matrix:
        """Return R."""
        return np.asarray((self.T * self.gain) @ self.T.T)

    def marginals(self, K: Matrix) -> tuple[Vector, Vector]:
        """Return the variances v of all training points, and 1 - v W with W the ``curvature``, zero off B."""
        var = at_least_floor(np.diagonal(K) - self.explained(K[self.support]), K)
        W = np.zeros(var.size)
        W[self.support] = self.curvature
        return var, share_left(var, W)


__all__ = ["ProjectedFactor"]
