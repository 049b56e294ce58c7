"""What the text of a column means: numbers, dates, truth values, or nothing but text."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable

import numpy as np

from bayesvm.tables.date_format import DateFormat, chosen_date_format, fitting_dates
from bayesvm.tables.errors import DataError
from bayesvm.tables.frame import Place
from bayesvm.tables.number_format import (
    CURRENCIES,
    PERCENT,
    TRIED,
    NumberFormat,
    chosen_format,
    decimal_mark,
    fitting_formats,
)
from bayesvm.tables.truth_format import TruthFormat, find_truth_format
from bayesvm.tables.values import MISSING_NUMBER, Texts

TextFormat = NumberFormat | DateFormat | TruthFormat

#: Share of the distinct texts from which a column is one of numbers, or of dates, in which a few cells are wrong.
MOSTLY = 0.8

_LEADING_ZERO = re.compile(r"0\d+", re.ASCII)


@dataclasses.dataclass(frozen=True)
class Conventions:
    """What is known about the way in which a table is written.

    Attributes
    ----------
    decimal : str or None
        Decimal mark.
    day_first : bool or None
        Whether the day stands before the month.
    """

    decimal: str | None = None
    day_first: bool | None = None


@dataclasses.dataclass(frozen=True)
class Found:
    """What the text of a column was found to mean.

    Attributes
    ----------
    format : NumberFormat, DateFormat, TruthFormat or None
        How the text is read; None if it is nothing but text.
    remark : str
        What may be meant otherwise, in words; empty if nothing may.
    """

    format: TextFormat | None = None
    remark: str = ""


@dataclasses.dataclass(frozen=True)
class TextSurvey:
    """What is known about a column of text before the other columns have been looked at.

    Attributes
    ----------
    texts : array of str
        Its distinct texts.
    readable : array of str
        Those of them that do not stand for a gap among numbers and dates.
    numbers : list of NumberFormat
        The formats in which all of these are numbers.
    """

    texts: np.ndarray
    readable: np.ndarray
    numbers: list[NumberFormat]

    @classmethod
    def of(cls, column: Texts) -> TextSurvey:
        """Return what is known about a column."""
        texts = column.distinct
        readable = np.array([text for text in texts if text not in MISSING_NUMBER], dtype=object)
        return cls(texts, readable, fitting_formats(readable))


def conventions_of(surveys: Iterable[TextSurvey], given: Conventions) -> Conventions:
    """Return the conventions of a table, from its columns of text, where they are not given."""
    if given.decimal is not None:
        return given
    return dataclasses.replace(given, decimal=decimal_mark([survey.numbers for survey in surveys if survey.numbers]))


def find_format(survey: TextSurvey, conventions: Conventions) -> Found:
    """Return what the text of a column means."""
    truth = find_truth_format(survey.texts)
    if truth is not None:
        return Found(truth)
    texts = survey.readable
    if survey.numbers:
        zeros = [text for text in texts if _LEADING_ZERO.fullmatch(text)] if "".join(texts).isdigit() else []
        if zeros:
            return Found(None, f"{zeros[0]!r} has a leading zero: taken for a code, not for a number")
        return _of_numbers(texts, survey.numbers, conventions)
    dates = fitting_dates(texts)
    return _of_dates(texts, dates, conventions) if dates else Found()


def _of_numbers(texts: np.ndarray, formats: list[NumberFormat], conventions: Conventions) -> Found:
    format, ambiguous = chosen_format(formats, texts, conventions.decimal)
    if not ambiguous:
        return Found(format)
    mark = format.thousands
    example = next(text for text in texts if mark in text)
    value = format.parse([example])[0]
    return Found(
        format,
        f"{example!r} was read as {value:.12g}, {mark!r} between thousands; if it is the decimal mark, say "
        f"decimal={mark!r} (--decimal {mark})",
    )


def _of_dates(texts: np.ndarray, formats: list[DateFormat], conventions: Conventions) -> Found:
    format, ambiguous = chosen_date_format(formats, conventions.day_first)
    if not ambiguous:
        return Found(format)
    shown = np.datetime_as_string(format.parse(texts[:1])[0], unit="D")
    return Found(
        format,
        f"{texts[0]!r} was read as {shown}, the day first; if the month stands first, say day_first=False "
        "(--month-first)",
    )


def check_not_mostly(column: Texts, many: int, place: Place) -> str:
    """Refuse text in which nearly all distinct values are numbers or dates; return a remark if half of them are.

    Parameters
    ----------
    column : Texts
        The column.
    many : int
        Distinct numbers or dates up to which they may be names of categories.
    place : Place
        Where the column is.

    Raises
    ------
    DataError
        If the share of numbers or of dates is above :data:`MOSTLY`; the message names the first cell that is none.
    """
    texts = column.distinct
    for what, are_such in (("number", _are_numbers), ("date", _are_dates)):
        is_one = are_such(texts)
        count, share = int(is_one.sum()), float(is_one.mean())
        if share == 1.0:  # codes with leading zeros
            return ""
        if count > many and share >= MOSTLY:
            wrong = int(np.flatnonzero(~is_one)[0])
            raise DataError(
                f"{place.at(int(column.first_rows[wrong]))}: expected a {what} such as {texts[is_one][0]!r}, found "
                f"{texts[wrong]!r}; correct the cell (NA means missing), or name the column in drop or categories"
            )
        if share >= 0.5:
            example = texts[~is_one][0]
            return f"{what}s beside text such as {example!r}: all of them were taken for categories"
    return ""


def _are_numbers(texts: np.ndarray) -> np.ndarray:
    """Return which texts are numbers, in the format that reads most of the first ones."""
    pairs, symbols = ((".", ""), (",", ""), (".", ","), (",", ".")), ("", PERCENT, *CURRENCIES)
    together = "\0".join(texts[:TRIED])
    formats = [NumberFormat(*marks, symbol) for symbol in symbols if symbol in together for marks in pairs]
    best = max(formats, key=lambda format: np.sum(~np.isnan(format.parse(texts[:TRIED]))))
    return ~np.isnan(best.parse(texts))


def _are_dates(texts: np.ndarray) -> np.ndarray:
    """Return which texts are dates in the format of the first that is one."""
    for text in texts[:5]:
        formats = fitting_dates(np.array([text], dtype=object))
        if formats:
            return max((~np.isnat(format.parse(texts)) for format in formats), key=np.sum)
    return np.zeros(len(texts), dtype=bool)


__all__ = ["Conventions", "Found", "TextFormat", "TextSurvey", "check_not_mostly", "conventions_of", "find_format"]
