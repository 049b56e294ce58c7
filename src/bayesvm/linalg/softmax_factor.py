r"""The factor of several classes whose curvature is that of the softmax: C matrices of order n instead of one of C n.

The C latent functions of a row have the curvature :math:`W_i = w_i (\operatorname{diag} \pi_i - \pi_i \pi_i^\top)` with
class probabilities :math:`\pi_i` and a weight :math:`w_i`; every latent function has the Gram matrix K. With the
diagonal matrices :math:`r_k = \operatorname{diag}\sqrt{\pi_{ik}}` and :math:`s = \operatorname{diag}\sqrt{w_i}`,

.. math:: B_k = I + s\, r_k K r_k\, s , \qquad H = \sum_k r_k B_k^{-1} r_k = L L^\top , \qquad
          Y_k = L^{-1} r_k B_k^{-1} ,

the blocks of :math:`R = W (I + K W)^{-1}` (K repeated for every class) and the determinant are

.. math:: R_{kl} = s\, r_k \big(\delta_{kl} B_k^{-1} - Y_k^\top Y_l\big) r_l\, s , \qquad
          \ln |I + K W| = \sum_k \ln |B_k| + \ln |H| .

Both follow from :math:`W = D - D 1 (1^\top D 1)^{-1} 1^\top D`, :math:`D_k = s r_k r_k s`, by the matrix inversion
lemma (RasmussenWilliams2006 section 3.5, whose :math:`\sum_c E_c` is :math:`s H s`). Nothing is divided by a
probability or a weight, which may be zero. Products with :math:`B_k^{-1}` are solves with its Cholesky factor: where
weights times variances are large, those with the inverse matrix lead Newton steps astray.

*Jitter.* None. The eigenvalues of :math:`B_k` are at least one, those of H between :math:`1 / (1 + \max_k |s r_k K r_k
s|)` and one; if rounding makes one of them negative, the condition number of the problem is that of double precision,
and :class:`~bayesvm.exceptions.NotPositiveDefiniteError` is raised.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from bayesvm.linalg.cholesky import Cholesky, cholesky
from bayesvm.linalg.covariance_root import covariance_root
from bayesvm.linalg.support_factor import SupportFactor
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class SoftmaxFactor:
    r"""All that solves, determinants and covariances of the softmax model need, in :math:`C n^2` numbers.

    Attributes
    ----------
    roots : array, shape (C, n)
        :math:`\sqrt{\pi_{ik}}`, one row per class.
    scale : array, shape (n,)
        :math:`\sqrt{w_i}`.
    B : tuple of Cholesky
        Factors of :math:`B_k`, one per class.
    H : Cholesky
        Factor of H.
    """

    roots: Matrix
    scale: Vector
    B: tuple[Cholesky, ...]
    H: Cholesky

    @classmethod
    def of(cls, K: Matrix, proba: Matrix, weights: Vector) -> SoftmaxFactor:
        r"""Factor, in about :math:`C n^3` operations.

        Parameters
        ----------
        K : array, shape (n, n)
            Gram matrix.
        proba : array, shape (n, C)
            Class probabilities; rows sum to one.
        weights : array, shape (n,)
            Non-negative weights of the rows.
        """
        roots, scale, rows = np.sqrt(proba.T), np.sqrt(weights), np.arange(len(K))
        B, H = [], np.zeros_like(K)
        for root in roots:
            B.append(SupportFactor.on(K, rows, scale * root).B)
            H += root[:, None] * B[-1].inverse() * root
        return cls(roots, scale, tuple(B), cholesky(H, overwrite=True, what="the sum of the classes' inverses"))

    @property
    def proba(self) -> Matrix:
        """Class probabilities, one column per class."""
        return np.asarray(self.roots.T**2)

    def log_det(self) -> float:
        r"""Return :math:`\ln |I + K W|`."""
        return sum(B.log_det() for B in self.B) + self.H.log_det()

    def curvature_times(self, f: Matrix) -> Matrix:
        """Return W f, shape (n, C)."""
        proba = self.proba
        mean = np.sum(proba * f, axis=1, keepdims=True)
        return np.asarray(self.scale[:, None] ** 2 * proba * (f - mean))

    def apply(self, x: Matrix) -> Matrix:
        """Return R x, shape (n, C); its rows sum to zero, and what rounding adds to all classes alike is taken out."""
        scaled = self.roots * self.scale * x.T
        shared = self.H.solve(np.sum(self.roots * self._solved(scaled), axis=0))
        found = self.roots * self.scale * self._solved(scaled - self.roots * shared)
        return np.asarray((found - np.mean(found, axis=0)).T)

    def solve(self, K: Matrix, x: Matrix) -> Matrix:
        """Return (I + W K)^-1 x = x - R K x, shape (n, C)."""
        return np.asarray(x - self.apply(K @ x))

    def _solved(self, columns: Matrix) -> Matrix:
        """Return B_k^-1 times the k-th row of an array of shape (C, n)."""
        return np.stack([B.solve(column) for B, column in zip(self.B, columns, strict=True)])

    def derivatives(self) -> tuple[Matrix, Matrix]:
        r"""Return the derivatives of :math:`\ln |I + K W|` in K, shape (n, n), and in the latent values, shape (n, C).

        In K it is :math:`\sum_k R_{kk}`. In the latent values, with the posterior covariance :math:`\Sigma_i` of the
        classes at row i,

        .. math:: \frac{\partial \ln |I + K W|}{\partial f_{ik}} = b_{ik} - \pi_{ik} \sum_l b_{il} - 2 c_{ik}
                  + 2 \pi_{ik} \sum_l c_{il} , \qquad b_{ik} = w_i \pi_{ik} \Sigma_{i,kk} , \quad
                  c_{ik} = w_i \pi_{ik} (\Sigma_i \pi_i)_k ,

        and with :math:`Z_k = L^{-1} r_k - Y_k` (all sums over j)

        .. math:: b_{ik} = 1 - (B_k^{-1})_{ii} + \sum_j Z_{k,ji}^2 , \qquad
                  c_{ik} = \pi_{ik} \big(1 - (B_k^{-1})_{ii}\big)
                  + \sqrt{\pi_{ik}} \sum_j Z_{k,ji} (L^{-1} - L^\top)_{ji} .
        """
        n = self.scale.size
        inverse = self.H.half_solve(np.eye(n, order="F"))
        shared = inverse - self.H.lower().T
        dK, b, c = np.zeros((n, n)), np.empty_like(self.roots), np.empty_like(self.roots)
        for k, (root, B) in enumerate(zip(self.roots, self.B, strict=True)):
            B_inverse = B.inverse()
            Y = self.H.half_solve((B_inverse * root).T)
            outer = root * self.scale
            dK += outer[:, None] * (B_inverse - Y.T @ Y) * outer
            Z = inverse * root - Y
            own = 1.0 - np.diagonal(B_inverse)
            b[k] = own + np.einsum("ji,ji->i", Z, Z)
            c[k] = root**2 * own + root * np.einsum("ji,ji->i", Z, shared)
        proba, gap = self.roots**2, b - 2.0 * c
        return dK, np.asarray((gap - proba * np.sum(gap, axis=0)).T)

    def covariances(self, K_s: Matrix, k_ss: Vector) -> NDArray[np.float64]:
        """Return the posterior covariance of the classes at each of m points, shape (m, C, C).

        Parameters
        ----------
        K_s : array, shape (m, n)
            Gram matrix of the points and the training rows.
        k_ss : array, shape (m,)
            Prior variances of the points.
        """
        own, T = np.empty((len(k_ss), len(self.roots))), np.empty((len(k_ss), len(self.roots), self.scale.size))
        for k in range(len(self.roots)):
            scaled, solved, T_k = self._crossed(k, K_s)
            own[:, k] = k_ss - np.einsum("ji,ji->i", scaled, solved)
            T[:, k] = T_k.T
        found = T @ T.transpose(0, 2, 1)
        diagonal = np.arange(own.shape[1])
        found[:, diagonal, diagonal] += np.maximum(own, 0.0)
        return np.asarray(found)

    def draws(self, K_s: Matrix, K_ss: Matrix, n_draws: int, rng: np.random.Generator) -> NDArray[np.float64]:
        r"""Return joint draws of the latent functions at m points, less their means, shape (m, n_draws, C).

        The covariance of classes k and l is :math:`\delta_{kl} (K_{**} - U_k^\top B_k^{-1} U_k) + T_k^\top T_l` with
        :math:`U_k = r_k s K_{\cdot *}` and :math:`T_k = Y_k U_k`: noise of each class alone, and noise that all share.
        """
        common, found = rng.standard_normal((self.scale.size, n_draws)), np.empty((len(K_ss), n_draws, len(self.roots)))
        largest = float(np.max(np.diagonal(K_ss)))
        for k in range(len(self.roots)):
            scaled, solved, T_k = self._crossed(k, K_s)
            root = covariance_root(K_ss - scaled.T @ solved, largest, what="posterior covariance")
            found[:, :, k] = root @ rng.standard_normal((len(K_ss), n_draws)) + T_k.T @ common
        return found

    def _crossed(self, k: int, K_s: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """Return U_k, B_k^-1 U_k and T_k, each of shape (n, m)."""
        root = self.roots[k][:, None]
        scaled = root * self.scale[:, None] * K_s.T
        solved = self.B[k].solve(scaled)
        return scaled, solved, self.H.half_solve(root * solved)


__all__ = ["SoftmaxFactor"]
