"""Readers of files: each turns one format into a pandas DataFrame, or says what is wrong and where."""

from bayesvm.tables.file_formats import FORMATS, guess_format
from bayesvm.tables.readers.dispatch import read_table

__all__ = ["FORMATS", "guess_format", "read_table"]
