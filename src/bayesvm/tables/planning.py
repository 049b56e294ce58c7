"""From the values of a column in the training data to what is done with it."""

from __future__ import annotations

import dataclasses
import re

import numpy as np

from bayesvm.tables.columns import (
    GAP,
    OTHER,
    CategoryColumn,
    Column,
    ColumnKind,
    DateColumn,
    LeftOut,
    NumberColumn,
    TruthColumn,
)
from bayesvm.tables.columns.base import Gaps, refuse_unreadable
from bayesvm.tables.columns.date import read_moments
from bayesvm.tables.columns.number import read_numbers
from bayesvm.tables.date_format import COMPACT, DateFormat
from bayesvm.tables.frame import Place
from bayesvm.tables.number_format import NumberFormat
from bayesvm.tables.text_format import Conventions, TextFormat, TextSurvey, check_not_mostly, find_format
from bayesvm.tables.values import Texts, Values, is_gap, is_numeric, texts_of
from bayesvm.typing import Vector

#: Names of columns that number or name the rows.
IDENTIFIER = re.compile(
    r"(.*[\W_])?(id|idx|index|key|uuid|guid|row|row[\W_]?(names?|numbers?)|nr|no)|unnamed.*|(?-i:.*[a-z]I[dD])",
    re.IGNORECASE,
)
#: Rows from which a column of consecutive numbers is taken for a numbering of the rows.
SOME_ROWS = 10
#: Dates as whole numbers: the first and the last that are taken for such, and how many different ones there must be.
_FIRST_DAY, _LAST_DAY, _SOME_DAYS = 19000101, 21001231, 3


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is done with a column.

    Attributes
    ----------
    column : Column
        What is done.
    remark : str
        What the caller should be told about it; empty if nothing.
    numbers : array or None
        The values of a column of numbers, as they were read.
    """

    column: Column
    remark: str = ""
    numbers: Vector | None = None

    def told(self, remark: str) -> Plan:
        """Return the plan with one more remark, which comes first."""
        return dataclasses.replace(self, remark="; ".join(part for part in (remark, self.remark) if part))


@dataclasses.dataclass(frozen=True)
class Request:
    """What was asked for one column.

    Attributes
    ----------
    conventions : Conventions
        How the table is written.
    max_categories : int
        Categories that have an indicator of their own.
    as_categories : bool
        Whether the values are names of categories, whatever they look like.
    by_name : bool
        Whether the column was named as a feature: it is then used even if it looks like an identifier.
    """

    conventions: Conventions
    max_categories: int = 20
    as_categories: bool = False
    by_name: bool = False


def plan_column(values: Values, survey: TextSurvey | None, request: Request, place: Place) -> Plan:
    """Return what is done with a column of the training data; ``survey`` is what is known of it if it is text."""
    if is_gap(values).all():
        return Plan(LeftOut(ColumnKind.EMPTY))
    if request.as_categories:
        return _of_categories(texts_of(values), request, place)
    if isinstance(values, Texts):
        found = find_format(survey or TextSurvey.of(values), request.conventions)
        return _of_text(values, found.format, request, place).told(found.remark)
    if is_numeric(values):
        return _of_numbers(values, NumberFormat(), request, place)
    return _of_moments(values, DateFormat())


def _of_text(texts: Texts, format: TextFormat | None, request: Request, place: Place) -> Plan:
    if isinstance(format, NumberFormat):
        return _of_numbers(read_numbers(texts, format, place), format, request, place)
    if isinstance(format, DateFormat):
        return _of_moments(read_moments(texts, format, place), format)
    if format is not None:
        return Plan(TruthColumn(Gaps.of(texts.spread(format.parse(texts.distinct), np.nan)), format))
    return _of_categories(texts, request, place).told(check_not_mostly(texts, request.max_categories, place))


def _of_numbers(numbers: Vector, format: NumberFormat, request: Request, place: Place) -> Plan:
    refuse_unreadable(np.isinf(numbers), numbers, "a finite number", place)
    present = numbers[~np.isnan(numbers)]
    if bool(np.all(present == present[0])):
        return Plan(LeftOut(ColumnKind.CONSTANT))
    if _are_compact_dates(present):
        times = read_moments(numbers, DateFormat(COMPACT), place)
        return Plan(DateColumn.of(times, DateFormat(COMPACT)), f"whole numbers such as {present[0]:.0f} are dates")
    called_so = IDENTIFIER.fullmatch(place.column) is not None
    remark = _numbering(numbers, called_so)
    if remark and called_so and not request.by_name:
        return Plan(LeftOut(ColumnKind.IDENTIFIER), f"{remark} and was left out; to use it, name it in features")
    remark = remark and f"{remark}; if it is no measurement, name it in drop (--drop)"
    return Plan(NumberColumn(Gaps.of(numbers), format), remark, numbers)


def _numbering(numbers: Vector, called_so: bool) -> str:
    """Return how a column numbers or names the rows, in words; empty if it does not.

    Whole numbers that are all different name the rows if the column is called so.
    """
    if len(numbers) < SOME_ROWS or np.isnan(numbers).any() or np.any(numbers != np.round(numbers)):
        return ""
    if np.all(np.diff(numbers) == 1.0):
        return "it counts the rows"
    steps = np.diff(np.sort(numbers))
    if np.all(steps == 1.0):
        return "it numbers the rows, in another order"
    return "it names the rows" if called_so and np.all(steps > 0.0) else ""


def _are_compact_dates(numbers: Vector) -> bool:
    """Whether all numbers are dates such as 20190131."""
    if not np.all((numbers >= _FIRST_DAY) & (numbers <= _LAST_DAY) & (numbers == np.round(numbers))):
        return False
    texts = np.array([f"{number:.0f}" for number in np.unique(numbers)], dtype=object)
    return len(texts) >= _SOME_DAYS and not np.isnat(DateFormat(COMPACT).parse(texts)).any()


def _of_moments(times: np.ndarray, format: DateFormat) -> Plan:
    if np.unique(times[~np.isnat(times)]).size == 1:
        return Plan(LeftOut(ColumnKind.CONSTANT))
    return Plan(DateColumn.of(times, format))


def _of_categories(texts: Texts, request: Request, place: Place) -> Plan:
    codes, distinct = texts.codes, texts.distinct
    n, missing = len(texts), int(np.sum(codes < 0))
    if len(distinct) == 1 and not missing:
        return Plan(LeftOut(ColumnKind.CONSTANT))
    if len(distinct) > max(request.max_categories, n // 2) and not (request.as_categories or request.by_name):
        return Plan(LeftOut(ColumnKind.IDENTIFIER), _names_rows(texts, place))
    counts = {str(text): int(count) for text, count in zip(distinct, np.bincount(codes[codes >= 0]))}
    if missing:
        counts[GAP] = missing
    kept, rare = sorted(counts, key=lambda text: (-counts[text], text)), []
    if len(kept) > request.max_categories:
        kept, rare = kept[: request.max_categories - 1], kept[request.max_categories - 1 :]
        kept.append(OTHER)
    return Plan(CategoryColumn(tuple(sorted(kept)), tuple(sorted(rare)), missing), _spellings(distinct))


def _names_rows(texts: Texts, place: Place) -> str:
    """Return a remark on a column of text that is left out, if it is not plainly an identifier."""
    count = len(texts.distinct)
    if count == len(texts) or IDENTIFIER.fullmatch(place.column):
        return ""
    example = texts.distinct[0][:40]
    return f"{count} different texts such as {example!r}: it was left out; to use it, name it in categories"


def _spellings(distinct: np.ndarray) -> str:
    """Return a remark on categories that differ in upper and lower case only."""
    seen: dict[str, str] = {}
    for text in distinct:
        other = seen.setdefault(text.lower(), text)
        if other != text:
            return f"the categories {other!r} and {text!r} differ in upper and lower case only"
    return ""


__all__ = ["Plan", "Request", "plan_column"]
