"""Kernels that can hold one parameter per feature: automatic relevance determination (ARD)."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from bayesvm.kernels.base import Leaf
from bayesvm.kernels.inputs import Inputs
from bayesvm.parameters import Bounds
from bayesvm.typing import Vector

#: Default bounds of the two commonest parameters.
VARIANCE: Bounds = (1e-6, 1e6)
LENGTHSCALE: Bounds = (1e-3, 1e4)


@dataclasses.dataclass(frozen=True, repr=False)
class PerFeature(Leaf):
    """A leaf whose field ``per_feature`` is one number, or with ``ard=True`` one number per feature.

    A single number given with ``ard=True`` is the common starting value: :meth:`bind` expands it. Until then the kernel
    is evaluated as if ``ard=False``.

    Parameters
    ----------
    ard : bool
        Whether every feature has a parameter of its own.
    features : tuple of str, optional
        Feature names, set by :meth:`bind`; they replace the positions in ``names``.
    """

    per_feature: ClassVar[str]

    ard: bool = dataclasses.field(default=False, kw_only=True)
    features: tuple[str, ...] | None = dataclasses.field(default=None, kw_only=True, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._is_vector and not self.ard:
            raise ValueError(
                f"{type(self).__name__}.{self.per_feature}: expected one number because ard=False, "
                f"found {len(self._values)}; one value per feature needs ard=True"
            )

    @property
    def _vector_field(self) -> str:
        return self.per_feature

    @property
    def _is_vector(self) -> bool:
        return np.ndim(getattr(self, self.per_feature)) > 0

    @property
    def _values(self) -> Vector:
        """The parameter as an array: shape (d,) once it holds a value per feature, shape () before."""
        return np.asarray(getattr(self, self.per_feature), dtype=float)

    def _expect(self, found: int) -> None:
        if self._is_vector and self._values.size != found:
            raise ValueError(
                f"{type(self).__name__}.{self.per_feature}: expected one value for each of the {found} features "
                f"of the data, found {self._values.size} values"
            )

    def _checked_values(self, *inputs: Inputs | None) -> Vector:
        """Return ``_values`` after a check against the number of columns of the data."""
        for X in inputs:
            if X is not None:
                self._expect(X.n_features)
        return self._values

    def with_ard(self) -> Self:
        """Return the kernel with ``ard=True``."""
        return dataclasses.replace(self, ard=True)

    def tied(self) -> Self:
        """Return the kernel with ``ard=False`` and the geometric mean of the values."""
        mean = float(np.exp(np.mean(np.log(self._values))))
        changes: dict[str, Any] = {self.per_feature: mean, "ard": False, "features": None}
        return dataclasses.replace(self, **changes)

    def relevance(self, n_features: int) -> Vector | None:
        """Return one number per feature once the parameter is a vector."""
        return self._relevance() if self._is_vector else None

    def with_relevance(self, feature: int, value: float) -> Self:
        """Return the kernel with the relevance of one feature set, if it is free and one number per feature."""
        if not (self._is_vector and self._is_free(self.per_feature)):
            return self
        values = self._values.copy()
        values[feature] = self._of_relevance(value)
        changes: dict[str, Any] = {self.per_feature: tuple(float(v) for v in values)}
        return dataclasses.replace(self, **changes)

    @abstractmethod
    def _relevance(self) -> Vector:
        """Return how much each feature counts, from the values of the parameter."""

    @abstractmethod
    def _of_relevance(self, value: float) -> float:
        """Return the value of the parameter at a given relevance."""

    @property
    def names(self) -> tuple[str, ...]:
        """One name per entry of ``theta``; entries of a vector carry their feature, or its position, in brackets."""
        if not self._is_vector or self.features is None:
            return super().names
        return tuple(
            entry
            for name, _, _ in self._learnt()
            for entry in ([f"{name}[{f}]" for f in self.features] if name == self.per_feature else [name])
        )

    def bind(self, n_features: int, names: Sequence[str] | None = None) -> Self:
        """Return the kernel with one parameter per feature if ``ard=True``, otherwise the kernel itself."""
        if not self.ard:
            return self
        self._expect(n_features)
        values = tuple(float(v) for v in np.broadcast_to(self._values, (n_features,)))
        usable = names is not None and len(set(names)) == n_features
        features = tuple(str(n) for n in names) if usable and names is not None else None
        changes: dict[str, Any] = {self.per_feature: values, "features": features}
        return dataclasses.replace(self, **changes)


__all__ = ["LENGTHSCALE", "VARIANCE", "PerFeature"]
