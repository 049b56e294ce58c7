"""Kernels that can hold one parameter per feature: automatic relevance determination (ARD)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.leaf import VARIANCE, Leaf
from bayesvm.parameters import Bounds
from bayesvm.typing import Vector

#: Default bounds of length scales.
LENGTHSCALE: Bounds = (1e-3, 1e4)


@dataclasses.dataclass(frozen=True, repr=False)
class PerFeature(Leaf):
    r"""A leaf whose field ``per_feature`` is one number or one number per feature.

    A sequence means one number per feature. So does a single number with ``ard=True``, the common starting value:
    :meth:`bind` makes it a vector, and until then the kernel is evaluated as if ``ard=False``.

    Parameters
    ----------
    ard : bool
        Whether every feature has a parameter of its own; a sequence implies it.
    features : tuple of str, optional
        Feature names, set by :meth:`bind`; they replace the positions in ``names``.
    """

    positive: ClassVar[Mapping[str, Bounds]] = {"variance": VARIANCE, "lengthscale": LENGTHSCALE}
    per_feature: ClassVar[str] = "lengthscale"
    #: The relevance of a feature is this power of its parameter: :math:`\kappa_l = 1/\ell_l^2`.
    relevance_power: ClassVar[float] = -2.0

    ard: bool = dataclasses.field(default=False, kw_only=True)
    features: tuple[str, ...] | None = dataclasses.field(default=None, kw_only=True, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._is_vector:
            object.__setattr__(self, "ard", True)

    @property
    def _is_vector(self) -> bool:
        return isinstance(getattr(self, self.per_feature), tuple)

    @property
    def _values(self) -> Vector:
        """The parameter as an array: shape (d,) once it holds a value per feature, shape () before."""
        return np.asarray(getattr(self, self.per_feature), dtype=float)

    def _checked_values(self, *inputs: Inputs | None) -> Vector:
        """Return ``_values`` after a check against the number of columns of the data."""
        for X in inputs:
            if X is not None:
                self._expect(X.n_features)
        return self._values

    def _expect(self, n_features: int) -> None:
        if self._is_vector and self._values.size != n_features:
            raise ValueError(
                f"{type(self).__name__}.{self.per_feature}: expected one value for each of the {n_features} features "
                f"of the data, found {self._values.size} values"
            )

    def _with_values(self, values: Vector, **changes: Any) -> Self:
        changes[self.per_feature] = values
        return dataclasses.replace(self, **changes)

    def relevance(self, n_features: int) -> Vector | None:
        """Return one number per feature once the parameter is a vector."""
        return np.asarray(self._values**self.relevance_power) if self._is_vector else None

    def with_relevance(self, feature: int, value: float) -> Self:
        """Return the kernel with the relevance of one feature set, if it is free and one number per feature."""
        if not (self._is_vector and self._is_free(self.per_feature)):
            return self
        values = self._values.copy()
        values[feature] = value ** (1.0 / self.relevance_power)
        return self._with_values(values)

    def bind(self, n_features: int, names: Sequence[str] | None = None) -> Self:
        """Return the kernel with one parameter per feature if ``ard=True``, otherwise the kernel itself."""
        if not self.ard:
            return self
        self._expect(n_features)
        features = tuple(map(str, names)) if names is not None and len(set(names)) == n_features else None
        return self._with_values(np.broadcast_to(self._values, (n_features,)), features=features)

    def _entries(self, size: int) -> Iterable[object]:
        return self.features or range(size)


__all__ = ["LENGTHSCALE", "PerFeature"]
