"""Text of a file, and columns of text made into a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesvm.tables.table import DataError, Table, text_column


def decoded(content: bytes, source: str) -> str:
    """Return the text of a file (UTF-8, with or without mark), or name the row of the first byte that is none."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = content[: error.start].count(b"\n") + 1
        raise DataError(
            f"{source}, row {row}: expected text in UTF-8, found the byte 0x{content[error.start]:02x}"
        ) from None
    if "\0" in text:
        row = text[: text.index("\0")].count("\n") + 1
        raise DataError(f"{source}, row {row}: expected text, found a null character")
    return text


def table_of_rows(rows: Sequence[tuple[int, list[str]]], names: Sequence[str], source: str) -> Table:
    """Return a table of numbered rows of text, all of the length of ``names``."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"{source}: the column name {name!r} occurs twice")
        seen.add(name)
    for number, cells in rows:
        if len(cells) != len(names):
            raise DataError(f"{source}, row {number}: expected {len(names)} columns, found {len(cells)}")
    columns = {name: text_column([cells[j] for _, cells in rows]) for j, name in enumerate(names)}
    return Table(columns, source, np.array([number for number, _ in rows], dtype=int))


__all__ = ["decoded", "table_of_rows"]
