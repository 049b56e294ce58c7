r"""The rows of a feature matrix :math:`\Phi` with their targets, as sums over blocks of rows see them."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg import Cholesky
from bayesvm.typing import Matrix, Vector

#: Entries of the features that a block of rows holds.
BLOCK = 1 << 18

#: What is added up over blocks of rows: numbers and arrays, each with its own.
Sums = tuple[Any, ...]


def row_slices(n: int, width: int) -> Iterator[slice]:
    """Cut n rows into equal slices whose rows, times ``width`` columns, hold about ``BLOCK`` entries at most."""
    count = max(1, -(-n * max(1, width) // BLOCK))
    step = max(1, -(-n // count))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def added(parts: Iterable[Sums]) -> Sums:
    """Return the sums of all parts, entry by entry, in the order given."""
    iterator = iter(parts)
    total = list(next(iterator))
    for part in iterator:
        for i, value in enumerate(part):
            total[i] = total[i] + value
    return tuple(total)


@dataclasses.dataclass(frozen=True)
class FeatureBlock:
    r"""Some rows.

    Attributes
    ----------
    phi : array, shape (b, m)
        Features.
    residual : array, shape (b,)
        Prior variances that the features leave over, r.
    targets : array, shape (b, q)
        Labels -1/+1 or targets, one column per output.
    likelihood : Likelihood
        Of these rows.
    first : int
        Number of the first of them, where the rows are in memory.
    """

    phi: Matrix
    residual: Vector
    targets: Matrix
    likelihood: Likelihood
    first: int = dataclasses.field(default=0, kw_only=True)

    @property
    def rows(self) -> slice:
        """Numbers of these rows."""
        return slice(self.first, self.first + self.phi.shape[0])

    def target(self, output: int) -> Vector:
        """Return the targets of one output."""
        return np.ascontiguousarray(self.targets[:, output])


class Features(ABC):
    """Rows that can be passed over block by block, here or elsewhere."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of features, m."""

    @abstractmethod
    def total(self, share: Callable[[Any], Sums]) -> Sums:
        """Return the sums over all blocks of what ``share`` returns for a block, always in the same order.

        ``share`` takes a :class:`FeatureBlock`; it may travel to where the rows are.
        """


class FeaturesHere(Features):
    """Rows that are in memory, so that what belongs to a row can be kept between two passes."""

    @property
    @abstractmethod
    def prior(self) -> Cholesky:
        """Factor of the Gram matrix of the inducing inputs."""

    @abstractmethod
    def blocks(self) -> Iterator[FeatureBlock]:
        """Yield all rows in order."""


__all__ = ["FeatureBlock", "Features", "FeaturesHere", "Sums", "added", "row_slices"]
