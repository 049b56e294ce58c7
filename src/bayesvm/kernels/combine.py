"""The algebra of kernels: sums, products and kernels of some of the columns."""

from __future__ import annotations

import dataclasses
import numbers
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from bayesvm.kernels.base import Kernel
from bayesvm.kernels.constant import Constant
from bayesvm.kernels.inputs import Inputs
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True, repr=False)
class Pair(Kernel):
    """Two kernels, kept as they were written: nothing is flattened or reordered."""

    parts: ClassVar[tuple[str, ...]] = ("left", "right")

    left: Kernel
    right: Kernel

    @property
    def n_free(self) -> int:
        """How many entries ``theta`` has."""
        return self.left.n_free + self.right.n_free

    def _terms(self, X: Inputs, Z: Inputs | None) -> tuple[Matrix, Matrix | float]:
        """Return the Gram matrix of one part and that of the other, as a number if it is constant."""
        first, second = (self.right, self.left) if isinstance(self.left, Constant) else (self.left, self.right)
        return first._gram(X, Z), second.variance if isinstance(second, Constant) else second._gram(X, Z)


@dataclasses.dataclass(frozen=True, repr=False)
class Sum(Pair):
    r"""Sum of two kernels, written ``left + right``; Thesis (3.53).

    .. math:: k(x, z) = k_1(x, z) + k_2(x, z)

    The prior of the sum of two independent functions. Positive semidefinite if both kernels are.

    Parameters
    ----------
    left, right : Kernel
        The two kernels; the parameters of ``left`` come first.

    References
    ----------
    Thesis section 3.2.1.3.
    """

    def _gram(self, X: Inputs, Z: Inputs | None) -> Matrix:
        K, other = self._terms(X, Z)
        K += other
        return K

    def _diag(self, X: Inputs) -> Vector:
        return self.left._diag(X) + self.right._diag(X)

    def _pullback(self, X: Inputs, Q: Matrix) -> Vector:
        return np.concatenate([self.left._pullback(X, Q), self.right._pullback(X, Q)])

    def _cross_pullback(self, X: Inputs, Z: Inputs, Q: Matrix) -> Vector:
        return np.concatenate([self.left._cross_pullback(X, Z, Q), self.right._cross_pullback(X, Z, Q)])

    def _diag_pullback(self, X: Inputs, q: Vector) -> Vector:
        return np.concatenate([self.left._diag_pullback(X, q), self.right._diag_pullback(X, q)])


@dataclasses.dataclass(frozen=True, repr=False)
class Product(Pair):
    r"""Product of two kernels, written ``left * right``.

    .. math:: k(x, z) = k_1(x, z)\,k_2(x, z)

    Positive semidefinite if both kernels are (Schur's theorem). When both are learnt their variances play the same
    role, so one of them is best fixed.

    Parameters
    ----------
    left, right : Kernel
        The two kernels; the parameters of ``left`` come first.

    References
    ----------
    Thesis section 3.2.1.3.
    """

    def _gram(self, X: Inputs, Z: Inputs | None) -> Matrix:
        K, other = self._terms(X, Z)
        K *= other
        return K

    def _diag(self, X: Inputs) -> Vector:
        return self.left._diag(X) * self.right._diag(X)

    def _pullback(self, X: Inputs, Q: Matrix) -> Vector:
        # <Q, A o B> changes with A by <Q o B, dA> and with B by <Q o A, dB>
        parts = []
        for kernel, other in ((self.left, self.right), (self.right, self.left)):
            if kernel.theta.size:
                weighted = other._gram(X, None)
                weighted *= Q
                parts.append(kernel._pullback(X, weighted))
        return np.concatenate([np.empty(0), *parts])

    def _cross_pullback(self, X: Inputs, Z: Inputs, Q: Matrix) -> Vector:
        parts = []
        for kernel, other in ((self.left, self.right), (self.right, self.left)):
            if kernel.theta.size:
                weighted = other._gram(X, Z)
                weighted *= Q
                parts.append(kernel._cross_pullback(X, Z, weighted))
        return np.concatenate([np.empty(0), *parts])

    def _diag_pullback(self, X: Inputs, q: Vector) -> Vector:
        left = self.left._diag_pullback(X, q * self.right._diag(X))
        return np.concatenate([left, self.right._diag_pullback(X, q * self.left._diag(X))])


