"""Saved models: one file per fitted estimator, without code in it; the format is on the page "File format" of the documentation."""

from bayesvm.persistence.errors import ModelFileError
from bayesvm.persistence.load import load, read_info
from bayesvm.persistence.save import save

__all__ = ["ModelFileError", "load", "read_info", "save"]
