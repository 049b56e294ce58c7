r"""The inputs of a kernel: a data matrix that remembers what all stationary kernels ask of it.

Squared distances depend on the data alone, so they are computed once per :class:`Inputs` object and shared by every
kernel and every hyperparameter value that is evaluated on it. The cache belongs to the object: there is no global
state, and it is released with the object. Dense arrays and SciPy sparse matrices go through the same primitives
(:meth:`Inputs.inner`, :meth:`Inputs.squared_distances`, :meth:`Inputs.quadratic`, :meth:`Inputs.spread`).
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import scipy.sparse as sp

from bayesvm.typing import Indices, Matrix, Vector

#: Entries that one block of rows may hold while a large matrix is worked through.
BLOCK = 2**18


class Inputs:
    """Rows of features with cached squared distances.

    Parameters
    ----------
    X : array or sparse matrix, shape (n, d)
        The data; not copied when it is already a C-ordered float64 array. It must not be changed afterwards.

    Attributes
    ----------
    rows : array of int or None
        For the result of :meth:`take`, the row numbers in the original object; None for an original.
    """

    __slots__ = ("X", "__weakref__", "_across", "_centre", "_derived", "_distances", "rows")

    X: Any
    rows: Indices | None

    def __init__(self, X: Any) -> None:
        if _is_sparse(X):
            self.X = sp.csr_array(X, dtype=np.float64)
        else:
            self.X = np.ascontiguousarray(X, dtype=np.float64)
        if np.ndim(X) != 2:
            raise ValueError(f"kernel inputs: expected a matrix, one row per sample, found {np.ndim(X)} dimension(s)")
        self.rows = None
        self._distances: Matrix | None = None
        self._across: tuple[weakref.ref[Inputs], Matrix] | None = None
        self._derived: dict[tuple[Any, ...], Inputs] = {}
        self._centre: Vector | None = None

    @classmethod
    def of(cls, X: Any) -> Inputs:
        """Return ``X`` itself if it is an :class:`Inputs` already, otherwise wrap it."""
        return X if isinstance(X, cls) else cls(X)

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __repr__(self) -> str:
        return f"Inputs({len(self)} rows, {self.n_features} columns{', sparse' if self.is_sparse else ''})"

    def __sizeof__(self) -> int:
        """Return the size with the data, by which a cluster decides to send an argument once or with every task."""
        parts = (self.X.data, self.X.indices, self.X.indptr) if self.is_sparse else (self.X,)
        return object.__sizeof__(self) + sum(int(part.nbytes) for part in parts)

    def __getstate__(self) -> tuple[Any, Indices | None]:
        return self.X, self.rows  # caches stay behind

    def __setstate__(self, state: tuple[Any, Indices | None]) -> None:
        Inputs.__init__(self, state[0])
        self.rows = state[1]

    # -- parts -------------------------------------------------------------------------------------------------------
    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether the data is a sparse matrix."""
        return _is_sparse(self.X)

    @property
    def centre(self) -> Vector:
        """Origin from which distances are computed, to lose fewer digits: column medians (zeros for sparse data).

        Medians, because one far outlier would draw a mean away from all other rows.
        """
        if self._centre is None:
            plain = self.is_sparse or len(self) == 0
            self._centre = np.zeros(self.n_features) if plain else np.median(self.X, axis=0)
        return self._centre

    def dense(self) -> Matrix:
        """Return the data as an array, or refuse if it is sparse."""
        if self.is_sparse:
            raise TypeError("this kernel needs dense inputs; found a sparse matrix (convert it with .toarray())")
        return self.X  # type: ignore[no-any-return]

    def take(self, rows: Indices) -> Inputs:
        """Return the given rows; distances that are known already are gathered, not computed again."""
        rows = np.asarray(rows)
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.intp)
        part = Inputs(self.X[rows])
        part._centre = self._centre
        part.rows = rows if self.rows is None else self.rows[rows]
        if self._distances is not None:
            part._distances = self._distances[np.ix_(rows, rows)]
            part._distances.flags.writeable = False
        part._derived = {key: derived.take(rows) for key, derived in self._derived.items()}
        return part

    def stacked(self, other: Inputs) -> Inputs:
        """Return the rows of both, one after the other."""
        if self.is_sparse or other.is_sparse:
            return Inputs(sp.vstack([self.X, other.X], format="csr"))
        return Inputs(np.concatenate([self.X, other.X]))

    def forget(self) -> Inputs:
        """Return the same rows without what was cached."""
        bare = Inputs(self.X)
        bare.rows = self.rows
        return bare

    def columns(self, columns: tuple[int, ...]) -> Inputs:
        """Return the given columns; the same object each time, so that its cache lasts."""
        if columns not in self._derived:
            self._derived[columns] = Inputs(self.X[:, list(columns)])
        return self._derived[columns]

    def rescaled(self, shift: tuple[float, ...], scale: tuple[float, ...]) -> Inputs:
        """Return ``(X - shift) / scale``; the same object each time. The shift of sparse data must be zero."""
        key = (shift, scale)
        if key not in self._derived:
            if self.is_sparse and any(shift):
                raise ValueError("sparse inputs can be scaled but not shifted: expected a shift of zeros")
            inverse = 1.0 / np.asarray(scale)
            X = self.X.multiply(inverse) if self.is_sparse else (self.X - np.asarray(shift)) * inverse
            self._derived[key] = Inputs(X)
        return self._derived[key]

    def logarithms(self, origin: tuple[float, ...], unit: tuple[float, ...]) -> Inputs:
        """Return the columns mapped by :func:`signed_logarithm`; the same object each time, for dense data."""
        key = ("log", origin, unit)
        if key not in self._derived:
            self._derived[key] = Inputs(signed_logarithm(self.dense(), np.asarray(origin), np.asarray(unit)))
        return self._derived[key]

    # -- primitives --------------------------------------------------------------------------------------------------
    def inner(self, other: Inputs | None = None, weights: Vector | None = None) -> Matrix:
        r"""Inner products :math:`\sum_l w_l x_{il} z_{jl}` (weights 1 if not given; one number serves all columns)."""
        left = _scaled(self.X, weights)
        return _product(left, left if other is None else _scaled(other.X, weights))

    def centred_inner(self, weights: Vector) -> Matrix:
        r"""Inner products about the centre of dense data, :math:`\sum_l w_l (x_{il} - c_l) (x_{jl} - c_l)`."""
        X = _scaled(self.dense() - self.centre, weights)
        return np.asarray(X @ X.T)

    def squared_norms(self, weights: Vector | None = None) -> Vector:
        r"""Diagonal of ``inner(weights=weights)``, :math:`\sum_l w_l x_{il}^2`."""
        return _squared_norms(_scaled(self.X, weights))

    def squared_distances(self, other: Inputs | None = None, weights: Vector | None = None) -> Matrix:
        r"""Squared distances :math:`\sum_l w_l (x_{il} - z_{jl})^2`.

        Without ``weights`` the result is read-only and cached: for good without ``other``, and to the last ``other`` if
        there are few of them. Never negative, symmetric and zero on the diagonal when ``other`` is not given; a
        distance that rounding cannot tell from zero is zero.
        """
        if other is None and weights is None:
            if self._distances is None:
                self._distances = self._compute_distances(None, None)
                self._distances.flags.writeable = False
            return self._distances
        if other is None or weights is not None or len(self) * len(other) > BLOCK:
            return self._compute_distances(other, weights)
        last = self._across
        if last is None or last[0]() is not other:
            last = self._across = weakref.ref(other), self._compute_distances(other, None)
            last[1].flags.writeable = False
        return last[1]

    def _compute_distances(self, other: Inputs | None, weights: Vector | None) -> Matrix:
        plain = self.is_sparse or (other is not None and other.is_sparse)
        left = _scaled(self.X if plain else self.X - self.centre, weights)
        right = left if other is None else _scaled(other.X if plain else other.X - self.centre, weights)
        distances = _product(left, right)
        tolerance = (4.0 + np.sqrt(self.n_features)) * np.finfo(float).eps
        _distances_from_products(distances, _squared_norms(left), _squared_norms(right), tolerance)
        if other is None:
            np.fill_diagonal(distances, 0.0)
        return distances

    def quadratic(self, A: Matrix, other: Inputs | None = None) -> Vector:
        r"""Bilinear form of every column, :math:`\sum_{ij} A_{ij} x_{il} z_{jl}`, with z = x if ``other`` is None."""
        return _column_products(self.X, A @ (self.X if other is None else other.X))

    def squares(self, weights: Vector) -> Vector:
        r"""Weighted squares of every column, :math:`\sum_i w_i x_{il}^2`."""
        return np.asarray((self.X * self.X).T @ weights)

    def spread(self, A: Matrix, other: Inputs | None = None) -> Vector:
        r"""Weighted squared differences per column, :math:`\sum_{ij} A_{ij} (x_{il} - z_{jl})^2`.

        With ``other`` None, z = x and A is symmetric. Matrix products for all columns at once:
        :math:`\sum_i x_{il}^2 (A 1)_i + \sum_j z_{jl}^2 (A^\top 1)_j - 2 x_l^\top A z_l`.
        """
        plain = self.is_sparse or (other is not None and other.is_sparse)
        X = self.X if plain else self.X - self.centre
        squares = np.asarray((X * X).T @ A.sum(axis=1))
        if other is None:
            return np.asarray(2.0 * (squares - _column_products(X, A @ X)))
        Z = other.X if plain else other.X - self.centre
        squares += np.asarray((Z * Z).T @ A.sum(axis=0))
        return np.asarray(squares - 2.0 * _column_products(X, A @ Z))


