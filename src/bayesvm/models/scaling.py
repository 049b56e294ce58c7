"""Standardised inputs and targets: zero mean and unit variance, so that default starts and bounds fit any data."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import scipy.sparse as sp

from bayesvm.kernels import Kernel, Logarithmic, Rescaled
from bayesvm.kernels.inputs import Inputs, from_signed_logarithm, signed_logarithm
from bayesvm.likelihoods.base import Regression
from bayesvm.typing import Matrix, Vector

#: Scale of an output that does not vary, relative to its largest value.
CONSTANT = 1e-9
#: Largest mean of a column of sparse data, in standard deviations.
FAR_MEAN = 1e3
#: Constants above this are divided by themselves.
LARGE_CONSTANT = 2.0**20
#: Columns whose largest magnitude is within 2 to the power of plus or minus this can be squared and summed as they are.
SAFE_EXPONENT = 400
#: Skewness from which on a feature may be replaced by its logarithm, the share of it that may be left then, and the
#: parts of the standard deviation that are tried as the unit.
SKEWED = 1.0
LESS = 0.8
PARTS = np.array([1.0, 0.1, 0.01, 0.001])


@dataclasses.dataclass(frozen=True)
class Standardizer:
    """The map x -> (x - shift) / scale.

    Attributes
    ----------
    shift, scale : array, shape (d,)
        Means (zeros for sparse data, to keep it sparse) and standard deviations with divisor n; a feature that is
        constant up to rounding has scale 1, or its own size if that is large, and plays no part.
    """

    shift: Vector
    scale: Vector

    @classmethod
    def of(cls, X: Any, weights: Vector | None = None) -> Standardizer:
        """Learn the map from the rows of X, each counted as often as its weight says.

        Raises
        ------
        ValueError
            If a column of sparse data, which is not centred, has a mean of more than ``FAR_MEAN`` deviations: hardly a
            digit of its variation would be left in a Gram matrix.
        """
        shift, deviation = mean_and_deviation(X, weights)
        scale = scale_of(deviation, _largest(X))
        far = (np.abs(shift) / scale > FAR_MEAN) & (scale == deviation)
        if _sparse(X) and np.any(far):
            j = int(np.flatnonzero(far)[0])
            raise ValueError(
                f"X: expected columns of sparse data with a mean of at most {FAR_MEAN:g} standard deviations, found "
                f"{shift[j] / scale[j]:.3g} in column {j}; subtract the mean, or pass a dense array, which is centred"
            )
        return cls(np.zeros_like(shift) if _sparse(X) else shift, scale)

    @classmethod
    def identity(cls, d: int) -> Standardizer:
        """Return the map that changes nothing."""
        return cls(np.zeros(d), np.ones(d))

    def inputs(self, X: Any) -> Inputs:
        """Return the rows of X, standardised."""
        if _sparse(X):
            return Inputs(X.multiply(1.0 / self.scale))
        return Inputs((X - self.shift) / self.scale)

    def outer(self, Z: Any) -> Any:
        """Return standardised rows in the user's units."""
        return Z.multiply(self.scale).tocsr() if _sparse(Z) else Z * self.scale + self.shift

    def kernel(self, inner: Kernel) -> Kernel:
        """Return the kernel of rows in the user's units that is ``inner`` for standardised ones."""
        return Rescaled(inner, tuple(self.shift), tuple(self.scale))


@dataclasses.dataclass(frozen=True)
class LogStandardizer(Standardizer):
    r"""The logarithm of skewed features, then the map to zero mean and unit variance.

    A feature x is replaced by :math:`\operatorname{sign}(u) \log(1 + |u|)`, :math:`u = (x - o)/c`, where o is its least
    value (its largest, if it is skewed to the left), and c that part of its standard deviation, among :data:`PARTS`,
    which leaves the least skewness. Features of which this does not take a good part away stay as they are.

    Attributes
    ----------
    origin, unit : array, shape (d,)
        o and c; a unit of zero: no logarithm.
    """

    origin: Vector
    unit: Vector

    @classmethod
    def curved(cls, X: Matrix, weights: Vector | None = None) -> LogStandardizer | None:
        """Learn the map from the rows of a dense X; None if no feature is skewed."""
        plain = Standardizer.of(X, weights)
        pairs = [_least_skewed(X[:, [j]], scale) for j, scale in enumerate(plain.scale)]
        origin, unit = (np.array(values) for values in zip(*pairs, strict=True))
        if not np.any(unit > 0.0):
            return None
        inner = Standardizer.of(signed_logarithm(X, origin, unit), weights)
        return cls(inner.shift, inner.scale, origin, unit)

    def logarithms(self, X: Matrix) -> Matrix:
        """Return the rows of X before they are standardised."""
        return signed_logarithm(X, self.origin, self.unit)

    def inputs(self, X: Any) -> Inputs:
        """Return the rows of X, standardised."""
        return super().inputs(self.logarithms(X))

    def outer(self, Z: Any) -> Any:
        """Return standardised rows in the user's units."""
        return from_signed_logarithm(super().outer(Z), self.origin, self.unit)

    def kernel(self, inner: Kernel) -> Kernel:
        """Return the kernel of rows in the user's units that is ``inner`` for standardised ones."""
        return Logarithmic(super().kernel(inner), tuple(self.origin), tuple(self.unit))


