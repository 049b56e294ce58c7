"""Messy tables made from real ones: a file with one or two defects, and what a careful reader finds in it.

A :class:`Draft` holds the cells of a table as text beside the numbers that they mean. A :class:`Defect` changes one
part of it. The real sets are those that scikit-learn ships; ``whole`` is a column of theirs in another unit, so that
its numbers are whole.
"""

from __future__ import annotations

import csv
import dataclasses
import gzip
import io
import itertools
import json
from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from bayesvm.tables import ColumnKind

ROWS = 90
SETS = {
    "wine": load_wine,
    "iris": load_iris,
    "breast_cancer": load_breast_cancer,
    "diabetes": lambda: load_diabetes(scaled=False),
}


@dataclasses.dataclass(frozen=True)
class Draft:
    """A table on its way to a file.

    Attributes
    ----------
    cells : dict
        Text of the cells, by column.
    kinds, numbers : dict
        What each column is, and the numbers of the first column that it becomes (None: not compared).
    names : dict
        Name in the file, by column.
    target : array
        What is to be predicted.
    raises, warns : tuple of str
        What the error, or the warnings, must say.
    delimiter, header, encoding, container, compressed
        How the file is written.
    """

    cells: dict
    kinds: dict
    numbers: dict
    names: dict
    target: np.ndarray
    raises: tuple = ()
    warns: tuple = ()
    delimiter: str = ","
    header: bool = True
    encoding: str = "utf-8"
    container: str = "csv"
    compressed: bool = False

    def with_column(self, name, cells, kind, numbers):
        """Return the draft with one column replaced or added."""
        return dataclasses.replace(
            self,
            cells={**self.cells, name: cells},
            kinds={**self.kinds, name: kind},
            numbers={**self.numbers, name: numbers},
            names={**self.names, name: self.names.get(name, name)},
        )

    @property
    def file_name(self):
        return f"table.{self.container}" + (".gz" if self.compressed else "")

    def content(self):
        """Return the bytes of the file."""
        rows = [list(self.names.values())] if self.header else []
        rows += [list(row) for row in zip(*self.cells.values())]
        if self.container == "xlsx":
            return _workbook(rows)
        if self.container == "jsonl":
            text = "\n".join(json.dumps(dict(zip(rows[0], row))) for row in rows[1:])
        else:
            out = io.StringIO(newline="")
            csv.writer(out, delimiter=self.delimiter).writerows(rows)
            text = out.getvalue()
        data = text.encode(self.encoding)
        return gzip.compress(data, mtime=0) if self.compressed else data


def _workbook(rows):
    import openpyxl

    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def clean(name):
    """Return the draft of a real set: three columns of decimals, one of whole numbers, one of categories."""
    data = SETS[name]()
    order = np.random.default_rng(0).permutation(len(data.target))[:ROWS]
    X, y = data.data[order], data.target[order]
    spread = np.argsort([-np.unique(column).size for column in X.T], kind="stable")[:4]
    columns = [np.round(X[:, j], 4) for j in spread]
    whole = np.round(1000.0 + 1000.0 * np.abs(columns[3]))
    groups = np.array(["low", "middle", "high"])[np.digitize(X[:, spread[0]], np.quantile(X[:, spread[0]], [0.3, 0.7]))]
    draft = Draft({}, {}, {}, {}, np.asarray(y, dtype=float))
    for letter, column in zip("abc", columns):
        draft = draft.with_column(letter, [f"{v:.4f}" for v in column], ColumnKind.NUMERIC, column)
    draft = draft.with_column("whole", [f"{v:.0f}" for v in whole], ColumnKind.NUMERIC, whole)
    return draft.with_column("group", groups.tolist(), ColumnKind.CATEGORICAL, None)


@dataclasses.dataclass(frozen=True)
class Defect:
    """A defect: its name, the part of the table that it changes, and the change."""

    name: str
    part: str
    change: Callable[[Draft], Draft]


def _decimal_commas(draft):
    swap = str.maketrans({".": ",", ",": "."})
    wanted = {name: kind is ColumnKind.NUMERIC for name, kind in draft.kinds.items()}
    cells = {n: [cell.translate(swap) for cell in c] if wanted[n] else c for n, c in draft.cells.items()}
    return dataclasses.replace(draft, cells=cells)


def _german(draft):
    return dataclasses.replace(_decimal_commas(draft), delimiter=";")


def _thousands(draft):
    return draft.with_column(
        "whole", [f"{v:,.0f}" for v in draft.numbers["whole"]], ColumnKind.NUMERIC, draft.numbers["whole"]
    )


def _currency(draft):
    v = draft.numbers["a"]
    return draft.with_column("a", [f"${x:,.4f}" for x in v], ColumnKind.NUMERIC, v)


def _percent(draft):
    v = draft.numbers["a"]
    return draft.with_column("a", [f"{x:.4f} %" for x in v], ColumnKind.NUMERIC, v / 100.0)


def _dates(draft):
    days = np.argsort(np.argsort(draft.numbers["b"], kind="stable")) * 3
    moments = np.datetime64("2017-03-30") + days
    cells = [f"{m.item():%d.%m.%Y}" for m in moments]
    return draft.with_column("b", cells, ColumnKind.DATE, days.astype(float))


def _timestamps(draft):
    hours = np.round(draft.numbers["b"] / np.ptp(draft.numbers["b"]) * 5000.0)
    moments = np.datetime64("2019-03-01T00:00:00") + (hours * 3600).astype("timedelta64[s]")
    cells = [f"{m.item():%Y-%m-%dT%H:%M:%S}+02:00" for m in moments]
    return draft.with_column("b", cells, ColumnKind.DATE, (hours - hours.min()) / 24.0)


