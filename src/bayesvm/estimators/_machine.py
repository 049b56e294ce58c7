"""A fitted latent function: what every self-tuning estimator is made of, one per binary problem or output."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from bayesvm.hyper import ClimbStatus, EvidenceObjective, Maximizer, Maximum, maximize_thinning, maximize_untying
from bayesvm.hyper.maximize import StartRecord
from bayesvm.inference import EP, Evidence, Marginals, Posterior, leave_one_out
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg import cholesky
from bayesvm.solvers.base import Status
from bayesvm.typing import Indices, Matrix, Vector

#: Entries of the cross Gram matrix that prediction holds at a time.
BLOCK = 1 << 22


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A kernel that was tried: its form, its log evidence, whether it was kept."""

    kernel: str
    log_evidence: float
    kept: bool


@dataclasses.dataclass(frozen=True)
class Refinement:
    """A posterior by another method than the one whose evidence was maximised: its log evidence and its status."""

    log_evidence: float
    status: Status


@dataclasses.dataclass(frozen=True)
class Machine:
    """Kernel, likelihood and posterior at the optimum, with the support rows that prediction needs.

    Attributes
    ----------
    kernel, likelihood : Kernel, Likelihood
        With their learnt parameters; the kernel acts on standardised inputs.
    posterior, evidence : Posterior, Evidence
        The inference at the optimum.
    inputs : Inputs
        The support rows, standardised.
    objective : EvidenceObjective
        The evidence as a function of theta.
    maximum : Maximum
        How theta was found.
    candidates : tuple of Candidate
        The kernels that were compared, if there was a choice.
    refinement : Refinement or None
        Where the posterior comes from, if not from the method that found theta.
    marginals : Marginals or None
        The posterior at the training rows, for leave-one-out predictions.
    """

    kernel: Kernel
    likelihood: Likelihood
    posterior: Posterior
    evidence: Evidence
    inputs: Inputs
    objective: EvidenceObjective
    maximum: Maximum
    candidates: tuple[Candidate, ...] = ()
    refinement: Refinement | None = None
    marginals: Marginals | None = None

    @property
    def theta(self) -> Vector:
        """Where the objective was maximal."""
        return self.maximum.theta

    @property
    def converged(self) -> bool:
        """Whether the maximiser and the solver inside it both ended well."""
        return all(s.ok for s in self._statuses)

    @property
    def trouble(self) -> str:
        """What did not converge, in words (empty if all did)."""
        return "; ".join(s.value for s in self._statuses if not s.ok)

    @property
    def _statuses(self) -> tuple[ClimbStatus | Status, ...]:
        last = () if self.refinement is None else (self.refinement.status,)
        return (self.maximum.status, self.evidence.status, *last)

    @property
    def support(self) -> Indices:
        """Training rows with a coefficient that is not zero."""
        return self.posterior.support[self.posterior.alpha != 0.0]

    @property
    def alpha(self) -> Vector:
        """Their coefficients."""
        return self.posterior.alpha[self.posterior.alpha != 0.0]

    def latent(self, X: Inputs) -> tuple[Vector, Vector]:
        """Return mean and variance of the latent function at the rows of X (standardised), block by block."""
        mean, var = np.empty(len(X)), np.empty(len(X))
        for rows, part in self._blocks(X):
            K_s = self.kernel.gram(part, self.inputs)
            mean[rows] = self.posterior.mean(K_s)
            var[rows] = self.posterior.var(K_s, self.kernel.diag(part))
        return mean, var

    def mean(self, X: Inputs) -> Vector:
        """Return the mean of the latent function alone, at a lower cost."""
        mean = np.empty(len(X))
        for rows, part in self._blocks(X):
            mean[rows] = self.posterior.mean(self.kernel.gram(part, self.inputs))
        return mean

    def _blocks(self, X: Inputs) -> Iterator[tuple[Indices, Inputs]]:
        """Cut X into parts whose cross Gram matrix is not too large."""
        n, step = len(X), max(1, BLOCK // max(1, len(self.inputs)))
        for start in range(0, n, step):
            rows = np.arange(start, min(start + step, n))
            yield rows, X if rows.size == n else X.take(rows)

    def sample(self, X: Inputs, n_samples: int, rng: np.random.Generator) -> Matrix:
        """Return joint draws of the latent function at the rows of X, shape (n, n_samples)."""
        K_s = self.kernel.gram(X, self.inputs)
        factor = cholesky(self.posterior.covariance(K_s, self.kernel.gram(X)), jitter=True, what="posterior covariance")
        noise = rng.standard_normal((len(X), n_samples))
        return self.posterior.mean(K_s)[:, None] + factor.lower() @ noise


def learn(objective: EvidenceObjective, starts: Sequence[Vector], maximizer: Maximizer, *, optimize: bool) -> Machine:
    """Find theta (or keep the first start, if not ``optimize``) and return the machine at that theta."""
    if optimize and objective.theta0.size:
        maximum = maximize_untying(maximizer, objective, starts, climb=maximize_thinning)
    else:
        evaluation = objective.evaluate(starts[0])
        record = StartRecord(starts[0], starts[0], evaluation.value, 1, ClimbStatus.CONVERGED, 0.0)
        maximum = Maximum(starts[0], evaluation.value, evaluation.evidence.latent, ClimbStatus.CONVERGED, (record,))
    kernel, likelihood = objective.model(maximum.theta)
    final = objective.evaluate(maximum.theta, maximum.latent)
    bare = dataclasses.replace(objective, X=objective.X.forget())
    return Machine(
        kernel, likelihood, final.posterior, final.evidence, bare.X.take(final.posterior.support), bare, maximum
    )


def refine(machine: Machine, method: EP | None) -> Machine:
    """Return the machine with marginals at its training rows, and with the posterior of another method if one is given."""
    objective = machine.objective
    K = machine.kernel.gram(objective.X)
    if method is None:
        return dataclasses.replace(machine, marginals=leave_one_out(K, machine.posterior, machine.likelihood.copies))
    posterior, log_evidence, status = method.posterior(
        K, objective.y, machine.likelihood, warm_start=machine.evidence.latent
    )
    return dataclasses.replace(
        machine,
        posterior=posterior,
        inputs=objective.X.forget().take(posterior.support),
        # a stalled iteration has matched the moments up to rounding, which is all that predictions need
        refinement=Refinement(log_evidence, Status.CONVERGED if status is Status.STALLED else status),
        marginals=leave_one_out(K, posterior, machine.likelihood.copies),
    )


__all__ = ["Candidate", "Machine", "Refinement", "learn", "refine"]
