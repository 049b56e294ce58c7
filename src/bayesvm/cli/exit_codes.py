"""Exit codes, and the errors that lead to them."""

from __future__ import annotations

import enum


class ExitCode(enum.IntEnum):
    """How a command ended."""

    FINE = 0
    USAGE = 2
    DATA = 3
    NOT_CONVERGED = 4
    INTERRUPTED = 130


class UsageError(Exception):
    """The command was called in a way that makes no sense; the message says what was expected."""


__all__ = ["ExitCode", "UsageError"]
