"""How numbers are written: decimal mark, separator of thousands, currency or percent.

A format either fits every text of a column or it is not the format of that column. Texts such as ``12,345`` fit two
formats; which one is meant is told by the other columns (:func:`decimal_mark`) or by the caller, and is otherwise
pointed out as ambiguous.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable, Sequence

import numpy as np

from bayesvm.tables.frame import pandas
from bayesvm.typing import Vector

#: Signs of currencies, and their names; a column may have one of them.
CURRENCIES = ("$", "€", "£", "¥", "₹", "₽", "₩", "USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "SEK", "NOK", "DKK")
PERCENT = "%"
#: Decimal mark and separator of thousands, in the order in which they are tried.
MARKS = ((".", ""), (",", ""), (".", ","), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"))
#: Distinct texts that are tried before all are.
TRIED = 200

#: Other signs for minus, for the blank and for the apostrophe.
_SAME = str.maketrans({"\u2212": "-", "\u2013": "-", "\u00a0": " ", "\u2009": " ", "\u202f": " ", "\u2019": "'"})


@dataclasses.dataclass(frozen=True)
class NumberFormat:
    """A way to write numbers.

    Attributes
    ----------
    decimal : str
        Decimal mark.
    thousands : str
        Separator between groups of three digits; empty if there is none.
    symbol : str
        Currency, or the sign of percent, before or behind the number; empty if there is none.
    """

    decimal: str = "."
    thousands: str = ""
    symbol: str = ""

    def parse(self, texts: Sequence[str] | np.ndarray) -> Vector:
        """Return the numbers of texts, nan for a text that is not a number of this format; percents are fractions."""
        if self != NumberFormat():
            return np.array([self._number(text) for text in texts], dtype=np.float64)
        numbers = np.array(pandas().to_numeric(pandas().Series(texts, dtype=object), errors="coerce"), dtype=np.float64)
        for i in np.flatnonzero(np.isnan(numbers)):  # brackets for minus, other signs for it
            numbers[i] = self._number(texts[int(i)])
        return numbers

    def _number(self, text: str) -> float:
        bare = _bare(_in_common_signs(text), self.symbol)
        if bare is None or _pattern(self.decimal, self.thousands).fullmatch(bare) is None:
            return np.nan
        plain = bare.replace(self.thousands, "") if self.thousands else bare
        number = float(plain.replace(self.decimal, "."))
        return number / 100.0 if self.symbol == PERCENT else number

    @property
    def words(self) -> str:
        """What is unusual about the format; empty if nothing is."""
        parts = [
            "decimal commas" if self.decimal == "," else "",
            f"thousands set apart by {self.thousands!r}" if self.thousands else "",
            "percent, as fractions" if self.symbol == PERCENT else f"amounts in {self.symbol}" if self.symbol else "",
        ]
        return ", ".join(part for part in parts if part)


def _in_common_signs(text: str) -> str:
    """Return a text in which minus, blanks and apostrophes are those of ASCII."""
    return text if text.isascii() else text.translate(_SAME)


@functools.cache
def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    d, t = re.escape(decimal), re.escape(thousands)
    whole = rf"(?:[1-9]\d{{0,2}}(?:{t}\d{{3}})+|\d+)" if thousands else r"\d+"
    return re.compile(rf"[+-]?(?:{whole}(?:{d}\d*)?|{d}\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def _bare(text: str, symbol: str) -> str | None:
    """Return a number without its symbol, brackets for minus replaced; None if a sign of percent is missing."""
    text = text.strip()
    if text.startswith("(") and text.endswith(")"):
        text = f"-{text[1:-1].strip()}"
    if not symbol:
        return text
    sign = text[:1] if text[:1] in ("+", "-") else ""
    text = text[len(sign) :].strip()
    if text.startswith(symbol):
        text = text[len(symbol) :].strip()
    elif text.endswith(symbol):
        text = text[: -len(symbol)].strip()
    elif symbol == PERCENT and text.strip("0.,"):
        return None
    return sign + text


def fitting_formats(texts: np.ndarray) -> list[NumberFormat]:
    """Return the formats in which every one of some distinct texts is a number; none if there is no text.

    Marks that do not occur are not tried; the decimal mark of whole numbers may be either.
    """
    if len(texts) == 0:
        return []
    together = _in_common_signs("\0".join(texts))
    symbols = [symbol for symbol in (PERCENT, *CURRENCIES) if symbol in together]
    if len(symbols) > 1:
        return []
    formats = [NumberFormat(decimal, thousands, "".join(symbols)) for decimal, thousands in _tried_marks(together)]
    found = [format for format in formats if _fits(format, texts[:TRIED]) and _fits(format, texts)]
    if found and not _has_mark(together):
        found.append(dataclasses.replace(found[0], decimal=","))
    return found


def _has_mark(text: str) -> bool:
    """Whether a text has a point or a comma."""
    return "." in text or "," in text


def _tried_marks(together: str) -> list[tuple[str, str]]:
    """Return the decimal marks and separators that may be those of texts, given as one; whole numbers have points."""
    possible = MARKS if _has_mark(together) else [pair for pair in MARKS if pair[0] == "."]
    return [pair for pair in possible if pair[1] in together]


def _fits(format: NumberFormat, texts: np.ndarray) -> bool:
    return not np.isnan(format.parse(texts)).any()


def decimal_mark(columns: Iterable[Sequence[NumberFormat]]) -> str | None:
    """Return the decimal mark that a table uses, from the formats that fit each of its columns.

    A column tells it if all its formats have the same mark. If no column does, or two contradict each other, it is
    not known.
    """
    told = {formats[0].decimal for formats in columns if len({format.decimal for format in formats}) == 1}
    return told.pop() if len(told) == 1 else None


def chosen_format(formats: Sequence[NumberFormat], texts: np.ndarray, decimal: str | None) -> tuple[NumberFormat, bool]:
    """Return the format that is meant, of those that fit, and whether it could as well be another one.

    If the decimal mark is not known, texts such as ``12,345`` are ambiguous, and the mark is taken to set thousands
    apart. So are texts such as ``1.200`` if they are amounts of money, or stand beside whole numbers without a point;
    if all of them have three digits behind the point, it is the decimal one.
    """
    meant = [format for format in formats if format.decimal == decimal]
    if meant:
        return meant[0], False
    by_marks = {(format.decimal, format.thousands): format for format in formats}
    if (".", "") not in by_marks:
        return (by_marks[".", ","], True) if (",", "") in by_marks and (".", ",") in by_marks else (formats[0], False)
    if (",", ".") in by_marks and _points_may_set_thousands_apart(texts, formats[0].symbol):
        return by_marks[",", "."], True
    return by_marks[".", ""], False


def _points_may_set_thousands_apart(texts: np.ndarray, symbol: str) -> bool:
    """Whether there are points, in amounts of money or beside numbers without one."""
    with_point = ["." in text for text in texts]
    return any(with_point) and (symbol in CURRENCIES or not all(with_point))


__all__ = ["CURRENCIES", "PERCENT", "NumberFormat", "chosen_format", "decimal_mark", "fitting_formats"]
