r"""What an inference method is (the contract page of this folder).

An inference method turns a Gram matrix, targets and a likelihood into a :class:`Posterior` and an :class:`Evidence`.

* Every method returns the same posterior form, :math:`f \sim \mathcal N(K \alpha, (K^{-1} + W)^{-1})`, so that prediction is
  written once.
* The evidence carries its own cotangents: ``dK`` with :math:`\partial \ln Z / \partial K` on the rows in ``rows`` (zero
  elsewhere), which any kernel pulls back to its parameters, and ``dphi`` for the parameters of the likelihood.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg import SignedFactor, SupportFactor
from bayesvm.linalg.factor_covariance import CovarianceFactor
from bayesvm.solvers.base import Status
from bayesvm.typing import Indices, Matrix, Vector

#: What a posterior may carry: curvatures that are not negative, or (rarely) of either sign, or a covariance of another form.
Factor = SupportFactor | SignedFactor | CovarianceFactor


@dataclasses.dataclass(frozen=True)
class Posterior:
    r"""Gaussian posterior of the latent function, :math:`\mathcal N(K \alpha, (K^{-1} + W)^{-1})` at the training points.

    Attributes
    ----------
    support : array of int
        Training rows with :math:`\alpha_i \ne 0` or :math:`W_i > 0`; prediction touches these only.
    alpha : array
        Coefficients on the support.
    factor : SupportFactor or SignedFactor
        Factor on the (possibly smaller) set of rows with :math:`W_i \ne 0`.
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

    def mean(self, K_s: Matrix) -> Vector:
        """Return the means at new points, Chu2003 (38); ``K_s`` has one row per new point, one column per support row."""
        return np.asarray(K_s @ self.alpha)

    def var(self, K_s: Matrix, k_ss: Vector) -> Vector:
        r"""Return the variances :math:`k_{**} - k^\top R k` at new points, Chu2003 (38); never negative."""
        columns = np.searchsorted(self.support, self.factor.support)
        return np.maximum(k_ss - self.factor.explained(K_s[:, columns].T), 0.0)

    def covariance(self, K_s: Matrix, K_ss: Matrix) -> Matrix:
        r"""Return the joint covariance :math:`K_{**} - K_{*M} R K_{M*}` of new points."""
        columns = np.searchsorted(self.support, self.factor.support)
        cross = K_s[:, columns].T
        return np.asarray(K_ss - cross.T @ self.factor.apply(cross))


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
        Training rows on which ``dK`` lives.
    dK : array, shape (len(rows), len(rows))
        :math:`\partial \ln Z / \partial K`, symmetric.
    dphi : array, shape (p,)
        Derivatives in the logarithms of the likelihood's free parameters.
    status : Status
        How the solver inside ended.
    latent : array, shape (n,) or (2, n)
        From where a later call may start (``warm_start``): latent values, or for expectation propagation the site
        parameters.
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


@dataclasses.dataclass(frozen=True)
class Inference(ABC):
    """Turns (K, y, likelihood) into a posterior and an evidence; its fields are options only."""

    @abstractmethod
    def infer(
        self, K: Matrix, y: Vector, likelihood: Likelihood, *, warm_start: Vector | None = None
    ) -> tuple[Posterior, Evidence]:
        """Return posterior and evidence; ``warm_start`` is the ``latent`` of an earlier evidence."""

    def suited(self, likelihood: Likelihood) -> Inference:
        """Return the method as it can treat the likelihood: itself, unless a part of it has to be exchanged."""
        return self

    @abstractmethod
    def check(self, likelihood: Likelihood) -> None:
        """Raise :class:`~bayesvm.exceptions.IncompatibleError` if the likelihood cannot be treated."""


__all__ = ["Evidence", "Factor", "Inference", "Posterior"]
