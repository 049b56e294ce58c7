"""Readers of files: each turns one format into a :class:`~bayesvm.tables.Table`, or says what is wrong and where."""

from bayesvm.tables.readers.dispatch import FORMATS, guess_format, read_table

__all__ = ["FORMATS", "guess_format", "read_table"]
