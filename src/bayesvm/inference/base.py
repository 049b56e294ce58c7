r"""What an inference method is (the contract page of this folder).

An inference method turns a Gram matrix, targets and a likelihood into a :class:`Posterior` and an :class:`Evidence`.

* Every method returns the same posterior form, :math:`f \sim \mathcal N(K \alpha, (K^{-1} + W)^{-1})`, so that
  prediction is written once.
* The evidence brings its own derivatives: ``dK`` with :math:`\partial \ln Z / \partial K` on the rows in ``rows`` (zero
  elsewhere), which any kernel pulls back to its parameters, and ``dphi`` for the parameters of the likelihood.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Protocol

import numpy as np

from bayesvm.likelihoods.base import Likelihood
from bayesvm.solvers.base import Status
from bayesvm.typing import Indices, Matrix, Vector


class Factor(Protocol):
    r"""What is asked of R, given the covariance :math:`K - K_{\cdot M} R K_{M \cdot}` of the training points.

    :class:`~bayesvm.linalg.support_factor.SupportFactor` is for curvatures :math:`W \ge 0`,
    :class:`~bayesvm.linalg.signed_factor.SignedFactor` for those of either sign, and
    :class:`~bayesvm.linalg.factor_covariance.CovarianceFactor` for a covariance of another form.
    """

    @property
    def support(self) -> Indices:
        """Row numbers of M, increasing."""

    @property
    def curvature(self) -> Vector:
        """W on the support."""

    def log_det(self) -> float:
        r"""Return :math:`\ln |I + K W|`."""

    def apply(self, x: Matrix) -> Matrix:
        """Return R x for x given on the support (a vector or a matrix of columns)."""

    def explained(self, K_support: Matrix) -> Vector:
        r"""Return :math:`k^\top R k` for each column k of ``K_support`` (rows: the support)."""

    def matrix(self) -> Matrix:
        """Return R."""

    def marginals(self, K: Matrix) -> tuple[Vector, Vector]:
        """Return the posterior variances v of all training points, and 1 - v W."""


@dataclasses.dataclass(frozen=True)
class Posterior:
    r"""Gaussian posterior of the latent function, :math:`\mathcal N(K \alpha, (K^{-1} + W)^{-1})` at the training rows.

    Attributes
    ----------
    support : array of int
        Training rows with :math:`\alpha_i \ne 0` or :math:`W_i \ne 0`; prediction touches these only.
    alpha : array
        Coefficients on the support.
    factor : Factor
        On the (possibly smaller) set of rows with :math:`W_i \ne 0`.
    """

    support: Indices
    alpha: Vector
    factor: Factor

    @classmethod
    def of(cls, alpha: Vector, factor: Factor) -> Posterior:
        """Build from the coefficients of all training points and the factor."""
        used = alpha != 0.0
        used[factor.support] = True
        support = np.flatnonzero(used)
        return cls(support, alpha[support], factor)

    def coefficients(self, n: int) -> Vector:
        """Return the coefficients of all n training points, zero off the support."""
        alpha = np.zeros(n)
        alpha[self.support] = self.alpha
        return alpha

    def mean(self, K_s: Matrix) -> Vector:
        """Return the means at new points, Chu2003 (38); ``K_s`` has a row per new point, a column per support row."""
        return np.asarray(K_s @ self.alpha)

    def var(self, K_s: Matrix, k_ss: Vector) -> Vector:
        r"""Return the variances :math:`k_{**} - k^\top R k` at new points, Chu2003 (38); never negative."""
        return np.maximum(k_ss - self.factor.explained(self._cross(K_s)), 0.0)

    def covariance(self, K_s: Matrix, K_ss: Matrix) -> Matrix:
        r"""Return the joint covariance :math:`K_{**} - K_{*M} R K_{M*}` of new points."""
        cross = self._cross(K_s)
        return np.asarray(K_ss - cross.T @ self.factor.apply(cross))

    def _cross(self, K_s: Matrix) -> Matrix:
        return K_s[:, np.searchsorted(self.support, self.factor.support)].T


@dataclasses.dataclass(frozen=True)
class Evidence:
    r"""Logarithm of the evidence with its cotangents.

    Attributes
    ----------
    value : float
        :math:`\ln Z \approx \ln P(D|\theta)`.
    terms : mapping
        The named summands of ``value``.
    rows : array of int
        Training rows to which ``dK`` belongs; it is zero elsewhere.
    dK : array, shape (len(rows), len(rows))
        :math:`\partial \ln Z / \partial K`, symmetric.
    dphi : array, shape (p,)
        Derivatives in the logarithms of the likelihood's free parameters.
    status : Status
        How the solver inside ended.
    latent : array, shape (n,), (2, n) or (n, C)
        From where a later call may start (``warm_start``): latent values, for expectation propagation the site
        parameters, for C classes as one model the latent values of all of them.
    n_iter : int
        Factorisations that the solver inside needed.
    """

    value: float
    terms: Mapping[str, float]
    rows: Indices
    dK: Matrix
    dphi: Vector
    status: Status
    latent: Vector
    n_iter: int

    def without_dk(self) -> Evidence:
        """Return the same without the derivative in K, the one large part, for a model that is kept."""
        return dataclasses.replace(self, rows=self.rows[:0], dK=np.empty((0, 0)))


#: What every method returns.
Inferred = tuple[Posterior, Evidence]


@dataclasses.dataclass(frozen=True)
class Inference(ABC):
    """Turns (K, y, likelihood) into a posterior and an evidence; its fields are options only."""

    @abstractmethod
    def infer(self, K: Matrix, y: Vector, likelihood: Likelihood, *, warm_start: Vector | None = None) -> Inferred:
        """Return posterior and evidence; ``warm_start`` is the ``latent`` of an earlier evidence."""

    def suited(self, likelihood: Likelihood) -> Inference:
        """Return the method as it can treat the likelihood: itself, unless a part of it has to be exchanged."""
        return self

    @abstractmethod
    def check(self, likelihood: Likelihood) -> None:
        """Raise :class:`~bayesvm.exceptions.IncompatibleError` if the likelihood cannot be treated."""


def gram_cotangent(alpha: Vector, R: Matrix, support: Indices, rows: Indices, q: Vector | None = None) -> Matrix:
    r"""Return the derivative in K, :math:`\tfrac12 \alpha\alpha^\top - \tfrac12 R - \operatorname{sym}(q \alpha^\top)`.

    Parameters
    ----------
    alpha : array, shape (n,)
        Coefficients of all points.
    R : array, shape (m, m)
        On the support; it is overwritten.
    support, rows : arrays of int
        The rows of R, and the rows of the result, which contain the support.
    q : array, shape (n,), optional
        What the mode contributes as it moves with K; none if the evidence is stationary in it.
    """
    a = alpha[rows]
    if q is None or not np.any(q):
        dK = np.outer(a, 0.5 * a)
    else:  # 1/2 a a' - sym(q a') = 1/2 (a - q)(a - q)' - 1/2 q q'
        b = q[rows]
        dK = np.outer(a - b, 0.5 * (a - b))
        dK -= np.outer(b, 0.5 * b)
    R *= 0.5
    if support.size == rows.size:
        dK -= R
    else:
        at = np.searchsorted(rows, support)
        dK[np.ix_(at, at)] -= R
    return dK


__all__ = ["Evidence", "Factor", "Inference", "Inferred", "Posterior", "gram_cotangent"]
