"""What the online processes share: hyperparameters from a batch machine, attributes, prediction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bayesvm.estimators._arguments import real, whole
from bayesvm.estimators._attributes import columns, only
from bayesvm.estimators._numbers import new_inputs
from bayesvm.estimators._summary import SummaryMixin
from bayesvm.inference.online import OnlineUpdate
from bayesvm.kernels import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.models.online import OnlineModel
from bayesvm.typing import Matrix, Vector

#: Rules of the constructor arguments.
RULES = {"budget": whole(1, None), "novelty": real(least=0.0, most=1.0), "n_tune": whole(2)}


class OnlineGP(SummaryMixin, BaseEstimator, ABC):
    """Base of the online processes: a Gaussian process fitted to some rows gives the model, then rows are added."""

    @abstractmethod
    def _prototype_class(self) -> type:
        """Return the batch machine whose hyperparameters are used."""

    def _tuned(self, X: Matrix, y: Any) -> Any:
        """Return the batch estimator fitted to rows spread evenly over the first data, for scales and theta."""
        rows = np.unique(np.linspace(0, len(X) - 1, min(len(X), int(self.n_tune))).round().astype(int))
        rows = self._enough(rows, y)
        return self._prototype_class()(
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

    def _write(self, models: Sequence[OnlineModel]) -> None:
        """Set the fitted attributes."""
        units = self._prototype._standardizer
        self.models_ = tuple(models)
        self.basis_vectors_ = tuple(units.outer(m.basis) for m in models)
        self.n_basis_ = np.array([len(m.basis) for m in models])
        self.kernels_ = tuple(units.kernel(m.kernel) for m in models)
        self.log_evidence_ = float(sum(m.log_evidence for m in models))
        self.n_seen_ = models[0].state.n_seen

    @property
    def kernel_(self) -> Kernel:
        """The kernel, where all outputs have the same; else see ``kernels_``."""
        return only(self, "kernel")

    def _inputs(self, X: Any) -> Inputs:
        check_is_fitted(self)
        return new_inputs(self, X, self._prototype._standardizer)

    def _latent(self, X: Any) -> tuple[Matrix, Matrix]:
        inputs = self._inputs(X)
        return columns([model.latent(inputs) for model in self.models_])

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
        return np.stack([model.novelty(inputs) for model in self.models_]).min(axis=0)


__all__ = ["RULES", "OnlineGP"]
