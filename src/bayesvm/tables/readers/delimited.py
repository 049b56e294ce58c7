"""Delimited text: commas, semicolons, tabs, bars, or blanks as in DELVE's files.

The cells are split by Python's own reader, which tells rows that are too short or too long apart by number; pandas
fills short rows without a word.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bayesvm.tables.errors import DataError
from bayesvm.tables.readers.cells import is_empty, is_value
from bayesvm.tables.readers.rows import Rows, table_of

if TYPE_CHECKING:
    import pandas as pd

#: Blanks, any number of them, between cells.
BLANKS = " "
#: Delimiters that are tried for files that end in .csv, and for other text.
CSV, TEXT = (",", ";", "\t", "|"), (",", ";", "\t", "|", BLANKS)
#: Rows that are looked at to find the delimiter.
LOOKED_AT = 50


def read_delimited(
    text: str, source: str, delimiter: str | None, candidates: Sequence[str], header: bool | None
) -> pd.DataFrame:
    """Read delimited text; the delimiter is found out among candidates if None."""
    chosen = delimiter or find_delimiter(text, candidates)
    reader = _blank_rows(text) if chosen == BLANKS else _csv_rows(text, chosen, source)
    rows = [(number, cells) for number, cells in reader if any(cell.strip() for cell in cells)]
    return table_of(Rows([cells for _, cells in rows], [number for number, _ in rows], source), header)


def _csv_rows(text: str, delimiter: str, source: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True)
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        raise DataError(f"{source}, row {reader.line_num}: {error}") from None


def _blank_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Return rows of cells between blanks; lines that begin with # are comments."""
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.lstrip().startswith("#"):
            yield number, line.split()


def find_delimiter(text: str, candidates: Sequence[str]) -> str:
    """Return the candidate that splits the first rows best: into equally many cells, of which most are values.

    The first candidate if none splits anything.
    """
    begin = text[:200_000]
    best, quality = candidates[0], (0.0, 0.0, 0)
    for delimiter in candidates:
        found = _quality(begin, delimiter)
        if found > quality:
            best, quality = delimiter, found
    return best


def _quality(text: str, delimiter: str) -> tuple[float, float, int]:
    """Return the share of rows of the usual length, the share of cells that are values, and the usual length."""
    rows = [cells for _, cells in itertools.islice(_loose_rows(text, delimiter), LOOKED_AT) if any(cells)]
    if not rows:
        return 0.0, 0.0, 0
    width, count = Counter(map(len, rows)).most_common(1)[0]
    if width < 2:
        return 0.0, 0.0, 0
    cells = [cell.strip() for row in rows[1:] for cell in row]
    values = [is_empty(cell) or is_value(cell) for cell in cells]
    return round(count / len(rows), 1), sum(values) / max(len(values), 1), width


def _loose_rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Return rows without refusing any: enough to judge a delimiter by."""
    if delimiter == BLANKS:
        yield from _blank_rows(text)
        return
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error:
        return


__all__ = ["BLANKS", "CSV", "TEXT", "find_delimiter", "read_delimited"]
