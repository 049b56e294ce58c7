r"""What a likelihood is (the contract page of this folder).

A likelihood is written as a loss, :math:`\ell = -\ln p(y|f)`, normalising constant included, so that evidences need no
further terms. Every likelihood of this library depends on its two arguments through one number,

* classification: the margin :math:`t = y f` with labels :math:`y \in \{-1, +1\}`,
* regression: the residual :math:`t = y - f`,

and a subclass gives its *profile*: :math:`\ell(t)` with its derivatives in t. The base turns them into derivatives in f, and
into the one-dimensional Gaussian integrals that inference and prediction need, by piecewise quadrature between the
``knots``; closed forms override it where they exist. What solvers and inference may rely on is stated as data in ``traits``.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from bayesvm.likelihoods.quadrature import log_gaussian_integral
from bayesvm.parameters import Parameterized
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class Traits:
    """Facts about a likelihood that solvers and inference methods read.

    Parameters
    ----------
    smoothness : int
        Number of continuous derivatives of the loss where it is finite: 0 (kinks), 1 (curvature jumps), 2, or 3 for
        "as many as needed".
    convex : bool
        Whether the loss is convex in f.
    normalized : bool
        Whether the likelihood is a probability of y: sums to one over the labels, or integrates to one over the targets.
    sparse : bool
        Whether the loss is flat somewhere, so that some training points drop out of the solution.
    """

    smoothness: int
    convex: bool
    normalized: bool
    sparse: bool


@dataclasses.dataclass(frozen=True)
class Derivatives:
    """Loss and its derivatives in f, one entry per sample.

    Attributes
    ----------
    loss, gradient, curvature, third : arrays, shape (n,)
        :math:`\\ell`, :math:`\\ell'`, :math:`\\ell''`, :math:`\\ell'''`; the loss is ``inf`` outside the domain.
    """

    loss: Vector
    gradient: Vector
    curvature: Vector
    third: Vector


@dataclasses.dataclass(frozen=True)
class ThetaDerivatives:
    """Derivatives of (loss, gradient, curvature) in the logarithms of the free parameters, each of shape (p, n)."""

    loss: Matrix
    gradient: Matrix
    curvature: Matrix


@dataclasses.dataclass(frozen=True, kw_only=True)
class Likelihood(Parameterized, ABC):
    """A pointwise loss, minus the logarithm of a probability; see the module for the contract."""

    traits: ClassVar[Traits]

    # -- to be given by a subclass ------------------------------------------------------------------------------------
    @abstractmethod
    def profile(self, t: Vector) -> Derivatives:
        """Return the loss and its first three derivatives in t (the margin or the residual)."""

    @abstractmethod
    def profile_theta(self, t: Vector) -> ThetaDerivatives:
        """Return the derivatives of (loss, loss', loss'') in the free parameters' logarithms, at fixed t."""

    @property
    @abstractmethod
    def knots(self) -> tuple[float, ...]:
        """Increasing points in t between which the profile is smooth at the scale of the quadrature rule."""

    @property
    def domain(self) -> tuple[float, float]:
        """Open interval of t on which the loss is finite."""
        return (-np.inf, np.inf)

    # -- from t to f, by Classification and Regression ----------------------------------------------------------------
    @abstractmethod
    def argument(self, y: Vector, f: Vector) -> Vector:
        """Return t, the margin or the residual."""

    @abstractmethod
    def slope(self, y: Vector) -> Vector:
        """Return dt/df, which is +1 or -1 for every sample."""

    def derivatives(self, y: Vector, f: Vector) -> Derivatives:
        """Return the loss and its first three derivatives in f."""
        p = self.profile(self.argument(y, f))
        s = self.slope(y)
        return Derivatives(p.loss, s * p.gradient, p.curvature, s * p.third)

    def theta_derivatives(self, y: Vector, f: Vector) -> ThetaDerivatives:
        """Return the derivatives of (loss, dloss/df, d2loss/df2) in the free parameters' logarithms."""
        p = self.profile_theta(self.argument(y, f))
        return ThetaDerivatives(p.loss, self.slope(y) * p.gradient, p.curvature)

    def log_predictive(self, y: Vector, mean: Vector, var: Vector) -> Vector:
        r"""Return :math:`\ln \int p(y|f)\, \mathcal N(f; m, v)\, df` for each sample."""
        y, mean, var = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in (y, mean, var)))
        return log_gaussian_integral(self.profile, self.knots, self.domain, self.argument(y, mean), var)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Classification(Likelihood):
    """A likelihood of labels -1 and +1 that depends on the margin t = y f."""

    def argument(self, y: Vector, f: Vector) -> Vector:
        """Return the margin."""
        return y * f

    def slope(self, y: Vector) -> Vector:
        """Return dt/df = y."""
        return y

    def predict_proba(self, mean: Vector, var: Vector) -> Vector:
        r"""Return :math:`P(y=+1) = \int p(+1|f)\, \mathcal N(f; m, v)\, df`; a normalised likelihood only."""
        mean = np.asarray(mean, dtype=float)
        log_odds = self.log_predictive(np.ones_like(mean), mean, var) - self.log_predictive(-np.ones_like(mean), mean, var)
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(log_odds, -745.0, 745.0))))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Regression(Likelihood):
    """A likelihood of real targets that depends on the residual t = y - f, symmetric about zero."""

    def argument(self, y: Vector, f: Vector) -> Vector:
        """Return the residual."""
        return y - f

    def slope(self, y: Vector) -> Vector:
        """Return dt/df = -1."""
        return -np.ones_like(y)

    @property
    @abstractmethod
    def noise_variance(self) -> float:
        """Variance of the noise, the second moment of the density of the residual."""


__all__ = ["Classification", "Derivatives", "Likelihood", "Regression", "ThetaDerivatives", "Traits"]
