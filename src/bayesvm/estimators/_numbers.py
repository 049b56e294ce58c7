r"""The one entrance for numbers: training data, weights and new rows of every estimator.

Standardised inputs have exact powers of two taken out before anything is squared
(:func:`bayesvm.models.scaling.mean_and_deviation`), so that columns of any magnitude are honoured. What is left cannot
be represented, and is refused with an error that names the column and the remedy:

==================================  ===================================================================================
Values of X and y                   at most ``LARGEST`` in magnitude; a column of X has one of ``SMALLEST``, or is zero
Without standardisation             the largest of X and of y between ``SMALLEST_RAW`` and ``LARGEST_RAW``, or zero
Standard deviation of targets       between ``1 / LARGEST_SCALE`` and ``LARGEST_SCALE``: its square is a variance
Weights                             between ``SMALLEST_WEIGHT`` and ``LARGEST_WEIGHT``, or zero
New rows                            at most ``LARGEST_RAW`` standard deviations from the training rows
==================================  ===================================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight, validate_data

from bayesvm.kernels.inputs import Inputs
from bayesvm.models.scaling import Standardizer, TargetScale
from bayesvm.typing import Matrix, Vector

#: Values are summed to see whether they are finite, and standardised before they are judged.
QUIET: Any = {"over": "ignore", "invalid": "ignore"}
#: Differences of two values are finite.
LARGEST = 2.0**1020
#: Deviations and their inverses are normal numbers.
SMALLEST = 2.0**-960
#: Fifteenth powers are finite (products of Gram matrices of polynomials), and squares of differences normal numbers.
LARGEST_RAW, SMALLEST_RAW = 1e20, 1e-50
#: The square of a scale of targets, which multiplies variances, is finite and a normal number.
LARGEST_SCALE = 1e140
#: A weight counts as that many equal rows.
LARGEST_WEIGHT, SMALLEST_WEIGHT = 1e6, 1e-6


def read_training_data(estimator: Any, X: Any, y: Any, *, raw: bool = False, **options: Any) -> tuple[Any, Any]:
    """Validate training data, and set what scikit-learn remembers of X on the estimator.

    Parameters
    ----------
    estimator : estimator
        Whose ``fit`` it is.
    X, y : arrays
        As the user gave them.
    raw : bool
        Whether the inputs are used as they are, not standardised.
    **options
        As in :func:`sklearn.utils.validation.validate_data`.

    Returns
    -------
    X, y : arrays

    Raises
    ------
    ValueError
        With the column and the remedy.
    """
    with np.errstate(**QUIET):
        X, y = validate_data(estimator, X, y, dtype=np.float64, **options)
    check_sizes_of_inputs(column_sizes(X), estimator, raw=raw)
    return X, y


def check_sizes_of_inputs(sizes: Vector, estimator: Any, *, raw: bool) -> None:
    """Refuse columns by the largest magnitude in each: too large or, used as they are (``raw``), all too small."""
    remedy = "divide the column by a power of ten" + (", or let the estimator standardise" if raw else "")
    _refuse_above(LARGEST_RAW if raw else LARGEST, sizes, estimator, remedy)
    tiny = (sizes > 0.0) & (sizes < SMALLEST)
    if raw:
        tiny = (sizes == sizes.max(initial=0.0)) & (sizes > 0.0) & (sizes < SMALLEST_RAW)
    if np.any(tiny):
        j = int(np.flatnonzero(tiny)[0])
        least = SMALLEST_RAW if raw else SMALLEST
        raise ValueError(
            f"X: expected values of {least:.2g} or more in {column_name(estimator, j)}, or zeros alone, found none "
            f"above {sizes[j]:.3g}; multiply the column by a power of ten{', or standardise it' if raw else ''}"
        )


def read_weights(sample_weight: Any, X: Any) -> Vector | None:
    """Return validated weights, None if there are none."""
    if sample_weight is None:
        return None
    weights = np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))
    return in_range(weights, "sample_weight")


def in_range(weights: Vector, name: str) -> Vector:
    """Return weights of rows, if each is zero or of a size that makes sense as a number of rows."""
    wrong = (weights > LARGEST_WEIGHT) | ((weights > 0.0) & (weights < SMALLEST_WEIGHT))
    if np.any(wrong):
        raise ValueError(
            f"{name}: expected zeros and numbers between {SMALLEST_WEIGHT:g} and {LARGEST_WEIGHT:g} (a weight counts "
            f"as that many equal rows), found {weights[wrong][0]:.3g}; divide all weights by their mean"
        )
    return weights


def check_sizes_of_targets(Y: Matrix, *, raw: bool) -> None:
    """Refuse targets, one column per output, that are too large or, used as they are (``raw``), too small."""
    largest = np.max(np.abs(Y), axis=0, initial=0.0)
    most = LARGEST_RAW if raw else LARGEST
    if np.any(largest > most):
        raise ValueError(
            f"y: expected targets of at most {most:.2g} in magnitude, found {largest[largest > most][0]:.3g}; divide "
            "them by a power of ten"
        )
    tiny = (largest > 0.0) & (largest < SMALLEST_RAW)
    if raw and np.any(tiny):
        raise ValueError(
            f"y: expected targets of {SMALLEST_RAW:.2g} or more in magnitude, or zeros alone, found none above "
            f"{largest[tiny][0]:.3g}; multiply them by a power of ten"
        )


def scaled_targets(Y: Matrix, weights: Vector | None, *, standardize: bool) -> TargetScale:
    """Return the map of the targets, one column per output, to the units used inside."""
    check_sizes_of_targets(Y, raw=not standardize)
    if not standardize:
        return TargetScale.identity(Y.shape[1])
    scale = TargetScale.of(Y, weights)
    wrong = (scale.scale > LARGEST_SCALE) | (scale.scale < 1.0 / LARGEST_SCALE)
    if np.any(wrong):
        raise ValueError(
            f"y: expected targets with a standard deviation between {1.0 / LARGEST_SCALE:g} and {LARGEST_SCALE:g}, "
            f"found {scale.scale[wrong][0]:.3g}; divide them by a power of ten"
        )
    return scale


def inner_targets(Y: Matrix, targets: TargetScale) -> Matrix:
    """Return targets in the units used inside, if they are not out of all proportion to those of the training rows."""
    with np.errstate(**QUIET):
        inner = targets.inner(Y)
    if not np.all(np.abs(inner) <= LARGEST_RAW):
        raise ValueError(
            f"y: expected targets of the order of those of the training rows, found one of {np.max(np.abs(Y)):.3g}, "
            f"more than {LARGEST_RAW:g} standard deviations away; compare its units"
        )
    return inner


def new_inputs(estimator: Any, X: Any, standardizer: Standardizer | None, **options: Any) -> Inputs:
    """Validate rows that are to be predicted, and return them standardised (as they are, if there is no map).

    Raises
    ------
    ValueError
        If a value is not finite, or out of all proportion to the training rows.
    """
    with np.errstate(**QUIET):
        X = validate_data(estimator, X, reset=False, dtype=np.float64, **options)
    return in_proportion(estimator, X, standardizer)


def in_proportion(estimator: Any, X: Any, standardizer: Standardizer | None) -> Inputs:
    """Return validated rows standardised, if they are not out of all proportion to the training rows."""
    with np.errstate(**QUIET):
        inputs = Inputs(X) if standardizer is None else standardizer.inputs(X)
    sizes = column_sizes(inputs.X)
    if np.any(wrong := ~(sizes <= LARGEST_RAW)):
        j = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"X: expected values of the order of the training rows in {column_name(estimator, j)}, found one of "
            f"{column_sizes(X)[j]:.3g}, more than {LARGEST_RAW:g} standard deviations away; compare its units"
        )
    return inputs


def column_sizes(X: Any) -> Vector:
    """Return the largest magnitude of every column."""
    if bool(sp.issparse(X)):
        return np.asarray(abs(X).max(axis=0).toarray()).ravel()
    return np.asarray(np.max(np.abs(X), axis=0, initial=0.0))


def column_name(estimator: Any, j: int) -> str:
    """Return how an error message calls a column."""
    names = getattr(estimator, "feature_names_in_", None)
    return f"column {j}" if names is None else f"column {names[j]!r}"


def _refuse_above(most: float, sizes: Vector, estimator: Any, remedy: str) -> None:
    if np.any(sizes > most):
        j = int(np.flatnonzero(sizes > most)[0])
        raise ValueError(
            f"X: expected values of at most {most:.2g} in magnitude in {column_name(estimator, j)}, "
            f"found {sizes[j]:.3g}; {remedy}"
        )


__all__ = [
    "LARGEST_SCALE",
    "check_sizes_of_inputs",
    "check_sizes_of_targets",
    "column_sizes",
    "in_proportion",
    "in_range",
    "inner_targets",
    "new_inputs",
    "read_training_data",
    "read_weights",
    "scaled_targets",
]
