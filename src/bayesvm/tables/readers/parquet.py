"""Parquet, by pyarrow (extra ``cli``)."""

from __future__ import annotations

import io

from bayesvm.tables.table import DataError, Table, any_column


def read_parquet(content: bytes, source: str, header: bool | None = None) -> Table:
    """Read a Parquet file."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise DataError(f"{source}: reading Parquet needs pyarrow: pip install 'bayesvm[cli]'") from None
    try:
        arrow = pq.read_table(io.BytesIO(content))
        names = [str(name) for name in arrow.column_names]
        if len(set(names)) != len(names):
            raise DataError(f"{source}: a column name occurs twice")
        return Table({name: any_column(arrow.column(j).to_pylist()) for j, name in enumerate(names)}, source)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{source}: not a Parquet file ({str(error).splitlines()[0]})") from None


__all__ = ["read_parquet"]
