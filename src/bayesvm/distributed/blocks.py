r"""Blocks of rows: what one worker treats at a time, and how rows are dealt to them.

*Random* blocks are samples of the whole data; *clustered* ones hold neighbours. Parts of the source are taken together
in families of at most ``FAMILY``, spread over the source so that an order in it does no harm; each part is cut at
random into pieces, a *group* of about ``GROUP`` blocks is made of one piece of each part of a family, and its rows are
dealt to the blocks: by a permutation, or by halving the group again and again at the median along its principal
direction. No task holds more than a group's rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesvm.distributed.engine import Engine
from bayesvm.distributed.row_maps import RowMap
from bayesvm.distributed.source import Rows
from bayesvm.models.scaling import Standardizer
from bayesvm.typing import Indices, Matrix, Vector

#: Blocks whose rows are dealt together, and parts whose pieces meet in a group.
GROUP = 32
FAMILY = 16
#: Steps of the power iteration for a principal direction.
POWER_STEPS = 8


@dataclasses.dataclass(frozen=True)
class Block:
    """Rows of one block: standardised inputs, targets (one column per output), weights (None: all one)."""

    number: int
    X: Matrix
    Y: Matrix
    weights: Vector | None


@dataclasses.dataclass(frozen=True)
class Blocks:
    """Handles of all blocks.

    Attributes
    ----------
    handles : tuple
        One per block, in order.
    sizes : tuple of int
        Rows per block.
    numbers : tuple of int
        Numbers of the blocks; a block's number is its home (see :class:`~bayesvm.distributed.engine.Engine`).
    n_features : int
        Columns of X.
    """

    handles: tuple[Any, ...]
    sizes: tuple[int, ...]
    numbers: tuple[int, ...]
    n_features: int

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self.handles)

    @property
    def largest(self) -> int:
        """Rows of the largest block."""
        return max(self.sizes)

    def spread(self, k: int) -> Blocks:
        """Return k of more than k blocks, spread over all by an odd step, so that as a rule all workers have some."""
        step = (len(self) - 1) // (k - 1)
        chosen = [i * (step - (step % 2 == 0)) for i in range(k)]
        return dataclasses.replace(
            self,
            handles=tuple(self.handles[i] for i in chosen),
            sizes=tuple(self.sizes[i] for i in chosen),
            numbers=tuple(self.numbers[i] for i in chosen),
        )


@dataclasses.dataclass(frozen=True)
class Plan:
    """How rows become blocks.

    Attributes
    ----------
    block_size : int
        Largest number of rows.
    clustered : bool
        Whether neighbours are kept together.
    seed : int
        Of everything that is drawn; a checkpoint keeps it.
    standardizer : Standardizer
        Map of the inputs.
    rows : RowMap
        Map of targets and weights.
    """

    block_size: int
    clustered: bool
    seed: int
    standardizer: Standardizer
    rows: RowMap

    def prepared(self, rows: Rows) -> Rows:
        """Return the rows of positive weight, standardised."""
        X, y, weights = rows
        weights = self.rows.weights(y, weights)
        if weights is not None:
            used = weights > 0.0
            X, y, weights = X[used], y[used], weights[used]
        return self.standardizer.inputs(X).X, self.rows.targets(y), weights

    def sizes(self, n: int) -> tuple[int, ...]:
        """Return the sizes of the blocks of n rows: as equal as possible."""
        k = -(-n // self.block_size)
        return tuple(n // k + (i < n % k) for i in range(k)) if k else ()


def make_blocks(engine: Engine, parts: Sequence[Any], part_sizes: Sequence[int], plan: Plan, n_features: int) -> Blocks:
    """Return the blocks of a source whose parts have the given numbers of rows (of positive weight)."""
    handles: list[Any] = []
    sizes: list[int] = []
    used = [i for i, n in enumerate(part_sizes) if n]
    n_families = -(-len(used) // FAMILY)
    for f in range(n_families):
        family = used[f::n_families]
        n = sum(part_sizes[i] for i in family)
        n_groups = max(1, round(n / (GROUP * plan.block_size)))
        pieces = [engine.submit(_cut, parts[i], plan, n_groups, i, name="cut") for i in family]
        for g in range(n_groups):
            own = tuple(_piece_size(part_sizes[i], n_groups, g) for i in family)
            group_sizes = plan.sizes(sum(own))
            dealt = engine.submit(_deal, pieces, g, plan, len(handles), name="deal")
            first = len(handles)
            handles += [engine.submit(_pick, dealt, k, name="block", home=first + k) for k in range(len(group_sizes))]
            sizes += group_sizes
    return Blocks(tuple(handles), tuple(sizes), tuple(range(len(handles))), n_features)


def _piece_size(n: int, n_groups: int, g: int) -> int:
    """Return the size of piece g of n rows, as :func:`numpy.array_split` has it."""
    return n // n_groups + (g < n % n_groups)


def _cut(rows: Rows, plan: Plan, n_groups: int, number: int) -> list[Rows]:
    """Cut a part at random into one piece per group."""
    X, Y, weights = plan.prepared(rows)
    if n_groups == 1:
        return [(X, Y, weights)]
    order = np.random.default_rng([plan.seed, 0, number]).permutation(len(X))
    picks = [np.sort(piece) for piece in np.array_split(order, n_groups)]
    return [(X[p], Y[p], None if weights is None else weights[p]) for p in picks]


def _deal(pieces: Sequence[list[Rows]], g: int, plan: Plan, first: int) -> list[Block]:
    """Deal the rows of a group to its blocks, numbered from ``first``."""
    own = [piece[g] for piece in pieces]
    X = np.concatenate([X for X, _, _ in own])
    Y = np.concatenate([Y for _, Y, _ in own])
    weighted = own[0][2] is not None
    w = np.concatenate([w for _, _, w in own]) if weighted else None
    dealt = deal(X, plan.sizes(len(X)), plan.clustered, np.random.default_rng([plan.seed, 1, first]))
    return [Block(first + k, X[r], Y[r], None if w is None else w[r]) for k, r in enumerate(dealt)]


def _pick(blocks: Sequence[Block], k: int) -> Block:
    return blocks[k]


def deal(X: Matrix, sizes: Sequence[int], clustered: bool, rng: np.random.Generator) -> list[Indices]:
    """Return the rows of each block; one block keeps all rows in their order."""
    rows = np.arange(len(X))
    if len(sizes) == 1:
        return [rows]
    if clustered:
        return _halved(X, rows, list(sizes))
    return [np.sort(part) for part in np.split(rng.permutation(rows), np.cumsum(sizes)[:-1])]


def _halved(X: Matrix, rows: Indices, sizes: list[int]) -> list[Indices]:
    """Halve rows along their principal direction until each part is a block."""
    if len(sizes) == 1:
        return [np.sort(rows)]
    half = len(sizes) // 2
    order = rows[np.argsort(_along(X[rows]), kind="stable")]
    at = sum(sizes[:half])
    return _halved(X, order[:at], sizes[:half]) + _halved(X, order[at:], sizes[half:])


def _along(X: Matrix) -> Vector:
    """Return the coordinates of rows along their principal direction (a few steps of the power iteration)."""
    centred = X - X.mean(axis=0)
    direction = centred[int(np.argmax(np.einsum("ij,ij->i", centred, centred)))]
    for _ in range(POWER_STEPS):
        length = float(np.sqrt(direction @ direction))
        if length == 0.0:
            return np.zeros(len(X))
        direction = centred.T @ (centred @ (direction / length))
    return np.asarray(centred @ direction)


__all__ = ["Block", "Blocks", "Plan", "deal", "make_blocks"]
