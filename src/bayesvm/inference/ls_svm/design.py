r"""How the rows of a least-squares machine count: their weights, and whether there is a bias.

Throughout this folder K is the Gram matrix, shape (n, n), y the targets, one column per output, shape (n, q),
``groups`` an indicator matrix of classes, shape (n, C), and ``product`` the function that maps columns B to K B. With
weights :math:`v_i` the cost is :math:`\tfrac\mu2 w^\top w + \tfrac\zeta2 \sum_i v_i e_i^2`; a row of weight 2 counts as
two equal rows. Let s hold the square roots of the weights and S the same on a diagonal. Then
:math:`\tilde K = S \Omega S` and :math:`S y` obey the equations of the unweighted machine with s in place of the vector
of ones, and N, the number of rows, is the sum of the weights.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.typing import Matrix, Vector

#: Least value of an energy, for targets that are zero: its inverse must not overflow.
VANISHING = 1e-150


@dataclasses.dataclass(frozen=True)
class Design:
    r"""Weights and bias of a problem with n rows.

    Parameters
    ----------
    n : int
        Number of rows.
    bias : bool
        Whether an unregularised bias is part of the model.
    weights : array, shape (n,), optional
        Positive weights; all one if None. Their sum must exceed one.
    least_noise: float
        Least ratio of the noise variance to the mean prior variance over the rows, :math:`1/\gamma` over the mean
        eigenvalue: with equal rows of equal targets the evidence would grow without bound as the noise vanishes.
    """

    n: int
    bias: bool = True
    weights: Vector | None = None
    least_noise: float = 1e-7

    def __post_init__(self) -> None:
        if not self.freedom > 0.0:
            raise ValueError(
                f"least-squares machine: expected rows whose weights (counts) sum to more than {int(self.bias)}, "
                f"found a sum of {self.total:.3g}"
            )

    @property
    def total(self) -> float:
        """N, the sum of the weights."""
        return float(self.n) if self.weights is None else float(np.sum(self.weights))

    @property
    def freedom(self) -> float:
        """N - 1, or N without bias: the degrees of freedom that the bias leaves."""
        return self.total - float(self.bias)

    @property
    def size(self) -> int:
        """Dimension of the space in which the Gram matrix is diagonalised."""
        return self.n - int(self.bias)

    @property
    def root(self) -> Vector:
        """Square roots of the weights, s."""
        return np.ones(self.n) if self.weights is None else np.sqrt(self.weights)

    @property
    def counts(self) -> Vector:
        """The weights."""
        return np.ones(self.n) if self.weights is None else self.weights

    def scaled_gram(self, K: Matrix) -> Matrix:
        r"""Return :math:`S K S` (K itself without weights)."""
        if self.weights is None:
            return K
        root = self.root
        return np.asarray((root[:, None] * K) * root)

    def scaled(self, B: Matrix) -> Matrix:
        """Return S B for a matrix of columns."""
        return B if self.weights is None else self.root[:, None] * B

    def centred(self, B: Matrix) -> Matrix:
        """Return the columns of B (in scaled space) without their part along s; B itself without bias."""
        if not self.bias:
            return B
        s = self.root
        return np.asarray(B - np.outer(s, (s @ B) / self.total))


__all__ = ["VANISHING", "Design"]
