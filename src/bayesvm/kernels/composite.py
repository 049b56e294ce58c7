"""What kernels made of kernels have in common: their parameters are those of their children, one after the other."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Self

import numpy as np

from bayesvm.kernels.base import Kernel
from bayesvm.kernels.scale import Scale
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True, repr=False)
class Composite(Kernel):
    """A kernel made of other kernels.

    ``names`` are built from the leaves: the leaf's class in lower case, a number from the second of its class on, a dot
    and the parameter, as in ``gaussian.lengthscale[age]`` and ``gaussian2.variance``.
    """

    @property
    @abstractmethod
    def children(self) -> tuple[Kernel, ...]:
        """The kernels of which this one is made, in the order of ``theta``."""

    @abstractmethod
    def _with_children(self, children: Sequence[Kernel]) -> Self:
        """Return the same composition of other kernels."""

    @property
    def always_positive(self) -> bool:
        """Whether all children are: sums and products of positive semidefinite kernels are, Thesis section 3.2.1.3."""
        return all(child.always_positive for child in self.children)

    @property
    def theta(self) -> Vector:
        """Logarithms of the free parameters."""
        return np.concatenate([child.theta for child in self.children])

    @property
    def bounds(self) -> Matrix:
        """Bounds of ``theta``, one row (low, high) per entry."""
        return np.concatenate([child.bounds for child in self.children])

    @property
    def names(self) -> tuple[str, ...]:
        """One readable name per entry of ``theta``."""
        leaves = self.leaves()
        return tuple(f"{label}.{name}" for label, leaf in zip(_labels(leaves), leaves) for name in leaf.names)

    def with_theta(self, theta: Vector) -> Self:
        """Return the same kernel with the free parameters set to ``exp(theta)``."""
        theta = np.asarray(theta, dtype=float)
        sizes = [child.theta.size for child in self.children]
        if theta.shape != (sum(sizes),):
            raise ValueError(
                f"{type(self).__name__}.with_theta: expected {sum(sizes)} values, found shape {theta.shape}"
            )
        parts = np.split(theta, np.cumsum(sizes)[:-1])
        return self._with_children([child.with_theta(part) for child, part in zip(self.children, parts)])

    def bind(self, n_features: int, names: Sequence[str] | None = None) -> Self:
        """Return the kernel with every child made ready for ``n_features`` columns."""
        return self._with_children([child.bind(n_features, names) for child in self.children])

    def with_ard(self) -> Self:
        """Return the kernel with one parameter per feature in every part that can have it."""
        return self._with_children([child.with_ard() for child in self.children])

    def tied(self) -> Self:
        """Return the kernel with one number for all features in every part."""
        return self._with_children([child.tied() for child in self.children])

    def matching(self, other: Kernel) -> Self:
        """Return the kernel with the values of ``other``, a kernel of the same form."""
        if not isinstance(other, Composite) or type(other) is not type(self):
            raise TypeError(f"matching: expected a {type(self).__name__}, found a {type(other).__name__}")
        pairs = zip(self.children, other.children)
        return self._with_children([child.matching(twin) for child, twin in pairs])

    def at_scale(self, scale: Scale) -> Self:
        """Return the kernel with every child placed at the given scale."""
        return self._with_children([child.at_scale(scale) for child in self.children])

    def relevance(self, n_features: int) -> Vector | None:
        """Return the sum of the children's relevances, None if none has any."""
        parts = [part for child in self.children if (part := child.relevance(n_features)) is not None]
        return np.sum(parts, axis=0) if parts else None

    def with_relevance(self, feature: int, value: float) -> Self:
        """Return the kernel with the relevance of one feature set in every child."""
        return self._with_children([child.with_relevance(feature, value) for child in self.children])

    def leaves(self) -> tuple[Kernel, ...]:
        """Return the elementary kernels from left to right."""
        return tuple(leaf for child in self.children for leaf in child.leaves())

    def fix(self, *names: str) -> Self:
        """Return a copy in which the named parameters (``"gaussian.variance"``; all, if none) are not learnt."""
        return self._change(names, lambda leaf, own: leaf.fix(*own))

    def free(self, *names: str) -> Self:
        """Return a copy in which the named parameters (``"gaussian.variance"``; all, if none) are learnt."""
        return self._change(names, lambda leaf, own: leaf.free(*own))

    def _change(self, names: Sequence[str], change: Callable[[Kernel, Sequence[str]], Kernel]) -> Self:
        """Apply ``change`` to the leaves that are named, or to all."""
        leaves = self.leaves()
        labels = _labels(leaves)
        wanted: dict[str, list[str]] = {label: [] for label in labels}
        for name in names:
            label, _, parameter = name.partition(".")
            if label not in wanted or not parameter:
                raise ValueError(
                    f"parameter {name!r}: expected 'kernel.parameter' with a kernel of {', '.join(labels)}"
                )
            wanted[label].append(parameter)
        changed = [
            change(leaf, wanted[label]) if wanted[label] or not names else leaf for label, leaf in zip(labels, leaves)
        ]
        return self._with_leaves(iter(changed))

    def _with_leaves(self, leaves: Iterator[Kernel]) -> Self:
        """Return the same tree with its leaves replaced, from left to right."""
        return self._with_children(
            [child._with_leaves(leaves) if isinstance(child, Composite) else next(leaves) for child in self.children]
        )


@dataclasses.dataclass(frozen=True, repr=False)
class Wrapper(Composite):
    """A composite of one kernel, whose parameters keep their names."""

    kernel: Kernel

    def __post_init__(self) -> None:
        check_kernels(type(self).__name__, self.kernel)

    @property
    def children(self) -> tuple[Kernel, ...]:
        """The wrapped kernel."""
        return (self.kernel,)

    def _with_children(self, children: Sequence[Kernel]) -> Self:
        return dataclasses.replace(self, kernel=children[0])

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the wrapped kernel."""
        return self.kernel.names

    def _change(self, names: Sequence[str], change: Callable[[Kernel, Sequence[str]], Kernel]) -> Self:
        inner = self.kernel
        return self._with_children(
            [inner._change(names, change) if isinstance(inner, Composite) else change(inner, names)]
        )


def check_kernels(owner: str, *kernels: object) -> None:
    """Refuse anything that is not a kernel."""
    for kernel in kernels:
        if not isinstance(kernel, Kernel):
            raise TypeError(f"{owner}: expected a kernel, found {type(kernel).__name__}")


def _labels(leaves: Sequence[Kernel]) -> list[str]:
    """Class names in lower case, numbered from the second occurrence on."""
    seen: Counter[str] = Counter()
    labels = []
    for leaf in leaves:
        name = type(leaf).__name__.lower()
        seen[name] += 1
        labels.append(name if seen[name] == 1 else f"{name}{seen[name]}")
    return labels


__all__ = ["Composite", "Wrapper", "check_kernels"]
