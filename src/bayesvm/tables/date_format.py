"""How dates and times of day are written."""

from __future__ import annotations

import dataclasses
import itertools
import re

import numpy as np

from bayesvm.tables.frame import pandas

#: ISO 8601 in all its forms, with or without time and zone.
ISO = "ISO8601"
#: Dates as whole numbers, such as 20190131.
COMPACT = "%Y%m%d"
DATES = (
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%d.%m.%y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d/%m/%y",
    "%m/%d/%y",
    "%d %b %Y",
    "%d %B %Y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%b %d, %Y",
    "%B %d, %Y",
)
CLOCKS = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p")
#: Distinct texts that are tried before all are.
TRIED = 100

_CANDIDATE = re.compile(r"\d.*[-/.: ].*\d|[A-Za-z]{3}.*\d")


@dataclasses.dataclass(frozen=True)
class DateFormat:
    """A way to write dates.

    Attributes
    ----------
    pattern : str
        In the notation of ``strptime``, or "ISO8601".
    """

    pattern: str = ISO

    def parse(self, texts: np.ndarray) -> np.ndarray:
        """Return moments (UTC, datetime64) of texts, NaT for a text that is not a date of this format."""
        pd = pandas()
        found = pd.to_datetime(pd.Series(texts, dtype=object), format=self.pattern, errors="coerce", utc=True)
        return np.asarray(found.dt.tz_localize(None).to_numpy())

    @property
    def is_clock(self) -> bool:
        """Whether the texts are times of day without a date."""
        return self.pattern in CLOCKS

    @property
    def day_first(self) -> bool | None:
        """Whether the day stands before the month; None if a name or the year tells them apart."""
        if "%m" not in self.pattern or self.pattern.startswith("%Y"):
            return None
        return self.pattern.index("%d") < self.pattern.index("%m")


def _formats() -> list[DateFormat]:
    with_time = [f"{date} {clock}" for date, clock in itertools.product(DATES, CLOCKS)]
    return [DateFormat(pattern) for pattern in (ISO, *DATES, *with_time, *CLOCKS)]


def fitting_dates(texts: np.ndarray) -> list[DateFormat]:
    """Return the formats in which every one of some distinct texts is a date."""
    few = texts[:TRIED]
    if len(few) == 0 or not all(_CANDIDATE.search(text) for text in few):
        return []
    found = [format for format in _formats() if _fits(format, few[:1]) and _fits(format, few)]
    return [format for format in found if _fits(format, texts)]


def _fits(format: DateFormat, texts: np.ndarray) -> bool:
    return not np.isnat(format.parse(texts)).any()


def chosen_date_format(formats: list[DateFormat], day_first: bool | None) -> tuple[DateFormat, bool]:
    """Return the format that is meant, of those that fit, and whether day and month could as well be exchanged.

    If nothing tells them apart, the day is taken to stand first.
    """
    orders = {format.day_first for format in formats}
    if orders >= {True, False}:
        wanted = True if day_first is None else day_first
        return next(format for format in formats if format.day_first is wanted), day_first is None
    return formats[0], False


__all__ = ["COMPACT", "DateFormat", "chosen_date_format", "fitting_dates"]
