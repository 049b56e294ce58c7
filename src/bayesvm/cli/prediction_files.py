"""Tables of predictions as files.

Text that a spreadsheet would take for a formula (it begins with =, +, -, @, a tab or a carriage return) is written with
an apostrophe before it, unless that is not wanted: a label may come from anyone.
"""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bayesvm.cli.exit_codes import UsageError
from bayesvm.cli.output import write_output
from bayesvm.lookup import did_you_mean

#: What a formula begins with.
FORMULA = ("=", "+", "-", "@", "\t", "\r")

Columns = Mapping[str, np.ndarray]


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would take a text for a formula; numbers are none."""
    if not text.startswith(FORMULA):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


def _delimited(columns: Columns, escape: bool, delimiter: str) -> bytes:
    def cell(value: Any) -> str:
        if isinstance(value, float | np.floating):
            return f"{float(value):.10g}"
        text = "" if value is None else str(value)
        return f"'{text}" if escape and is_formula(text) else text

    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow([cell(name) for name in columns])
    writer.writerows([cell(value) for value in row] for row in zip(*columns.values()))
    return out.getvalue().encode()


def _csv(columns: Columns, escape: bool) -> bytes:
    return _delimited(columns, escape, ",")


def _tsv(columns: Columns, escape: bool) -> bytes:
    return _delimited(columns, escape, "\t")


def records(columns: Columns) -> list[dict[str, Any]]:
    """Return the rows as JSON values."""
    plain = {name: [_plain(value) for value in column] for name, column in columns.items()}
    return [dict(zip(plain, row)) for row in zip(*plain.values())]


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _json_lines(columns: Columns, escape: bool) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records(columns)).encode()


def _parquet(columns: Columns, escape: bool) -> bytes:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError("writing Parquet needs pyarrow: pip install 'bayesvm[cli]'") from None
    out = io.BytesIO()
    text = {name: column.dtype.kind in "OU" for name, column in columns.items()}
    plain = {n: [None if v is None else str(v) for v in c] if text[n] else c for n, c in columns.items()}
    pq.write_table(pa.table(plain), out)
    return out.getvalue()


def _excel(columns: Columns, escape: bool) -> bytes:
    try:
        import openpyxl
    except ImportError:
        raise UsageError("writing Excel needs openpyxl: pip install 'bayesvm[excel]'") from None
    book = openpyxl.Workbook()
    page = book.active
    for i, row in enumerate([list(columns), *zip(*columns.values())], start=1):
        for j, value in enumerate(row, start=1):
            cell = page.cell(i, j)
            cell.value = _plain(value)
            if isinstance(cell.value, str) and escape:
                cell.data_type = "s"  # text, whatever it begins with
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


#: How a table is written, by the end of the file's name.
WRITERS: Mapping[str, Callable[[Columns, bool], bytes]] = {
    ".csv": _csv,
    ".tsv": _tsv,
    ".jsonl": _json_lines,
    ".parquet": _parquet,
    ".xlsx": _excel,
}


def writer_of(out: str) -> Callable[[Columns, bool], bytes]:
    """Return how a file is written, by the end of its name; devices and standard output have CSV."""
    ending = next((ending for ending in WRITERS if out.lower().endswith(ending)), None)
    if ending is not None:
        return WRITERS[ending]
    if out == "-" or (os.path.exists(out) and not os.path.isfile(out)):
        return _csv
    found = f".{out.rpartition('.')[2]}" if "." in out else ""
    raise UsageError(
        f"{out}: expected a name that ends in {', '.join(WRITERS)}, which tells the format"
        f"{did_you_mean(found, WRITERS)}"
    )


def write_predictions(columns: Columns, out: str, *, escape: bool = True) -> None:
    """Write a table of predictions in the format that the end of the name tells, CSV to standard output for "-"."""
    content = writer_of(out)(columns, escape)
    if out == "-":
        sys.stdout.write(content.decode())
    else:
        write_output(out, content)


__all__ = ["is_formula", "records", "write_predictions", "writer_of"]
