"""New rows in several threads: a function of rows is computed on parts of them at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import joblib
import numpy as np
from numpy.typing import NDArray

from bayesvm.kernels.inputs import Inputs
from bayesvm.linalg.blas_threads import one_blas_thread
from bayesvm.models.large import LocalModel
from bayesvm.typing import Matrix

#: Rows below which a part is not worth a thread.
LEAST = 1000

Found = TypeVar("Found")
Array = TypeVar("Array", bound=NDArray[Any])


def in_parts(function: Callable[[Inputs], Found], X: Inputs, n_jobs: int | None) -> list[Found]:
    """Return a function of consecutive parts of the rows, computed at the same time.

    Parameters
    ----------
    function : callable
        Of some rows.
    X : Inputs
        The rows.
    n_jobs : int or None
        Number of threads, one BLAS thread each; as in joblib.
    """
    n_parts = min(joblib.effective_n_jobs(n_jobs), len(X) // LEAST)
    if n_parts < 2:
        return [function(X)]
    parts = [X.take(rows) for rows in np.array_split(np.arange(len(X)), n_parts)]
    with one_blas_thread():
        pool = joblib.Parallel(n_jobs=n_parts, prefer="threads")
        return list(pool(joblib.delayed(function)(part) for part in parts))


def threads_of(models: Sequence[Any], n_jobs: int | None) -> int | None:
    """Return the number of threads for new rows: one with neighbours, which depend on what rows are asked together."""
    return 1 if any(isinstance(model, LocalModel) for model in models) else n_jobs


def by_rows(function: Callable[[Inputs], Array], X: Inputs, n_jobs: int | None) -> Array:
    """Return an array with an entry (or a row) for each of the rows, computed as by :func:`in_parts`."""
    found = in_parts(function, X, n_jobs)
    return found[0] if len(found) == 1 else np.concatenate(found)  # type: ignore[return-value]


def pairs_by_rows(
    function: Callable[[Inputs], tuple[Matrix, Matrix]], X: Inputs, n_jobs: int | None
) -> tuple[Matrix, Matrix]:
    """Return two such arrays that are computed together."""
    found = in_parts(function, X, n_jobs)
    return np.concatenate([first for first, _ in found]), np.concatenate([second for _, second in found])


__all__ = ["by_rows", "in_parts", "pairs_by_rows", "threads_of"]
