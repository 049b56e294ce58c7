"""Saved models: one file per estimator, with no code in it; the format is described in ``docs/file_format.md``."""

from bayesvm.persistence.errors import ModelFileError
from bayesvm.persistence.reading import load, read_info
from bayesvm.persistence.writing import save

__all__ = ["ModelFileError", "load", "read_info", "save"]
