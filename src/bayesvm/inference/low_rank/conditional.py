r"""Gaussian noise with features of inducing inputs and, for what these leave over, blocks given their neighbours.

The targets have the covariance :math:`\Phi\Phi^\top + \tilde\Sigma`. For the rows J = (C, B) of a block B and of the
rows C that it is conditioned on, what the features leave over has the covariance
:math:`A = K_{JJ} - \Phi_J \Phi_J^\top + W_J^{-1} = L L^\top`, and :math:`\tilde\Sigma` is the covariance of the product
of the conditional densities of all blocks. With the last rows T, those of B, of :math:`L^{-1} [y_J, \Phi_J]`,

.. math::

    S = I + \sum_b T_\Phi^\top T_\Phi, \quad t = \sum_b T_\Phi^\top T_y, \quad \hat w = S^{-1} t, \qquad
    \ln Z = -\tfrac12 \Bigl( \sum_b |T_y|^2 - t^\top \hat w + \ln |S| + 2 \sum_b \sum_{i \in B} \ln L_{ii} \Bigr)
            - \tfrac n2 \ln 2\pi .

Without features this is Vecchia's approximation in blocks (Vecchia1988), without neighbours the partially independent
conditional (PIC) approximation of Snelson2007, with both the full-scale approximation of Gyger2025. All sums are over
blocks.

*Derivatives.* With :math:`\rho = T_y - T_\Phi \hat w`: :math:`\bar T_y = -\rho`, :math:`\bar T_\Phi = \rho \hat w^\top
- T_\Phi S^{-1}`; the triangular solve and the Cholesky factor pull these back to A and to :math:`\Phi_J`.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.linalg import Cholesky, cholesky
from bayesvm.linalg.cholesky_pullback import cholesky_pullback
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class ConditionalBlock:
    r"""One block after its own and the given rows were whitened.

    Attributes
    ----------
    factor : Cholesky
        L.
    targets : array, shape (c + b, q)
        :math:`L^{-1} y_J`, one column per output.
    features : array, shape (c + b, m)
        :math:`L^{-1} \Phi_J`.
    given : int
        c, the number of rows that the block is conditioned on.
    """

    factor: Cholesky
    targets: Matrix
    features: Matrix
    given: int

    @classmethod
    def of(cls, A: Matrix, y: Matrix, phi: Matrix, given: int) -> ConditionalBlock:
        """Factor A, which is overwritten, and whiten targets and features."""
        factor = cholesky(A, overwrite=True, what="the covariance of a block of targets")
        both = factor.half_solve(np.asfortranarray(np.hstack([y, phi])))
        return cls(factor, both[:, : y.shape[1]], both[:, y.shape[1] :], given)

    def log_det(self) -> float:
        """Return the log determinant of the covariance of the block given its neighbours."""
        return float(2.0 * np.sum(np.log(np.diagonal(self.factor.L)[self.given :])))

    def cotangents(self, posterior: TargetPosterior) -> tuple[Matrix, Matrix]:
        r"""Return the derivatives of the log evidence in A (symmetric) and in :math:`\Phi_J`, the latter at fixed A."""
        c, mean = self.given, posterior.mean
        y, phi = self.targets[c:], self.features[c:]
        rho = y - phi @ mean
        bar = np.zeros((self.targets.shape[0], y.shape[1] + phi.shape[1]), order="F")
        bar[c:, : y.shape[1]] = -rho
        bar[c:, y.shape[1] :] = rho @ mean.T - y.shape[1] * posterior.factor.solve(phi.T).T
        inner = self.factor.back_solve(bar)
        lower = -inner[:, : y.shape[1]] @ self.targets.T - inner[:, y.shape[1] :] @ self.features.T
        own = np.arange(c, lower.shape[0])
        lower[own, own] -= y.shape[1] / np.diagonal(self.factor.L)[c:]
        return cholesky_pullback(self.factor, lower), inner[:, y.shape[1] :]


@dataclasses.dataclass(frozen=True)
class TargetPosterior:
    r"""Posterior of the weights of the features, :math:`\mathcal N(\hat w, S^{-1})` for every output.

    Attributes
    ----------
    mean : array, shape (m, q)
        :math:`\hat w`, one column per output.
    factor : Cholesky
        Of S.
    """

    mean: Matrix
    factor: Cholesky


@dataclasses.dataclass
class BlockSums:
    """The sums over blocks from which evidence and weights follow; blocks are added one after the other."""

    S: Matrix
    t: Matrix
    squares: float = 0.0
    log_det: float = 0.0

    @classmethod
    def empty(cls, m: int, q: int) -> BlockSums:
        """Return the sums of no blocks, for m features and q outputs."""
        return cls(np.eye(m), np.zeros((m, q)))

    def add(self, block: ConditionalBlock) -> None:
        """Add a block."""
        y, phi = block.targets[block.given :], block.features[block.given :]
        self.S += phi.T @ phi
        self.t += phi.T @ y
        self.squares += float(np.einsum("ij,ij->", y, y))
        self.log_det += block.log_det()

    def solve(self) -> tuple[TargetPosterior, float]:
        r"""Return the posterior of the weights and the log density of the targets without its constant."""
        factor = cholesky(self.S)
        posterior, q = TargetPosterior(factor.solve(self.t), factor), self.t.shape[1]
        quadratic = self.squares - float(np.einsum("ij,ij->", self.t, posterior.mean))
        return posterior, -0.5 * (quadratic + q * (factor.log_det() + self.log_det))


@dataclasses.dataclass(frozen=True)
class Conditioned:
    """Latent values of some rows given the targets of others."""

    mean: Matrix
    cross: Matrix
    features: Matrix

    def var(self, posterior: TargetPosterior, residual: Vector) -> Vector:
        """Return the variances; ``residual`` are the prior ones that the features leave over (without noise)."""
        half = posterior.factor.half_solve(self.features.T)
        own = np.einsum("ij,ij->j", self.cross, self.cross)
        return np.asarray(residual - own + np.einsum("ij,ij->j", half, half))

    def covariance(self, posterior: TargetPosterior, residual: Matrix) -> Matrix:
        """Return the joint covariance; ``residual`` is the prior one that the features leave over (without noise)."""
        half = posterior.factor.half_solve(self.features.T)
        return np.asarray(residual - self.cross.T @ self.cross + half.T @ half)


def conditioned(given: ConditionalBlock, cross: Matrix, phi: Matrix, posterior: TargetPosterior) -> Conditioned:
    r"""Return the latent values of new rows given the targets of a block of training rows.

    With :math:`U = L^{-1} A_{J*}`: mean :math:`\Phi_* \hat w + U^\top L^{-1} (y_J - \Phi_J \hat w)`, covariance
    :math:`A_{**} - U^\top U + D S^{-1} D^\top` with :math:`D = \Phi_* - U^\top L^{-1} \Phi_J`.

    Parameters
    ----------
    given : ConditionalBlock
        The training rows.
    cross : array, shape (c, k)
        Covariances :math:`A_{J*}` that the features leave over, between training and new rows.
    phi : array, shape (k, m)
        Features of the new rows.
    posterior : TargetPosterior
        Of the weights.
    """
    U = given.factor.half_solve(np.asfortranarray(cross))
    mean = phi @ posterior.mean + U.T @ (given.targets - given.features @ posterior.mean)
    return Conditioned(np.asarray(mean), U, phi - U.T @ given.features)


__all__ = ["BlockSums", "ConditionalBlock", "Conditioned", "TargetPosterior", "conditioned"]
