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
from bayesvm.tables.values import Texts, Values, is_gap, values_of

if TYPE_CHECKING:
    import pandas as pd


@dataclasses.dataclass(frozen=True)
class ParsedColumn:
    """A column, and what its text means.

    Attributes
    ----------
    raw : array or Texts
        Its values as they were given.
    format : NumberFormat, DateFormat, TruthFormat or None
        How its text is read; None if it is nothing but text, or was no text.
    values : array or Texts
        What the text means: numbers, moments, truth values (as numbers with nan if there are gaps), or text.
    """

    raw: Values
    format: TextFormat | None
    values: Values


def parsed(frame: pd.DataFrame, given: Conventions | None = None) -> pd.DataFrame:
    """Return a table in which each column of text that means something else is of that type.

    Columns of pandas' type ``category`` stay as they are. What could be read in two ways is pointed out.
    """
    values = {name: values_of(frame[name]) for name in frame.columns if not is_category(frame[name])}
    surveys = {name: TextSurvey.of(column) for name, column in values.items() if isinstance(column, Texts)}
    conventions = conventions_of(surveys.values(), given or Conventions())
    columns = {name: frame[name] for name in frame.columns}
    for name, column in values.items():
        if isinstance(column, Texts):
            column = _parsed(column, surveys[name], conventions, Place.of(frame, name)).values
        columns[name] = column.entries() if isinstance(column, Texts) else column
    result = pandas().DataFrame(columns, index=frame.index)
    result.attrs.update(frame.attrs)
    return result


def parse_column(frame: pd.DataFrame, name: str, given: Conventions) -> ParsedColumn:
    """Return one column as what its text means.

    The other columns are looked at only if they have to tell which mark is the decimal one.
    """
    column = column_of(frame, name)
    values = values_of(column)
    if not isinstance(values, Texts) or is_category(column):
        return ParsedColumn(values, None, values)
    survey, conventions = TextSurvey.of(values), given
    if given.decimal is None and len({format.decimal for format in survey.numbers}) > 1:
        others = (values_of(frame[other]) for other in frame.columns)
        conventions = conventions_of((TextSurvey.of(texts) for texts in others if isinstance(texts, Texts)), given)
    return _parsed(values, survey, conventions, Place.of(frame, name))


def _parsed(texts: Texts, survey: TextSurvey, conventions: Conventions, place: Place) -> ParsedColumn:
    found = find_format(survey, conventions)
    if found.remark:
        warnings.warn(f"{place.source}, column {place.column!r}: {found.remark}", TableWarning, stacklevel=3)
    return ParsedColumn(texts, found.format, _meant(texts, found.format, place))


def _meant(texts: Texts, format: TextFormat | None, place: Place) -> Values:
    """Return text as what it means in a format."""
    if format is None:
        return texts
    if isinstance(format, NumberFormat):
        return read_numbers(texts, format, place)
    if isinstance(format, DateFormat):
        return read_moments(texts, format, place)
    truth = texts.spread(format.parse(texts.distinct), np.nan)
    return truth if is_gap(texts).any() else truth.astype(bool)


__all__ = ["ParsedColumn", "parse_column", "parsed"]
