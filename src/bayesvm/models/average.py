r"""Averages of predictors: several kernels, or several settings of one kernel, with posterior weights.

.. math:: P(y|x, D) = \sum_j w_j\, P(y|x, D, M_j), \qquad \sum_j w_j = 1 .

One of the candidates, the *chosen* one, has the largest weight; kernel, hyperparameters, evidence and support vectors
of the average are its own. Averaged are predictions.
"""

from __future__ import annotations

import dataclasses
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp

from bayesvm.hyper import EvidenceObjective, Maximum, ModelEvidence
from bayesvm.inference import Evidence
from bayesvm.inference.reduction import Reduction
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Likelihood, Regression
from bayesvm.models.base import Candidate
from bayesvm.models.calibration import Calibration, ScaleCalibration
from bayesvm.models.gaussian_process import GaussianProcessModel
from bayesvm.typing import Indices, Matrix, Vector


@dataclasses.dataclass(frozen=True)
class AveragedModel(ABC):
    """What averages of labels and of targets share.

    Attributes
    ----------
    chosen : GaussianProcessModel
        The candidate with the largest weight, at the maximum of its evidence.
    members : tuple of Predictor, or of ScoredClasses
        What is averaged, the heaviest first.
    weights : array, shape (m,)
        Their weights, which add up to one.
    candidates : tuple of Candidate
        The models that were compared.
    """

    chosen: GaussianProcessModel
    members: tuple[Any, ...]
    weights: Vector
    candidates: tuple[Candidate, ...] = ()

    def __sizeof__(self) -> int:
        """Return the size with the data; see :class:`~bayesvm.kernels.inputs.Inputs`."""
        return object.__sizeof__(self) + sum(sys.getsizeof(member) for member in self.members)

    # -- of the chosen candidate --------------------------------------------------------------------------------------
    @property
    def kernel(self) -> Kernel:
        """Kernel of the chosen candidate."""
        return self.chosen.kernel

    @property
    def likelihood(self) -> Likelihood:
        """Likelihood of the chosen candidate."""
        return self.chosen.likelihood

    @property
    def objective(self) -> EvidenceObjective:
        """Evidence of the chosen candidate as a function of theta."""
        return self.chosen.objective

    @property
    def maximum(self) -> Maximum:
        """How theta of the chosen candidate was found."""
        return self.chosen.maximum

    @property
    def evidence(self) -> Evidence:
        """Evidence of the chosen candidate."""
        return self.chosen.evidence

    @property
    def log_evidence(self) -> float:
        """Log evidence of the chosen candidate."""
        return self.chosen.log_evidence

    @property
    def model_evidence(self) -> ModelEvidence:
        """Evidence of the chosen candidate with theta integrated out."""
        return self.chosen.model_evidence

    @property
    def theta(self) -> Vector:
        """Theta of the chosen candidate."""
        return self.chosen.theta

    @property
    def n_outputs(self) -> int:
        """Number of latent functions."""
        return self.chosen.n_outputs

    @property
    def problems(self) -> tuple[str, ...]:
        """What did not converge, in words."""
        return self.chosen.problems

    @property
    def support(self) -> Indices:
        """Training rows with a coefficient that is not zero in the chosen candidate."""
        return self.chosen.support

    @property
    def coefficients(self) -> Matrix:
        """Their coefficients, one row per output."""
        return self.chosen.coefficients

    @property
    def attributes(self) -> Mapping[str, Any]:
        """Further fitted attributes."""
        return self.chosen.attributes

    @property
    def marginals(self) -> tuple[Any, ...]:
        """Of the chosen candidate."""
        return self.chosen.marginals

    @property
    def calibrations(self) -> tuple[Calibration | ScaleCalibration, ...]:
        """Corrections of the heaviest member, one per output."""
        return tuple(self.members[0].calibrations)

    @property
    def basis(self) -> Indices:
        """Training rows on which predictions depend."""
        return np.unique(np.concatenate([member.basis for member in self.members]))

    @property
    def reduction(self) -> Reduction | None:
        """Of the members together: the largest changes of any; None if none is reduced."""
        found = [member.reduction for member in self.members if member.reduction is not None]
        if not found:
            return None
        worst, bound = max(r.error for r in found), max(r.mean_bound for r in found)
        return Reduction(self.basis, found[0].tol, worst, bound)

    def at(self, theta: Vector) -> GaussianProcessModel:
        """Return the chosen candidate with other hyperparameters, not averaged."""
        return self.chosen.at(theta)

    # -- of all members -----------------------------------------------------------------------------------------------
    @abstractmethod
    def mean(self, X: Inputs) -> Matrix:
        """Return the means of the latent functions at the rows of X, one column per output."""

    @abstractmethod
    def latent(self, X: Inputs) -> tuple[Matrix, Matrix]:
        """Return means and variances of the latent functions at the rows of X, one column per output."""

    @abstractmethod
    def sample(self, X: Inputs, n_draws: int, rng: np.random.Generator) -> Matrix:
        """Return joint draws of the latent functions at the rows of X, shape (n, n_draws, q)."""


