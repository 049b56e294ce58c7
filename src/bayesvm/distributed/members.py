"""Members of the committee: machines of one block each, in a form that is as small as the block's data.

A member keeps its support rows with their coefficients and curvatures; the factor of the posterior, quadratic in the support, is
computed when it predicts. Members are kept in *groups*, which predict one after the other, so that no more than one factor is in
memory at a time.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bayesvm.distributed.committee import member_sums
from bayesvm.distributed.engine import Cluster, Engine
from bayesvm.inference import Posterior
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.linalg import SignedFactor, SupportFactor
from bayesvm.typing import Indices, Matrix, Vector

#: Members per group, and rows that are predicted at a time.
GROUP = 8
CHUNK = 4096


@dataclasses.dataclass(frozen=True)
class Expert:
    """Posterior of one machine of a member.

    Attributes
    ----------
    rows : array of int
        Its support, as rows of the member's X.
    alpha, curvature : arrays
        Coefficients, and curvatures W (zero for some rows).
    """

    rows: Indices
    alpha: Vector
    curvature: Vector

    def posterior(self, kernel: Kernel, X: Inputs) -> Posterior:
        """Return the posterior, with its factor."""
        make = SignedFactor if np.any(self.curvature < 0.0) else SupportFactor
        return Posterior(np.arange(self.rows.size), self.alpha, make.of(kernel.gram(X), self.curvature))


@dataclasses.dataclass(frozen=True)
class Member:
    """All machines of one block.

    Attributes
    ----------
    number : int
        Of the block.
    X : array
        The rows that at least one machine needs, standardised.
    experts : tuple of Expert
        One per machine.
    """

    number: int
    X: Matrix
    experts: tuple[Expert, ...]

    def latent(self, k: int, kernel: Kernel, X: Inputs) -> tuple[Vector, Vector]:
        """Return mean and variance of machine k at the rows of X (standardised)."""
        expert = self.experts[k]
        support = Inputs(self.X[expert.rows])
        posterior = expert.posterior(kernel, support)
        K_s = kernel.gram(X, support)
        return posterior.mean(K_s), posterior.var(K_s, kernel.diag(X))


def group_sums(members: Sequence[Member], k: int, kernel: Kernel, X: Matrix) -> Matrix:
    """Return the sums of a group for machine k, shape (3, n)."""
    inputs = Inputs(X)
    prior = kernel.diag(inputs)
    total = np.zeros((3, len(X)))
    for member in members:
        total += member_sums(*_proper(*member.latent(k, kernel, inputs), prior), prior)
    return total


def add_sums(parts: Sequence[Matrix]) -> Matrix:
    """Return the sum, in order."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def _proper(mean: Vector, var: Vector, prior: Vector) -> tuple[Vector, Vector]:
    """Return the moments with a variance above rounding."""
    return mean, np.maximum(var, 1e-12 * prior)


class Members(ABC):
    """Where the members are."""

    @abstractmethod
    def __len__(self) -> int:
        """Return how many there are."""

    @abstractmethod
    def sums(self, k: int, kernel: Kernel, X: Matrix) -> Matrix:
        """Return the sums over all members at the rows of X, shape (3, n)."""

    @abstractmethod
    def groups(self) -> Sequence[Any]:
        """Return the groups as a Dask graph may refer to them."""

    @abstractmethod
    def stream(self) -> Iterator[Member]:
        """Yield the members one by one."""


@dataclasses.dataclass(frozen=True)
class LocalMembers(Members):
    """In memory."""

    members: tuple[Member, ...]

    def __len__(self) -> int:
        return len(self.members)

    def sums(self, k: int, kernel: Kernel, X: Matrix) -> Matrix:
        """Return the sums, member by member."""
        return _streamed(self.stream(), k, kernel, X)

    def groups(self) -> Sequence[Any]:
        """Return tuples of members."""
        return [self.members[i : i + GROUP] for i in range(0, len(self.members), GROUP)]

    def stream(self) -> Iterator[Member]:
        """Yield the members."""
        return iter(self.members)


