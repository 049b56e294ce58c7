"""A committee as one machine: what the estimators keep in place of the machine of a plain fit."""

from __future__ import annotations

import dataclasses
from typing import Any

from bayesvm.distributed.committee import Rule
from bayesvm.distributed.members import Members
from bayesvm.distributed.objective import SummedEvidence
from bayesvm.estimators._machine import Candidate
from bayesvm.hyper import Maximum
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import Likelihood
from bayesvm.typing import Vector


@dataclasses.dataclass(frozen=True)
class Shape:
    """What is known of inputs that are not here."""

    n_features: int


@dataclasses.dataclass(frozen=True)
class Ensemble:
    """Kernel and likelihood that all members share, the members, and how they are combined.

    Attributes
    ----------
    kernel, likelihood : Kernel, Likelihood
        With their learnt parameters; the kernel acts on standardised inputs.
    evidence : SummedEvidence
        At the optimum, summed over the blocks.
    inputs : Shape
        Number of features.
    maximum : Maximum
        How theta was found.
    objective : SummedObjective or None
        The evidence as a function of theta; None once the blocks are gone (saved models).
    candidates : tuple of Candidate
        The kernels that were compared, if there was a choice.
    members, rule, index : Members, Rule, int
        The committee, how it decides, and which of its members' machines this is.
    block_trouble : tuple of str
        Blocks whose machine did not converge, in words.
    """

    kernel: Kernel
    likelihood: Likelihood
    evidence: SummedEvidence
    inputs: Shape
    maximum: Maximum
    objective: Any = None
    candidates: tuple[Candidate, ...] = ()
    members: Any = None
    rule: Rule = Rule("rbcm", 1)  # noqa: RUF009 (frozen)
    index: int = 0
    block_trouble: tuple[str, ...] = ()

    @property
    def theta(self) -> Vector:
        """Where the objective was maximal."""
        return self.maximum.theta

    @property
    def converged(self) -> bool:
        """Whether the maximiser and the solvers of all blocks ended well."""
        return not self.trouble

    @property
    def trouble(self) -> str:
        """What did not converge, in words (empty if all did)."""
        statuses = (self.maximum.status, self.evidence.status)
        return "; ".join([*(s.value for s in statuses if not s.ok), *self.block_trouble])

    def latent(self, X: Inputs) -> tuple[Vector, Vector]:
        """Return mean and variance of the latent function at the rows of X (standardised)."""
        members: Members = self.members
        return self.rule.combine(members.sums(self.index, self.kernel, X.dense()), self.kernel.diag(X))

    def mean(self, X: Inputs) -> Vector:
        """Return the mean alone (the weights of the members need the variances too)."""
        return self.latent(X)[0]

    def bare(self) -> Ensemble:
        """Return the machine without what cannot leave this process or the cluster."""
        return dataclasses.replace(
            self, objective=None, members=None, maximum=dataclasses.replace(self.maximum, latent=None)
        )


__all__ = ["Ensemble", "Shape"]
