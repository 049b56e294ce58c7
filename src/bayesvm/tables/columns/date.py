r"""A column of dates or times of day.

A moment :math:`t` becomes the time since the first moment of the training data, in days, and for each cycle of
period :math:`T` that the data cover the pair :math:`\sin 2\pi t/T, \cos 2\pi t/T`, so that the end of a cycle lies
beside its beginning.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import Self, final

import numpy as np

from bayesvm.tables.columns.base import Column, ColumnKind, Encoded, Gaps, are_gaps, refuse_unreadable
from bayesvm.tables.date_format import COMPACT, DateFormat
from bayesvm.tables.frame import Place
from bayesvm.tables.values import Texts, Values, is_gap, is_numeric, texts_of
from bayesvm.typing import Vector

#: A Monday at midnight, from which the phases of cycles are counted, in days.
MONDAY = np.datetime64("1970-01-05T00:00:00", "us")
_DAY = np.timedelta64(1, "D")


class Cycle(enum.Enum):
    """A cycle, and its period in days."""

    YEAR = 365.2425
    WEEK = 7.0
    DAY = 1.0

    def __reduce__(self) -> tuple[type[Self], tuple[float]]:  # some readers of stored models look for this alone
        return type(self), (self.value,)


def covered_cycles(times: np.ndarray) -> tuple[Cycle, ...]:
    """Return the cycles that moments cover twice at least and in which they fall on different places."""
    times = times[~np.isnat(times)]
    days = (times - MONDAY) / _DAY
    extent = float(days.max() - days.min())
    found = []
    for cycle in Cycle:
        phases = np.unique(np.round(np.mod(days, cycle.value), 6))
        if extent >= 2.0 * cycle.value and phases.size > 1:
            found.append(cycle)
    return tuple(found)


def read_moments(values: Values, format: DateFormat, place: Place) -> np.ndarray:
    """Return values as moments with NaT for gaps, or refuse the first that is none."""
    if is_numeric(values):
        if format.pattern != COMPACT:
            refuse_unreadable(~is_gap(values), values, "a date", place)
    elif not isinstance(values, Texts):
        return values
    texts = texts_of(values)
    parsed = format.parse(texts.distinct).astype("datetime64[us]")
    unread = np.isnat(parsed) & ~are_gaps(texts.distinct)
    refuse_unreadable(texts.spread(unread, False), texts, "a date written as in the training data", place)
    return texts.spread(parsed, np.datetime64("NaT", "us"))


@final
@dataclasses.dataclass(frozen=True)
class DateColumn(Column):
    """Moments, as time since the first and as phases of cycles.

    Attributes
    ----------
    gaps : Gaps
        How missing values are replaced, in days since the origin.
    origin : str
        The first moment of the training data, in ISO 8601 (UTC).
    cycles : tuple of Cycle
        Cycles whose phases are of use.
    format : DateFormat
        How dates are written if they are given as text.
    """

    gaps: Gaps
    origin: str
    cycles: tuple[Cycle, ...]
    format: DateFormat

    @classmethod
    def of(cls, times: np.ndarray, format: DateFormat) -> DateColumn:
        """Return the column of some moments; times of day have the cycle of the day only."""
        first = np.min(times[~np.isnat(times)])
        if format.is_clock:
            first = first.astype("datetime64[D]")
        gaps = Gaps.of(_days(times, first))
        cycles = (Cycle.DAY,) if format.is_clock else covered_cycles(times)
        return cls(gaps, str(np.datetime_as_string(first.astype("datetime64[us]"))), cycles, format)

    @property
    def kind(self) -> ColumnKind:
        """Dates."""
        return ColumnKind.DATE

    def outputs(self, name: str) -> tuple[str, ...]:
        """Return the names of the days, of the marks of gaps and of the phases."""
        phases = [f"{name} ({wave} of {cycle.name.lower()})" for cycle in self.cycles for wave in ("sin", "cos")]
        return (f"{name} (days)", *(name + mark for mark in self.gaps.marks), *phases)

    def encode(self, values: Values, place: Place) -> Encoded:
        """Return days since the origin, the marks of the gaps, and the phases (zeros for gaps)."""
        times = read_moments(values, self.format, place)
        columns, remark = self.gaps.filled(_days(times, np.datetime64(self.origin, "us")))
        days = _days(times, MONDAY)
        for cycle in self.cycles:
            angle = 2.0 * np.pi * days / cycle.value
            columns += [np.where(np.isnan(days), 0.0, wave(angle)) for wave in (np.sin, np.cos)]
        return Encoded(np.column_stack(columns), remark)

    def sentence(self) -> str:
        """Return what the dates become, and what is done with gaps."""
        since = "times of day" if self.format.is_clock else f"dates, as days since {self.origin[:10]}"
        cycles = " and ".join(cycle.name.lower() for cycle in self.cycles)
        parts = (since, f"with the cycle of the {cycles}" if cycles else "", self.gaps.words("median"))
        return "; ".join(part for part in parts if part)


def _days(times: np.ndarray, origin: np.datetime64) -> Vector:
    return np.asarray((times - origin) / _DAY, dtype=np.float64)


__all__ = ["Cycle", "DateColumn", "covered_cycles", "read_moments"]
