"""Delimited text: commas, tabs, or blanks as in DELVE's files."""

from __future__ import annotations

import csv
import io

from bayesvm.tables.readers.text import decoded, table_of_rows
from bayesvm.tables.table import MISSING, DataError, Table


def read_csv(content: bytes, source: str, header: bool | None = None) -> Table:
    """Read values separated by commas (or by semicolons, if the first line has those and no comma)."""
    text = decoded(content, source)
    first = text.lstrip("\n\r").split("\n", 1)[0]
    return _read(text, source, header, ";" if "," not in first and ";" in first else ",")


def read_tsv(content: bytes, source: str, header: bool | None = None) -> Table:
    """Read values separated by tabs."""
    return _read(decoded(content, source), source, header, "\t")


def read_spaced(content: bytes, source: str, header: bool | None = None) -> Table:
    """Read values separated by blanks, as in DELVE's ``Dataset.data``; lines that begin with # are comments."""
    lines = enumerate(decoded(content, source).splitlines(), start=1)
    rows = [(number, line.split()) for number, line in lines if line.strip() and not line.lstrip().startswith("#")]
    return _named(rows, source, header if header is not None else False)


def _read(text: str, source: str, header: bool | None, delimiter: str) -> Table:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[tuple[int, list[str]]] = []
    try:
        rows.extend((reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells))
    except csv.Error as error:
        raise DataError(f"{source}, row {reader.line_num}: {error}") from None
    return _named(rows, source, header)


def _named(rows: list[tuple[int, list[str]]], source: str, header: bool | None) -> Table:
    """Split off the line of names; without one, columns are called c1, c2, ..."""
    if not rows:
        raise DataError(f"{source}: no rows of data")
    first = rows[0][1]
    has_header = _looks_like_names(first) if header is None else header
    if not has_header:
        return table_of_rows(rows, [f"c{j + 1}" for j in range(len(first))], source)
    names = [cell.strip() or f"c{j + 1}" for j, cell in enumerate(first)]
    return table_of_rows(rows[1:], names, source)


def _looks_like_names(cells: list[str]) -> bool:
    """Whether no cell of the first line is a number."""
    return not any(_is_number(cell) for cell in cells if cell.strip().lower() not in MISSING)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


__all__ = ["read_csv", "read_spaced", "read_tsv"]
