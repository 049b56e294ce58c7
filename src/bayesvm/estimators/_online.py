"""What the online processes share: the online state with the basis vectors it belongs to, and the base of the estimators."""

from __future__ import annotations

import dataclasses
import numbers
from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from bayesvm.inference.online import OnlineState, OnlineUpdate
from bayesvm.kernels import Rescaled
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Likelihood
from bayesvm.typing import Matrix, Vector

#: Samples of which covariances are computed together.
CHUNK = 256


@dataclasses.dataclass(frozen=True)
class OnlineMachine:
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
    likelihood: Likelihood
    options: OnlineUpdate
    state: OnlineState
    basis: Matrix

    @classmethod
    def prior(cls, kernel: Kernel, likelihood: Likelihood, options: OnlineUpdate, n_features: int) -> OnlineMachine:
        """Return the process before any sample."""
        return cls(kernel, likelihood, options, options.empty(), np.empty((0, n_features)))

    def learn(self, X: Matrix, y: Vector) -> OnlineMachine:
        """Return the process after the rows of X (standardised), taken in one after the other."""
        machine = self
        for start in range(0, len(X), CHUNK):
            machine = machine._learn_chunk(X[start : start + CHUNK], y[start : start + CHUNK])
        return machine

    def _learn_chunk(self, X: Matrix, y: Vector) -> OnlineMachine:
        pool = np.concatenate([self.basis, X])
        K = self.kernel.gram(Inputs(X), Inputs(pool))
        own = self.kernel.diag(Inputs(X))
        state, columns = self.state, np.arange(len(self.basis))
        for i in range(len(X)):
            state, kept = self.options.observe(state, K[i, columns], float(own[i]), float(y[i]), self.likelihood)
            columns = np.append(columns, len(self.basis) + i)[kept]
        return dataclasses.replace(self, state=state, basis=pool[columns])

    def latent(self, X: Inputs) -> tuple[Vector, Vector]:
        """Return mean and variance of the latent function at the rows of X (standardised)."""
        return self.state.predict(self.kernel.gram(X, Inputs(self.basis)), self.kernel.diag(X))

    def novelty(self, X: Inputs) -> Vector:
        """Return the share of the prior variance at the rows of X that the basis vectors leave unexplained."""
        return self.state.novelty(self.kernel.gram(X, Inputs(self.basis)), self.kernel.diag(X))


class OnlineGP(BaseEstimator):
    """Base of the online processes: a Gaussian process machine fitted to some rows gives the model, then rows are taken in."""

    @abstractmethod
    def _prototype_class(self) -> type:
        """Return the batch machine whose hyperparameters are used."""

    def _check_arguments(self) -> None:
        if self.budget is not None and not (_is_integer(self.budget) and self.budget >= 1):
            raise ValueError(f"budget: expected None or an integer of at least 1, found {self.budget!r}")
        if not (isinstance(self.novelty, numbers.Real) and 0.0 <= self.novelty < 1.0):
            raise ValueError(f"novelty: expected a number in [0, 1), found {self.novelty!r}")
        if not (_is_integer(self.n_tune) and self.n_tune >= 2):
            raise ValueError(f"n_tune: expected an integer of at least 2, found {self.n_tune!r}")

    def _begin(self, X: Matrix, y: Any) -> None:
        """Fit the batch machine to rows spread evenly over the first data: scales of the data, and hyperparameters."""
        rows = np.unique(np.linspace(0, len(X) - 1, min(len(X), int(self.n_tune))).round().astype(int))
        rows = self._enough(rows, y)
        self._prototype = self._prototype_class()(
            self.kernel,
            likelihood=self.likelihood,
            inference=self.inference,
            optimizer=self.optimizer,
            n_starts=2,
            standardize=self.standardize,
            random_state=self.random_state,
        ).fit(X[rows], y[rows])

    def _enough(self, rows: Any, y: Any) -> Any:
        """Return the rows for the batch machine; a hook for labels."""
        return rows

    def _options(self) -> OnlineUpdate:
        return OnlineUpdate(None if self.budget is None else int(self.budget), float(self.novelty))

    def _report(self) -> None:
        shift, scale = self._prototype._standardizer.shift, self._prototype._standardizer.scale
        vectors = [m.basis * scale + shift for m in self._online]
        kernels = [Rescaled(m.kernel, tuple(shift), tuple(scale)) for m in self._online]
        single = len(self._online) == 1
        self.basis_vectors_ = vectors[0] if single else vectors
        self.n_basis_ = np.array([len(v) for v in vectors])
        self.kernel_ = kernels[0] if single else kernels
        self.log_evidence_ = float(sum(m.state.log_evidence for m in self._online))
        self.n_seen_ = self._online[0].state.n_seen

    def _inputs(self, X: Any) -> Inputs:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return self._prototype._standardizer.inputs(X)

    def _latent(self, X: Any) -> tuple[Matrix, Matrix]:
        inputs = self._inputs(X)
        pairs = [machine.latent(inputs) for machine in self._online]
        return np.column_stack([m for m, _ in pairs]), np.column_stack([v for _, v in pairs])

    def novelty_score(self, X: Any) -> Vector:
        r"""Return how new each row is: the share of its prior variance that the basis vectors leave unexplained.

        Parameters
        ----------
        X : array, shape (n, d)
            Inputs.

        Returns
        -------
        score : array, shape (n,)
            Between 0 (a repetition) and 1 (nothing like it was seen); with several classes the least over their bases.
        """
        inputs = self._inputs(X)
        return np.min([machine.novelty(inputs) for machine in self._online], axis=0)


def _is_integer(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


__all__ = ["OnlineGP", "OnlineMachine"]