class RemoteMembers(Members):
    """On the workers of a cluster.

    Parameters
    ----------
    engine : Cluster
        Where they are.
    handles : sequence
        Handles of groups (tuples of members).
    size : int
        Number of members.
    """

    def __init__(self, engine: Cluster, handles: Sequence[Any], size: int) -> None:
        self._engine, self._handles, self._size = engine, tuple(handles), size

    def __len__(self) -> int:
        return self._size

    def sums(self, k: int, kernel: Kernel, X: Matrix) -> Matrix:
        """Return the sums; rows travel to the members, sums travel back."""
        engine, roots = self._engine, []
        for start in range(0, len(X), CHUNK):
            rows = engine.put(X[start : start + CHUNK], name="rows")
            parts = [
                engine.submit(group_sums, group, k, kernel, rows, name="predict", home=home)
                for home, group in enumerate(self._handles)
            ]
            roots.append(engine.tree(add_sums, parts, name="sum"))
        return np.concatenate(engine.gather(roots), axis=1) if roots else np.zeros((3, 0))

    def groups(self) -> Sequence[Any]:
        """Return the handles."""
        return self._handles

    def stream(self) -> Iterator[Member]:
        """Fetch one group after the other."""
        for handle in self._handles:
            yield from self._engine.gather([handle])[0]


@dataclasses.dataclass(frozen=True)
class StoredMembers(Members):
    """In files, read one at a time.

    Parameters
    ----------
    directory : str
        Where they are.
    size : int
        How many.
    """

    directory: str
    size: int

    def __len__(self) -> int:
        return self.size

    def file(self, number: int) -> Path:
        """Return the file of a member."""
        return Path(self.directory) / f"member-{number:07d}.npz"

    def sums(self, k: int, kernel: Kernel, X: Matrix) -> Matrix:
        """Return the sums, one member in memory at a time."""
        return _streamed(self.stream(), k, kernel, X)

    def groups(self) -> Sequence[Any]:
        """Return ranges of files."""
        starts = range(0, self.size, GROUP)
        return [StoredGroup(self, start, min(start + GROUP, self.size)) for start in starts]

    def stream(self) -> Iterator[Member]:
        """Read the members one by one."""
        return iter(StoredGroup(self, 0, self.size))


@dataclasses.dataclass(frozen=True)
class StoredGroup(Sequence[Member]):
    """Some of the files, as a sequence of members."""

    members: StoredMembers
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def __getitem__(self, i: Any) -> Any:
        if not 0 <= i < len(self):
            raise IndexError(i)
        return read_member(self.members.file(self.start + i))


@dataclasses.dataclass(frozen=True)
class KnownSums(Members):
    """Sums that were computed elsewhere for the rows in question, one matrix per machine; for the last step of a Dask graph."""

    size: int
    known: tuple[Matrix, ...]

    def __len__(self) -> int:
        return self.size

    def sums(self, k: int, kernel: Kernel, X: Matrix) -> Matrix:
        """Return what is known."""
        return self.known[k]

    def groups(self) -> Sequence[Any]:
        """Return nothing: there are no members here."""
        return ()

    def stream(self) -> Iterator[Member]:
        """Yield nothing."""
        return iter(())


def _streamed(members: Iterator[Member], k: int, kernel: Kernel, X: Matrix) -> Matrix:
    """Sum over members, each group of them in the order and grouping that a cluster would use."""
    total = np.zeros((3, len(X)))
    for member in members:
        for start in range(0, len(X), CHUNK):
            total[:, start : start + CHUNK] += group_sums((member,), k, kernel, X[start : start + CHUNK])
    return total


def write_member(file: Path, member: Member) -> None:
    """Write a member as plain arrays."""
    arrays = {"number": np.asarray(member.number), "X": member.X}
    for k, expert in enumerate(member.experts):
        arrays |= {f"rows{k}": expert.rows, f"alpha{k}": expert.alpha, f"curvature{k}": expert.curvature}
    with open(file, "wb") as out:
        np.savez(out, **arrays)


def read_member(file: Path) -> Member:
    """Read a member; nothing in the file is executed."""
    with np.load(file, allow_pickle=False) as arrays:
        k = sum(name.startswith("rows") for name in arrays.files)
        experts = tuple(Expert(arrays[f"rows{i}"], arrays[f"alpha{i}"], arrays[f"curvature{i}"]) for i in range(k))
        return Member(int(arrays["number"]), arrays["X"], experts)


def collected(engine: Engine, handles: Sequence[Any], size: int) -> Members:
    """Return the members of groups where they are best kept: on a cluster that goes on, or here."""
    if isinstance(engine, Cluster):
        return RemoteMembers(engine, handles, size)
    return LocalMembers(tuple(member for group in engine.gather(handles) for member in group))


__all__ = [
    "Expert",
    "KnownSums",
    "LocalMembers",
    "Member",
    "Members",
    "RemoteMembers",
    "StoredMembers",
    "add_sums",
    "collected",
    "group_sums",
    "read_member",
    "write_member",
]