@dataclasses.dataclass(frozen=True, repr=False)
class Transformed(Kernel):
    r"""A kernel of transformed inputs, :math:`k(x, z) = k_1(t(x), t(z))`, with the parameters of :math:`k_1`."""

    parts: ClassVar[tuple[str, ...]] = ("kernel",)

    kernel: Kernel

    @abstractmethod
    def _transformed(self, X: Inputs) -> Inputs:
        """Return the inputs of the inner kernel; the same object each time, so that its cache lasts."""

    def _gram(self, X: Inputs, Z: Inputs | None) -> Matrix:
        return self.kernel._gram(self._transformed(X), None if Z is None else self._transformed(Z))

    def _diag(self, X: Inputs) -> Vector:
        return self.kernel._diag(self._transformed(X))

    def _pullback(self, X: Inputs, Q: Matrix) -> Vector:
        return self.kernel._pullback(self._transformed(X), Q)

    def _cross_pullback(self, X: Inputs, Z: Inputs, Q: Matrix) -> Vector:
        return self.kernel._cross_pullback(self._transformed(X), self._transformed(Z), Q)

    def _diag_pullback(self, X: Inputs, q: Vector) -> Vector:
        return self.kernel._diag_pullback(self._transformed(X), q)


@dataclasses.dataclass(frozen=True, repr=False)
class OnColumns(Transformed):
    r"""A kernel of some of the columns, written ``kernel.on(columns)``.

    .. math:: k(x, z) = k_1(x_S, z_S)

    Parameters
    ----------
    kernel : Kernel
        The kernel :math:`k_1`.
    columns : tuple of int or of str
        The columns :math:`S`: positions from 0, or feature names, which :meth:`bind` turns into positions.
    features : tuple of str, optional
        The names of the columns, set by :meth:`bind`, for ``print``.
    """

    columns: tuple[int | str, ...]
    features: tuple[str, ...] | None = dataclasses.field(default=None, kw_only=True, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        columns = tuple(c if isinstance(c, str) else _position(c) for c in self.columns)
        if not columns or len(set(columns)) != len(columns):
            raise ValueError(f"kernel.on: expected one or more different columns, found {self.columns!r}")
        object.__setattr__(self, "columns", columns)

    def _positions(self, n_features: int, names: Sequence[str] | None = None) -> tuple[int, ...]:
        return tuple(_resolve(c, n_features, names) for c in self.columns)

    def _transformed(self, X: Inputs) -> Inputs:
        return X.columns(self._positions(X.n_features))

    def bind(self, n_features: int, names: Sequence[str] | None = None) -> Self:
        """Return the kernel with column names turned into positions and its inner kernel bound to those columns."""
        positions = self._positions(n_features, names)
        own = None if names is None else tuple(str(names[i]) for i in positions)
        inner = self.kernel.bind(len(positions), own)
        return dataclasses.replace(self, kernel=inner, columns=positions, features=own)

    def relevance(self, n_features: int) -> Vector | None:
        """Return the inner kernel's relevances at its columns, zero elsewhere."""
        inner = self.kernel.relevance(len(self.columns))
        if inner is None:
            return None
        relevance = np.zeros(n_features)
        relevance[list(self._positions(n_features))] = inner
        return relevance

    def with_relevance(self, feature: int, value: float) -> Self:
        """Return the kernel with the relevance of one feature set, if it is among the columns."""
        if feature not in self.columns:
            return self
        return dataclasses.replace(self, kernel=self.kernel.with_relevance(self.columns.index(feature), value))


def operand(value: Kernel | float) -> Kernel:
    """Return what a kernel is combined with as a kernel: a positive number is a constant that is not learnt."""
    if isinstance(value, Kernel):
        return value
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return Constant(float(value)).fix()
    raise TypeError(f"a kernel combines with kernels and positive numbers, found {type(value).__name__}")


def _position(column: object) -> int:
    if isinstance(column, numbers.Integral) and not isinstance(column, bool | np.bool_):
        return int(column)
    raise ValueError(f"kernel.on: expected column positions or names, found {column!r}")


def _resolve(column: int | str, n_features: int, names: Sequence[str] | None) -> int:
    """Return the position of a column, or say why there is none."""
    if isinstance(column, str):
        if names is None:
            raise ValueError(
                f"kernel.on: column {column!r} is given by name but the data has no feature names; "
                "use positions, or data with named columns"
            )
        if column not in names:
            raise ValueError(f"kernel.on: no column {column!r}; the columns are {', '.join(map(str, names))}")
        return list(names).index(column)
    if not 0 <= column < n_features:
        raise ValueError(f"kernel.on: expected columns between 0 and {n_features - 1}, found {column}")
    return column


__all__ = ["OnColumns", "Product", "Sum", "Transformed", "operand"]
