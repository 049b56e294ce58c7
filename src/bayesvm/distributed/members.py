"""Members of the committee: the posteriors of one block each, in a form that is as small as the block's data.

A member keeps its support rows with their coefficients and curvatures; the factor of a posterior, quadratic in the
support, is computed when it predicts. Members are kept in *groups*, which predict one after the other, so that no more
than one factor is in memory at a time.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bayesvm.distributed.committee import member_sums
from bayesvm.distributed.engine import Cluster, Engine
from bayesvm.exceptions import IncompatibleError
from bayesvm.inference import Posterior
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.linalg import SignedFactor, SupportFactor
from bayesvm.persistence.atomic import write_atomically
from bayesvm.persistence.container import read_arrays
from bayesvm.persistence.errors import ModelFileError
from bayesvm.typing import Indices, Matrix, Vector

#: Members per group, and rows that are predicted at a time.
GROUP = 8
CHUNK = 4096


@dataclasses.dataclass(frozen=True)
class Expert:
    """Posterior of one output, given the rows of one block.

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

    @classmethod
    def of(cls, posterior: Posterior, used: Indices, n: int) -> Expert:
        """Return the expert of a posterior of n rows, of which the member keeps those in ``used``."""
        factor = posterior.factor
        if not isinstance(factor, SupportFactor | SignedFactor):
            raise IncompatibleError(
                "inference: expected a method whose posterior has one curvature per row, such as 'laplace' or 'ep', "
                f"found one with a {type(factor).__name__}"
            )
        curvature = np.zeros(n)
        curvature[factor.support] = factor.curvature
        return cls(np.searchsorted(used, posterior.support), posterior.alpha, curvature[posterior.support])

    def posterior(self, kernel: Kernel, X: Inputs) -> Posterior:
        """Return the posterior, with its factor."""
        make = SignedFactor if np.any(self.curvature < 0.0) else SupportFactor
        return Posterior(np.arange(self.rows.size), self.alpha, make.of(kernel.gram(X), self.curvature))


@dataclasses.dataclass(frozen=True)
class Member:
    """The posteriors of all outputs, given the rows of one block.

    Attributes
    ----------
    number : int
        Of the block.
    X : array
        The rows that at least one posterior needs, standardised.
    experts : tuple of Expert
        One per output.
    """

    number: int
    X: Matrix
    experts: tuple[Expert, ...]

    def latent(self, k: int, kernel: Kernel, X: Inputs) -> tuple[Vector, Vector]:
        """Return mean and variance of output k at the rows of X (standardised)."""
        expert = self.experts[k]
        support = Inputs(self.X[expert.rows])
        posterior = expert.posterior(kernel, support)
        K_s = kernel.gram(X, support)
        return posterior.mean(K_s), posterior.var(K_s, kernel.diag(X))


def group_sums(members: Sequence[Member], k: int, kernel: Kernel, X: Matrix) -> Matrix:
    """Return the sums of a group for output k, shape (3, n)."""
    inputs = Inputs(X)
    prior = kernel.diag(inputs)
    total = np.zeros((3, len(X)))
    for member in members:
        total += member_sums(*member.latent(k, kernel, inputs), prior)
    return total


def add_sums(parts: Sequence[Matrix]) -> Matrix:
    """Return the sum, in order."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


class Members(ABC):
    """Where the members are."""

    @abstractmethod
    def groups(self) -> Sequence[Any]:
        """Return the groups as a Dask graph may refer to them."""

    @abstractmethod
    def stream(self) -> Iterator[Member]:
        """Yield the members one by one."""

    def local(self) -> LocalMembers:
        """Return the members in memory."""
        return LocalMembers(tuple(self.stream()))

    def sums(self, k: int, kernel: Kernel, X: Matrix) -> Matrix:
        """Return the sums over all members for output k at the rows of X, shape (3, n)."""
        total = np.zeros((3, len(X)))
        for member in self.stream():
            for start in range(0, len(X), CHUNK):
                total[:, start : start + CHUNK] += group_sums((member,), k, kernel, X[start : start + CHUNK])
        return total


@dataclasses.dataclass(frozen=True)
class LocalMembers(Members):
    """In memory."""

    members: tuple[Member, ...]

    def groups(self) -> Sequence[Any]:
        """Return tuples of members."""
        return [self.members[i : i + GROUP] for i in range(0, len(self.members), GROUP)]

    def stream(self) -> Iterator[Member]:
        """Yield the members."""
        return iter(self.members)

    def local(self) -> LocalMembers:
        """Return the same members."""
        return self


class RemoteMembers(Members):
    """On the workers of a cluster.

    Parameters
    ----------
    engine : Engine
        Where they are.
    handles : sequence
        Handles of groups (tuples of members).
    """

    def __init__(self, engine: Engine, handles: Sequence[Any]) -> None:
        self._engine, self._handles = engine, tuple(handles)

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
    checksums : tuple of str
        SHA-256 of every file; empty for folders that were written without.
    """

    directory: str
    size: int
    checksums: tuple[str, ...] = ()

    def file(self, number: int) -> Path:
        """Return the file of a member."""
        return Path(self.directory) / f"member-{number:07d}.npz"

    def read(self, number: int) -> Member:
        """Return a member, after a check of its file."""
        return read_member(self.file(number), self.checksums[number] if self.checksums else None)

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
        return self.members.read(self.start + i)


@dataclasses.dataclass(frozen=True)
class KnownSums:
    """Sums over members for the rows in question, computed before, one matrix per output: the last step of a graph."""

    known: tuple[Matrix, ...]

    def sums(self, k: int, kernel: Kernel, X: Matrix) -> Matrix:
        """Return what is known."""
        return self.known[k]


def write_member(file: Path, member: Member) -> str:
    """Write a member as plain arrays, and return the checksum of its file."""
    arrays = {"number": np.asarray(member.number), "X": member.X}
    for k, expert in enumerate(member.experts):
        arrays |= {f"rows{k}": expert.rows, f"alpha{k}": expert.alpha, f"curvature{k}": expert.curvature}
    out = io.BytesIO()
    np.savez(out, **arrays)  # type: ignore[arg-type]
    write_atomically(file, out.getbuffer())
    return hashlib.sha256(out.getbuffer()).hexdigest()


def read_member(file: Path, checksum: str | None = None) -> Member:
    """Read a member; nothing in the file is executed.

    Raises
    ------
    ModelFileError
        With the name of the file, if it is missing or damaged or, as its checksum tells, another one.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ModelFileError(f"{file}: cannot be read ({error.strerror})") from None
    if checksum is not None and hashlib.sha256(data).hexdigest() != checksum:
        raise ModelFileError(f"{file}: the checksum does not fit: the file was damaged or changed")
    try:
        arrays = read_arrays(data)
        k = sum(name.startswith("rows") for name in arrays)
        experts = tuple(Expert(arrays[f"rows{i}"], arrays[f"alpha{i}"], arrays[f"curvature{i}"]) for i in range(k))
        return Member(int(arrays["number"]), arrays["X"], experts)
    except (ModelFileError, KeyError, ValueError, TypeError) as error:
        raise ModelFileError(f"{file}: damaged member of a saved committee ({error})") from None


def kept_members(engine: Engine, handles: Sequence[Any]) -> Members:
    """Return the members of groups where they are best kept: on a cluster that goes on, or here."""
    remote = RemoteMembers(engine, handles)
    return remote if isinstance(engine, Cluster) else remote.local()


__all__ = ["Expert", "KnownSums", "Member", "Members", "StoredMembers", "add_sums", "group_sums", "kept_members"]