def _ambiguous_days(draft):
    days = np.argsort(np.argsort(draft.numbers["b"], kind="stable")) % 12
    cells = [f"{d + 1:02d}/03/2019" for d in days]
    draft = draft.with_column("b", cells, ColumnKind.DATE, days.astype(float))
    return dataclasses.replace(
        draft, warns=(*draft.warns, "was read as 2019-03-.* the day first; if the month stands first")
    )


def _truth(draft):
    truth = draft.numbers["c"] > np.median(draft.numbers["c"])
    words = [("Yes", "no"), ("YES", "No"), ("yes", "NO")]
    cells = [words[i % 3][0 if t else 1] for i, t in enumerate(truth)]
    return draft.with_column("c", cells, ColumnKind.TRUTH, truth.astype(float))


def _gaps(draft):
    markers = ["", "NA", "?", "n/a", "null", "-", "#N/A"]
    v = draft.numbers["c"].copy()
    cells = list(draft.cells["c"])
    for k, i in enumerate(range(0, ROWS, 8)):
        cells[i], v[i] = markers[k % len(markers)], np.nan
    v[np.isnan(v)] = np.nanmedian(v)
    return draft.with_column("c", cells, ColumnKind.NUMERIC, v)


def _years(draft):
    years = {name: str(2019 + i) for i, name in enumerate(("a", "b", "c", "whole"))}
    told = {"id", "answer"} & set(draft.names)  # a word above numbers tells that the first row holds names
    warns = draft.warns if told else (*draft.warns, "were taken for names of columns")
    return dataclasses.replace(draft, names={**draft.names, **years}, warns=warns)


def _blanks(draft):
    cells = {n: [f"  {cell} " if i % 2 else cell for i, cell in enumerate(c)] for n, c in draft.cells.items()}
    return dataclasses.replace(draft, cells=cells)


def _row_number(draft):
    cells = [str(i + 1) for i in range(ROWS)]
    draft = draft.with_column("id", cells, ColumnKind.IDENTIFIER, None)
    return dataclasses.replace(draft, warns=(*draft.warns, "column 'id': it counts the rows and was left out"))


def _leak(draft):
    cells = [f"{v:.0f}" for v in draft.target]
    draft = draft.with_column("answer", cells, ColumnKind.NUMERIC, draft.target)
    return dataclasses.replace(draft, warns=(*draft.warns, "column 'answer': it equals the target"))


def _spellings(draft):
    cells = ["Low" if cell == "low" and i % 2 else cell for i, cell in enumerate(draft.cells["group"])]
    draft = draft.with_column("group", cells, ColumnKind.CATEGORICAL, None)
    return dataclasses.replace(draft, warns=(*draft.warns, "column 'group': .* differ in upper and lower case only"))


def _wrong_cell(draft):
    cells = list(draft.cells["a"])
    cells[40] = "see note"
    row = 41 + draft.header
    draft = draft.with_column("a", cells, ColumnKind.NUMERIC, None)
    place = r"column '(a|c1|2019)'"
    return dataclasses.replace(
        draft, raises=(*draft.raises, rf"row {row - (draft.container == 'jsonl')}, {place}: expected a number")
    )


def _western(draft):
    cells = [{"low": "ähnlich"}.get(cell, cell) for cell in draft.cells["group"]]
    draft = draft.with_column("group", cells, ColumnKind.CATEGORICAL, None)
    return dataclasses.replace(draft, encoding="cp1252", raises=("expected text in UTF-8, .*name its encoding",))


#: The ways in which a table is messy; containers come first, since what others expect depends on them.
DEFECTS = (
    Defect("excel", "container", lambda d: dataclasses.replace(d, container="xlsx")),
    Defect("json lines", "container", lambda d: dataclasses.replace(d, container="jsonl")),
    Defect("utf-16", "container", lambda d: dataclasses.replace(d, encoding="utf-16")),
    Defect("gzip", "container", lambda d: dataclasses.replace(d, compressed=True)),
    Defect("tabs", "container", lambda d: dataclasses.replace(d, delimiter="\t")),
    Defect("western encoding", "container", _western),
    Defect("thousands", "whole", _thousands),
    Defect("currency", "a", _currency),
    Defect("percent", "a", _percent),
    Defect("wrong cell", "a", _wrong_cell),
    Defect("dates", "b", _dates),
    Defect("timestamps", "b", _timestamps),
    Defect("ambiguous days", "b", _ambiguous_days),
    Defect("truth words", "c", _truth),
    Defect("gaps", "c", _gaps),
    Defect("row number", "more", _row_number),
    Defect("leak", "more", _leak),
    Defect("years as names", "names", _years),
    Defect("spellings", "group", _spellings),
    Defect("blanks around cells", "blanks", _blanks),
    Defect("decimal commas", "decimal", _german),
    Defect("quoted decimal commas", "decimal", _decimal_commas),
)

#: Pairs that cannot both be: the delimiter, or the names, are changed by both.
EXCLUDED = ({"tabs", "decimal commas"}, {"western encoding", "spellings"}, {"json lines", "years as names"})


def messy_tables():
    """Return (name, draft) of every defect alone, then of every pair that can be together, on the real sets in turn."""
    singles = [(defect,) for defect in DEFECTS]
    pairs = [
        pair
        for pair in itertools.combinations(DEFECTS, 2)
        if pair[0].part != pair[1].part and {pair[0].name, pair[1].name} not in EXCLUDED
    ]
    for defects, name in zip([*singles, *pairs], itertools.cycle(SETS)):
        draft = clean(name)
        for defect in defects:
            draft = defect.change(draft)
        yield f"{name}: {' and '.join(defect.name for defect in defects)}", draft
