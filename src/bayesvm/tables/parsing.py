"""Text in a table that means numbers, dates or truth values becomes those."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from bayesvm.tables.columns.date import read_moments
from bayesvm.tables.columns.number import read_numbers
from bayesvm.tables.date_format import DateFormat
from bayesvm.tables.errors import TableWarning
from bayesvm.tables.frame import Place, is_category, pandas
from bayesvm.tables.number_format import NumberFormat
from bayesvm.tables.text_format import Conventions, TextSurvey, conventions_of, find_format
from bayesvm.tables.values import distinct_texts, is_gap, spread, values_of

if TYPE_CHECKING:
    import pandas as pd


def parsed(frame: pd.DataFrame, given: Conventions | None = None) -> pd.DataFrame:
    """Return a table in which each column of text that means something else is of that type.

    Columns of pandas' type ``category`` stay as they are. What could be read in two ways is pointed out.
    """
    values = {name: values_of(frame[name]) for name in frame.columns if not is_category(frame[name])}
    surveys = {name: TextSurvey.of(column) for name, column in values.items() if column.dtype.kind == "O"}
    conventions = conventions_of(surveys.values(), given or Conventions())
    columns = {name: values.get(name, frame[name]) for name in frame.columns}
    for name, survey in surveys.items():
        columns[name] = _meant(values[name], survey, conventions, Place.of(frame, name))
    result = pandas().DataFrame(columns, index=frame.index)
    result.attrs.update(frame.attrs)
    return result


def _meant(values: np.ndarray, survey: TextSurvey, conventions: Conventions, place: Place) -> np.ndarray:
    """Return what text means: numbers, moments, truth values (as numbers with nan if there are gaps), or text."""
    found = find_format(survey, conventions)
    if found.remark:
        warnings.warn(f"{place.source}, column {place.column!r}: {found.remark}", TableWarning, stacklevel=3)
    if found.format is None:
        return values
    if isinstance(found.format, NumberFormat):
        return read_numbers(values, found.format, place)
    if isinstance(found.format, DateFormat):
        return read_moments(values, found.format, place)
    codes, distinct = distinct_texts(values)
    truth = spread(codes, found.format.parse(distinct), np.nan)
    return truth if is_gap(values).any() else truth.astype(bool)


__all__ = ["parsed"]
