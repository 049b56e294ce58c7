"""Workbooks of Excel, by openpyxl (extra ``excel``)."""

from __future__ import annotations

import io
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bayesvm.lookup import did_you_mean, listed
from bayesvm.tables.errors import DataError, TableWarning
from bayesvm.tables.readers.rows import Rows, table_of

if TYPE_CHECKING:
    import pandas as pd

#: What openpyxl raises when a file is no workbook, or a damaged one; ``SyntaxError`` is that of its XML.
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    EOFError,
    SyntaxError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    NotImplementedError,
)


def read_excel(content: bytes, source: str, sheet: str | None, header: bool | None) -> pd.DataFrame:
    """Read one sheet of a workbook: the one of that name, or the first; that there are others is pointed out."""
    sheets = _sheets(content, source)
    names = list(sheets)
    if not names or (sheet is not None and sheet not in names):
        wanted = "" if sheet is None else f" {sheet!r}"
        raise DataError(f"{source}: no sheet{wanted}{did_you_mean(sheet or '', names)}; the sheets are {listed(names)}")
    chosen = sheet or names[0]
    if sheet is None and len(names) > 1:
        warnings.warn(f"{source}: the sheet {chosen!r} was read, not {listed(names[1:])}", TableWarning, stacklevel=2)
    return table_of(_rows(sheets[chosen], source), header)


def _sheets(content: bytes, source: str) -> Mapping[str, list[list[Any]]]:
    """Return the cells of the sheets, by name."""
    try:
        import openpyxl
    except ImportError:
        raise DataError(f"{source}: reading Excel needs openpyxl: pip install 'bayesvm[excel]'") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # openpyxl tells of styles that it does not know
            book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
            return {page.title: [list(row) for row in page.iter_rows(values_only=True)] for page in book.worksheets}
    except (*BROKEN, openpyxl.utils.exceptions.InvalidFileException) as error:
        raise DataError(
            f"{source}: not a workbook of Excel 2007 or later, or a damaged one ({error}); save it as .xlsx or as .csv"
        ) from None


def _rows(sheet: list[list[Any]], source: str) -> Rows:
    """Return the rows of a sheet that are not empty, without the columns on its right that are."""
    rows = [(number, cells) for number, cells in enumerate(sheet, start=1) if any(cell is not None for cell in cells)]
    width = max((1 + max(j for j, cell in enumerate(cells) if cell is not None) for _, cells in rows), default=0)
    padded = [[*cells, *[None] * width][:width] for _, cells in rows]
    return Rows(padded, [number for number, _ in rows], source)


__all__ = ["read_excel"]
