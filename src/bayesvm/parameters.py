r"""Positive parameters of kernels and likelihoods, seen by everything above as one vector :math:`\theta` of logarithms.

A class that derives from :class:`Parameterized` is a frozen dataclass that lists its positive fields in ``positive`` with
their default bounds. The base supplies ``theta``, ``bounds``, ``names``, ``with_theta``, ``fix`` and ``bounded``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
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


def check_positive(name: str, value: object) -> float | tuple[float, ...]:
    """Return ``value`` as a positive float or a tuple of them, or say what is wrong with it."""
    array = np.asarray(value, dtype=float)
    if array.ndim > 1 or array.size == 0 or not (np.all(np.isfinite(array)) and np.all(array > 0.0)):
        raise ValueError(f"{name}: expected a positive number (or a sequence of them), found {value!r}")
    return float(array) if array.ndim == 0 else tuple(float(a) for a in array)


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

    limits: Mapping[str, Bounds | None] = dataclasses.field(default_factory=dict, repr=False, hash=False)

    def __post_init__(self) -> None:
        for name in self.positive:
            object.__setattr__(self, name, check_positive(f"{type(self).__name__}.{name}", getattr(self, name)))
        self._check_names(self.limits)
        limits = {
            n: None if b is None else check_bounds(f"{type(self).__name__}.{n}", b) for n, b in self.limits.items()
        }
        object.__setattr__(self, "limits", limits)

    def _check_names(self, names: Mapping[str, Any] | Sequence[str]) -> None:
        for name in names:
            if name not in self.positive:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; its parameters are {', '.join(self.positive) or 'none'}"
                )

    def fix(self, *names: str) -> Self:
        """Return a copy in which the named parameters (all, if none is named) are not learnt."""
        self._check_names(names)
        return dataclasses.replace(self, limits={**self.limits, **dict.fromkeys(names or self.positive, None)})

    def free(self, *names: str) -> Self:
        """Return a copy in which the named parameters (all, if none is named) are learnt within their default bounds."""
        self._check_names(names)
        drop = names or tuple(self.positive)
        return dataclasses.replace(self, limits={n: b for n, b in self.limits.items() if n not in drop})

    def bounded(self, **bounds: Bounds) -> Self:
        """Return a copy in which the named parameters are learnt within the given bounds (not logarithms)."""
        self._check_names(bounds)
        return dataclasses.replace(self, limits={**self.limits, **bounds})

    def _learnt(self) -> list[tuple[str, Vector, Bounds]]:
        """Free fields in the order of theta: name, values, bounds."""
        return [
            (name, np.atleast_1d(np.asarray(getattr(self, name), dtype=float)), self.limits.get(name) or default)
            for name, default in self.positive.items()
            if not (name in self.limits and self.limits[name] is None)
        ]

    @property
    def theta(self) -> Vector:
        """Logarithms of the free parameters."""
        return np.asarray(np.log(np.concatenate([np.empty(0), *(values for _, values, _ in self._learnt())])))

    @property
    def bounds(self) -> Matrix:
        """Bounds of ``theta``, one row (low, high) per entry."""
        rows = [bounds for _, values, bounds in self._learnt() for _ in values]
        return np.asarray(np.log(np.asarray(rows, dtype=float).reshape(-1, 2)))

    @property
    def names(self) -> tuple[str, ...]:
        """One name per entry of ``theta``; entries of a vector carry their position in brackets."""
        return tuple(
            name if np.ndim(getattr(self, name)) == 0 else f"{name}[{i}]"
            for name, values, _ in self._learnt()
            for i in range(values.size)
        )

    def with_theta(self, theta: Vector) -> Self:
        """Return a copy with the free parameters set to ``exp(theta)``."""
        theta = np.asarray(theta, dtype=float)
        learnt = self._learnt()
        expected = sum(values.size for _, values, _ in learnt)
        if theta.shape != (expected,):
            raise ValueError(f"{type(self).__name__}.with_theta: expected {expected} values, found shape {theta.shape}")
        changes: dict[str, Any] = {}
        start = 0
        for name, values, _ in learnt:
            new = np.exp(theta[start : start + values.size])
            start += values.size
            changes[name] = float(new[0]) if np.ndim(getattr(self, name)) == 0 else tuple(float(v) for v in new)
        return dataclasses.replace(self, **changes)


__all__ = ["Bounds", "Parameterized", "check_bounds", "check_positive"]