def signed_logarithm(X: Matrix, origin: Vector, unit: Vector) -> Matrix:
    r"""Return :math:`\operatorname{sign}(u) \log(1 + |u|)` with :math:`u = (x - o)/c` of every column.

    Columns with a unit c of zero stay as they are.
    """
    curved = unit > 0.0
    u = (X - origin) / np.where(curved, unit, 1.0)
    return np.where(curved, np.copysign(np.log1p(np.abs(u)), u), X)


def from_signed_logarithm(T: Matrix, origin: Vector, unit: Vector) -> Matrix:
    """Return what :func:`signed_logarithm` maps to ``T``."""
    curved = unit > 0.0
    return np.where(curved, origin + unit * np.copysign(np.expm1(np.where(curved, np.abs(T), 0.0)), T), T)


def _is_sparse(X: Any) -> bool:
    return bool(sp.issparse(X))


def _scaled(X: Any, weights: Vector | None) -> Any:
    """Return the columns times the square roots of their weights, for inner products."""
    if weights is None:
        return X
    return sp.csr_array(X.multiply(np.sqrt(weights))) if _is_sparse(X) else X * np.sqrt(weights)


def _product(left: Any, right: Any) -> Matrix:
    product = left @ right.T
    return np.asarray(product.toarray() if _is_sparse(product) else product)


def _squared_norms(X: Any) -> Vector:
    if _is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


def _column_products(X: Any, Y: Matrix) -> Vector:
    """Inner product of every column of ``X`` with the same column of ``Y``."""
    if _is_sparse(X):
        return np.asarray(X.multiply(Y).sum(axis=0)).ravel()
    return np.asarray(np.einsum("il,il->l", X, Y))


def _distances_from_products(products: Matrix, left: Vector, right: Vector, tolerance: float) -> None:
    """Turn inner products into squared distances in place, a block of rows at a time; rounding noise becomes zero."""
    step = max(1, BLOCK // max(1, right.size))
    for start in range(0, left.size, step):
        block = products[start : start + step]
        scale = left[start : start + step, None] + right
        block *= -2.0
        block += scale
        scale *= tolerance
        np.copyto(block, 0.0, where=block <= scale)


__all__ = ["Inputs", "from_signed_logarithm", "signed_logarithm"]
