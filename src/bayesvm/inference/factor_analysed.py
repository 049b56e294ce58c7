r"""Gaussians with a factor-analysed covariance, the family of Seeger1999 section 2.

.. math:: q = \mathcal N\bigl(\mu, \Sigma\bigr), \qquad \Sigma = \mathrm{diag}(d) + \sum_{j=1}^M c_j c_j^\top,

.. math:: F = \sum_i E\ell_i
          + \tfrac12 \bigl[\operatorname{tr} K^{-1}\Sigma + \mu^\top K^{-1} \mu - n + \ln |K| - \ln |\Sigma|\bigr],

with :math:`O(Mn)` parameters; M = 0 is the diagonal family. It is a subset of all Gaussians, so its bound is at most
that of :class:`~bayesvm.inference.variational.Variational`, and for smooth kernels far below it: where K is nearly
singular the posterior is too, which no small M can represent. It is the paper's method, kept for comparison.

The paper minimises F by conjugate gradients. Here it is limited-memory BFGS (Byrd1995), which has the same cost per
step and, with several factors, needs ten to fifty times fewer of them. Two changes of variables help either:
:math:`\mu = L z` and :math:`c_j = L e_j` with :math:`K = L L^\top` (factored with jitter if it must be), in which the
prior terms are :math:`\tfrac12 |z|^2 + \tfrac12 \sum |e_j|^2`, and :math:`\ln d` instead of d. The first start comes
from the optimal Gaussian: its mean, its leading eigenvectors, and the conditional variances of its points.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy.optimize import minimize

from bayesvm.inference.base import Evidence, Inference, Inferred, Posterior, gram_cotangent
from bayesvm.inference.variational import Variational
from bayesvm.likelihoods.base import Likelihood
from bayesvm.likelihoods.expectations import Expected, require_finite
from bayesvm.linalg import cholesky
from bayesvm.linalg.cholesky import Cholesky
from bayesvm.linalg.eigen import symmetric_eigen
from bayesvm.linalg.factor_covariance import CovarianceFactor, small_inverse
from bayesvm.solvers.base import Status
from bayesvm.typing import Matrix, Vector

#: Gradient below which a line search that fails has failed for rounding.
ROUNDING = 1e-3
#: Earlier steps that the quasi-Newton matrix is built from.
MEMORY = 30


@dataclasses.dataclass(frozen=True)
class _Family:
    """The free energy as a function of the packed rows z, ln d, e_1, ..., e_M."""

    y: Vector
    likelihood: Likelihood
    prior: Cholesky
    L: Matrix
    inverse_diagonal: Vector

    def unpack(self, x: Vector) -> tuple[Vector, Vector, Matrix, Matrix]:
        """Return z, d, E and C."""
        rows = x.reshape(-1, self.y.size)
        E = rows[2:].T
        return rows[0], np.exp(rows[1]), E, self.L @ E

    def expected(self, x: Vector) -> Expected:
        """Return the expected losses."""
        z, d, _, C = self.unpack(x)
        return self.likelihood.expected(self.y, self.L @ z, d + np.einsum("ij,ij->i", C, C))

    def bound(self, x: Vector) -> tuple[dict[str, float], Vector]:
        """Return the summands of the bound, minus F, and the gradient of F."""
        z, d, E, C = self.unpack(x)
        e = self.expected(x)
        scaled = C / d[:, None]
        A_inverse, log_det = small_inverse(np.eye(C.shape[1]) + C.T @ scaled)
        pulled = scaled @ A_inverse  # Sigma^-1 C
        sigma_inverse = 1.0 / d - np.einsum("ij,ij->i", pulled, scaled)
        terms = {
            "loss": -float(np.sum(e.loss)),
            "mean": -0.5 * float(z @ z),
            "spread": 0.5 * float(z.size - d @ self.inverse_diagonal - np.sum(E * E)),
            "determinant": 0.5 * (float(np.sum(np.log(d))) + log_det - self.prior.log_det()),
        }
        by_z = self.L.T @ e.gradient + z
        by_d = 0.5 * d * (e.curvature + self.inverse_diagonal - sigma_inverse)
        by_e = self.L.T @ (e.curvature[:, None] * C - pulled) + E
        return terms, np.concatenate([by_z, by_d, by_e.T.ravel()])

    def energy(self, x: Vector) -> tuple[float, Vector]:
        """Return F and its gradient."""
        terms, gradient = self.bound(x)
        return -sum(terms.values()), gradient


@dataclasses.dataclass(frozen=True)
class FactorAnalysed(Inference):
    """Gaussians whose covariance is a diagonal plus a few factors.

    Parameters
    ----------
    rank : int
        Number of factors, M.
    tol : float
        Largest entry of the gradient at which the optimum counts as found.
    max_iter : int
        Largest number of steps.
    """

    rank: int = 2
    tol: float = 1e-5
    max_iter: int = 2000

    def check(self, likelihood: Likelihood) -> None:
        """Refuse losses that are infinite somewhere."""
        require_finite(likelihood)

    def infer(self, K: Matrix, y: Vector, likelihood: Likelihood, *, warm_start: Vector | None = None) -> Inferred:
        """Return posterior and bound; ``warm_start``, shape (2 + M, n), holds z, ln d and the e of an earlier call."""
        self.check(likelihood)
        prior = cholesky(K, jitter=True, what="the Gram matrix")
        inverse = prior.inverse()
        family = _Family(y, likelihood, prior, prior.lower(), np.diagonal(inverse).copy())
        if warm_start is None or warm_start.shape != (2 + self.rank, y.size):
            warm_start = self._start(K, family)
        limits = {"maxiter": self.max_iter, "maxfun": 4 * self.max_iter, "maxcor": MEMORY}
        options: Any = {"gtol": self.tol, "ftol": 1e-15, **limits}
        found = minimize(family.energy, warm_start.ravel(), jac=True, method="L-BFGS-B", options=options)
        z, d, _, C = family.unpack(found.x)
        steepest = float(np.max(np.abs(np.asarray(found.jac, dtype=float))))
        status = (
            Status.CONVERGED if steepest <= self.tol else Status.STALLED if steepest < ROUNDING else Status.MAX_ITER
        )
        alpha = prior.back_solve(z)
        e = family.expected(found.x)
        factor = CovarianceFactor(prior, d, C, e.curvature)
        dK = gram_cotangent(alpha, factor.matrix(), factor.support, factor.support)
        var = d + np.einsum("ij,ij->i", C, C)
        dphi = -np.sum(likelihood.expected_theta(y, family.L @ z, var), axis=1)
        terms, _ = family.bound(found.x)
        latent, rows = found.x.reshape(2 + self.rank, -1), np.arange(y.size)
        evidence = Evidence(sum(terms.values()), terms, rows, dK, dphi, status, latent, int(found.nit))
        return Posterior.of(alpha, factor), evidence

    def _start(self, K: Matrix, family: _Family) -> Matrix:
        """Return z, ln d and the e from the optimal Gaussian."""
        posterior, evidence = Variational(tol=1e-3, starts=1).infer(K, family.y, family.likelihood)
        D = np.maximum(evidence.latent[0], 0.0)
        rows = [family.L.T @ posterior.coefficients(family.y.size), -np.log(family.inverse_diagonal + D)]
        if self.rank:
            V = posterior.covariance(K[:, posterior.support], K)
            values, vectors = symmetric_eigen(0.5 * (V + V.T))
            C = vectors[:, : self.rank] * np.sqrt(np.maximum(values[: self.rank], 0.0))
            rows += list(family.prior.half_solve(np.asfortranarray(C)).T)
        return np.stack(rows)


__all__ = ["FactorAnalysed"]
