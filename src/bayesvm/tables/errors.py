"""The error and the warning of this folder."""

from __future__ import annotations


class DataError(ValueError):
    """Data that cannot be used; the message names file, row and column where they are known, and a remedy."""


class TableWarning(UserWarning):
    """Something in a table that was understood in one way and may be meant in another; the message names the column."""


__all__ = ["DataError", "TableWarning"]
