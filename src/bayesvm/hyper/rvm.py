r"""The kernel of a relevance vector machine by its evidence.

Precisions and noise are at their optimum for every :math:`\theta`. The precisions maximise the evidence, so its
derivative in the kernel's parameters is the partial one at fixed precisions,
:math:`\langle \partial \ln Z/\partial \Phi, \partial \Phi/\partial\theta \rangle`, pulled back by the kernel from one
matrix on the training rows.

A finite precision is a parameter that was fitted, so the maximum of the evidence over it is biased upwards: narrow
kernels, which need many functions, would win. Integrating over the precision instead, with a prior that is flat in
:math:`\ln a` over a range :math:`\Delta` and the posterior width :math:`\sqrt{2/\gamma}` (MacKay1992), costs
:math:`\ln(\Delta/\sqrt{4\pi})` nats, since :math:`\gamma = 1 - \Sigma_{ii}` is about one. Which m of the k functions
are active was chosen too: with all subsets of one size, and all sizes, equally probable beforehand, a subset has the
probability :math:`1/[(k+1)\binom{k}{m}]`. Both Occam factors are subtracted before kernels are compared.

The evidence has many optima in the precisions. A BFGS search follows one of them (the warm start), along which the
evidence is smooth; where that optimum vanishes the evidence drops, and the step is rejected.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import gammaln

from bayesvm.hyper.objective import KernelParameters
from bayesvm.hyper.priors import Flat, Hyperprior
from bayesvm.inference.base import Evidence
from bayesvm.inference.rvm import RVMResult, RVMStart, SequentialRVM
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Likelihood
from bayesvm.typing import Matrix, Vector

#: Nats per precision: a prior over six orders of magnitude.
OCCAM = float(np.log(np.log(1e6) / np.sqrt(4.0 * np.pi)))


def occam(k: int, m: int) -> float:
    """Return the nats that m active functions out of k cost: their precisions, and their choice."""
    return float(m * OCCAM + gammaln(k + 1) - gammaln(m + 1) - gammaln(k - m + 1) + np.log(k + 1))


@dataclasses.dataclass(frozen=True)
class RelevanceEvaluation:
    """One evaluation: theta, value and gradient with the hyperprior, the evidence, and the precisions found."""

    theta: Vector
    value: float
    gradient: Vector
    evidence: Evidence
    relevance: RVMResult


@dataclasses.dataclass(frozen=True)
class RelevanceObjective(KernelParameters):
    """Log evidence of a relevance vector machine plus log hyperprior, as a function of the kernel's parameters.

    Parameters
    ----------
    kernel : Kernel
        Bound to the data; its columns at the training rows are the basis functions.
    likelihood : Likelihood
        Its free parameters are learnt together with the precisions, and are no part of theta.
    search : SequentialRVM
        How precisions are found.
    X : Inputs
        Training inputs.
    y : array, shape (n,)
        Labels -1/+1 or targets.
    bias : bool
        Whether a constant is one more basis function.
    distinct : int
        Number of different rows of X: a function that occurs twice is no further choice.
    prior : Hyperprior
        Density of theta.
    """

    kernel: Kernel
    likelihood: Likelihood
    search: SequentialRVM
    X: Inputs
    y: Vector
    bias: bool
    distinct: int
    prior: Hyperprior = dataclasses.field(default_factory=Flat)

    def basis(self, kernel: Kernel, X: Inputs | None = None, Z: Inputs | None = None) -> Matrix:
        """Return the basis functions centred at Z (the training rows) at the rows of X, the constant first."""
        K = kernel.gram(self.X if X is None else X, Z)
        return np.column_stack([np.ones(K.shape[0]), K]) if self.bias else K

    def evaluate(self, theta: Vector, warm_start: Vector | None = None) -> RelevanceEvaluation:
        """Return value, gradient and precisions at ``theta``.

        ``warm_start`` is the ``evidence.latent`` of an earlier evaluation, whose optimum is then followed.
        """
        theta = np.asarray(theta, dtype=float)
        kernel = self.kernel.with_theta(theta)
        found = self.search.maximize(self.basis(kernel), self.y, self.likelihood, self._start(warm_start))
        dK = self._cotangent(found)
        log_prior, prior_gradient = self.prior.log_density(theta, self.names)
        terms = {"maximum": found.log_evidence, "occam": -occam(self.distinct + int(self.bias), found.active.size)}
        evidence = Evidence(
            sum(terms.values()),
            terms,
            np.arange(len(self.X)),
            dK,
            np.empty(0),
            found.status,
            self._latent(found),
            found.n_iter,
        )
        gradient = kernel.pullback(self.X, dK) if theta.size else np.empty(0)
        return RelevanceEvaluation(theta, evidence.value + log_prior, gradient + prior_gradient, evidence, found)

    def _cotangent(self, found: RVMResult) -> Matrix:
        """Return the derivative in the Gram matrix of the training rows, symmetric."""
        n = len(self.X)
        kept = found.active >= int(self.bias)
        dK = np.zeros((n, n))
        dK[:, found.active[kept] - int(self.bias)] = found.cotangent[:, kept]
        return 0.5 * (dK + dK.T)

    def _latent(self, found: RVMResult) -> Vector:
        """Return the optimum as one vector: logarithms of all precisions, then the likelihood's parameters."""
        logs = np.full(len(self.X) + int(self.bias), np.inf)
        logs[found.active] = np.log(found.precision)
        return np.concatenate([logs, found.likelihood.theta])

    def _start(self, latent: Vector | None) -> RVMStart | None:
        if latent is None:
            return None
        k = len(self.X) + int(self.bias)
        active = np.flatnonzero(np.isfinite(latent[:k]))
        return RVMStart(active, latent[active], latent[k:])


__all__ = ["RelevanceEvaluation", "RelevanceObjective", "occam"]
