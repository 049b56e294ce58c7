"""ARFF, Weka's format: a header that declares attributes, then rows of values, dense or sparse."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bayesvm.tables.errors import DataError
from bayesvm.tables.frame import pandas
from bayesvm.tables.readers.rows import frame_of
from bayesvm.tables.values import texts_of, values_of

if TYPE_CHECKING:
    import pandas as pd

ATTRIBUTE = re.compile(r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{]+)\s*(.+)""", re.IGNORECASE)


def read_arff(text: str, source: str) -> pd.DataFrame:
    """Read ARFF text; nominal attributes become categories whatever their values look like."""
    lines = iter((number, line.strip()) for number, line in enumerate(text.splitlines(), start=1))
    attributes = _declared(lines, source)
    defaults = ["0" if first is None else first for first in attributes.values()]
    rows = [(number, _cells(line, defaults, number, source)) for number, line in lines if line and line[0] != "%"]
    frame = frame_of([cells for _, cells in rows], list(attributes), [number for number, _ in rows], source)
    return _with_categories(frame, [name for name, first in attributes.items() if first is not None])


def _declared(lines: Iterator[tuple[int, str]], source: str) -> dict[str, str | None]:
    """Return the attributes of the header, each with its first value if it is nominal; the rows of data are left."""
    attributes: dict[str, str | None] = {}
    in_data = False
    for number, line in lines:
        keyword = line.lower()
        if not line or keyword.startswith(("%", "@relation")):
            continue
        if keyword.startswith("@data"):
            in_data = True
            break
        if not keyword.startswith("@attribute"):
            raise DataError(f"{source}, row {number}: expected @relation, @attribute or @data, found {line[:40]!r}")
        name, first = _attribute(line, number, source)
        if name in attributes:
            raise DataError(f"{source}, row {number}: the attribute {name!r} occurs twice")
        attributes[name] = first
    if not attributes or not in_data:
        raise DataError(f"{source}: not an ARFF file (it has no {'@data' if attributes else '@attribute'})")
    return attributes


def _with_categories(frame: pd.DataFrame, nominal: Sequence[str]) -> pd.DataFrame:
    """Return the table with the nominal columns as categories."""
    cleaned = {name: values_of(frame[name].astype(object)) for name in nominal}
    return frame.assign(**{name: pandas().Categorical(texts_of(values).entries()) for name, values in cleaned.items()})


def _attribute(line: str, number: int, source: str) -> tuple[str, str | None]:
    """Return the name of a declaration, and if it is nominal its first value, which a sparse row leaves out."""
    match = ATTRIBUTE.fullmatch(line)
    if match is None:
        raise DataError(f"{source}, row {number}: expected @attribute, a name and a type, found {line[:40]!r}")
    kind = match[2].strip()
    if not kind.startswith("{"):
        return _plain(match[1]), None
    if not kind.endswith("}"):
        raise DataError(f"{source}, row {number}: the list of values is not closed")
    values = _split(kind[1:-1], number, source)
    return _plain(match[1]), values[0] if values else ""


def _cells(line: str, defaults: list[str], number: int, source: str) -> list[str]:
    if line.startswith("{"):
        return _sparse(line, defaults, number, source)
    cells = _split(line, number, source)
    if len(cells) != len(defaults):
        raise DataError(f"{source}, row {number}: expected {len(defaults)} columns, found {len(cells)}")
    return cells


def _sparse(line: str, defaults: list[str], number: int, source: str) -> list[str]:
    if not line.endswith("}"):
        raise DataError(f"{source}, row {number}: the sparse row is not closed")
    cells = list(defaults)
    for pair in _split(line[1:-1], number, source) if line[1:-1].strip() else []:
        place, _, value = pair.partition(" ")
        if not place.isascii() or not place.isdigit() or int(place) >= len(cells):
            raise DataError(
                f"{source}, row {number}: expected an attribute number below {len(cells)} and a value, found "
                f"{pair[:40]!r}"
            )
        cells[int(place)] = _plain(value)
    return cells


def _split(line: str, number: int, source: str) -> list[str]:
    quote = "'" if "'" in line and '"' not in line else '"'
    try:
        rows = list(csv.reader([line], skipinitialspace=True, quotechar=quote, escapechar="\\"))
    except csv.Error as error:
        raise DataError(f"{source}, row {number}: {error}") from None
    return [cell.strip() for cell in rows[0]] if rows else []


def _plain(name: str) -> str:
    name = name.strip()
    return name[1:-1].replace("\\", "") if len(name) > 1 and name[0] == name[-1] and name[0] in "'\"" else name


__all__ = ["read_arff"]
