r"""The prior covariance K of the training rows: as a matrix, or, if its rank is low, by a few of its columns.

*Low rank.* A smooth kernel in few dimensions has a Gram matrix whose eigenvalues fall below rounding after some tens of
them. With the pivots P of a Cholesky factorisation, :math:`K_{PP} = L L^\top`,

.. math:: K = \Phi \Phi^\top, \qquad \Phi = K_{\cdot P} L^{-\top}

up to what the pivots leave of the diagonal, :math:`r_i = k_i - |\phi_i|^2`, which is known. A change of K is

.. math:: dK = dK_{\cdot P} B^\top + B\, dK_{P \cdot} - B\, dK_{PP}\, B^\top, \qquad B = \Phi L^{-1},

so that nothing of the order of all pairs of rows is ever computed. The pivots are chosen among some of the rows: if
these have nearly full rank, so that the others would add to it, there is no low rank worth using.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

import numpy as np

from bayesvm.inference.base import Factor
from bayesvm.inference.low_rank.weights import plus_identity, weighted_gram
from bayesvm.inference.low_rank.whole import FeatureCotangent
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg import Cholesky, cholesky
from bayesvm.linalg.pivoted_cholesky import pivoted_cholesky
from bayesvm.typing import Indices, Matrix, Vector

P = TypeVar("P", Kernel, Likelihood)

#: Step of one-sided differences in theta: of Gram matrices, whose rounding is that of their largest entry.
SHIFT = 1e-4
#: Share of the largest variance that the pivots may leave.
RANK_TOLERANCE = 1e-13


class PosteriorCovariance(Protocol):
    r"""What is asked of :math:`\Sigma = K - K_{\cdot M} R K_{M \cdot}`."""

    def variances(self, rows: Indices) -> Vector:
        """Return the diagonal entries in some rows, none of them negative."""

    def block(self, rows: Indices) -> Matrix:
        """Return the entries in some rows and the same columns."""


class PriorCovariance(Protocol):
    """What is asked of K."""

    def times(self, x: Matrix, rows: Indices | None = None) -> Matrix:
        """Return K x; x is given on ``rows`` and zero elsewhere, if these are given."""

    def given(self, factor: Factor) -> PosteriorCovariance:
        """Return the posterior covariance that belongs to R."""

    def slopes(self, alpha: Matrix) -> Matrix:
        r"""Return :math:`\partial K / \partial \theta_j\, \alpha`; shape (p, n, q) for q columns of ``alpha``."""


@dataclasses.dataclass(frozen=True)
class GramCovariance:
    """The covariance as a matrix."""

    kernel: Kernel
    X: Inputs
    K: Matrix

    @classmethod
    def of(cls, kernel: Kernel, X: Inputs) -> GramCovariance:
        """Compute the Gram matrix."""
        return cls(kernel, X, kernel.gram(X))

    def times(self, x: Matrix, rows: Indices | None = None) -> Matrix:
        """Return K x; x is given on ``rows`` and zero elsewhere, if these are given."""
        return np.asarray((self.K if rows is None else self.K[:, rows]) @ x)

    def given(self, factor: Factor) -> PosteriorCovariance:
        """Return the posterior covariance that belongs to R."""
        return GramPosterior(self.K, factor)

    def slopes(self, alpha: Matrix) -> Matrix:
        """Return the derivatives of K times ``alpha``: as many Gram matrices as the kernel has parameters."""
        found = differences(lambda other: (other.gram(self.X) @ alpha).ravel(), self.kernel, (self.K @ alpha).ravel())
        return found.reshape(-1, *alpha.shape)


@dataclasses.dataclass(frozen=True)
class GramPosterior:
    """The posterior covariance where the prior is a matrix."""

    K: Matrix
    factor: Factor

    def variances(self, rows: Indices) -> Vector:
        """Return the diagonal entries in some rows, none of them negative."""
        prior = np.diagonal(self.K)[rows]
        return np.maximum(prior - self.factor.explained(self.K[np.ix_(self.factor.support, rows)]), 0.0)

    def block(self, rows: Indices) -> Matrix:
        """Return the entries in some rows and the same columns."""
        cross = self.K[np.ix_(self.factor.support, rows)]
        return np.asarray(self.K[np.ix_(rows, rows)] - cross.T @ self.factor.apply(cross))


@dataclasses.dataclass(frozen=True)
class FeaturePosterior:
    r"""The posterior covariance :math:`\Phi S^{-1} \Phi^\top` with :math:`S = I + \Phi^\top W \Phi`."""

    phi: Matrix
    S: Cholesky

    def variances(self, rows: Indices) -> Vector:
        """Return the diagonal entries in some rows, none of them negative."""
        half = self.S.half_solve(self.phi[rows].T)
        return np.asarray(np.einsum("ij,ij->j", half, half))

    def block(self, rows: Indices) -> Matrix:
        """Return the entries in some rows and the same columns."""
        half = self.S.half_solve(self.phi[rows].T)
        return np.asarray(half.T @ half)


@dataclasses.dataclass(frozen=True)
class Candidates:
    """Rows among which pivots are chosen: their numbers, their inputs, and how many may be chosen."""

    rows: Indices
    X: Inputs
    most: float

    @classmethod
    def of(cls, X: Inputs, rows: Indices, most: float) -> Candidates:
        """Take some rows."""
        return cls(rows, X.take(rows), most)


@dataclasses.dataclass(frozen=True)
class PivotedCovariance:
    """The covariance by its columns at the pivots.

    Attributes
    ----------
    kernel, X : Kernel, Inputs
        Whose Gram matrix it is.
    Z : Inputs
        Rows of the pivots, in the order of their choice.
    pivots : array of int, shape (r,)
        Their numbers.
    columns : array, shape (n, r)
        Columns of K at the pivots.
    factor : Cholesky
        L.
    phi : array, shape (n, r)
        Features.
    residual : array, shape (n,)
        What the pivots leave of the diagonal.
    """

    kernel: Kernel
    X: Inputs
    Z: Inputs
    pivots: Indices
    columns: Matrix
    factor: Cholesky
    phi: Matrix
    residual: Vector

    @classmethod
    def of(cls, kernel: Kernel, X: Inputs, candidates: Candidates) -> PivotedCovariance | None:
        """Return the covariance with pivots among some of the rows of X; None if these have too high a rank."""
        chosen, factor = pivoted_cholesky(kernel.gram(candidates.X), RANK_TOLERANCE)
        if not 0 < chosen.size <= candidates.most:
            return None
        Z = candidates.X.take(chosen)
        columns = kernel.gram(X, Z)
        phi = factor.half_solve(columns.T).T
        residual = np.maximum(kernel.diag(X) - np.einsum("ij,ij->i", phi, phi), 0.0)
        return cls(kernel, X, Z, candidates.rows[chosen], columns, factor, phi, residual)

    def times(self, x: Matrix, rows: Indices | None = None) -> Matrix:
        """Return K x; x is given on ``rows`` and zero elsewhere, if these are given."""
        return np.asarray(self.phi @ ((self.phi if rows is None else self.phi[rows]).T @ x))

    def given(self, factor: Factor) -> PosteriorCovariance:
        """Return the posterior covariance that belongs to R."""
        S = plus_identity(weighted_gram(self.phi[factor.support], factor.curvature))
        return FeaturePosterior(self.phi, cholesky(S, overwrite=True))

    def slopes(self, alpha: Matrix) -> Matrix:
        """Return the derivatives of K times ``alpha``, from those of its columns at the pivots."""
        inner = self.factor.back_solve(self.phi.T @ alpha)
        found = []
        for kernel, shift in shifted(self.kernel):
            change = kernel.gram(self.X, self.Z)
            change -= self.columns
            change /= shift
            across = change.T @ alpha - change[self.pivots] @ inner
            found.append(change @ inner + self.phi @ self.factor.half_solve(across))
        return np.array(found).reshape(-1, *alpha.shape)

    def pullback(self, bar: FeatureCotangent) -> Vector:
        r"""Return the derivatives in theta from those in the features.

        :math:`\Phi^\top \bar\Phi` is symmetric, as for every function of :math:`\Phi \Phi^\top`; the derivatives in
        :math:`K_{\cdot P}` and :math:`K_{PP}` are then :math:`\bar\Phi L^{-1}` and :math:`-\tfrac12 L^{-\top}
        \Phi^\top \bar\Phi L^{-1}`.
        """
        back = self.factor.back_solve
        across = self.kernel.cross_pullback(self.X, self.Z, bar.times(back))
        within = self.kernel.pullback(self.Z, -0.5 * back(back(bar.inner).T))
        return np.asarray(across + within)


def shifted(model: P) -> Iterator[tuple[P, float]]:
    """Yield the kernel or likelihood with one entry of its theta after the other shifted within its bounds."""
    theta = model.theta
    for j, upper in enumerate(model.bounds[:, 1]):
        shift = np.zeros_like(theta)
        shift[j] = SHIFT if theta[j] + SHIFT <= upper else -SHIFT
        yield model.with_theta(theta + shift), float(shift[j])


def differences(function: Callable[[P], Vector], model: P, here: Vector) -> Matrix:
    """Return the derivatives of a function of a kernel or likelihood in its theta, one row per entry.

    By one-sided differences; ``here`` is the value of the function.
    """
    rows = [(function(other) - here) / shift for other, shift in shifted(model)]
    return np.array(rows).reshape(len(rows), here.size)


__all__ = ["GramCovariance", "PivotedCovariance", "PriorCovariance", "differences"]
