"""The target column: which task it asks for, and its values."""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.cli.exit_codes import UsageError
from bayesvm.tables import DataError, Table
from bayesvm.tables.table import is_numeric

#: Whole numbers with at most this many different values are taken for classes.
FEW = 10


@dataclasses.dataclass(frozen=True)
class Task:
    """What is to be learnt, and why it was taken for that."""

    name: str
    reason: str


def find_column(table: Table, wanted: str) -> str:
    """Return the name of a column that is given by its name, or by its number from 1 (-1: the last)."""
    if wanted in table.columns:
        return wanted
    try:
        place = int(wanted)
    except ValueError:
        place = 0
    if place == 0 or not -len(table.names) <= place <= len(table.names):
        table.column(wanted)  # says which there are
        raise DataError(f"{table.source}: no column {wanted!r}")
    return table.names[place - 1 if place > 0 else place]


def guess_task(column: np.ndarray, given: str | None, name: str) -> Task:
    """Return the task that a target asks for; ``given`` is what the user or the method says."""
    if given is not None:
        if given not in ("classification", "regression"):
            raise UsageError(f"task: expected classification or regression, found {given!r}")
        return Task(given, "as asked for")
    if not is_numeric(column):
        return Task("classification", f"{name} holds text")
    present = np.unique(column[~np.isnan(column)])
    if present.size <= 2:
        return Task("classification", f"{name} has {present.size} different values")
    if present.size <= FEW and bool(np.all(present == np.round(present))):
        return Task("classification", f"{name} has {present.size} different whole numbers")
    return Task("regression", f"{name} has {present.size} different values")


def target_values(table: Table, name: str, task: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of the target and the rows that have one.

    Classes are text; whole numbers stay as they are written. Rows without a target are left out. The task "labels" is
    classification with classes that are known already, so that one is enough.
    """
    column = table.column(name)
    if task in ("classification", "labels"):
        texts = [_label(entry) for entry in column]
        rows = np.array([i for i, text in enumerate(texts) if text is not None], dtype=int)
        values = np.array([texts[i] for i in rows], dtype=str)
        found, needed = len(set(values.tolist())), 2 if task == "classification" else 1
        if found < needed:
            raise DataError(f"{table.source}, column {name!r}: expected at least {needed} classes, found {found}")
        return values, rows
    if not is_numeric(column):
        wrong = next(i for i, entry in enumerate(column) if entry is not None and not _is_number(entry))
        raise DataError(f"{table.where(wrong, name)}: expected a number, found {column[wrong]!r}")
    infinite = np.flatnonzero(np.isinf(column))
    if infinite.size:
        raise DataError(f"{table.where(int(infinite[0]), name)}: expected a finite number, found {column[infinite[0]]}")
    rows = np.flatnonzero(~np.isnan(column))
    if rows.size < 2:
        raise DataError(f"{table.source}, column {name!r}: expected at least two numbers, found {rows.size}")
    return column[rows], rows


def weight_values(table: Table, name: str) -> np.ndarray:
    """Return a column of weights: finite, not negative, without gaps."""
    column = table.column(name)
    if not is_numeric(column):
        raise DataError(f"{table.where(0, name)}: expected a weight, found {column[0]!r}")
    wrong = np.flatnonzero(~(np.isfinite(column) & (column >= 0.0)))
    if wrong.size:
        raise DataError(
            f"{table.where(int(wrong[0]), name)}: expected a weight of at least 0, found {column[wrong[0]]}"
        )
    return column


def _label(entry: object) -> str | None:
    if entry is None:
        return None
    if isinstance(entry, float):
        return (
            None
            if np.isnan(entry)
            else f"{int(entry)}"
            if np.isfinite(entry) and entry.is_integer()
            else f"{entry:.17g}"
        )
    return str(entry)


def _is_number(text: object) -> bool:
    try:
        float(str(text))
    except ValueError:
        return False
    return True


__all__ = ["Task", "find_column", "guess_task", "target_values", "weight_values"]
