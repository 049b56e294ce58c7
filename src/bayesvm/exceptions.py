"""Errors and warnings that the library raises on its own account."""

from __future__ import annotations

from numpy.linalg import LinAlgError  # noqa: TID251 (the name, not a routine)
from sklearn.exceptions import ConvergenceWarning


class IncompatibleError(TypeError):
    """A solver or inference method was given a likelihood that it cannot treat; the message names what is missing."""


class NotPositiveDefiniteError(LinAlgError):
    """A matrix that must be positive definite is not, even with the largest jitter allowed (a ``ValueError``)."""


__all__ = ["ConvergenceWarning", "IncompatibleError", "NotPositiveDefiniteError"]
