r"""The evidence as a function of :math:`\theta`: the one object that maximisers, samplers and distributed runs share."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from typing import Self

import numpy as np

from bayesvm.hyper.priors import Flat, Hyperprior
from bayesvm.inference.base import Evidence, Inference, Posterior
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Likelihood
from bayesvm.typing import Indices, Matrix, Vector


@dataclasses.dataclass(frozen=True)
class Evaluation:
    r"""What one evaluation gives.

    Attributes
    ----------
    theta : array
        Where.
    value : float
        :math:`\ln P(D|\theta) + \ln P(\theta)`, up to a constant if the hyperprior is improper.
    gradient : array
        Its derivative.
    posterior, evidence : Posterior, Evidence
        The inference at this point.
    """

    theta: Vector
    value: float
    gradient: Vector
    posterior: Posterior
    evidence: Evidence


@dataclasses.dataclass(frozen=True)
class EvidenceObjective:
    r"""Log evidence plus log hyperprior of :math:`\theta` = (kernel parameters, likelihood parameters), all logarithms.

    Parameters
    ----------
    kernel, likelihood, inference : Kernel, Likelihood, Inference
        The model; their current parameters are ``theta0``.
    X : Inputs
        Training inputs, with their cache of squared distances.
    y : array, shape (n,)
        Labels -1/+1 or targets.
    prior : Hyperprior
        Density of theta.
    """

    kernel: Kernel
    likelihood: Likelihood
    inference: Inference
    X: Inputs
    y: Vector
    prior: Hyperprior = dataclasses.field(default_factory=Flat)

    def __sizeof__(self) -> int:
        """Return the size with the data; see :class:`~bayesvm.kernels.inputs.Inputs`."""
        return object.__sizeof__(self) + sys.getsizeof(self.X) + sys.getsizeof(self.y)

    @property
    def theta0(self) -> Vector:
        """Parameters of the given kernel and likelihood."""
        return np.concatenate([self.kernel.theta, self.likelihood.theta])

    @property
    def bounds(self) -> Matrix:
        """Bounds of theta, one row (low, high) per entry."""
        return np.concatenate([self.kernel.bounds, self.likelihood.bounds])

    @property
    def names(self) -> tuple[str, ...]:
        """One name per entry of theta."""
        return (*self.kernel.names, *(f"likelihood.{name}" for name in self.likelihood.names))

    def model(self, theta: Vector) -> tuple[Kernel, Likelihood]:
        """Return kernel and likelihood with the given parameters."""
        p, q = self.kernel.theta.size, self.likelihood.theta.size
        if np.shape(theta) != (p + q,):
            names = ", ".join(self.names)
            raise ValueError(f"theta: expected {p + q} logarithms ({names}), found an array of shape {np.shape(theta)}")
        return self.kernel.with_theta(theta[:p]), self.likelihood.with_theta(theta[p:])

    def evaluate(self, theta: Vector, warm_start: Vector | None = None) -> Evaluation:
        """Return value, gradient, posterior and evidence at ``theta``.

        ``warm_start`` is the ``evidence.latent`` of an earlier evaluation; it changes the cost, not the result.
        """
        theta = np.asarray(theta, dtype=float)
        kernel, likelihood = self.model(theta)
        posterior, evidence = self.inference.infer(kernel.gram(self.X), self.y, likelihood, warm_start=warm_start)
        inputs = self.X if evidence.rows.size == len(self.X) else self.X.take(evidence.rows)
        gradient = np.concatenate([kernel.pullback(inputs, evidence.dK), evidence.dphi])
        log_prior, prior_gradient = self.prior.log_density(theta, self.names)
        return Evaluation(theta, evidence.value + log_prior, gradient + prior_gradient, posterior, evidence)

    def part(self, rows: Indices) -> Self:
        """Return the objective of some of the samples."""
        return dataclasses.replace(self, X=self.X.take(rows), y=self.y[rows], likelihood=self.likelihood.part(rows))

    def gains(self, here: Evaluation, thetas: Sequence[Vector]) -> list[float]:
        r"""Return by how much the evidence would change between ``here`` and each theta, to first order in the Gram matrix.

        That is :math:`\langle \partial \ln Z / \partial K, K(\theta') - K(\theta) \rangle`, without an inference.
        """
        inputs = self.X.take(here.evidence.rows)
        K = self.model(here.theta)[0].gram(inputs)
        return [float(np.sum(here.evidence.dK * (self.model(theta)[0].gram(inputs) - K))) for theta in thetas]


class OfKernel:
    """Parameters of an objective that depends on those of its kernel alone."""

    kernel: Kernel

    @property
    def theta0(self) -> Vector:
        """Parameters of the given kernel."""
        return self.kernel.theta

    @property
    def bounds(self) -> Matrix:
        """Bounds of theta, one row (low, high) per entry."""
        return self.kernel.bounds

    @property
    def names(self) -> tuple[str, ...]:
        """One name per entry of theta."""
        return self.kernel.names


__all__ = ["Evaluation", "EvidenceObjective", "OfKernel"]
