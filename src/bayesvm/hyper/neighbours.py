r"""Blocks of neighbouring rows, and the rows that each of them is conditioned on.

The evidence of many rows is a product of conditional ones. With blocks :math:`B_1, B_2, \dots` in a random order,

.. math:: p(y) = \prod_b p(y_{B_b} \mid y_{B_1}, \dots, y_{B_{b-1}}) \approx \prod_b p(y_{B_b} \mid y_{C_b}),

where :math:`C_b` holds the rows of earlier blocks that are most correlated with the block (Vecchia1988, in blocks).
Blocks and neighbours are chosen by the kernel itself, so this works for all kernels and inputs, and follows the length
scales: a block is what a recursive bisection leaves, each part being cut between two rows of little correlation.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.typing import Indices, Vector

#: Rows of a block, and rows that it is conditioned on.
OWN = 64
GIVEN = 128
#: Rows of a block that are asked for their neighbours, and covariances with all rows that this may take.
MEMBERS = 16
ASKED = 1 << 18


@dataclasses.dataclass(frozen=True)
class Neighbourhood:
    """A block and the rows it is conditioned on.

    Attributes
    ----------
    own : array of int
        Rows of the block.
    given : array of int
        Rows of earlier blocks.
    """

    own: Indices
    given: Indices

    @property
    def rows(self) -> Indices:
        """All of them, the given ones first."""
        return np.concatenate([self.given, self.own])


def neighbourhoods(
    kernel: Kernel,
    X: Inputs,
    rng: np.random.Generator,
    *,
    own: int = OWN,
    given: int = GIVEN,
    most: int | None = None,
) -> tuple[Neighbourhood, ...]:
    """Cut the rows into blocks and choose what each is conditioned on.

    Parameters
    ----------
    kernel : Kernel
        With its parameters.
    X : Inputs
        All rows.
    rng : numpy Generator
        For the order of the blocks and the cuts.
    own, given : int
        Largest numbers of rows.
    most : int, optional
        Number of blocks to return, drawn from all of them; their neighbours may be any rows of earlier blocks.
    """
    parts = bisected(kernel, X, own, rng)
    rank = np.empty(len(X), dtype=np.intp)
    for position, part in zip(rng.permutation(len(parts)), parts, strict=True):
        rank[part] = position
    if most is not None and most < len(parts):
        parts = [parts[i] for i in np.sort(rng.choice(len(parts), most, replace=False))]
    found = []
    for part in parts:
        earlier = np.flatnonzero(rank < rank[part[0]])
        found.append(Neighbourhood(part, earlier[largest(similarity(kernel, X, part)[earlier], given)]))
    return tuple(found)


def bisected(kernel: Kernel, X: Inputs, size: int, rng: np.random.Generator) -> list[Indices]:
    """Cut the rows into blocks of about ``size`` neighbours or fewer, every cut between two rows far apart."""
    done, todo = [], [np.arange(len(X))]
    while todo:
        rows = todo.pop()
        if rows.size <= size:
            done.append(np.sort(rows))
            continue
        part = X.take(rows)
        first = int(np.argmin(_to(kernel, part, int(rng.integers(rows.size)))))
        towards_first = _to(kernel, part, first)
        score = towards_first - _to(kernel, part, int(np.argmin(towards_first)))
        leaves = -(-rows.size // size)
        cut = round(rows.size * (leaves // 2) / leaves)
        order = np.argsort(score, kind="stable")
        todo += [rows[order[:cut]], rows[order[cut:]]]
    return done


def _to(kernel: Kernel, X: Inputs, row: int) -> Vector:
    """Return the covariances of all rows with one of them."""
    return kernel.gram(X, X.take(np.array([row])))[:, 0]


def similarity(kernel: Kernel, X: Inputs, part: Indices) -> Vector:
    """Return the covariance of every row with that of the rows of a block to which it is closest.

    Of the block the row in the middle is asked, and as many others as ``ASKED`` allows.
    """
    middle = int(np.argmax(kernel.gram(X.take(part)).sum(axis=0)))
    others = min(MEMBERS, ASKED // len(X))
    return np.asarray(kernel.gram(X.take(np.append(part[:others], part[middle])), X).max(axis=0))


def largest(values: Vector, count: int) -> Indices:
    """Return the positions of the largest values, in order of position."""
    if values.size <= count:
        return np.arange(values.size)
    return np.sort(np.argpartition(-values, count - 1)[:count])


def nearest(kernel: Kernel, new: Inputs, X: Inputs, count: int) -> Indices:
    """Return the rows of X that are most correlated with some of the new rows."""
    return largest(kernel.gram(new, X).max(axis=0), count)


__all__ = ["GIVEN", "OWN", "Neighbourhood", "bisected", "largest", "nearest", "neighbourhoods", "similarity"]
