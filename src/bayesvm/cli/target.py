"""The target column: which task it asks for, and its values."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesvm.cli.methods import METHODS
from bayesvm.cli.reading import ColumnOptions, check_choice
from bayesvm.tables import DataError
from bayesvm.tables.date_format import DateFormat
from bayesvm.tables.frame import Place
from bayesvm.tables.number_format import NumberFormat
from bayesvm.tables.parsing import ParsedColumn, parse_column
from bayesvm.tables.text_format import Conventions
from bayesvm.tables.truth_format import TruthFormat
from bayesvm.tables.values import is_gap, is_numeric, texts_of, value_at

if TYPE_CHECKING:
    import pandas as pd

#: Whole numbers with at most this many different values are taken for classes.
FEW = 10
TASKS = ("classification", "regression")


@dataclasses.dataclass(frozen=True)
class Task:
    """What is to be learnt, and why it was taken for that."""

    name: str
    reason: str


def column_meaning(frame: pd.DataFrame, name: str, options: ColumnOptions) -> ParsedColumn:
    """Return a column that is no feature (the target, the weights) and what it means."""
    return parse_column(frame, name, Conventions(options.decimal, options.day_first))


def asked_task(given: str | None, methods: Sequence[str]) -> Task | None:
    """Return the task that was asked for, by its name or by that of a method; None if none was."""
    check_choice("task", given, TASKS)
    if given is not None:
        return Task(given, "as asked for")
    tasks = {method.name: method.task for method in METHODS}
    return next((Task(tasks[name], f"{name} is for that") for name in methods if name in tasks), None)


def guess_task(column: ParsedColumn, name: str) -> Task:
    """Return the task that a target asks for."""
    if isinstance(column.format, TruthFormat):
        return Task("classification", f"{name} is {column.format.true} or {column.format.false}")
    if not is_numeric(column.values):
        return Task("classification", f"{name} holds text")
    present = np.unique(column.values[~np.isnan(column.values)])
    if present.size <= 2:
        return Task("classification", f"{name} has {present.size} different values")
    if present.size <= FEW and bool(np.all(present == np.round(present))):
        return Task("classification", f"{name} has {present.size} different whole numbers")
    return Task("regression", f"{name} has {present.size} different values")


def class_labels(column: ParsedColumn, place: Place, needed: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels of the rows that have one, as text, and which rows these are.

    Whole numbers are written without a point; truth values as in the file, in lower case if they are spelled in more
    than one way. At least ``needed`` classes must be there.
    """
    if isinstance(column.format, DateFormat):
        raise DataError(f"{place.source}, column {place.column!r}: expected classes or numbers, found dates")
    texts = texts_of(column.values if is_numeric(column.values) and not _is_truth(column) else column.raw)
    rows = np.flatnonzero(~is_gap(texts))
    labels = texts.distinct.astype(str)[texts.codes[rows]]
    if _is_truth(column) and len(set(labels.tolist())) > 2:
        labels = np.char.lower(labels)
    found = len(set(labels.tolist()))
    if found < needed:
        raise DataError(f"{place.source}, column {place.column!r}: expected at least {needed} classes, found {found}")
    return labels, rows


def _is_truth(column: ParsedColumn) -> bool:
    return isinstance(column.format, TruthFormat)


def known_labels(column: ParsedColumn, place: Place, labels: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels of the rows that have one, all of which must be among those of a model."""
    y, rows = class_labels(column, place, needed=1)
    for row, label in zip(rows, y):
        if label not in labels:
            raise DataError(f"{place.at(int(row))}: expected one of {', '.join(labels[:8])}, found {label!r}")
    return y, rows


def target_numbers(column: ParsedColumn, place: Place, remedy: str = "") -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the rows that have one, and which rows these are; ``remedy`` ends the message if not."""
    values = _as_numbers(column, place, "a number", remedy)
    rows = np.flatnonzero(~np.isnan(values))
    if rows.size < 2:
        raise DataError(f"{place.source}, column {place.column!r}: expected at least two numbers, found {rows.size}")
    return values[rows], rows


def weight_values(column: ParsedColumn, place: Place) -> np.ndarray:
    """Return a column of weights: finite, not negative, without gaps."""
    values = _as_numbers(column, place, "a weight", "")
    wrong = np.flatnonzero(~(values >= 0.0))
    if wrong.size:
        row = int(wrong[0])
        raise DataError(f"{place.at(row)}: expected a weight of at least 0, found {values[row]}")
    return values


def _as_numbers(column: ParsedColumn, place: Place, expected: str, remedy: str) -> np.ndarray:
    """Return finite numbers with nan for gaps, or name the first entry that is none."""
    values = column.values
    if not is_numeric(values) or _is_truth(column):
        texts = texts_of(column.raw)
        values = texts.spread(NumberFormat().parse(texts.distinct), np.nan)
        wrong = np.flatnonzero(np.isnan(values) & ~is_gap(texts))
        if wrong.size:
            row = int(wrong[0])
            raise DataError(f"{place.at(row)}: expected {expected}, found {value_at(texts, row)!r}{remedy}")
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        row = int(infinite[0])
        raise DataError(f"{place.at(row)}: expected a finite number, found {values[row]}")
    return values


__all__ = [
    "Task",
    "asked_task",
    "class_labels",
    "column_meaning",
    "guess_task",
    "known_labels",
    "target_numbers",
    "weight_values",
]
