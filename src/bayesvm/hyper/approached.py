"""An evidence whose modes are approached by splitting before Newton's method finds them.

The first evaluations of a search on a noise model, and those on its smooth surrogate, begin far from their modes:
Newton steps by the dozen. One factorisation and cheap steps (:mod:`bayesvm.solvers.splitting`) lead most of the way.
The mode, and with it the evidence, is the same.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.hyper.objective import Evaluation, EvidenceObjective
from bayesvm.inference import Laplace
from bayesvm.likelihoods.transition_loss import TransitionLoss
from bayesvm.solvers.newton import Newton
from bayesvm.solvers.splitting import approached
from bayesvm.typing import Vector


@dataclasses.dataclass(frozen=True)
class ApproachedObjective(EvidenceObjective):
    """The same evidence, with warm starts that are led towards the mode; see the module."""

    def evaluate(self, theta: Vector, warm_start: Vector | None = None) -> Evaluation:
        """Return the evaluation, whose number of factorisations includes that of the approach."""
        if warm_start is None:
            return super().evaluate(theta)
        kernel, likelihood = self.model(np.asarray(theta, dtype=float))
        assert isinstance(likelihood, TransitionLoss)
        found = super().evaluate(theta, approached(kernel.gram(self.X), self.y, likelihood, warm_start))
        counted = dataclasses.replace(found.evidence, n_iter=found.evidence.n_iter + 1)
        return dataclasses.replace(found, evidence=counted)


def far_from_modes(objective: EvidenceObjective) -> EvidenceObjective:
    """Return the objective with modes that are approached, itself where that is not known to help.

    It helps Newton's method with an insensitive loss of rows that count once each, and one output.
    """
    plain = type(objective) is EvidenceObjective and objective.y.ndim == 1
    inference, loss = objective.inference, isinstance(objective.likelihood, TransitionLoss)
    if not (plain and loss and isinstance(inference, Laplace) and isinstance(inference.solver, Newton)):
        return objective
    return ApproachedObjective(
        **{field.name: getattr(objective, field.name) for field in dataclasses.fields(objective)}
    )


__all__ = ["ApproachedObjective", "far_from_modes"]
