"""What every inference method says of the weights of features: evidence, posterior, and derivatives in the features."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from bayesvm.inference.low_rank.features import FeatureBlock
from bayesvm.linalg import Cholesky
from bayesvm.solvers.base import Status
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class WeightPosterior:
    r"""Gaussian posterior of the weights, :math:`\mathcal N(\hat w, S^{-1})`.

    Attributes
    ----------
    mean : array, shape (m,)
        :math:`\hat w`.
    factor : Cholesky
        Of S.
    """

    mean: Vector
    factor: Cholesky

    def explained(self, phi: Matrix) -> Vector:
        r"""Return the variances :math:`\phi^\top S^{-1} \phi` for rows of features."""
        half = self.factor.half_solve(phi.T)
        return np.asarray(np.einsum("ij,ij->j", half, half))


class RowMoments(NamedTuple):
    """Latent values of some rows: means, variances v, and what the features leave over of these, r.

    ``curvature`` and ``gradient`` are those of the terms by which each row takes part in the posterior.
    """

    mean: Vector
    var: Vector
    residual: Vector
    curvature: Vector
    gradient: Vector


@dataclasses.dataclass(frozen=True)
class WeightEvidence(ABC):
    """Evidence with its cotangents.

    Attributes
    ----------
    value, terms : float, mapping
        Log evidence, and its named summands.
    posterior : WeightPosterior
        Of the weights.
    output : int
        Which column of the targets it is of.
    left : float
        Half the summed products of curvatures and prior variances that the features leave over, in nats.
    dphi : array, shape (p,)
        Derivatives in the logarithms of the likelihood's free parameters.
    status : Status
        How the iteration ended.
    n_iter : int
        Factorisations.
    """

    value: float
    terms: Mapping[str, float]
    posterior: WeightPosterior
    output: int
    left: float
    dphi: Vector
    status: Status
    n_iter: int

    @abstractmethod
    def start(self, prior: Cholesky) -> Matrix:
        """Return what the next inference begins with; ``prior`` is the factor of the inducing inputs' Gram matrix."""

    @abstractmethod
    def moments(self, block: FeatureBlock) -> RowMoments:
        """Return the latent values of a block of rows."""

    @abstractmethod
    def feature_cotangent(self, block: FeatureBlock) -> tuple[Matrix, Vector]:
        r"""Return :math:`\bar\Phi` and :math:`\bar k` of a block of rows."""

    @abstractmethod
    def gram_cotangent(self) -> Matrix:
        r"""Return :math:`\Phi^\top \bar\Phi`."""

    def upper_bound(self) -> float:
        """Return an upper bound of the exact log evidence, NaN if none is known."""
        return float("nan")


__all__ = ["RowMoments", "WeightEvidence", "WeightPosterior"]