def _least_skewed(column: Matrix, scale: float) -> tuple[float, float]:
    """Return origin and unit of the logarithm of a feature, one column; a unit of zero if there is to be none."""
    plain = _skewness(column)
    if not np.abs(plain) > SKEWED:
        return 0.0, 0.0
    origin = np.min(column, axis=0) if plain > 0.0 else np.max(column, axis=0)
    tried = [(abs(_skewness(signed_logarithm(column, origin, unit))), unit) for unit in np.outer(PARTS, scale)]
    least, unit = min(tried, key=lambda pair: pair[0])
    return (float(origin[0]), float(unit[0])) if least < LESS * abs(plain) else (0.0, 0.0)


def _skewness(column: Matrix) -> float:
    """Return the third moment of a feature that is standardised, whatever its magnitude; zero for a constant."""
    column = np.ldexp(column, -np.frexp(np.max(np.abs(column)))[1])  # exact, and can be squared
    centred = column - np.mean(column)
    size = float(np.sqrt(np.mean(centred**2)))
    return float(np.mean((centred / size) ** 3)) if size > 0.0 else 0.0


def _sparse(X: Any) -> bool:
    return bool(sp.issparse(X))


def scale_of(deviation: Vector, size: Vector) -> Vector:
    """Return the scales of columns with the given standard deviations and largest magnitudes.

    What rounding leaves of a large constant would be large itself, if it were not divided by the size of the constant.
    """
    return np.where(deviation > 1e-12 * size, deviation, np.where(size > LARGE_CONSTANT, size, 1.0))


def mean_and_deviation(X: Any, weights: Vector | None = None) -> tuple[Vector, Vector]:
    """Return the mean and the standard deviation of every column, whatever its magnitude.

    Where squares could overflow or lose digits, a power of two is taken out of the column first, which is exact.
    """
    exponents = np.frexp(_largest(X))[1]
    exponents = np.where(np.abs(exponents) > SAFE_EXPONENT, exponents, 0)
    if np.any(exponents):
        # Two factors, because 2**-e alone may be out of range.
        half = -(exponents // 2)
        for factor in (np.ldexp(1.0, half), np.ldexp(1.0, -exponents - half)):
            X = X.multiply(factor).tocsr() if _sparse(X) else X * factor
    mean, var = weighted_moments(X, weights)
    return np.ldexp(mean, exponents), np.ldexp(np.sqrt(var), exponents)


def _largest(X: Any) -> Vector:
    """Return the largest magnitude of every column."""
    if _sparse(X):
        return np.asarray(abs(X).max(axis=0).toarray()).ravel()
    return np.asarray(np.max(np.abs(X), axis=0, initial=0.0))


def weighted_moments(X: Any, weights: Vector | None = None) -> tuple[Vector, Vector]:
    """Return the mean and the variance (divisor: the sum of the weights) of every column.

    Squares must be finite; :func:`mean_and_deviation` is for columns of any magnitude.
    """
    w = np.ones(X.shape[0]) if weights is None else weights
    w = w / w.sum()
    if _sparse(X):
        mean = np.asarray(w @ X).ravel()
        return mean, np.maximum(np.asarray(w @ X.multiply(X)).ravel() - mean**2, 0.0)
    mean = w @ X
    centred = X - mean
    return mean, np.einsum("i,ij,ij->j", w, centred, centred)


@dataclasses.dataclass(frozen=True)
class TargetScale:
    """The map y -> (y - shift) / scale, one pair of numbers per output.

    Attributes
    ----------
    shift, scale : array, shape (m,)
        Means and standard deviations (divisor n). An output that is constant up to rounding has a billionth of its
        largest value (of 1, if all are zero): the function varies no more than the targets, as its variance says.
    """

    shift: Vector
    scale: Vector

    @classmethod
    def of(cls, Y: Matrix, weights: Vector | None = None) -> TargetScale:
        """Learn the map from the rows of Y, each counted as often as its weight says.

        Every column is summed on its own, so that the map of an output does not depend, to the last bit, on the others.
        """
        origin = Y[0].copy()  # moments about a row of the data: a huge offset costs no digits
        moments = [mean_and_deviation(np.ascontiguousarray(column)[:, None], weights) for column in (Y - origin).T]
        shift, deviation = (np.concatenate(parts) for parts in zip(*moments))
        return cls.from_moments(origin + shift, deviation, np.max(np.abs(Y), axis=0))

    @classmethod
    def from_moments(cls, mean: Vector, scale: Vector, largest: Vector) -> TargetScale:
        """Return the map from means and standard deviations of the outputs and their largest absolute values."""
        varies = scale > 8.0 * np.finfo(float).eps * largest
        return cls(mean, np.where(varies, scale, CONSTANT * np.where(largest > 0.0, largest, 1.0)))

    @classmethod
    def identity(cls, m: int) -> TargetScale:
        """Return the map that changes nothing."""
        return cls(np.zeros(m), np.ones(m))

    def inner(self, Y: Matrix) -> Matrix:
        """Return targets in the units used inside."""
        return np.asarray((Y - self.shift) / self.scale)

    def outer(self, Y: Matrix) -> Matrix:
        """Return targets in the user's units."""
        return np.asarray(self.shift + self.scale * Y)

    def theta_shift(self, k: int, n_kernel: int, likelihood: Regression) -> Vector:
        """Return what to add to theta (kernel, then likelihood) of output k to have it in the user's units."""
        powers = [likelihood.powers[name] for name in likelihood.names]
        return np.concatenate([np.zeros(n_kernel), np.log(self.scale[k]) * np.asarray(powers, dtype=float)])


__all__ = ["LogStandardizer", "Standardizer", "TargetScale", "mean_and_deviation", "scale_of", "weighted_moments"]
