r"""The centred Gram matrix seen through its eigenpairs: all that levels 2 and 3 need.

VanGestel2002 (3.15), with the matrix diagonalised in an orthonormal basis of the complement of the vector of ones, so
that all :math:`N - 1` directions carry their part of the targets. Eigenvalues that were not computed count as zero, and
the targets outside the span of the computed eigenvectors as one number, ``rest``, which (4.11) to (4.13) omit.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.inference.ls_svm.design import Design
from bayesvm.linalg.eigen import Complement, Product, leading_pairs, symmetric_eigen
from bayesvm.typing import Matrix, Vector

#: A negative eigenvalue of at least this size, relative to the largest, is not rounding.
NEGATIVE = 1e-8
#: Share of the trace below which a centred Gram matrix is rounding noise: a kernel that is constant over the rows.
CONSTANT = 1e-12
#: Eigenvalues below this, relative to the largest, cannot be told from zero when they come from a product of features.
NEGLIGIBLE = 1e-12


@dataclasses.dataclass(frozen=True)
class Spectrum:
    r"""Eigenpairs of the (weighted) centred Gram matrix with the targets in their basis."""

    values: Vector  #: Eigenvalues, largest first, not negative; shape (r,).
    targets: Matrix  #: Targets in the basis of the eigenvectors, :math:`V^\top S y`; shape (r, q).
    rest: float  #: Squared norm, summed over outputs, of the centred targets outside the span of the eigenvectors.
    trace: float  #: Sum of all eigenvalues, computed or not.
    whole: float  #: The same before centring: what rounding of products and eigenvalues is relative to.
    size: int  #: Dimension of the space, n - 1 (n without bias).
    design: Design  #: Weights and bias.
    #: Orthonormal eigenvectors (in the space scaled by S); None where the basis is that of features; shape (n, r).
    vectors: Matrix | None = None
    #: Largest norm :math:`|G v - \lambda v|` of a computed pair; 0 if the decomposition is complete.
    residual: float = 0.0

    @property
    def outputs(self) -> int:
        """Number of outputs, q."""
        return int(self.targets.shape[1])

    @property
    def power(self) -> Vector:
        """Squared targets per eigenvector, summed over outputs."""
        return np.asarray(np.einsum("ij,ij->i", self.targets, self.targets))

    @property
    def left_out(self) -> float:
        """Sum of the eigenvalues that were not computed."""
        return max(0.0, self.trace - float(np.sum(self.values)))

    @property
    def largest_left_out(self) -> float:
        """Bound of the largest eigenvalue that was not computed."""
        if self.values.size >= self.size:
            return 0.0
        return min(self.left_out, float(self.values[-1]) + self.residual) if self.values.size else self.left_out

    @property
    def basis(self) -> Matrix:
        """The eigenvectors, or an error where there are none."""
        if self.vectors is None:
            raise ValueError("this spectrum comes from features and has no eigenvectors over the rows")
        return self.vectors


def beyond_rounding(trace: float, whole: float) -> float:
    """Return the sum of the eigenvalues, zero if it is rounding: then the kernel is constant over the rows."""
    return trace if trace > CONSTANT * whole else 0.0


def complete_spectrum(K: Matrix, y: Matrix, design: Design) -> Spectrum:
    """Diagonalise the Gram matrix, which may be singular, in the complement of s.

    Raises
    ------
    NotPositiveDefiniteError
        If an eigenvalue is negative beyond rounding.
    """
    gram, scaled = design.scaled_gram(K), design.scaled(y)
    if design.bias:
        complement = Complement.of(design.root)
        G, c = complement.compress(gram), complement.project(scaled)
        values, Z = symmetric_eigen(G)
        vectors = complement.expand(Z)
    else:
        values, Z = symmetric_eigen(gram)
        vectors, c = Z, scaled
    whole = float(np.trace(np.abs(gram)))
    if values.size and not float(values[-1]) >= -max(NEGATIVE * float(values[0]), CONSTANT * whole):
        raise NotPositiveDefiniteError(
            f"the centred Gram matrix ({design.n} x {design.n}) is not positive semidefinite: its eigenvalues reach "
            f"from {values[-1]:.3g} to {values[0]:.3g}"
        )
    values = np.maximum(values, 0.0)
    trace = beyond_rounding(float(np.sum(values)), whole)
    values = values if trace > 0.0 else np.zeros_like(values)
    return Spectrum(values, Z.T @ c, 0.0, trace, whole, design.size, design, vectors)


def leading_spectrum(
    product: Product, trace: float, whole: float, y: Matrix, design: Design, k: int, rng: np.random.Generator
) -> Spectrum:
    """Return the k leading eigenpairs from products.

    ``trace`` is that of the centred, scaled Gram matrix, ``whole`` the same before centring.
    """
    k = min(k, design.size)
    pairs = leading_pairs(centred_product(product, design), design.n, k, rng)
    vectors = design.centred(pairs.vectors)
    scaled = design.centred(design.scaled(y))
    targets = vectors.T @ scaled
    outside = scaled - vectors @ targets
    rest = float(np.einsum("ij,ij->", outside, outside))
    trace = beyond_rounding(trace, whole)
    values = pairs.values if trace > 0.0 else np.zeros_like(pairs.values)
    return Spectrum(values, targets, rest, trace, whole, design.size, design, vectors, pairs.residual)


def centred_product(product: Product, design: Design) -> Product:
    """Return the product with the scaled Gram matrix between two centrings."""

    def centred(B: Matrix) -> Matrix:
        inner = design.scaled(design.centred(B))
        return design.centred(design.scaled(product(inner)))

    return centred


@dataclasses.dataclass(frozen=True)
class FeatureSums:
    r"""What a machine in a finite feature space needs of its rows, summed over them with their weights."""

    products: Matrix  #: :math:`\sum_i v_i \varphi_i \varphi_i^\top`; shape (m, m).
    mean: Vector  #: Weighted mean of the features; shape (m,).
    cross: Matrix  #: :math:`\sum_i v_i \varphi_i y_i`; shape (m, q).
    #: Weighted mean of the targets, and their weighted squares summed over outputs.
    y_mean: Vector
    y_square: float


def feature_spectrum(sums: FeatureSums, design: Design) -> tuple[Spectrum, Matrix]:
    r"""Return the spectrum of the Gram matrix :math:`\Phi\Phi^\top` of m features, and :math:`\Phi_c^\top V` (m, r).

    Neither an n x n nor an n x m matrix is needed. Eigenvalues that cannot be told from zero are left to ``rest``.
    """
    total = design.total
    C, cross, square = sums.products, sums.cross, sums.y_square
    if design.bias:
        C = C - total * np.outer(sums.mean, sums.mean)
        cross = cross - total * np.outer(sums.mean, sums.y_mean)
        square = square - total * float(sums.y_mean @ sums.y_mean)
    values, Z = symmetric_eigen(0.5 * (C + C.T))
    whole = float(np.trace(sums.products))
    trace = beyond_rounding(float(np.sum(np.maximum(values, 0.0))), whole)
    keep = values > (NEGLIGIBLE * float(values[0]) if trace > 0.0 else np.inf)
    values, Z = values[keep], Z[:, keep]
    root = np.sqrt(values)
    targets = (Z.T @ cross) / root[:, None]
    rest = max(0.0, square - float(np.einsum("ij,ij->", targets, targets)))
    spectrum = Spectrum(values, targets, rest, float(np.sum(values)), whole, design.size, design)
    return spectrum, Z * root


__all__ = [
    "FeatureSums",
    "Spectrum",
    "beyond_rounding",
    "centred_product",
    "complete_spectrum",
    "feature_spectrum",
    "leading_spectrum",
]
