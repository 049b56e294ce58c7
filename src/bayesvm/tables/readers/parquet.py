"""Parquet, by pyarrow (extra ``tables``)."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from bayesvm.tables.errors import DataError
from bayesvm.tables.frame import ROW, SOURCE, pandas

if TYPE_CHECKING:
    import pandas as pd


def read_parquet(content: bytes, source: str) -> pd.DataFrame:
    """Read a Parquet file."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise DataError(f"{source}: reading Parquet needs pyarrow: pip install 'bayesvm[tables]'") from None
    try:
        frame = pq.read_table(io.BytesIO(content)).to_pandas(ignore_metadata=True)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{source}: not a Parquet file ({str(error).splitlines()[0]})") from None
    frame.columns = [str(name) for name in frame.columns]
    if not frame.columns.is_unique:
        raise DataError(f"{source}: a column name occurs twice")
    frame.index = pandas().Index(np.arange(1, len(frame) + 1), name=ROW)
    frame.attrs[SOURCE] = source
    return frame


__all__ = ["read_parquet"]
