"""JSON: one object per line (JSON lines), or one list of objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bayesvm.tables.errors import DataError
from bayesvm.tables.readers.rows import frame_of

if TYPE_CHECKING:
    import pandas as pd


def read_json(text: str, source: str) -> pd.DataFrame:
    """Read records; a name that a record does not have is a gap there."""
    records, numbers = [], []
    for number, record in _records(text, source):
        if not isinstance(record, dict):
            raise DataError(
                f"{source}, row {number}: expected an object with names and values, found {str(record)[:40]!r}"
            )
        for name, value in record.items():
            if isinstance(value, dict | list):
                raise DataError(
                    f"{source}, row {number}, column {name!r}: expected a number or text, found a list or an object; "
                    "a table has one value per cell"
                )
        records.append(record)
        numbers.append(number)
    names = list(dict.fromkeys(name for record in records for name in record))
    cells = [[record.get(name) for name in names] for record in records]
    return frame_of(cells, names, numbers, source)


def _records(text: str, source: str) -> Iterator[tuple[int, Any]]:
    """Return the records with the numbers of their lines, or of their places in the list."""
    if text.lstrip().startswith("["):
        yield from enumerate(_loaded(text, source, 1), start=1)
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            yield number, _loaded(line, source, number)


def _loaded(text: str, source: str, number: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{source}, row {number}: not JSON ({error})") from None


__all__ = ["read_json"]
