r"""The inputs of a kernel: a data matrix that remembers what all stationary kernels ask of it.

Squared distances depend on the data alone, so they are computed once per :class:`Inputs` object and shared by every
kernel and every hyperparameter value that is evaluated on it. The cache belongs to the object: there is no global state,
and it is released with the object. Dense arrays and SciPy sparse matrices go through the same three primitives
(:meth:`Inputs.inner`, :meth:`Inputs.squared_distances`, :meth:`Inputs.spread`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from bayesvm.typing import Indices, Matrix, Vector


class Inputs:
    """Rows of features with cached squared distances.

    Parameters
    ----------
    X : array or sparse matrix, shape (n, d)
        The data; not copied when it is already a C-ordered float64 array. It must not be changed afterwards.
    """

    __slots__ = ("X", "_centre", "_columns", "_distances")

    def __init__(self, X: Any) -> None:
        if sp.issparse(X):
            self.X = sp.csr_array(X, dtype=np.float64)
        else:
            self.X = np.ascontiguousarray(X, dtype=np.float64)
        if self.X.ndim != 2:
            raise ValueError(f"kernel inputs: expected a matrix with one row per sample, found {self.X.ndim} dimension(s)")
        self._distances: Matrix | None = None
        self._columns: dict[tuple[int, ...], Inputs] = {}
        self._centre: Vector | None = None

    @classmethod
    def of(cls, X: Any) -> Inputs:
        """Return ``X`` itself if it is an :class:`Inputs` already, otherwise wrap it."""
        return X if isinstance(X, cls) else cls(X)

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether the data is a sparse matrix."""
        return bool(sp.issparse(self.X))

    @property
    def centre(self) -> Vector:
        """Column means (zeros for sparse data): the origin from which distances are computed, to lose fewer digits."""
        if self._centre is None:
            self._centre = np.zeros(self.n_features) if self.is_sparse else self.X.mean(axis=0)
        return self._centre

    def dense(self) -> Matrix:
        """Return the data as an array, or refuse if it is sparse."""
        if self.is_sparse:
            raise TypeError("this kernel needs dense inputs; found a sparse matrix (convert it with .toarray())")
        return self.X  # type: ignore[no-any-return]

    def take(self, rows: Indices) -> Inputs:
        """Return the given rows; distances that are known already are gathered, not computed again."""
        part = Inputs(self.X[rows])
        if self._distances is not None:
            part._distances = self._distances[np.ix_(rows, rows)]
        return part

    def columns(self, columns: tuple[int, ...]) -> Inputs:
        """Return the given columns; the same object each time, so that its cache lasts."""
        if columns not in self._columns:
            self._columns[columns] = Inputs(self.X[:, list(columns)])
        return self._columns[columns]

    def inner(self, other: Inputs | None = None, weights: Vector | None = None) -> Matrix:
        r"""Inner products :math:`\sum_l w_l x_{il} z_{jl}` (weights 1 if not given)."""
        left = self.X if weights is None else self.X * weights
        right = (self if other is None else other).X
        product = left @ right.T
        return np.asarray(product.toarray() if sp.issparse(product) else product)

    def squared_distances(self, other: Inputs | None = None, weights: Vector | None = None) -> Matrix:
        r"""Squared distances :math:`\sum_l w_l (x_{il} - z_{jl})^2`.

        Without ``other`` and ``weights`` the result is cached and read-only. Never negative; exactly zero on the diagonal
        when ``other`` is not given.
        """
        if other is None and weights is None:
            if self._distances is None:
                self._distances = self._compute_distances(None, None)
                self._distances.flags.writeable = False
            return self._distances
        return self._compute_distances(other, weights)

    def _compute_distances(self, other: Inputs | None, weights: Vector | None) -> Matrix:
        left = self._scaled(self.centre, weights)
        right = left if other is None else other._scaled(self.centre, weights)
        product = left @ right.T
        distances = np.asarray(product.toarray() if sp.issparse(product) else product)
        distances *= -2.0
        distances += _squared_norms(left)[:, None]
        distances += _squared_norms(right)[None, :]
        np.maximum(distances, 0.0, out=distances)
        if other is None:
            np.fill_diagonal(distances, 0.0)
        return distances

    def _scaled(self, centre: Vector, weights: Vector | None) -> Any:
        X = self.X if self.is_sparse else self.X - centre
        return X if weights is None else X * np.sqrt(weights)

    def spread(self, A: Matrix) -> Vector:
        r"""Weighted squared differences per column, :math:`\sum_{ij} A_{ij} (x_{il} - x_{jl})^2`, for symmetric A.

        Two matrix products for all columns at once:
        :math:`2 [\sum_i x_{il}^2 (A 1)_i - x_l^\top A x_l]`.
        """
        X = self._scaled(self.centre, None)
        AX = A @ X
        if self.is_sparse:
            cross = np.asarray(X.multiply(AX).sum(axis=0)).ravel()
            squares = np.asarray(X.multiply(X).T @ A.sum(axis=1)).ravel()
        else:
            cross = np.einsum("il,il->l", X, AX)
            squares = np.einsum("il,il,i->l", X, X, A.sum(axis=1))
        return np.asarray(2.0 * (squares - cross))


def _squared_norms(X: Any) -> Vector:
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


__all__ = ["Inputs"]
