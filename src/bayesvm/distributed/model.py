"""A committee as a fitted model: kernel and likelihood that all members share, the members, how they are combined."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesvm.distributed.committee import CommitteeRule
from bayesvm.distributed.members import KnownSums, Members
from bayesvm.distributed.objective import SummedObjective
from bayesvm.hyper import Maximum
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import Classification, Likelihood
from bayesvm.models import Candidate
from bayesvm.models.calibration import Calibration, ScaleCalibration
from bayesvm.typing import Indices, Matrix, Vector


@dataclasses.dataclass(frozen=True)
class CommitteeModel:
    """Latent functions whose posteriors are combined from those of many blocks; see the protocol ``FittedModel``.

    Attributes
    ----------
    kernel, likelihood : Kernel, Likelihood
        With their learnt parameters; the kernel acts on standardised inputs.
    log_evidence : float
        At the optimum, summed over the blocks, hyperprior left out.
    maximum : Maximum
        How theta was found.
    columns : tuple of int
        The outputs of this model, as columns of the targets; the members have one expert for each column.
    summed : SummedObjective or None
        The evidence as a function of theta; None once the blocks are gone.
    candidates : tuple of Candidate
        The kernels that were compared, if there was a choice.
    members : Members, KnownSums or None
        The committee; None as long as it is not made, and in a file that keeps the members elsewhere.
    rules : tuple of CommitteeRule
        How predictions are combined, one rule per output.
    calibrations : tuple of Calibration or ScaleCalibration
        Correction of the predictions, one per output.
    block_problems : tuple of str
        What did not converge in the blocks, in words.
    attributes : mapping
        Further fitted attributes: "temper", and "loo_log_likelihood" from the rows predicted without themselves.
    """

    kernel: Kernel
    likelihood: Likelihood
    log_evidence: float
    maximum: Maximum
    columns: tuple[int, ...] = (0,)
    summed: SummedObjective | None = None
    candidates: tuple[Candidate, ...] = ()
    members: Members | KnownSums | None = None
    rules: tuple[CommitteeRule, ...] = ()
    calibrations: tuple[Calibration | ScaleCalibration, ...] = ()
    block_problems: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def at_maximum(cls, objective: SummedObjective, maximum: Maximum, columns: tuple[int, ...]) -> CommitteeModel:
        """Return the model at a maximum of the objective, still without members."""
        kernel, likelihood = objective.model(maximum.theta)
        log_evidence = maximum.value - objective.prior.log_density(maximum.theta, objective.names)[0]
        return cls(kernel, likelihood, log_evidence, maximum, columns, objective)

    @property
    def theta(self) -> Vector:
        """Where the objective was maximal."""
        return self.maximum.theta

    @property
    def n_outputs(self) -> int:
        """Number of latent functions."""
        return len(self.columns)

    @property
    def objective(self) -> SummedObjective:
        """The evidence as a function of theta, as long as the blocks are there.

        Raises
        ------
        ValueError
            For a saved model, and once a cluster that the fit started is closed.
        """
        if self.summed is None:
            raise ValueError("log_evidence: the blocks of training rows are no longer there")
        return self.summed

    @property
    def problems(self) -> tuple[str, ...]:
        """What did not converge, in words."""
        own = () if self.maximum.status.ok else (self.maximum.status.value,)
        return (*own, *self.block_problems)

    @property
    def support(self) -> Indices:
        """Nothing: training rows have no numbers here, and members keep their own support."""
        return np.empty(0, dtype=np.intp)

    @property
    def coefficients(self) -> Matrix:
        """Nothing; see :attr:`support`."""
        return np.empty((self.n_outputs, 0))

    def latent(self, X: Inputs) -> tuple[Matrix, Matrix]:
        """Return means and variances of the latent functions at the rows of X, one column per output."""
        assert self.members is not None
        rows, prior = X.dense(), self.kernel.diag(X)
        sums = [self.members.sums(k, self.kernel, rows) for k in self.columns]
        parts = [rule.combine(own, prior) for rule, own in zip(self.rules, sums, strict=True)]
        return np.column_stack([mean for mean, _ in parts]), np.column_stack([var for _, var in parts])

    def mean(self, X: Inputs) -> Matrix:
        """Return the means alone (the weights of the members need the variances too)."""
        return self.latent(X)[0]

    def log_odds(self, X: Inputs) -> Matrix:
        """Return log odds of the averaged and calibrated probabilities, one column per output."""
        likelihood, (mean, var) = self.likelihood.plain, self.latent(X)
        assert isinstance(likelihood, Classification)
        odds = [likelihood.log_odds(m, v) for m, v in zip(mean.T, var.T, strict=True)]
        pairs = zip(self.calibrations, odds, strict=True)
        return np.column_stack([c.apply(own) for c, own in pairs if isinstance(c, Calibration)])

    def sample(self, X: Inputs, n_draws: int, rng: np.random.Generator) -> Matrix:
        """Refuse: a committee combines predictions point by point, and has no joint distribution to draw from."""
        raise TypeError(
            "sample: a committee has no joint posterior; use predict_latent for means and standard deviations"
        )

    def bare(self) -> CommitteeModel:
        """Return the model without what cannot leave this process or the cluster."""
        maximum = dataclasses.replace(self.maximum, latent=None)
        return dataclasses.replace(self, summed=None, members=None, maximum=maximum)


def with_members(models: Sequence[CommitteeModel], members: Members | KnownSums) -> tuple[CommitteeModel, ...]:
    """Return models with the members that they share."""
    return tuple(dataclasses.replace(model, members=members) for model in models)


__all__ = ["CommitteeModel", "with_members"]
