"""The algebra of kernels: sums, products and kernels of some of the columns."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Sequence
from typing import Self

import numpy as np

from bayesvm.kernels.base import Kernel
from bayesvm.kernels.composite import Composite, Wrapper, check_kernels
from bayesvm.kernels.inputs import Inputs
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True, repr=False)
class Pair(Composite):
    """Two kernels, kept as they were written: nothing is flattened or reordered."""

    left: Kernel
    right: Kernel

    def __post_init__(self) -> None:
        check_kernels(type(self).__name__, self.left, self.right)

    @property
    def children(self) -> tuple[Kernel, ...]:
        """The left and the right kernel."""
        return self.left, self.right

    def _with_children(self, children: Sequence[Kernel]) -> Self:
        return dataclasses.replace(self, left=children[0], right=children[1])


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
        K = self.left._gram(X, Z)
        self.right._add_to(K, X, Z)
        return K

    def _diag(self, X: Inputs) -> Vector:
        return self.left._diag(X) + self.right._diag(X)

    def _pullback(self, X: Inputs, Q: Matrix) -> Vector:
        return np.concatenate([self.left._pullback(X, Q), self.right._pullback(X, Q)])

    def __repr__(self) -> str:
        right = f"({self.right!r})" if isinstance(self.right, Sum) else repr(self.right)
        return f"{self.left!r} + {right}"


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
        K = self.left._gram(X, Z)
        K *= self.right._gram(X, Z)
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

    def __repr__(self) -> str:
        left = f"({self.left!r})" if isinstance(self.left, Sum) else repr(self.left)
        right = f"({self.right!r})" if isinstance(self.right, Pair) else repr(self.right)
        return f"{left} * {right}"


@dataclasses.dataclass(frozen=True, repr=False)
class OnColumns(Wrapper):
    r"""A kernel of some of the columns, written ``kernel.on(columns)``.

    .. math:: k(x, z) = k_1(x_S, z_S)

    Parameters
    ----------
    kernel : Kernel
        The kernel :math:`k_1`.
    columns : tuple of int or of str
        The columns :math:`S`: positions from 0, or feature names, which :meth:`bind` turns into positions.
    """

    columns: tuple[int | str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        columns = tuple(c if isinstance(c, str) else _position(c) for c in self.columns)
        if not columns or len(set(columns)) != len(columns):
            raise ValueError(f"kernel.on: expected one or more different columns, found {self.columns!r}")
        object.__setattr__(self, "columns", columns)

    def _positions(self, n_features: int, names: Sequence[str] | None = None) -> tuple[int, ...]:
        return tuple(_resolve(c, n_features, names) for c in self.columns)

    def bind(self, n_features: int, names: Sequence[str] | None = None) -> Self:
        """Return the kernel with column names turned into positions and its inner kernel bound to those columns."""
        positions = self._positions(n_features, names)
        inner = self.kernel.bind(len(positions), None if names is None else [str(names[i]) for i in positions])
        return dataclasses.replace(self, kernel=inner, columns=positions)

    def relevance(self, n_features: int) -> Vector | None:
        """Return the inner kernel's relevances at its columns, zero elsewhere."""
        positions = self._positions(n_features)
        inner = self.kernel.relevance(len(positions))
        if inner is None:
            return None
        relevance = np.zeros(n_features)
        relevance[list(positions)] = inner
        return relevance

    def with_relevance(self, feature: int, value: float) -> Self:
        """Return the kernel with the relevance of one feature set, if it is among the columns."""
        if feature not in self.columns:
            return self
        return dataclasses.replace(self, kernel=self.kernel.with_relevance(self.columns.index(feature), value))

    def _part(self, X: Inputs) -> Inputs:
        return X.columns(self._positions(X.n_features))

    def _gram(self, X: Inputs, Z: Inputs | None) -> Matrix:
        return self.kernel._gram(self._part(X), None if Z is None else self._part(Z))

    def _diag(self, X: Inputs) -> Vector:
        return self.kernel._diag(self._part(X))

    def _pullback(self, X: Inputs, Q: Matrix) -> Vector:
        return self.kernel._pullback(self._part(X), Q)

    def __repr__(self) -> str:
        inner = f"({self.kernel!r})" if isinstance(self.kernel, Pair) else repr(self.kernel)
        columns = repr(self.columns[0]) if len(self.columns) == 1 else repr(list(self.columns))
        return f"{inner}.on({columns})"


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


__all__ = ["OnColumns", "Product", "Sum"]
