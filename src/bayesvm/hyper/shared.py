"""Several outputs with the same hyperparameters: the sum of their evidences."""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.hyper.objective import Evaluation, EvidenceObjective
from bayesvm.inference.base import Evidence
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class SharedObjective(EvidenceObjective):
    r"""Log evidence of several outputs under one :math:`\theta`, plus the log hyperprior (once).

    The outputs are independent given :math:`\theta`, so their evidences multiply. The parameters are those of
    :class:`EvidenceObjective`, with one column of targets per output.

    Parameters
    ----------
    y : array, shape (n, m)
        Targets; the Gram matrix is computed once for all columns.
    """

    y: Matrix

    def output(self, k: int) -> EvidenceObjective:
        """Return the objective of one output alone, without the hyperprior's share of the others."""
        return EvidenceObjective(self.kernel, self.likelihood, self.inference, self.X, self.y[:, k], self.prior)

    def evaluate(self, theta: Vector, warm_start: Vector | None = None) -> Evaluation:
        """Return value and gradient, summed over the outputs; the posterior is that of the first output.

        ``evidence.latent`` holds the outputs' latent values one after the other, and its ``status`` is that of the output
        which ended worst.
        """
        theta = np.asarray(theta, dtype=float)
        kernel, likelihood = self.model(theta)
        K = kernel.gram(self.X)
        n, m = self.y.shape
        starts = [None] * m if warm_start is None else list(warm_start.reshape(m, n))
        pairs = [self.inference.infer(K, self.y[:, k], likelihood, warm_start=start) for k, start in enumerate(starts)]
        evidence = _total([evidence for _, evidence in pairs], n)
        gradient = np.concatenate([kernel.pullback(self.X, evidence.dK), evidence.dphi])
        log_prior, prior_gradient = self.prior.log_density(theta, self.names)
        return Evaluation(theta, evidence.value + log_prior, gradient + prior_gradient, pairs[0][0], evidence)


def _total(evidences: list[Evidence], n: int) -> Evidence:
    """Return the evidence of independent problems with one Gram matrix of n rows."""
    dK = np.zeros((n, n))
    for evidence in evidences:
        dK[np.ix_(evidence.rows, evidence.rows)] += evidence.dK
    return Evidence(
        sum(e.value for e in evidences),
        {name: sum(e.terms[name] for e in evidences) for name in evidences[0].terms},
        np.arange(n),
        dK,
        np.sum([e.dphi for e in evidences], axis=0),
        next((e.status for e in evidences if not e.status.ok), evidences[0].status),
        np.concatenate([e.latent for e in evidences]),
        sum(e.n_iter for e in evidences),
    )


__all__ = ["SharedObjective"]
