"""What elementary kernels have in common: parameters of their own."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.parameters import Bounds, Parameterized
from bayesvm.typing import Matrix, Vector

#: Default bounds of variances, and of what is added to an inner product or multiplied with it.
VARIANCE: Bounds = (1e-6, 1e6)
OFFSET: Bounds = (1e-5, 1e5)


@dataclasses.dataclass(frozen=True, repr=False)
class Leaf(Parameterized, Kernel):
    """An elementary kernel: a frozen dataclass with its positive parameters declared (see ``Parameterized``).

    A subclass writes ``_gram``, ``_diag`` and ``_gradients``; it is decorated with
    ``@dataclasses.dataclass(frozen=True, repr=False)`` to keep the readable ``repr`` of this class.
    """

    positive: ClassVar[Mapping[str, Bounds]] = {"variance": VARIANCE}

    @abstractmethod
    def _gradients(self, X: Inputs, Q: Matrix) -> Mapping[str, float | Vector]:
        r"""Return :math:`\partial \langle Q, K(X) \rangle / \partial \log p` of (at least) every free parameter.

        Numbers per feature are added up where one value serves all features.
        """

    def _pullback(self, X: Inputs, Q: Matrix) -> Vector:
        return self._of_free(self._gradients(X, Q)) if self.n_free else np.empty(0)

    def _of_free(self, gradients: Mapping[str, float | Vector]) -> Vector:
        """Return the gradients of the free parameters in the order of theta."""
        found: list[float] = []
        for name, _, _ in self._free_fields:
            gradient = gradients[name]
            if isinstance(getattr(self, name), tuple):
                found.extend(np.atleast_1d(gradient))
            else:
                found.append(gradient if isinstance(gradient, float) else float(np.sum(gradient)))
        return np.array(found)

    __repr__ = Kernel.__repr__  # not the one that ``dataclass`` wrote for Parameterized


def frobenius(A: Matrix, B: Matrix) -> float:
    """Return the sum of the products of the entries, without a temporary matrix."""
    return float(np.einsum("ij,ij->", A, B))


__all__ = ["OFFSET", "VARIANCE", "Leaf", "frobenius"]
