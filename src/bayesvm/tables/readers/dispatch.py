"""Which reader takes which file."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from bayesvm.tables.readers.arff import read_arff
from bayesvm.tables.readers.delimited import read_csv, read_spaced, read_tsv
from bayesvm.tables.readers.libsvm import read_libsvm
from bayesvm.tables.readers.parquet import read_parquet
from bayesvm.tables.table import DataError, Table

Reader = Callable[[bytes, str, bool | None], Table]

FORMATS: Mapping[str, Reader] = {
    "csv": read_csv,
    "tsv": read_tsv,
    "parquet": read_parquet,
    "libsvm": read_libsvm,
    "arff": read_arff,
    "delve": read_spaced,
}

#: Format by the end of a file's name.
ENDINGS = {
    "csv": "csv",
    "tsv": "tsv",
    "tab": "tsv",
    "parquet": "parquet",
    "pq": "parquet",
    "libsvm": "libsvm",
    "svm": "libsvm",
    "svmlight": "libsvm",
    "arff": "arff",
    "data": "delve",
    "dat": "delve",
    "txt": "delve",
}


def guess_format(name: str) -> str:
    """Return the format that the end of a file's name stands for; "csv" if it stands for none."""
    ending = name.lower().removesuffix(".gz").rsplit(".", 1)[-1]
    return ENDINGS.get(ending, "csv")


def read_table(path: str | os.PathLike[str], *, format: str | None = None, header: bool | None = None) -> Table:
    """Read a table from a file, or from standard input if the path is "-".

    Parameters
    ----------
    path : path
        The file; compressed if its name ends in ".gz".
    format : str, optional
        One of ``FORMATS``; by the end of the name if None ("csv" for standard input).
    header : bool, optional
        Whether the first line of delimited text holds names; guessed if None.

    Raises
    ------
    DataError
        If the file cannot be read; the message names file, row and column.
    """
    name = os.fspath(path)
    kind = format or guess_format(name)
    if kind not in FORMATS:
        raise ValueError(f"format: expected one of {', '.join(FORMATS)}, found {kind!r}")
    source = "standard input" if name == "-" else name
    table = FORMATS[kind](_content(name, source), source, header)
    if not table.columns or len(table) == 0:
        raise DataError(f"{source}: no rows of data")
    return table


def _content(name: str, source: str) -> bytes:
    try:
        content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return gzip.decompress(content) if name.lower().endswith(".gz") else content
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"{source}: cannot be read ({reason})") from None
    except ValueError as error:  # a name that no file can have
        raise DataError(f"{source!r}: cannot be read ({error})") from None


__all__ = ["FORMATS", "guess_format", "read_table"]