@dataclasses.dataclass(frozen=True)
class AveragedLabels(AveragedModel):
    """Average of class probabilities.

    The latent functions of the members differ in scale: those reported are the chosen candidate's.
    """

    def mean(self, X: Inputs) -> Matrix:
        """Return the means of the latent functions of the chosen candidate."""
        return self.chosen.mean(X)

    def latent(self, X: Inputs) -> tuple[Matrix, Matrix]:
        """Return means and variances of the latent functions of the chosen candidate."""
        return self.chosen.latent(X)

    def sample(self, X: Inputs, n_draws: int, rng: np.random.Generator) -> Matrix:
        """Return joint draws of the latent functions of the chosen candidate."""
        return self.chosen.sample(X, n_draws, rng)

    def log_odds(self, X: Inputs) -> Matrix:
        """Return log odds of the averaged probabilities, one column per output."""
        return averaged_log_odds([member.log_odds(X) for member in self.members], self.weights)

    def odds_range(self, X: Inputs) -> tuple[Matrix, Matrix] | None:
        """Return bounds of the log odds that need latent means alone, None where a member has none."""
        ends: tuple[list[Matrix], list[Matrix]] = ([], [])
        for member in self.members:
            own = member.odds_range(X)
            if own is None:
                return None
            for end, part in zip(ends, own, strict=True):
                end.append(part)
        return averaged_log_odds(ends[0], self.weights), averaged_log_odds(ends[1], self.weights)

    def loo_log_odds(self) -> Matrix:
        """Return the same for the training rows, each predicted without itself."""
        return averaged_log_odds([member.loo_log_odds() for member in self.members], self.weights)


@dataclasses.dataclass(frozen=True)
class AveragedClasses(AveragedLabels):
    """Average of the probabilities of several classes, each member having them from all its outputs together.

    Log odds are given up to a common number per row: they are logarithms of the probabilities.
    """

    def odds_range(self, X: Inputs) -> None:
        """Return None: labels of several classes follow from all their odds."""

    def log_odds(self, X: Inputs) -> Matrix:
        """Return logarithms of the averaged probabilities, one column per class."""
        return averaged_log_proba([member.log_odds(X) for member in self.members], self.weights)

    def loo_log_odds(self) -> Matrix:
        """Return the same for the training rows, each predicted without itself."""
        return averaged_log_proba([member.loo_log_odds() for member in self.members], self.weights)


@dataclasses.dataclass(frozen=True)
class AveragedTargets(AveragedModel):
    """Average of predictive densities of targets."""

    def mean(self, X: Inputs) -> Matrix:
        """Return the averaged means of the latent functions."""
        return np.asarray(np.tensordot(self.weights, [member.mean(X) for member in self.members], axes=1))

    def latent(self, X: Inputs) -> tuple[Matrix, Matrix]:
        """Return means and variances of the mixture of latent functions."""
        parts = [member.latent(X) for member in self.members]
        means, variances = np.stack([mean for mean, _ in parts]), np.stack([var for _, var in parts])
        mean = np.tensordot(self.weights, means, axes=1)
        return mean, np.tensordot(self.weights, variances + (means - mean) ** 2, axes=1)

    def sample(self, X: Inputs, n_draws: int, rng: np.random.Generator, *, noise: bool = False) -> Matrix:
        """Return joint draws of latent functions (of targets with ``noise``), each from a member drawn by weight."""
        parts = []
        for member, count in zip(self.members, rng.multinomial(n_draws, self.weights), strict=True):
            if count:
                draws, own = member.sample(X, int(count), rng), member.likelihood.plain
                assert isinstance(own, Regression)
                parts.append(draws + own.distribution().rvs(draws.shape, rng) if noise else draws)
        return np.concatenate(parts, axis=1)[:, rng.permutation(n_draws)]

    def loo_log_density(self, weights: Vector) -> float:
        """Return the log density of the training targets, each predicted without itself, calibration included."""
        parts = [member.loo_log_densities(self.objective.outputs) for member in self.members]
        mixed = logsumexp(np.stack(parts), axis=0, b=self.weights[:, None, None])
        return float(np.sum(weights @ mixed))


def averaged_log_odds(parts: list[Matrix], weights: Vector) -> Matrix:
    r"""Return the log odds of averaged probabilities.

    :math:`\ln \sum_j w_j \sigma(o_j) - \ln \sum_j w_j \sigma(-o_j)`, without loss of digits in the tails.
    """
    if len(parts) == 1:
        return parts[0]
    odds = np.stack(parts)
    log_weights = np.log(weights)[:, None, None]
    yes = logsumexp(log_weights - np.logaddexp(0.0, -odds), axis=0)
    no = logsumexp(log_weights - np.logaddexp(0.0, odds), axis=0)
    return np.asarray(yes - no)


def averaged_log_proba(parts: list[Matrix], weights: Vector) -> Matrix:
    r"""Return the logarithms of averaged probabilities, :math:`\ln \sum_j w_j \operatorname{softmax}(o_j)`."""
    log_proba = np.stack([log_softmax(odds, axis=1) for odds in parts])
    return np.asarray(logsumexp(log_proba, axis=0, b=weights[:, None, None]))


__all__ = [
    "AveragedClasses",
    "AveragedLabels",
    "AveragedModel",
    "AveragedTargets",
    "averaged_log_odds",
    "averaged_log_proba",
]
