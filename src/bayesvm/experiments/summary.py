"""From finished units to tables: ours, the paper's, and the difference in standard errors."""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import stdtr

from bayesvm.experiments.base import Column, Found, Numbers, Published, Table

#: Head of the long table.
HEAD = ("case", "quantity", "ours", "s.e.", "units", "paper", "paper s.e.", "difference / s.e.", "verdict")


@dataclasses.dataclass(frozen=True)
class Line:
    """One quantity of one case.

    Parameters
    ----------
    case, head : str
        Row and column.
    mean, error : float
        Ours; the error is nan for one unit.
    units : int
        How many.
    paper : Published or None
        The paper's.
    digits : int
        Digits to show.
    better : str or None
        Which side is an improvement.
    probability : float or None
        For paired differences, that of so large a difference if there were none (t-test, as in Chu2003).
    """

    case: str
    head: str
    mean: float
    error: float
    units: int
    paper: Published | None
    digits: int
    better: str | None = None
    probability: float | None = None

    @property
    def deviation(self) -> float:
        """Difference to the paper in standard errors of the difference; nan where it cannot be told."""
        if self.paper is None:
            return math.nan
        theirs = self.paper.error
        if theirs is None and self.paper.runs:  # taken to scatter as ours do
            theirs = self.error * math.sqrt(self.units / self.paper.runs)
        errors = [e for e in (self.error, theirs) if e is not None and math.isfinite(e)]
        total = math.sqrt(sum(e * e for e in errors))
        return (self.mean - self.paper.mean) / total if total > 0.0 else math.nan

    @property
    def verdict(self) -> str:
        """Say in a word how ours stands to the paper's: within two standard errors, better, or worse."""
        z = self.deviation
        if not math.isfinite(z):
            return ""
        if abs(z) <= 2.0:
            return "equal"
        if self.better is None:
            return "differs"
        return "better" if (z < 0.0) == (self.better == "lower") else "worse"


def summarise(table: Table, found: Found) -> list[Line]:
    """Return the lines of a table, cases without units left out."""
    lines = []
    for case in table.cases if table.cases is not None else tuple(found):
        for column in table.columns:
            line = _line(case, column, found)
            if line is not None:
                lines.append(line)
    return lines


def _line(case: str, column: Column, found: Found) -> Line | None:
    if column.against is not None:
        return _paired(case, column, found)
    values = _values(found.get(case, ()), column.key)
    if values.size == 0:
        return None
    mean, error = _mean_and_error(values)
    paper = column.published.get(case)
    return Line(case, column.head, mean, error, values.size, paper, column.digits, column.better)


def _mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Return the mean and its standard error: nan for one value, and exactly zero where all are the same."""
    if values.size == 1:
        return float(values[0]), math.nan
    if np.all(values == values[0]):
        return float(values[0]), 0.0
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(values.size))


def _paired(case: str, column: Column, found: Found) -> Line | None:
    """Return the mean difference to the rival over the units that both have, with its standard error."""
    rival = {unit["seed"]: unit for unit in found.get(f"{case}{column.against}", ()) if column.key in unit}
    own = [unit for unit in found.get(case, ()) if unit["seed"] in rival and column.key in unit]
    if not own:
        return None
    gaps = np.array([unit[column.key] - rival[unit["seed"]][column.key] for unit in own], dtype=float)
    mean, error = _mean_and_error(gaps)
    p = float(2.0 * stdtr(gaps.size - 1, -abs(mean) / error)) if error > 0.0 else None
    return Line(case, column.head, mean, error, gaps.size, column.published.get(case), column.digits, None, p)


def _values(units: Sequence[Numbers], key: str) -> np.ndarray:
    """Return a key's finite numbers over the units; ``a.b`` looks into a mapping."""
    first, _, rest = key.partition(".")
    found = [unit.get(first) for unit in units]
    if rest:
        found = [part.get(rest) if isinstance(part, Mapping) else None for part in found]
    numbers = np.array([float(value) for value in found if value is not None], dtype=float)
    return numbers[np.isfinite(numbers)]


def as_csv(lines: Sequence[Line]) -> str:
    """Return the long table: one line per case and quantity."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEAD)
    for line in lines:
        paper = (None, None) if line.paper is None else (line.paper.mean, line.paper.error)
        cells = [line.case, line.head, line.mean, line.error, line.units, *paper, line.deviation, line.verdict]
        writer.writerow(["" if cell is None or cell != cell else cell for cell in cells])
    return text.getvalue()


def as_markdown(table: Table, lines: Sequence[Line]) -> str:
    """Return the Markdown table: ours with its standard error, the paper's, the difference in standard errors."""
    body = "\n".join("| " + " | ".join(row) + " |" for row in _grid(table, lines))
    units = f"Units per row: {_units(lines)}; after ± is the standard error of the mean."
    note = f"\n\n{table.note}" if table.note else ""
    return f"### {table.title}\n\n{body}\n\n{units}{note}\n"


def _grid(table: Table, lines: Sequence[Line]) -> list[list[str]]:
    """Return the cells of the Markdown table row by row, titles and rule first."""
    across, down = ("case", "head") if table.transposed else ("head", "case")
    heads = list(dict.fromkeys(getattr(line, across) for line in lines))
    rows = list(dict.fromkeys(getattr(line, down) for line in lines))
    by_place = {(getattr(line, down), getattr(line, across)): line for line in lines}
    with_paper = {getattr(line, across) for line in lines if line.paper is not None}
    titles = [""]
    for head in heads:
        titles += [head, "paper", "diff / s.e."] if head in with_paper else [head]
    cells = [titles, ["---"] * len(titles)]
    for row in rows:
        shown = [row]
        for head in heads:
            shown += _cells(by_place.get((row, head)), head in with_paper)
        cells.append(shown)
    return cells


def _units(lines: Sequence[Line]) -> str:
    """Return the number of units of the lines, or its range."""
    counts = sorted({line.units for line in lines})
    if not counts:
        return "0"
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _cells(line: Line | None, with_paper: bool) -> list[str]:
    """Return one cell, or three where the paper has a number in this column."""
    if line is None:
        return ["-"] * (3 if with_paper else 1)
    d = line.digits
    own = f"{line.mean:.{d}f}" + (f" ± {line.error:.{d}f}" if math.isfinite(line.error) else "")
    if line.probability is not None:
        own += f" (p = {line.probability:.2g})"
    if not with_paper:
        return [own]
    if line.paper is None:
        return [own, "-", "-"]
    error = line.paper.error
    paper = f"{line.paper.mean:.{d}f}" + (f" ± {error:.{d}f}" if error is not None else "")
    z = line.deviation
    return [own, paper, f"{z:+.1f} {line.verdict}" if math.isfinite(z) else "-"]


__all__ = ["HEAD", "Line", "as_csv", "as_markdown", "summarise"]
