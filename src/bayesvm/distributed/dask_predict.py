"""Predictions for Dask collections: one task per chunk of rows, each with the fitted machine, which is small."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bayesvm.distributed.source import is_dask, row_chunks
from bayesvm.estimators._attributes import twin
from bayesvm.models.average import AveragedClasses


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
    from dask.delayed import delayed

    light = bare(estimator)
    frame = hasattr(X, "columns")
    X = X if frame else X.rechunk({1: -1})
    chunks = row_chunks(X)
    lengths = [np.nan] * len(chunks) if frame else list(X.chunks[0])
    example = _example(light, method, list(X.columns) if frame else None, args)
    machine = delayed(light, traverse=False)
    results = [delayed(method)(machine, chunk, *args) for chunk in chunks]
    if not isinstance(example, tuple):
        return _joined(results, lengths, example)
    return tuple(_joined([result[i] for result in results], lengths, own) for i, own in enumerate(example))


def _joined(parts: Sequence[Any], lengths: Sequence[float], example: Any) -> Any:
    """Return the results for all chunks as one Dask array; ``example`` is such a result for one row."""
    import dask.array as da

    pieces = [
        da.from_delayed(part, (n, *example.shape[1:]), dtype=example.dtype)
        for part, n in zip(parts, lengths, strict=True)
    ]
    return da.concatenate(pieces, axis=0, allow_unknown_chunksizes=True)


def bare(estimator: Any) -> Any:
    """Return a copy of a fitted estimator without client and training rows: what a task or a file needs of it."""
    light = twin(estimator)
    light.client = None
    light.models_ = tuple(_without_rows(model) for model in estimator.models_)
    return light


def _without_rows(model: Any) -> Any:
    """Return a fitted model without the training rows; several classes hold theirs once more as what scores them."""
    if not isinstance(model, AveragedClasses):
        return model.without_rows()
    members = tuple(dataclasses.replace(m, functions=m.functions.without_rows()) for m in model.members)
    return dataclasses.replace(model, chosen=_without_rows(model.chosen), members=members)


def _example(light: Any, method: Callable[..., Any], columns: Any, args: Sequence[Any]) -> Any:
    """Return a result for one row, for shapes and types."""
    row: Any = np.zeros((1, light.n_features_in_))
    if columns is not None:
        import pandas as pd

        row = pd.DataFrame(row, columns=columns)
    return method(light, row, *args)


__all__ = ["bare", "lazily", "predicted"]
