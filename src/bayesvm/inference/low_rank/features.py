r"""The rows of a feature matrix :math:`\Phi`, a block at a time: every pass over the data is one loop of this kind."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from bayesvm.typing import Matrix, Vector

#: Entries of the features that a block of rows holds.
BLOCK = 1 << 20


def row_slices(n: int, width: int) -> Iterator[slice]:
    """Cut n rows into slices whose rows, times ``width`` columns, hold about ``BLOCK`` entries."""
    step = max(1, BLOCK // max(1, width))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


class Features(ABC):
    """A feature matrix with n rows and m columns that can be passed over block by block."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of features."""

    @abstractmethod
    def blocks(self) -> Iterator[tuple[slice, Matrix]]:
        """Yield all rows in order: which they are, and their features."""

    def times(self, w: Vector) -> Vector:
        r"""Return :math:`\Phi w`."""
        product = np.empty(self.shape[0])
        for rows, phi in self.blocks():
            product[rows] = phi @ w
        return product

    def transposed_times(self, v: Vector) -> Vector:
        r"""Return :math:`\Phi^\top v`."""
        product = np.zeros(self.shape[1])
        for rows, phi in self.blocks():
            product += phi.T @ v[rows]
        return product

    def weighted_gram(self, weights: Vector) -> Matrix:
        r"""Return :math:`\Phi^\top \operatorname{diag}(w)\, \Phi` for weights that are not negative."""
        gram = np.zeros((self.shape[1], self.shape[1]))
        for rows, phi in self.blocks():
            used = weights[rows] > 0.0
            scaled = (phi if used.all() else phi[used]) * np.sqrt(weights[rows][used])[:, None]
            gram += scaled.T @ scaled
        return gram

    def squared_norms(self) -> Vector:
        r"""Return :math:`|\phi_i|^2` of every row."""
        norms = np.empty(self.shape[0])
        for rows, phi in self.blocks():
            norms[rows] = np.einsum("ij,ij->i", phi, phi)
        return norms


@dataclasses.dataclass(frozen=True)
class ArrayFeatures(Features):
    """Features that are held in memory.

    Parameters
    ----------
    phi : array, shape (n, m)
        All of them.
    """

    phi: Matrix

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of features."""
        return int(self.phi.shape[0]), int(self.phi.shape[1])

    def blocks(self) -> Iterator[tuple[slice, Matrix]]:
        """Yield parts of the array."""
        for rows in row_slices(*self.shape):
            yield rows, self.phi[rows]


__all__ = ["ArrayFeatures", "Features", "row_slices"]
