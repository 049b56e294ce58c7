"""The training rows, in blocks that do not depend on how the source was split.

Rows are numbered in the order of the source. Block b holds the rows from b times ``block_size`` on, whatever parts they
come from, and all sums are taken over blocks in a fixed order: so results are the same, to the last bit, for every
partition of the same rows. Blocks hold the rows as they were read; units are changed where a block is used.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesvm.distributed.engine import Engine
from bayesvm.distributed.row_maps import RowMap
from bayesvm.distributed.source import Rows
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import Likelihood, Weighted
from bayesvm.models.scaling import Standardizer
from bayesvm.typing import Indices, Matrix, Vector


@dataclasses.dataclass(frozen=True)
class Units:
    """The maps of rows, as a source has them, to those of models.

    Attributes
    ----------
    standardizer : Standardizer
        Of the inputs.
    rows : RowMap
        Of targets and weights.
    """

    standardizer: Standardizer
    rows: RowMap

    def prepared(self, rows: Rows) -> PreparedRows:
        """Return the rows of positive weight in the units used inside."""
        X, y, weights = rows
        weights = self.rows.weights(y, weights)
        if weights is not None:
            used = weights > 0.0
            X, y, weights = X[used], y[used], weights[used]
        return PreparedRows(self.standardizer.inputs(X), self.rows.targets(y), weights)


@dataclasses.dataclass(frozen=True)
class PreparedRows:
    """Some rows: standardised inputs, targets (one column per output), weights (None: all one)."""

    X: Inputs
    Y: Matrix
    weights: Vector | None

    def take(self, rows: Indices | slice) -> PreparedRows:
        """Return some of them."""
        numbers = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        weights = None if self.weights is None else self.weights[rows]
        return PreparedRows(self.X.take(numbers), self.Y[rows], weights)

    def likelihood(self, plain: Likelihood) -> Likelihood:
        """Return a likelihood with the weights of these rows."""
        return plain if self.weights is None else Weighted(plain, tuple(self.weights))

    @classmethod
    def joined(cls, parts: Sequence[PreparedRows]) -> PreparedRows:
        """Return the rows of all parts, one after the other."""
        weights = None if parts[0].weights is None else np.concatenate([p.weights for p in parts])
        return cls(Inputs(np.concatenate([p.X.dense() for p in parts])), np.concatenate([p.Y for p in parts]), weights)


def make_blocks(engine: Engine, parts: Sequence[Any], sizes: Sequence[int], block_size: int) -> list[Any]:
    """Return handles of blocks of ``block_size`` rows, the last one smaller, from parts with the given sizes."""
    ends = np.cumsum(sizes)
    starts = ends - sizes
    blocks = []
    for number, first in enumerate(range(0, int(ends[-1]), block_size)):
        last = min(first + block_size, int(ends[-1]))
        touched = np.flatnonzero((starts < last) & (ends > first)).tolist()
        cuts = [(int(max(first - starts[i], 0)), int(min(last, ends[i]) - starts[i])) for i in touched]
        own = [parts[i] for i in touched]
        blocks.append(engine.submit(_assembled, own, cuts, name="block", home=number))
    return blocks


def _assembled(parts: Sequence[Rows], cuts: Sequence[tuple[int, int]]) -> Rows:
    """Return a block from slices of the parts that it overlaps; a slice of a single part is not copied."""
    pieces = [tuple(None if v is None else v[a:b] for v in part) for part, (a, b) in zip(parts, cuts, strict=True)]
    if len(pieces) == 1:
        X, y, weights = pieces[0]
        return X, y, weights
    X, y, weights = (None if own[0] is None else np.concatenate(own) for own in zip(*pieces, strict=True))
    return X, y, weights


@dataclasses.dataclass(frozen=True)
class TrainingRows:
    """All training rows, where they are.

    Attributes
    ----------
    blocks : tuple
        Handles of the blocks that have rows of positive weight.
    sizes : tuple of int
        Numbers of these rows.
    units : Units
        What makes them rows of a model.
    """

    blocks: tuple[Any, ...]
    sizes: tuple[int, ...]
    units: Units

    @property
    def n(self) -> int:
        """Number of rows of positive weight."""
        return sum(self.sizes)

    def some(self, engine: Engine, numbers: Indices) -> PreparedRows:
        """Return the rows with the given numbers (increasing; rows of weight zero do not count)."""
        ends = np.cumsum(self.sizes)
        starts = ends - self.sizes
        parts = []
        for block, start, end in zip(self.blocks, starts, ends, strict=True):
            own = numbers[(numbers >= start) & (numbers < end)] - start
            if own.size:
                parts.append(engine.submit(_picked, block, self.units, own, name="sample"))
        return PreparedRows.joined(engine.gather(parts))


def _picked(block: Rows, units: Units, numbers: Indices) -> PreparedRows:
    return units.prepared(block).take(numbers)


__all__ = ["PreparedRows", "TrainingRows", "Units", "make_blocks"]
