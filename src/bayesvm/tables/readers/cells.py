"""What a single cell looks like, before anything is known about its column."""

from __future__ import annotations

import re

from bayesvm.tables.values import MISSING, MISSING_NUMBER

#: A number, a date or a time, in whatever format.
_VALUE = re.compile(
    r"[-+(\u2212]?\s*[$€£¥]?\s*[-+\u2212]?\s*[.,]?\d[\d.,:/'\s-]*([eE][-+]?\d+)?\s*([%$€£¥)Z]|T[\d:.+Z-]+)?", re.ASCII
)


def is_value(cell: str) -> bool:
    """Whether a cell is a number, a date or a time rather than a word."""
    return _VALUE.fullmatch(cell) is not None


def is_empty(cell: str) -> bool:
    """Whether a cell is empty or stands for a missing value."""
    return cell.lower() in MISSING or cell in MISSING_NUMBER


__all__ = ["is_empty", "is_value"]
