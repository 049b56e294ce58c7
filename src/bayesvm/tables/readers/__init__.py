"""Readers of files: each turns one format into a pandas DataFrame, or says what is wrong and where."""

from bayesvm.tables.readers.dispatch import read_table
from bayesvm.tables.readers.formats import FORMATS, guess_format

__all__ = ["FORMATS", "guess_format", "read_table"]
