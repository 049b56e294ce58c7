"""Which reader takes which file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bayesvm.lookup import did_you_mean
from bayesvm.tables.errors import DataError
from bayesvm.tables.file_formats import FORMATS, guess_format
from bayesvm.tables.frame import pandas
from bayesvm.tables.parsing import parsed
from bayesvm.tables.readers.arff import read_arff
from bayesvm.tables.readers.content import decoded, read_content
from bayesvm.tables.readers.delimited import CSV, TEXT, read_delimited
from bayesvm.tables.readers.excel import read_excel
from bayesvm.tables.readers.json_records import read_json
from bayesvm.tables.readers.libsvm import read_libsvm
from bayesvm.tables.readers.parquet import read_parquet

if TYPE_CHECKING:
    import pandas as pd


def read_table(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    sheet: str | None = None,
    parse: bool = True,
) -> pd.DataFrame:
    """Read a table from a file, or from standard input if the path is "-".

    Parameters
    ----------
    path : path
        The file; decompressed if its name ends in ".gz", ".bz2", ".xz" or ".zip" (one file in it).
    format : str, optional
        One of "csv", "tsv", "text" (any delimiter, blanks too), "excel", "json" (lines, or a list of records),
        "parquet", "libsvm" and "arff"; by the end of the name if None, "csv" if that tells nothing.
    header : bool, optional
        Whether the first row of delimited text or of a sheet holds names; found out if None.
    encoding : str, optional
        Encoding of text; by the mark at its beginning, or UTF-8, if None.
    delimiter : str, optional
        What stands between the cells of delimited text, " " being any number of blanks; found out if None.
    sheet : str, optional
        Sheet of a workbook; the first if None.
    parse : bool
        Whether text that means numbers, dates or truth values becomes those. If not, all cells stay as they are in
        the file, which is what :class:`~bayesvm.tables.TableEncoder` reads best: it reads new rows as the first.

    Returns
    -------
    frame : DataFrame
        Its index, called "row", holds the numbers of the rows in the file; ``frame.attrs["source"]`` is the file.

    Raises
    ------
    DataError
        If the file cannot be read; the message names file, row and column.

    Warns
    -----
    TableWarning
        If something could be read in two ways; the message names the column.
    """
    pandas()  # says how to install it, before the file is opened
    name = os.fspath(path)
    kind = format or guess_format(name) or "csv"
    if kind not in FORMATS:
        raise ValueError(f"format: expected one of {', '.join(FORMATS)}, found {kind!r}{did_you_mean(kind, FORMATS)}")
    source = "standard input" if name == "-" else name
    content = read_content(name, source)
    if kind == "parquet":
        frame = read_parquet(content, source)
    elif kind == "excel":
        frame = read_excel(content, source, sheet, header)
    else:
        frame = _of_text(kind, decoded(content, source, encoding), source, delimiter, header)
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        raise DataError(f"{source}: no rows of data")
    return parsed(frame) if parse else frame


def _of_text(kind: str, text: str, source: str, delimiter: str | None, header: bool | None) -> pd.DataFrame:
    if kind == "json":
        return read_json(text, source)
    if kind == "libsvm":
        return read_libsvm(text, source)
    if kind == "arff":
        return read_arff(text, source)
    if kind == "tsv":
        return read_delimited(text, source, delimiter or "\t", CSV, header)
    return read_delimited(text, source, delimiter, TEXT if kind == "text" else CSV, header)


__all__ = ["read_table"]
