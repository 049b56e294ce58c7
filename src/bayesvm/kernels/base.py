r"""What a kernel is (the contract page of this folder).

A kernel :math:`k(x, z; \theta)` is a covariance function. It is a small frozen object that answers three questions about
data and four about its parameters:

========================  ==============================================================================================
``gram(X, Z=None)``       the matrix :math:`k(x_i, z_j)`; with ``Z=None`` symmetric, :math:`k(x_i, x_j)`
``diag(X)``               the vector :math:`k(x_i, x_i)`
``pullback(X, Q)``        :math:`\partial \langle Q, K(X) \rangle / \partial \theta` for symmetric ``Q``: one number per
                          parameter, without an n x n x p array
``theta``                 logarithms of the free positive parameters
``bounds``, ``names``     their bounds (of the logarithms) and readable names
``with_theta(theta)``     the same kernel with other parameters
``bind(d, names)``        the same kernel made ready for ``d`` features: one length scale per feature where ``ard=True``,
                          column names turned into positions
========================  ==============================================================================================

``X`` and ``Z`` are arrays or :class:`~bayesvm.kernels.inputs.Inputs`; passing the same ``Inputs`` object again reuses the
squared distances. Kernels compose with ``+``, ``*``, ``scalar * kernel`` and ``kernel.on(columns)``; nesting is kept
exactly as written.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from bayesvm.kernels.inputs import Inputs
from bayesvm.parameters import Parameterized
from bayesvm.typing import Matrix, Vector

if TYPE_CHECKING:
    from bayesvm.kernels.combine import OnColumns, Product, Sum


class Kernel(ABC):
    """A covariance function; see the module's table for the contract."""

    #: False for kernels that can be indefinite for some parameters or data; estimators then check the Gram matrix.
    always_positive: ClassVar[bool] = True

    # -- data -----------------------------------------------------------------------------------------------------------
    def gram(self, X: Any, Z: Any = None) -> Matrix:
        """Return the Gram matrix between ``X`` and ``Z`` (``X`` itself if None); always a fresh array."""
        return self._gram(Inputs.of(X), None if Z is None else Inputs.of(Z))

    def diag(self, X: Any) -> Vector:
        """Return the diagonal of ``gram(X)``."""
        return self._diag(Inputs.of(X))

    def pullback(self, X: Any, Q: Matrix) -> Vector:
        r"""Return :math:`\partial \langle Q, K(X) \rangle / \partial \theta` for a symmetric matrix ``Q``."""
        return self._pullback(Inputs.of(X), Q)

    @abstractmethod
    def _gram(self, X: Inputs, Z: Inputs | None) -> Matrix: ...

    @abstractmethod
    def _diag(self, X: Inputs) -> Vector: ...

    @abstractmethod
    def _pullback(self, X: Inputs, Q: Matrix) -> Vector: ...

    # -- parameters -----------------------------------------------------------------------------------------------------
    @property
    @abstractmethod
    def theta(self) -> Vector:
        """Logarithms of the free parameters."""

    @property
    @abstractmethod
    def bounds(self) -> Matrix:
        """Bounds of ``theta``, one row (low, high) per entry."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """One readable name per entry of ``theta``."""

    @abstractmethod
    def with_theta(self, theta: Vector) -> Self:
        """Return the same kernel with the free parameters set to ``exp(theta)``."""

    @abstractmethod
    def bind(self, n_features: int, names: Sequence[str] | None = None) -> Kernel:
        """Return the kernel made ready for data with ``n_features`` columns (called ``names``, if given)."""

    @abstractmethod
    def leaves(self) -> tuple[Kernel, ...]:
        """Return the elementary kernels of which this one is composed, from left to right."""

    # -- algebra --------------------------------------------------------------------------------------------------------
    def __add__(self, other: Kernel | float) -> Sum:
        from bayesvm.kernels.combine import Sum

        return Sum(self, _as_kernel(other))

    def __radd__(self, other: float) -> Sum:
        from bayesvm.kernels.combine import Sum

        return Sum(_as_kernel(other), self)

    def __mul__(self, other: Kernel | float) -> Product:
        from bayesvm.kernels.combine import Product

        return Product(self, _as_kernel(other))

    def __rmul__(self, other: float) -> Product:
        from bayesvm.kernels.combine import Product

        return Product(_as_kernel(other), self)

    def on(self, columns: Any) -> OnColumns:
        """Return the kernel restricted to some columns, given by position or by feature name (one or a sequence)."""
        from bayesvm.kernels.combine import OnColumns

        single = isinstance(columns, str | numbers.Integral)
        return OnColumns(self, (columns,) if single else tuple(columns))


def _as_kernel(value: Kernel | float) -> Kernel:
    """Turn a positive number into a constant kernel whose value is not learnt."""
    from bayesvm.kernels.constant import Constant

    if isinstance(value, Kernel):
        return value
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return Constant(float(value)).fix()
    raise TypeError(f"a kernel combines with kernels and positive numbers, found {type(value).__name__}")


class Leaf(Parameterized, Kernel):
    """An elementary kernel: a frozen dataclass with its positive parameters declared (see ``Parameterized``)."""

    def leaves(self) -> tuple[Kernel, ...]:
        """Return the kernel itself."""
        return (self,)

    def bind(self, n_features: int, names: Sequence[str] | None = None) -> Kernel:
        """Return the kernel itself: nothing in it depends on the number of features unless a subclass says so."""
        return self


__all__ = ["Kernel", "Leaf"]
