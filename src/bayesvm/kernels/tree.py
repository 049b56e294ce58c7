"""What follows from the parts of a kernel: functions of the tree that sums, products and columns make of leaves."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesvm.parameters import Parameterized

if TYPE_CHECKING:
    from bayesvm.kernels.base import Kernel
    from bayesvm.kernels.scale import Scale


def leaves(kernel: Kernel) -> tuple[Kernel, ...]:
    """Return the elementary kernels of which a kernel is composed, from left to right."""
    return tuple(leaf for child in kernel.children for leaf in leaves(child)) or (kernel,)


def labelled(kernel: Kernel) -> list[tuple[str, Kernel]]:
    """Return the leaves, each with its class name in lower case, numbered from the second of its class on."""
    names = [type(leaf).__name__.lower() for leaf in leaves(kernel)]
    counts = [names[: i + 1].count(name) for i, name in enumerate(names)]
    labels = [name if count == 1 else f"{name}{count}" for name, count in zip(names, counts)]
    return list(zip(labels, leaves(kernel)))


def map_leaves(kernel: Kernel, change: Callable[[Kernel], Kernel]) -> Kernel:
    """Return the same composition with every leaf changed, from left to right."""
    if not kernel.children:
        return change(kernel)
    return kernel.with_children([map_leaves(child, change) for child in kernel.children])


def change_named(kernel: Kernel, names: Sequence[str], change: Callable[[Kernel, Sequence[str]], Kernel]) -> Kernel:
    """Apply ``change`` to the kernels of which parameters are named (to all, if none), with their own names of them."""
    if len(kernel.children) < 2:
        return kernel.with_children([change(child, names) for child in kernel.children])
    wanted: dict[str, list[str]] = {label: [] for label, _ in labelled(kernel)}
    for name in names:
        label, _, parameter = name.partition(".")
        if label not in wanted or not parameter:
            raise ValueError(f"parameter {name!r}: expected 'kernel.parameter' with a kernel of {', '.join(wanted)}")
        wanted[label].append(parameter)
    owned = iter(wanted.values())
    return map_leaves(kernel, lambda leaf: change(leaf, own) if (own := next(owned)) or not names else leaf)


def with_ard(kernel: Kernel) -> Kernel:
    """Return the kernel with one parameter per feature in every part that can have it."""
    changes: dict[str, Any] = {"ard": True}
    return map_leaves(kernel, lambda leaf: dataclasses.replace(leaf, **changes) if _vector_field(leaf) else leaf)


def tied(kernel: Kernel) -> Kernel:
    """Return the kernel with one number for all features in every part that is learnt: the geometric mean."""

    def tie(leaf: Kernel) -> Kernel:
        name = _vector_field(leaf)
        if not (name and isinstance(leaf, Parameterized) and leaf._is_free(name)):
            return leaf
        changes: dict[str, Any] = {name: np.exp(np.mean(np.log(getattr(leaf, name)))), "ard": False, "features": None}
        return dataclasses.replace(leaf, **changes)

    return map_leaves(kernel, tie)


def _vector_field(leaf: Kernel) -> str | None:
    return leaf.per_feature if isinstance(leaf, Parameterized) else None


def matching(kernel: Kernel, other: Kernel) -> Kernel:
    """Return the kernel with the values of ``other``, a kernel of the same form; a vector is filled with a number."""
    if type(other) is not type(kernel):
        raise TypeError(f"matching: expected a {type(kernel).__name__}, found a {type(other).__name__}")
    if kernel.children:
        return kernel.with_children([matching(*pair) for pair in zip(kernel.children, other.children)])
    if not isinstance(kernel, Parameterized):
        return kernel.with_theta(other.theta)
    changes: dict[str, Any] = {
        name: np.broadcast_to(getattr(other, name), np.shape(getattr(kernel, name))) for name in kernel.positive
    }
    return dataclasses.replace(kernel, **changes)


def at_scale(kernel: Kernel, scale: Scale) -> Kernel:
    """Return the kernel with its free parameters placed for a start at the given scale, within their bounds."""

    def place(leaf: Kernel) -> Kernel:
        if not isinstance(leaf, Parameterized):
            return leaf
        start = leaf._start(scale)
        changes: dict[str, Any] = {
            name: np.full(np.shape(getattr(leaf, name)), np.clip(start[name], *bounds))
            for name, _, bounds in leaf._free_fields
            if name in start
        }
        return dataclasses.replace(leaf, **changes)

    return map_leaves(kernel, place)


__all__ = ["at_scale", "change_named", "labelled", "leaves", "map_leaves", "matching", "tied", "with_ard"]
