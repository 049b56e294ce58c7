"""Text in a table that means numbers, dates or truth values becomes those."""

from __future__ import annotations

import dataclasses
import warnings
from typing import TYPE_CHECKING

import numpy as np

from bayesvm.tables.columns.date import read_moments
from bayesvm.tables.columns.number import read_numbers
from bayesvm.tables.date_format import DateFormat
from bayesvm.tables.errors import TableWarning
from bayesvm.tables.frame import Place, column_of, is_category, pandas
from bayesvm.tables.number_format import NumberFormat
from bayesvm.tables.text_format import Conventions, TextFormat, TextSurvey, conventions_of, find_format
from bayesvm.tables.values import distinct_texts, is_gap, spread, values_of

if TYPE_CHECKING:
    import pandas as pd


@dataclasses.dataclass(frozen=True)
class ParsedColumn:
    """A column, and what its text means.

    Attributes
    ----------
    raw : array
        Its values as they were given, in one of the forms of :mod:`bayesvm.tables.values`.
    format : NumberFormat, DateFormat, TruthFormat or None
        How its text is read; None if it is nothing but text, or was no text.
    values : array
        What the text means: numbers, moments, truth values (as numbers with nan if there are gaps), or text.
    """

    raw: np.ndarray
    format: TextFormat | None
    values: np.ndarray


def parsed(frame: pd.DataFrame, given: Conventions | None = None) -> pd.DataFrame:
    """Return a table in which each column of text that means something else is of that type.

    Columns of pandas' type ``category`` stay as they are. What could be read in two ways is pointed out.
    """
    values = {name: values_of(frame[name]) for name in frame.columns if not is_category(frame[name])}
    surveys = {name: TextSurvey.of(column) for name, column in values.items() if column.dtype.kind == "O"}
    conventions = conventions_of(surveys.values(), given or Conventions())
    columns = {name: values.get(name, frame[name]) for name in frame.columns}
    for name, survey in surveys.items():
        columns[name] = _parsed(values[name], survey, conventions, Place.of(frame, name)).values
    result = pandas().DataFrame(columns, index=frame.index)
    result.attrs.update(frame.attrs)
    return result


def parse_column(frame: pd.DataFrame, name: str, given: Conventions) -> ParsedColumn:
    """Return one column as what its text means.

    The other columns are looked at only if they have to tell which mark is the decimal one.
    """
    column = column_of(frame, name)
    values = values_of(column)
    if values.dtype.kind != "O" or is_category(column):
        return ParsedColumn(values, None, values)
    survey, conventions = TextSurvey.of(values), given
    if given.decimal is None and len({format.decimal for format in survey.numbers}) > 1:
        others = (values_of(frame[other]) for other in frame.columns)
        conventions = conventions_of((TextSurvey.of(texts) for texts in others if texts.dtype.kind == "O"), given)
    return _parsed(values, survey, conventions, Place.of(frame, name))


def _parsed(values: np.ndarray, survey: TextSurvey, conventions: Conventions, place: Place) -> ParsedColumn:
    found = find_format(survey, conventions)
    if found.remark:
        warnings.warn(f"{place.source}, column {place.column!r}: {found.remark}", TableWarning, stacklevel=3)
    return ParsedColumn(values, found.format, _meant(values, found.format, place))


def _meant(values: np.ndarray, format: TextFormat | None, place: Place) -> np.ndarray:
    """Return text as what it means in a format."""
    if format is None:
        return values
    if isinstance(format, NumberFormat):
        return read_numbers(values, format, place)
    if isinstance(format, DateFormat):
        return read_moments(values, format, place)
    codes, distinct = distinct_texts(values)
    truth = spread(codes, format.parse(distinct), np.nan)
    return truth if is_gap(values).any() else truth.astype(bool)


__all__ = ["ParsedColumn", "parse_column", "parsed"]
