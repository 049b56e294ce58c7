"""Where the rows come from: arrays in memory, Dask arrays and dataframes, a directory of Parquet files.

A source is a list of *parts*, each a handle of (X, y, weights) with some of the rows. On a cluster no part is gathered.
In one process the inputs of Parquet files go, a few rows at a time, to a temporary file that is mapped into memory, so
that they may be larger than it; targets and weights are kept.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bayesvm.distributed.engine import Cluster, Engine

#: Rows of a Parquet file that are read at a time.
BATCH = 1 << 16
#: Rows of a part: inputs, targets, weights (None: all one).
Rows = tuple[Any, Any, Any]


@dataclasses.dataclass(frozen=True)
class Source:
    """Parts of a data set and the names of its columns (None: they have none)."""

    parts: tuple[Any, ...]
    columns: tuple[str, ...] | None


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def is_directory(X: Any) -> bool:
    """Whether X is a path."""
    return isinstance(X, str | os.PathLike)


def open_source(engine: Engine, X: Any, y: Any, sample_weight: Any) -> Source:
    """Return the parts of a Dask collection or of a directory of Parquet files."""
    return parquet(engine, Path(X), y, sample_weight) if is_directory(X) else dask(engine, X, y, sample_weight)


def parquet(engine: Engine, directory: Path, target: Any, weight: Any) -> Source:
    """Return one part per file; targets and weights are columns, all other columns are inputs."""
    files = sorted(directory.glob("*.parquet"))
    if not files:
        raise ValueError(f"X: expected a directory of .parquet files, found none in {directory}")
    if not isinstance(target, str) or not (weight is None or isinstance(weight, str)):
        raise ValueError(
            f"y, sample_weight: expected names of columns of the Parquet files, found {target!r}, {weight!r}"
        )
    from pyarrow import parquet as pq

    names = [str(name) for name in pq.read_schema(files[0]).names]
    for name in (target, *([] if weight is None else [weight])):
        if name not in names:
            raise ValueError(f"expected a column {name!r} in {files[0].name}, found {', '.join(names)}")
    inputs = tuple(name for name in names if name not in (target, weight))
    if isinstance(engine, Cluster):
        parts = [engine.submit(_read, str(file), inputs, target, weight, name="read") for file in files]
        return Source(tuple(parts), inputs)
    return Source((engine.put(_mapped(files, inputs, target, weight), name="read"),), inputs)


def _read(file: str, inputs: Sequence[str], target: str, weight: str | None) -> Rows:
    """Return all rows of a Parquet file."""
    X, y, weights = zip(*_batches(file, inputs, target, weight), strict=True)
    return np.concatenate(X), np.concatenate(y), None if weight is None else np.concatenate(weights)


def _batches(file: str, inputs: Sequence[str], target: str, weight: str | None) -> Iterator[Rows]:
    """Yield the rows of a Parquet file, at least one batch of them: an empty one tells the types of the columns."""
    from pyarrow import parquet as pq

    columns, opened = [*inputs, target, *([] if weight is None else [weight])], pq.ParquetFile(file)
    some = opened.metadata.num_rows > 0
    for batch in opened.iter_batches(BATCH, columns=columns) if some else [opened.schema_arrow.empty_table()]:
        own = {name: batch.column(name).to_numpy(zero_copy_only=False) for name in columns}
        X = np.column_stack([own[name].astype(np.float64) for name in inputs])
        yield X, own[target], None if weight is None else own[weight]


def _mapped(files: Sequence[Path], inputs: Sequence[str], target: str, weight: str | None) -> Rows:
    """Return the rows of all files, the inputs in a temporary file that is mapped into memory."""
    from pyarrow import parquet as pq

    n = sum(int(pq.read_metadata(file).num_rows) for file in files)
    if n == 0:
        return _read(str(files[0]), inputs, target, weight)
    with tempfile.TemporaryFile() as scratch:  # the map keeps it; it is gone with the map
        X = np.memmap(scratch, np.float64, "w+", shape=(n, len(inputs)))
    at, y, weights = 0, [], []
    for rows in itertools.chain.from_iterable(_batches(str(file), inputs, target, weight) for file in files):
        X[at : at + len(rows[0])] = rows[0]
        at += len(rows[0])
        y.append(rows[1])
        weights.append(rows[2])
    return X, np.concatenate(y), None if weight is None else np.concatenate(weights)


def dask(engine: Engine, X: Any, y: Any, sample_weight: Any) -> Source:
    """Return one part per chunk of rows of a Dask array, or per partition of a Dask dataframe."""
    frame = hasattr(X, "columns")
    X = X if frame else X.rechunk({1: -1})
    inputs, aligned = row_chunks(X), _aligned_frame if frame else _aligned_array
    pieces = [inputs] + [
        [None] * len(inputs) if v is None else aligned(v, X, what)
        for v, what in ((y, "y"), (sample_weight, "sample_weight"))
    ]
    parts = [_part(engine, rows) for rows in zip(*pieces, strict=True)]
    return Source(tuple(parts), tuple(str(name) for name in X.columns) if frame else None)


def row_chunks(v: Any) -> list[Any]:
    """Return the chunks of rows of a Dask array with one chunk of columns, or the partitions of a Dask frame."""
    chunks = v.to_delayed()
    return chunks if isinstance(chunks, list) else list(chunks.ravel())


def _aligned_frame(v: Any, X: Any, what: str) -> list[Any]:
    if not is_dask(v):
        raise ValueError(f"{what}: expected a Dask series or frame with the partitions of X, found {type(v).__name__}")
    parts, n_parts = row_chunks(v), len(row_chunks(X))
    if len(parts) != n_parts:
        raise ValueError(f"{what}: expected {n_parts} partitions, as many as X has, found {len(parts)}")
    return parts


def _aligned_array(v: Any, X: Any, what: str) -> list[Any]:
    if is_dask(v) and not hasattr(v, "rechunk"):
        return _aligned_frame(v, X, what)
    if not is_dask(v):
        import dask.array as da

        v = da.from_array(np.asarray(v), chunks=-1)
    if v.chunks[0] != X.chunks[0]:
        if v.shape[0] != X.shape[0]:
            raise ValueError(f"{what}: expected {X.shape[0]} rows, as many as X has, found {v.shape[0]}")
        v = v.rechunk({0: X.chunks[0]})
    if v.ndim == 2:
        v = v.rechunk({1: -1})
    return row_chunks(v)


def _part(engine: Engine, rows: Sequence[Any]) -> Any:
    from dask.delayed import delayed

    whole = delayed(_rows)(*rows)
    if isinstance(engine, Cluster):
        return engine.client.compute(whole)
    return engine.submit(_computed, whole, name="read")


def _computed(whole: Any) -> Rows:
    return whole.compute(scheduler="synchronous")


def _rows(X: Any, y: Any, weights: Any) -> Rows:
    return np.asarray(X, dtype=np.float64), np.asarray(y), None if weights is None else np.asarray(weights)


__all__ = ["Rows", "Source", "is_dask", "is_directory", "open_source", "row_chunks"]
