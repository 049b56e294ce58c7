"""The one error of this folder."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A model file that cannot be read, or an object that cannot be saved; the message says which and why."""


__all__ = ["ModelFileError"]
