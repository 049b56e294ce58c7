"""ARFF, Weka's format: a header that declares attributes, then rows of values, dense or sparse."""

from __future__ import annotations

import csv
import re

import numpy as np

from bayesvm.tables.readers.text import decoded
from bayesvm.tables.table import DataError, Table, text_column

ATTRIBUTE = re.compile(r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{]+)\s*(.+)""", re.IGNORECASE)


def read_arff(content: bytes, source: str, header: bool | None = None) -> Table:
    """Read ARFF text; nominal, string and date attributes become text."""
    names: list[str] = []
    defaults: list[str] = []
    rows: list[tuple[int, list[str]]] = []
    in_data = False
    for number, raw in enumerate(decoded(content, source).splitlines(), start=1):
        line = raw.strip()
        if not line or line.startswith("%"):
            continue
        if in_data:
            rows.append((number, _cells(line, defaults, number, source)))
        elif line.lower().startswith("@data"):
            in_data = True
        elif line.lower().startswith("@attribute"):
            name, default = _attribute(line, number, source)
            if name in names:
                raise DataError(f"{source}, row {number}: the attribute {name!r} occurs twice")
            names.append(name)
            defaults.append(default)
        elif not line.lower().startswith("@relation"):
            raise DataError(f"{source}, row {number}: expected @relation, @attribute or @data, found {line[:40]!r}")
    if not names or not in_data:
        raise DataError(f"{source}: not an ARFF file (it has no {'@data' if names else '@attribute'})")
    columns = {name: text_column([cells[j] for _, cells in rows]) for j, name in enumerate(names)}
    return Table(columns, source, np.array([number for number, _ in rows], dtype=int))


def _attribute(line: str, number: int, source: str) -> tuple[str, str]:
    """Return name and default value (what a sparse row leaves out) of a declaration."""
    match = ATTRIBUTE.fullmatch(line)
    if match is None:
        raise DataError(f"{source}, row {number}: expected @attribute, a name and a type, found {line[:40]!r}")
    kind = match[2].strip()
    if not kind.startswith("{"):
        return _plain(match[1]), "0"
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
                f"{source}, row {number}: expected an attribute number below {len(cells)} and a value, found {pair[:40]!r}"
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
