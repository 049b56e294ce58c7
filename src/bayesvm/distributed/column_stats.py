"""The first passes over the data: checks of every part, then the moments and the classes of every block.

The moments of blocks are merged by the update of Chan, Golub and LeVeque; one block alone gives the very numbers that
the plain estimators compute.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bayesvm.distributed.source import Rows
from bayesvm.estimators._numbers import LARGEST_SCALE, column_sizes, in_range
from bayesvm.estimators._regressor import target_columns
from bayesvm.models.scaling import Standardizer, TargetScale, scale_of, weighted_moments
from bayesvm.typing import Matrix, Vector

#: Rows of every class that a sample holds, if there are as many.
REPRESENTED = 50


@dataclasses.dataclass(frozen=True)
class Moments:
    """Weighted mean, variance and largest magnitude per column."""

    total: float
    mean: Vector
    var: Vector
    size: Vector

    @classmethod
    def of(cls, X: Matrix, weights: Vector | None, origin: Vector | float = 0.0) -> Moments:
        """Compute them for the rows of a part, about an origin (a huge offset then costs no digits)."""
        total = float(len(X) if weights is None else weights.sum())
        if total == 0.0:
            return cls(0.0, np.zeros(X.shape[1]), np.zeros(X.shape[1]), np.zeros(X.shape[1]))
        mean, var = weighted_moments(X - origin, weights)
        return cls(total, origin + mean, var, np.max(np.abs(X), axis=0, initial=0.0))

    def merged(self, other: Moments) -> Moments:
        """Return the moments of both sets of rows."""
        if self.total == 0.0 or other.total == 0.0:
            return other if self.total == 0.0 else self
        total = self.total + other.total
        a, b = self.total / total, other.total / total
        gap = other.mean - self.mean
        var = a * self.var + b * other.var + a * b * gap**2
        return Moments(total, self.mean + b * gap, var, np.maximum(self.size, other.size))


@dataclasses.dataclass(frozen=True)
class Summary:
    """What is known of some rows.

    Attributes
    ----------
    sizes : tuple of int
        Rows of positive weight, per block.
    inputs, targets : Moments
        Of the columns of X; of the targets (None for labels).
    """

    sizes: tuple[int, ...]
    inputs: Moments
    targets: Moments | None

    @property
    def n(self) -> int:
        """Number of rows of positive weight."""
        return sum(self.sizes)

    def standardizer(self) -> Standardizer:
        """Return the map of inputs to zero mean and unit variance."""
        return Standardizer(self.inputs.mean, scale_of(np.sqrt(self.inputs.var), self.inputs.size))

    def target_scale(self) -> TargetScale:
        """Return the map of targets to zero mean and unit variance."""
        assert self.targets is not None
        return TargetScale.from_moments(self.targets.mean, np.sqrt(self.targets.var), self.targets.size)


def survey(rows: Rows, row_weights: Callable[[Any, Any], Vector | None], labels: bool) -> Summary:
    """Return the summary of one block."""
    X, y, weights = rows
    weights = row_weights(y, weights)
    used = slice(None) if weights is None else weights > 0.0
    w = None if weights is None else weights[used]
    targets = None
    if not labels:
        targets = _side_by_side([_about_first(column[:, None], w) for column in target_columns(y)[used].T])
    return Summary((len(X[used]),), Moments.of(X[used], w), targets)


def _about_first(column: Matrix, weights: Vector | None) -> Moments:
    """Return the moments of one output, summed about its first value."""
    return Moments.of(np.ascontiguousarray(column), weights, column[0].copy() if len(column) else 0.0)


def _side_by_side(parts: Sequence[Moments]) -> Moments:
    """Return the moments of several outputs of the same rows."""
    own = [np.concatenate([getattr(part, name) for part in parts]) for name in ("mean", "var", "size")]
    return Moments(parts[0].total, *own)


@dataclasses.dataclass(frozen=True)
class LabelCount:
    """Rows of one class: how many, the sum of their weights, and the first of them as (block, place in the block)."""

    rows: float
    weight: float
    first: tuple[tuple[int, int], ...]

    def __add__(self, other: LabelCount) -> LabelCount:
        first = (self.first + other.first)[:REPRESENTED]
        return LabelCount(self.rows + other.rows, self.weight + other.weight, first)


def count_labels(rows: Rows, number: int) -> dict[Any, LabelCount]:
    """Return the count of every label of a block; rows of weight zero have no place."""
    _, y, weights = rows
    values, codes = np.unique(y, return_inverse=True)
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    places = np.cumsum(w > 0.0) - 1
    found = {}
    for k, label in enumerate(values.tolist()):
        own = np.flatnonzero((codes == k) & (w > 0.0))[:REPRESENTED]
        first = tuple((number, int(place)) for place in places[own])
        found[label] = LabelCount(float(np.sum(codes == k)), float(w[codes == k].sum()), first)
    return found


def merged_counts(counts: Sequence[dict[Any, LabelCount]]) -> dict[Any, LabelCount]:
    """Return the counts of all blocks."""
    total: dict[Any, LabelCount] = {}
    for part in counts:
        for label, own in part.items():
            total[label] = total[label] + own if label in total else own
    return total


def inspected(rows: Rows, number: int, labels: bool) -> tuple[int, int]:
    """Return the numbers of rows and of columns of a part, after the checks of its values."""
    n, d = checked(rows, number, labels)[0].shape
    return int(n), int(d)


def checked(rows: Rows, number: int, labels: bool) -> Rows:
    """Return a part after the checks that the estimators make of data in memory."""
    X, y, weights = rows
    where = f"part {number} of the data"
    _check_shapes(rows, where)
    if not np.all(np.isfinite(X)):
        raise ValueError(f"{where}: expected finite inputs, found NaN or infinity")
    _check_magnitudes(X, where, "inputs")
    if labels:
        _check_labels(y, where)
    elif not np.all(np.isfinite(np.asarray(y, dtype=np.float64))):
        raise ValueError(f"{where}: expected finite targets, found NaN or infinity")
    if not labels:
        _check_magnitudes(target_columns(y), where, "targets")
    return X, y, None if weights is None else _checked_weights(weights, where)


def _check_shapes(rows: Rows, where: str) -> None:
    """Raise ``ValueError`` unless inputs are a matrix, with as many targets and weights as it has rows."""
    X, y, weights = rows
    if X.ndim != 2 or len(X) != len(y) or (weights is not None and len(weights) != len(X)):
        shapes = [np.shape(v) for v in (X, y, weights) if v is not None]
        raise ValueError(f"{where}: expected a matrix X and as many targets and weights as rows, found shapes {shapes}")


def _check_labels(y: Any, where: str) -> None:
    """Raise ``ValueError`` if a label is missing: NaN, or None among objects."""
    missing = np.array([v is None or v != v for v in y.tolist()]) if y.dtype == object else y != y
    if np.any(missing):
        raise ValueError(f"{where}: expected a label in every row, found none in row {int(np.argmax(missing))}")


def _checked_weights(weights: Any, where: str) -> Vector:
    """Return weights of rows as numbers, which must be finite and not negative."""
    weights = np.asarray(weights, dtype=np.float64)
    if not (np.all(np.isfinite(weights)) and np.all(weights >= 0.0)):
        raise ValueError(f"{where}: expected finite non-negative weights, found others")
    return in_range(weights, where)


def _check_magnitudes(X: Matrix, where: str, what: str) -> None:
    """Raise ``ValueError`` unless every column can be squared: moments of parts are merged by their variances."""
    sizes = column_sizes(X)
    wrong = (sizes > LARGEST_SCALE) | ((sizes > 0.0) & (sizes < 1.0 / LARGEST_SCALE))
    if np.any(wrong):
        j = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"{where}: expected {what} between {1.0 / LARGEST_SCALE:g} and {LARGEST_SCALE:g} in magnitude in column "
            f"{j}, found none above {sizes[j]:.3g}; divide the column by a power of ten"
        )


def merged(summaries: Sequence[Summary]) -> Summary:
    """Return the summary of all blocks, in order."""
    first, *rest = summaries
    for other in rest:
        targets = None if first.targets is None or other.targets is None else first.targets.merged(other.targets)
        first = Summary(first.sizes + other.sizes, first.inputs.merged(other.inputs), targets)
    return first


__all__ = ["LabelCount", "Moments", "Summary", "count_labels", "inspected", "merged", "merged_counts", "survey"]
