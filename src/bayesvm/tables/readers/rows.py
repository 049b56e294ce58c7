"""Rows of cells, with or without a line of names, as a table."""

from __future__ import annotations

import dataclasses
import itertools
import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesvm.tables.errors import DataError, TableWarning
from bayesvm.tables.frame import ROW, SOURCE, pandas
from bayesvm.tables.readers.cells import is_empty, is_value

if TYPE_CHECKING:
    import pandas as pd

#: Rows below the first that are looked at to find out whether the first holds names.
LOOKED_AT = 200


@dataclasses.dataclass(frozen=True)
class Rows:
    """Rows as they stand in a file.

    Attributes
    ----------
    cells : list of list
        The cells of each row: text, or what the file holds.
    numbers : list of int
        Number of each row in the file.
    source : str
        The file, for messages.
    """

    cells: Sequence[Sequence[Any]]
    numbers: Sequence[int]
    source: str


def frame_of(cells: Any, names: Sequence[str], numbers: Sequence[int], source: str) -> pd.DataFrame:
    """Return a table of objects from cells (rows by columns), with numbered rows and the name of its source."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"{source}: the column name {name!r} occurs twice; rename one of the two")
        seen.add(name)
    index = pandas().Index(np.asarray(numbers, dtype=int), name=ROW)
    frame = pandas().DataFrame(cells, columns=list(names), index=index, dtype=object)
    frame.attrs[SOURCE] = source
    return frame


def table_of(rows: Rows, header: bool | None) -> pd.DataFrame:
    """Return rows as a table; the first of them holds the names of the columns if ``header``, or looks like it.

    Without names the columns are called c1, c2, and so on.
    """
    if not rows.cells:
        raise DataError(f"{rows.source}: no rows of data")
    first = rows.cells[0]
    for number, cells in zip(rows.numbers, rows.cells):
        if len(cells) != len(first):
            raise DataError(
                f"{rows.source}, row {number}: expected {len(first)} columns as in row {rows.numbers[0]}, found "
                f"{len(cells)}; quote cells that hold the delimiter, and remove lines that are not part of the table"
            )
    named = _has_names(rows) if header is None else header
    names = [_name(cell, j) if named else f"c{j + 1}" for j, cell in enumerate(first)]
    start = 1 if named else 0
    body = np.empty((len(rows.cells) - start, len(names)), dtype=object)
    if body.size:
        body[:] = rows.cells[start:]
    return frame_of(body, names, rows.numbers[start:], rows.source)


def _name(cell: Any, j: int) -> str:
    """Return the name of a column; numbers of spreadsheets such as 2019.0 lose their point."""
    text = f"{cell:g}" if isinstance(cell, float) else "" if cell is None else str(cell)
    return text.strip() or f"c{j + 1}"


def _has_names(rows: Rows) -> bool:
    """Whether the first row holds names.

    Where a column has values (numbers, dates) below and a word on top, that word is a name. Where no column tells,
    names are assumed if no cell on top is a value, or if consecutive whole numbers such as years stand above numbers
    that are not whole. What is a guess is pointed out.
    """
    top, *below = ([_shown(cell) for cell in cells] for cells in rows.cells[: LOOKED_AT + 1])
    values = [is_value(cell) for cell in top]
    if not any(values):
        return True
    named = _has_word_above_values(top, below)
    counting = _is_counting(list(itertools.compress(top, values)))
    if named and counting:
        return True
    if not named and not (counting and not _are_whole(below, values)):
        return False
    warnings.warn(
        f"{rows.source}, row {rows.numbers[0]}: {', '.join(top[:3])}{', ...' if len(top) > 3 else ''} were taken for "
        "names of columns; if they are data, say header=False (--no-header)",
        TableWarning,
        stacklevel=2,
    )
    return True


def _shown(cell: Any) -> str:
    return "" if cell is None or cell != cell else str(cell).strip()


def _has_word_above_values(top: list[str], below: list[list[str]]) -> bool:
    """Whether a column has values (numbers, dates) below and a word on top."""
    words = [j for j, cell in enumerate(top) if not is_value(cell) and not is_empty(cell)]
    return any(_are_values([row[j] for row in below]) for j in words)


def _are_values(cells: list[str]) -> bool:
    """Whether most of the cells of a column that are not empty are numbers or dates."""
    present = [cell for cell in cells if not is_empty(cell)]
    return len(present) > 0 and sum(map(is_value, present)) > 0.5 * len(present)


def _is_counting(cells: list[str]) -> bool:
    """Whether cells are consecutive whole numbers, as years are."""
    if not all(re.fullmatch(r"\d{1,6}", cell, re.ASCII) for cell in cells):
        return False
    return all(int(b) - int(a) == 1 for a, b in itertools.pairwise(cells))


def _are_whole(below: list[list[str]], chosen: list[bool]) -> bool:
    """Whether at least half of the cells in the chosen columns are whole numbers."""
    cells = [cell for row in below for cell, wanted in zip(row, chosen) if wanted]
    return sum(re.fullmatch(r"[-+]?\d+", cell, re.ASCII) is not None for cell in cells) >= 0.5 * len(cells)


__all__ = ["Rows", "frame_of", "table_of"]
