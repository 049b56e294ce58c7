"""The constant kernel: the prior of a bias."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.leaf import Leaf
from bayesvm.kernels.scale import Scale
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True, repr=False)
class Constant(Leaf):
    r"""Constant kernel, the last term of Thesis (3.51) and (3.53).

    .. math:: k(x, z) = v

    Domain: anything. Positive semidefinite of rank one. Added to a kernel it is the prior :math:`N(0, v)` of a bias;
    multiplied with one it scales it, which is what ``2.0 * kernel`` means (with the number not learnt).

    Parameters
    ----------
    variance : float
        :math:`v`, the papers' :math:`\kappa_b`.

    References
    ----------
    Thesis section 3.2.1; Chu2003.
    """

    variance: float = 1.0

    def _start(self, scale: Scale) -> dict[str, float]:
        return {"variance": scale.constant}

    def _gram(self, X: Inputs, Z: Inputs | None) -> Matrix:
        return np.full((len(X), len(X if Z is None else Z)), self.variance)

    def _diag(self, X: Inputs) -> Vector:
        return np.full(len(X), self.variance)

    def _gradients(self, X: Inputs, Q: Matrix) -> Mapping[str, float | Vector]:
        return {"variance": self.variance * float(Q.sum())}

    def _cross_pullback(self, X: Inputs, Z: Inputs, Q: Matrix) -> Vector:
        return self._of_free({"variance": self.variance * float(Q.sum())})

    def _diag_pullback(self, X: Inputs, q: Vector) -> Vector:
        return self._of_free({"variance": self.variance * float(q.sum())})


__all__ = ["Constant"]
