r"""The evidence as a function of :math:`\theta`: the one object that searches, samplers and distributed runs share."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Sequence
from typing import Self

import numpy as np

from bayesvm.hyper.covariance import GramCovariance, PriorCovariance
from bayesvm.hyper.native import NATIVE
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
    posteriors : tuple of Posterior
        The posterior of every output at this point.
    evidence : Evidence
        The evidence of all outputs together.
    """

    theta: Vector
    value: float
    gradient: Vector
    posteriors: tuple[Posterior, ...]
    evidence: Evidence


class ModelParameters:
    r"""An objective whose :math:`\theta` holds the parameters of its kernel, then those of its likelihood."""

    kernel: Kernel
    likelihood: Likelihood

    @property
    def theta0(self) -> Vector:
        """Parameters of the given kernel and likelihood."""
        return np.concatenate([self.kernel.theta, self.likelihood.theta])

    @property
    def bounds(self) -> Matrix:
        """Bounds of theta, one row (low, high) per entry."""
        return np.concatenate([self.kernel.bounds, self.likelihood.bounds])

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """One name per entry of theta."""
        return (*self.kernel.names, *(f"likelihood.{name}" for name in self.likelihood.names))

    def model(self, theta: Vector) -> tuple[Kernel, Likelihood]:
        """Return kernel and likelihood with the given parameters."""
        p, q = self.kernel.n_free, self.likelihood.n_free
        if np.shape(theta) != (p + q,):
            names = ", ".join(self.names)
            raise ValueError(f"theta: expected {p + q} logarithms ({names}), found an array of shape {np.shape(theta)}")
        return self.kernel.with_theta(theta[:p]), self.likelihood.with_theta(theta[p:])


class KernelParameters:
    r"""An objective whose :math:`\theta` holds the parameters of its kernel alone."""

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


class RowsAtHand:
    """An objective whose training rows are in memory."""

    X: Inputs
    y: Matrix

    def __sizeof__(self) -> int:
        """Return the size with the data; see :class:`~bayesvm.kernels.inputs.Inputs`."""
        return object.__sizeof__(self) + sys.getsizeof(self.X) + sys.getsizeof(self.y)

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return len(self.X)

    @property
    def n_features(self) -> int:
        """Number of columns of the inputs."""
        return self.X.n_features

    @property
    def outputs(self) -> tuple[Vector, ...]:
        """Targets of every output."""
        return (self.y,) if self.y.ndim == 1 else tuple(np.ascontiguousarray(self.y.T))


#: Posteriors, evidence, and its gradient in the parameters of the kernel.
Found = tuple[tuple[Posterior, ...], Evidence, Vector]


@dataclasses.dataclass(frozen=True)
class EvidenceObjective(RowsAtHand, ModelParameters):
    r"""Log evidence plus log hyperprior of :math:`\theta` = (kernel parameters, likelihood parameters), all logarithms.

    Several outputs (columns of y) are independent given :math:`\theta`: their evidences multiply, the Gram matrix is
    computed once, and the hyperprior counts once.

    Parameters
    ----------
    kernel, likelihood, inference : Kernel, Likelihood, Inference
        The model; their current parameters are ``theta0``.
    X : Inputs
        Training inputs, with their cache of squared distances.
    y : array, shape (n,) or (n, q)
        Labels -1/+1 or targets, one column per output.
    prior : Hyperprior
        Density of theta.
    """

    kernel: Kernel
    likelihood: Likelihood
    inference: Inference
    X: Inputs
    y: Matrix
    prior: Hyperprior = dataclasses.field(default_factory=Flat)

    @property
    def n_factors(self) -> int:
        """Matrices of the order of the rows that the inference of one output factors together."""
        return 1

    def evaluate(self, theta: Vector, warm_start: Vector | None = None) -> Evaluation:
        """Return value, gradient, posteriors and evidence at ``theta``.

        ``warm_start`` is the ``evidence.latent`` of an earlier evaluation; it changes the cost, not the result.
        """
        theta = np.asarray(theta, dtype=float)
        kernel, likelihood = self.model(theta)
        # called from here, so that few frames lie between a fit and its factorisations
        native = NATIVE.get(type(self.inference)) if self.y.ndim == 1 else None
        found = None if native is None else native(self.inference, kernel, likelihood, self.X, self.y, warm_start)
        if found is None:
            posteriors, evidence, gradient = self._in_numpy(kernel, likelihood, warm_start)
        else:
            posteriors, evidence, gradient = (found.posterior,), found.evidence, found.gradient
        log_prior, prior_gradient = self.prior.log_density(theta, self.names)
        gradient = np.concatenate([gradient, evidence.dphi]) + prior_gradient
        return Evaluation(theta, evidence.value + log_prior, gradient, posteriors, evidence)

    def _in_numpy(self, kernel: Kernel, likelihood: Likelihood, warm_start: Vector | None) -> Found:
        """Return the posteriors, the evidence and its gradient in the parameters of the kernel."""
        K, outputs = kernel.gram(self.X), self.outputs
        posteriors, evidences = [], []
        for k, y in enumerate(outputs):
            start = warm_start if warm_start is None or len(outputs) == 1 else warm_start[k]
            posterior, evidence = self.inference.infer(K, y, likelihood, warm_start=start)
            posteriors.append(posterior)
            evidences.append(evidence)
        evidence = evidences[0] if len(evidences) == 1 else _total(evidences, len(self.X))
        inputs = self.X if evidence.rows.size == len(self.X) else self.X.take(evidence.rows)
        return tuple(posteriors), evidence, kernel.pullback(inputs, evidence.dK)

    def covariance(self, kernel: Kernel) -> PriorCovariance:
        """Return the prior covariance of the rows."""
        return GramCovariance.of(kernel, self.X)

    def part(self, rows: Indices) -> Self:
        """Return the objective of some of the samples."""
        return dataclasses.replace(self, X=self.X.take(rows), y=self.y[rows], likelihood=self.likelihood.part(rows))

    def gains(self, here: Evaluation, thetas: Sequence[Vector]) -> list[float]:
        r"""Return the first-order changes of the log evidence between ``here`` and each theta, without an inference.

        That is :math:`\langle \partial \ln Z / \partial K, K(\theta') - K(\theta) \rangle`.
        """
        inputs = self.X.take(here.evidence.rows)
        K = self.model(here.theta)[0].gram(inputs)
        return [float(np.sum(here.evidence.dK * (self.model(theta)[0].gram(inputs) - K))) for theta in thetas]


def _total(evidences: list[Evidence], n: int) -> Evidence:
    """Return the evidence of independent outputs with one Gram matrix of n rows.

    ``latent`` holds the outputs' own along its first axis; ``status`` is that of the first output that did not
    converge.
    """
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
        np.stack([e.latent for e in evidences]),
        sum(e.n_iter for e in evidences),
    )


__all__ = ["Evaluation", "EvidenceObjective", "KernelParameters", "ModelParameters", "RowsAtHand"]
