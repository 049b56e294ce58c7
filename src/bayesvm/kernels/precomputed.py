"""A Gram matrix that was computed elsewhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.leaf import Leaf, frobenius
from bayesvm.parameters import check_positive
from bayesvm.typing import Indices, Matrix, Vector

#: Largest asymmetry, relative to the largest entry, that is put down to rounding.
SYMMETRY = 1e-8


@dataclasses.dataclass(frozen=True, repr=False)
class Precomputed(Leaf):
    r"""Kernel whose values are given: the "data" is the Gram matrix itself, as with scikit-learn's ``"precomputed"``.

    .. math:: k(x_i, x_j) = v\,G_{ij}

    Domain: dense matrices with one *column* per training sample. Training takes the symmetric matrix (n, n);
    prediction takes the values between m new samples (rows) and all n training samples (columns), in their order.

    =======================  =========================================================================================
    ``gram(G)``              ``G`` (n, n), symmetric: ``v * G``
    ``gram(G_new, Z)``       ``G_new`` (m, n), ``Z`` the training inputs: ``v * G_new``
    ``gram(G_new, part)``    ``part = Inputs.of(G).take(rows)``, such as the support vectors: ``v * G_new[:, rows]``
    ``gram(part)``           ``v * G[rows][:, rows]``
    =======================  =========================================================================================

    A part thus has to be made by :meth:`Inputs.take`, which remembers the row numbers; ``G[rows]`` does not.

    Parameters
    ----------
    variance : float
        :math:`v`; fix it to use the matrix as it is.
    diagonal : float, optional
        Value of :math:`k(x, x)/v` at new samples, for instance 1 for a normalised kernel. The values between new and
        training samples do not tell it, and predictive variances need it.

    Notes
    -----
    The matrix may be indefinite, hence ``always_positive`` is False. Asymmetry up to rounding is averaged out; more of
    it is an error.
    """

    always_positive = False  # nothing is known about the matrix

    variance: float = 1.0
    diagonal: float | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.diagonal is not None:
            value = check_positive("Precomputed.diagonal", self.diagonal, sequence=False)
            object.__setattr__(self, "diagonal", value)

    def _gram(self, X: Inputs, Z: Inputs | None) -> Matrix:
        if Z is None:
            G = _own_gram(X)
            if G is None:
                raise ValueError(
                    "Precomputed: expected a symmetric square Gram matrix (or a part of one made by Inputs.take), "
                    f"found a matrix of shape {X.X.shape} that is not symmetric"
                )
        elif Z.rows is not None:
            G = _checked(X, Z.rows)[:, Z.rows]
        elif len(Z) == X.n_features:
            G = X.dense()
        else:
            raise ValueError(
                f"Precomputed: expected one column per training sample, {len(Z)}, found {X.n_features}; a part of the "
                "training samples has to be made by Inputs.take"
            )
        return G * self.variance

    def _diag(self, X: Inputs) -> Vector:
        if X.rows is not None:
            return np.asarray(_checked(X, X.rows)[np.arange(len(X)), X.rows] * self.variance)
        if _own_gram(X) is not None:
            return np.diagonal(X.dense()) * self.variance
        if self.diagonal is None:
            raise ValueError(
                "Precomputed: the variance at new samples is unknown, since the Gram matrix between new and training "
                "samples does not hold k(x, x); give it as Precomputed(diagonal=...), 1.0 for a normalised kernel"
            )
        return np.full(len(X), self.diagonal * self.variance)

    def _gradients(self, X: Inputs, Q: Matrix) -> Mapping[str, float | Vector]:
        return {"variance": frobenius(Q, self._gram(X, None))}

    def _cross_pullback(self, X: Inputs, Z: Inputs, Q: Matrix) -> Vector:
        return self._of_free({"variance": frobenius(Q, self._gram(X, Z))})

    def _diag_pullback(self, X: Inputs, q: Vector) -> Vector:
        return self._of_free({"variance": float(q @ self._diag(X))})


def _own_gram(X: Inputs) -> Matrix | None:
    """Return the Gram matrix of the samples among themselves, exactly symmetric, or None if ``X`` does not hold it."""
    G = X.dense() if X.rows is None else _checked(X, X.rows)[:, X.rows]
    if G.shape[0] != G.shape[1]:
        return None
    mean = G + G.T
    mean *= 0.5
    gap = np.max(np.abs(mean - G), initial=0.0)
    return mean if gap <= SYMMETRY * np.max(np.abs(G), initial=0.0) else None


def _checked(X: Inputs, rows: Indices) -> Matrix:
    """Return the matrix if it has a column for each of the given training samples."""
    if rows.size and int(rows.max()) >= X.n_features:
        raise ValueError(
            f"Precomputed: expected a column for every training sample, at least {int(rows.max()) + 1}, "
            f"found {X.n_features}"
        )
    return X.dense()


__all__ = ["Precomputed"]
