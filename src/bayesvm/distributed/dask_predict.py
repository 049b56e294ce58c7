"""Predictions as Dask arrays: nothing is computed until asked for, and no chunk of rows meets more than one group of members at a time."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bayesvm.distributed.engine import FAN_IN
from bayesvm.distributed.members import KnownSums, add_sums, group_sums
from bayesvm.distributed.source import is_dask
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
    import dask.array as da
    from dask import delayed

    light = bare(estimator)
    frame = hasattr(X, "columns")
    X = X if frame else X.rechunk({1: -1})
    chunks = list(X.to_delayed()) if frame else list(X.to_delayed().ravel())
    lengths = [np.nan] * len(chunks) if frame else list(X.chunks[0])
    groups = [delayed(group, traverse=False) for group in estimator._machines[0].members.groups()]
    columns = list(X.columns) if frame else None
    example = _example(light, method, estimator.n_features_in_, columns, args)
    single = not isinstance(example, tuple)
    shapes = (example,) if single else example
    pieces: list[list[Any]] = [[] for _ in shapes]
    for chunk, n in zip(chunks, lengths):
        rows = delayed(_standardised)(light, chunk)
        sums = [
            _tree([delayed(group_sums)(group, k, machine.kernel, rows) for group in groups])
            for k, machine in enumerate(light._machines)
        ]
        result = delayed(_finish)(light, method, chunk, sums, list(args))
        for i, shape in enumerate(shapes):
            part = result if single else result[i]
            pieces[i].append(da.from_delayed(part, (n, *shape.shape[1:]), dtype=shape.dtype))
    arrays = tuple(da.concatenate(own, axis=0, allow_unknown_chunksizes=True) for own in pieces)
    return arrays[0] if single else arrays


def bare(estimator: Any) -> Any:
    """Return a copy of a fitted estimator without members, client and blocks: what a task needs of it."""
    light = _twin(estimator)
    light.client = None
    light._machines = [machine.bare() for machine in estimator._machines]
    return light


def _twin(estimator: Any) -> Any:
    """Return a shallow copy (by ``copy``, members would be fetched: that is what a pickle needs)."""
    twin = object.__new__(type(estimator))
    vars(twin).update(vars(estimator))
    return twin


def _standardised(light: Any, chunk: Any) -> Matrix:
    return light._inputs(chunk).dense()  # type: ignore[no-any-return]


def _finish(light: Any, method: Callable[..., Any], chunk: Any, sums: Sequence[Matrix], args: Sequence[Any]) -> Any:
    """Return what the method says about a chunk whose sums over the committee are known."""
    own = _twin(light)
    own._machines = [
        dataclasses.replace(machine, members=KnownSums(machine.rule.size, tuple(sums))) for machine in light._machines
    ]
    return method(own, chunk, *args)


def _example(light: Any, method: Callable[..., Any], d: int, columns: Any, args: Sequence[Any]) -> Any:
    """Return a result for one row, for shapes and types."""
    row: Any = np.zeros((1, d))
    if columns is not None:
        import pandas as pd

        row = pd.DataFrame(row, columns=columns)
    return _finish(light, method, row, [np.zeros((3, 1))] * len(light._machines), args)


def _tree(parts: list[Any]) -> Any:
    from dask import delayed

    while len(parts) > 1:
        parts = [delayed(add_sums)(parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
    return parts[0]


__all__ = ["bare", "lazily", "predicted"]
