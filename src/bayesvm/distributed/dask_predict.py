"""Predictions as Dask arrays: nothing is computed until asked for, and one group of members at a time meets a chunk."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from bayesvm.distributed.engine import in_tree
from bayesvm.distributed.members import KnownSums, add_sums, group_sums
from bayesvm.distributed.model import with_members
from bayesvm.distributed.source import is_dask, row_chunks
from bayesvm.estimators._attributes import twin
from bayesvm.typing import Matrix


def lazily(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method of an estimator return Dask arrays where it is given a Dask collection."""

    @functools.wraps(method)
    def wrapped(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if is_dask(X):
            return predicted(self, functools.partial(method, **kwargs), X, args)
        return method(self, X, *args, **kwargs)

    return wrapped


def predicted(estimator: Any, method: Callable[..., Any], X: Any, args: Sequence[Any]) -> Any:
    """Return what the method says about the rows of a Dask collection, as one or several Dask arrays."""
    light = bare(estimator)
    frame = hasattr(X, "columns")
    X = X if frame else X.rechunk({1: -1})
    chunks = row_chunks(X)
    lengths = [np.nan] * len(chunks) if frame else list(X.chunks[0])
    kernels = [(k, model.kernel) for model in light.models_ for k in model.columns]
    example = _example(light, method, len(kernels), list(X.columns) if frame else None, args)
    results = _results(light, method, chunks, estimator.models_[0].members.groups(), kernels, args)
    if not isinstance(example, tuple):
        return _joined(results, lengths, example)
    return tuple(_joined([result[i] for result in results], lengths, own) for i, own in enumerate(example))


def _results(
    light: Any,
    method: Callable[..., Any],
    chunks: Sequence[Any],
    groups: Iterable[Any],
    kernels: Sequence[tuple[int, Any]],
    args: Sequence[Any],
) -> list[Any]:
    """Return tasks for what the method says about each chunk; a chunk meets every group of members in its own task."""
    from dask.delayed import delayed

    members = [delayed(group, traverse=False) for group in groups]
    results = []
    for chunk in chunks:
        rows = delayed(_standardised)(light, chunk)
        parts = [[delayed(group_sums)(group, k, kernel, rows) for group in members] for k, kernel in kernels]
        sums = [in_tree(delayed(add_sums), own) for own in parts]
        results.append(delayed(_finish)(light, method, chunk, sums, list(args)))
    return results


def _joined(parts: Sequence[Any], lengths: Sequence[float], example: Any) -> Any:
    """Return the results for all chunks as one Dask array; ``example`` is such a result for one row."""
    import dask.array as da

    pieces = [
        da.from_delayed(part, (n, *example.shape[1:]), dtype=example.dtype)
        for part, n in zip(parts, lengths, strict=True)
    ]
    return da.concatenate(pieces, axis=0, allow_unknown_chunksizes=True)


def bare(estimator: Any) -> Any:
    """Return a copy of a fitted estimator without members, client and blocks: what a task needs of it."""
    light = twin(estimator)
    light.client = None
    light.models_ = tuple(model.bare() for model in estimator.models_)
    return light


def _standardised(light: Any, chunk: Any) -> Matrix:
    return light._inputs(chunk).dense()


def _finish(light: Any, method: Callable[..., Any], chunk: Any, sums: Sequence[Matrix], args: Sequence[Any]) -> Any:
    """Return what the method says about a chunk whose sums over the committee are known."""
    own = twin(light)
    own.models_ = with_members(light.models_, KnownSums(tuple(sums)))
    return method(own, chunk, *args)


def _example(light: Any, method: Callable[..., Any], n_outputs: int, columns: Any, args: Sequence[Any]) -> Any:
    """Return a result for one row, for shapes and types."""
    row: Any = np.zeros((1, light.n_features_in_))
    if columns is not None:
        import pandas as pd

        row = pd.DataFrame(row, columns=columns)
    return _finish(light, method, row, [np.zeros((3, 1))] * n_outputs, args)


__all__ = ["bare", "lazily", "predicted"]
