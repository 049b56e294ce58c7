"""A Gaussian process that learns sample by sample, with the basis vectors it belongs to (Thesis section 3.2.4)."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from bayesvm.inference.online import OnlineState, OnlineUpdate
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Likelihood
from bayesvm.typing import Matrix, Vector

#: Samples of which covariances are computed together.
CHUNK = 256


@dataclasses.dataclass(frozen=True)
class OnlineModel:
    """A process and its basis vectors.

    Attributes
    ----------
    kernel, likelihood : Kernel, Likelihood
        The model; the kernel acts on standardised inputs.
    options : OnlineUpdate
        How samples are taken in.
    state : OnlineState
        What was learnt.
    basis : array, shape (m, d)
        Basis vectors, standardised.
    """

    kernel: Kernel
    likelihood: Any
    options: OnlineUpdate
    state: OnlineState
    basis: Matrix

    @classmethod
    def prior(cls, kernel: Kernel, likelihood: Likelihood, options: OnlineUpdate, n_features: int) -> OnlineModel:
        """Return the process before any sample."""
        return cls(kernel, likelihood, options, options.empty(), np.empty((0, n_features)))

    def learn(self, X: Matrix, y: Vector) -> OnlineModel:
        """Return the process after the rows of X (standardised), taken in one after the other."""
        model = self
        for start in range(0, len(X), CHUNK):
            model = model._learn_chunk(X[start : start + CHUNK], y[start : start + CHUNK])
        return model

    def _learn_chunk(self, X: Matrix, y: Vector) -> OnlineModel:
        pool = np.concatenate([self.basis, X])
        K = self.kernel.gram(Inputs(X), Inputs(pool))
        own = self.kernel.diag(Inputs(X))
        state, columns = self.state, np.arange(len(self.basis))
        for i in range(len(X)):
            state, kept = self.options.observe(state, K[i, columns], float(own[i]), float(y[i]), self.likelihood)
            columns = np.append(columns, len(self.basis) + i)[kept]
        return dataclasses.replace(self, state=state, basis=pool[columns])

    @property
    def n_outputs(self) -> int:
        """One latent function."""
        return 1

    @property
    def log_evidence(self) -> float:
        """Sum of the log predictive densities of all samples in their order."""
        return self.state.log_evidence

    def mean(self, X: Inputs) -> Matrix:
        """Return the mean of the latent function at the rows of X."""
        return self.latent(X)[0]

    def latent(self, X: Inputs) -> tuple[Matrix, Matrix]:
        """Return mean and variance of the latent function at the rows of X (standardised)."""
        mean, var = self.state.predict(self.kernel.gram(X, Inputs(self.basis)), self.kernel.diag(X))
        return mean[:, None], var[:, None]

    def novelty(self, X: Inputs) -> Vector:
        """Return the share of the prior variance at the rows of X that the basis vectors leave unexplained."""
        return self.state.novelty(self.kernel.gram(X, Inputs(self.basis)), self.kernel.diag(X))


__all__ = ["OnlineModel"]
