r"""Positive parameters of kernels and likelihoods, seen by everything above as one vector :math:`\theta` of logarithms.

A class that derives from :class:`Parameterized` is a frozen dataclass that lists its positive fields in ``positive``
with their default bounds. The base supplies ``theta``, ``bounds``, ``names``, ``with_theta``, ``fix``, ``free`` and
``bounded``.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from bayesvm.typing import Matrix, Vector

Bounds = tuple[float, float]


def check_bounds(name: str, bounds: object) -> Bounds:
    """Return ``bounds`` as a pair of floats, or say what is wrong with it."""
    try:
        low, high = (float(b) for b in bounds)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise ValueError(f"bounds of {name}: expected a pair (low, high), found {bounds!r}") from None
    if not 0.0 < low <= high < np.inf:
        raise ValueError(f"bounds of {name}: expected 0 < low <= high < inf, found ({low}, {high})")
    return low, high


def check_positive(name: str, value: object, *, sequence: bool = True) -> float | tuple[float, ...]:
    """Return ``value`` as a positive float or (unless ``sequence=False``) a tuple of them, or say what is wrong."""
    array = np.asarray(value, dtype=float)
    if array.ndim > 1 or array.size == 0 or not (np.all(np.isfinite(array)) and np.all(array > 0.0)):
        raise ValueError(f"{name}: expected a positive number (or a sequence of them), found {value!r}")
    if array.ndim and not sequence:
        raise ValueError(f"{name}: expected one positive number, found a sequence")
    return tuple(array.tolist()) if array.ndim else float(array)


def check_integer(name: str, value: object) -> int:
    """Return ``value`` as a positive integer, or say what is wrong with it."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or int(value) < 1:
        raise ValueError(f"{name}: expected a positive integer, found {value!r}")
    return int(value)


def split_theta(owner: str, theta: Vector, sizes: Sequence[int]) -> list[Vector]:
    """Return ``theta`` cut into parts of the given sizes, or say that its length is wrong."""
    theta = np.asarray(theta, dtype=float)
    if theta.shape != (sum(sizes),):
        raise ValueError(f"{owner}.with_theta: expected {sum(sizes)} values, found shape {theta.shape}")
    ends = list(itertools.accumulate(sizes))
    return [theta[end - size : end] for end, size in zip(ends, sizes)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Parameterized:
    r"""Frozen object whose positive fields are learnt on the logarithmic scale.

    Parameters
    ----------
    limits : mapping, optional
        Per field: a pair (low, high) that replaces the default bounds, or None to keep the field fixed. Usually set
        through :meth:`bounded` and :meth:`fix`.
    """

    #: Positive fields in the order of theta, with their default bounds.
    positive: ClassVar[Mapping[str, Bounds]] = {}
    #: The one that may hold a sequence, a value per feature.
    per_feature: ClassVar[str | None] = None

    limits: Mapping[str, Bounds | None] = dataclasses.field(default_factory=dict, repr=False, hash=False)

    def __post_init__(self) -> None:
        owner = type(self).__name__
        for name in self.positive:
            value = getattr(self, name)
            if not (type(value) is float and 0.0 < value < np.inf):
                value = check_positive(f"{owner}.{name}", value, sequence=name == self.per_feature)
                object.__setattr__(self, name, value)
        self._check_names(self.limits)
        limits = {n: None if b is None else check_bounds(f"{owner}.{n}", b) for n, b in self.limits.items()}
        object.__setattr__(self, "limits", limits)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_free_fields"}  # found again when asked

    def _check_names(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.positive:
                known = ", ".join(self.positive) or "none"
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; its parameters are {known}")

    def fix(self, *names: str) -> Self:
        """Return a copy in which the named parameters (all, if none is named) are not learnt."""
        self._check_names(names)
        return dataclasses.replace(self, limits={**self.limits, **dict.fromkeys(names or self.positive, None)})

    def free(self, *names: str) -> Self:
        """Return a copy in which the named parameters (all, if none is named) are learnt, with default bounds."""
        self._check_names(names)
        drop = names or tuple(self.positive)
        return dataclasses.replace(self, limits={n: b for n, b in self.limits.items() if n not in drop})

    def bounded(self, **bounds: Bounds) -> Self:
        """Return a copy in which the named parameters are learnt within the given bounds (not logarithms)."""
        self._check_names(bounds)
        return dataclasses.replace(self, limits={**self.limits, **bounds})

    def _is_free(self, name: str) -> bool:
        return self.limits.get(name, ()) is not None

    @functools.cached_property
    def _free_fields(self) -> tuple[tuple[str, Vector, Bounds], ...]:
        """Learnt fields in the order of theta: name, values, bounds."""
        return tuple(
            (name, np.atleast_1d(np.asarray(getattr(self, name), dtype=float)), self.limits.get(name) or default)
            for name, default in self.positive.items()
            if self._is_free(name)
        )

    def _entries(self, size: int) -> Iterable[object]:
        """What tells the entries of a vector apart in ``names``: their positions, unless a subclass knows better."""
        return range(size)

    @property
    def theta(self) -> Vector:
        """Logarithms of the free parameters."""
        return np.asarray(np.log(np.concatenate([np.empty(0), *(values for _, values, _ in self._free_fields)])))

    @property
    def n_free(self) -> int:
        """How many entries ``theta`` has."""
        return sum(values.size for _, values, _ in self._free_fields)

    @property
    def bounds(self) -> Matrix:
        """Bounds of ``theta``, one row (low, high) per entry."""
        rows = [bounds for _, values, bounds in self._free_fields for _ in values]
        return np.asarray(np.log(np.asarray(rows, dtype=float).reshape(-1, 2)))

    @property
    def names(self) -> tuple[str, ...]:
        """One name per entry of ``theta``; entries of a vector carry their position in brackets."""
        return tuple(
            name if entry is None else f"{name}[{entry}]"
            for name, values, _ in self._free_fields
            for entry in (self._entries(values.size) if isinstance(getattr(self, name), tuple) else [None])
        )

    def with_theta(self, theta: Vector) -> Self:
        """Return a copy with the free parameters set to ``exp(theta)``."""
        fields = self._free_fields
        parts = split_theta(type(self).__name__, np.exp(theta), [values.size for _, values, _ in fields])
        if not fields:
            return self
        changes: dict[str, Any] = {
            name: tuple(part.tolist()) if isinstance(getattr(self, name), tuple) else float(part[0])
            for (name, _, _), part in zip(fields, parts)
        }
        return dataclasses.replace(self, **changes)


__all__ = ["Bounds", "Parameterized", "check_bounds", "check_integer", "check_positive", "split_theta"]
