"""Exit codes, and the errors that lead to them."""

from __future__ import annotations

import enum


class ExitCode(enum.IntEnum):
    """How a command ended.

    ====  ================================================================================================
    Code  Meaning
    ====  ================================================================================================
    0     fine
    1     failed for a reason that is neither the call nor the data: nothing could be written (a full disk),
          or a fault of this library, shown with a traceback
    2     usage: an option or a name makes no sense, or a file would be overwritten
    3     data or a model file that cannot be used; the message names file, row and column
    4     the search for hyperparameters did not converge; the model was saved
    130   interrupted; the best model so far was saved if there was one
    ====  ================================================================================================
    """

    FINE = 0
    FAILED = 1
    USAGE = 2
    DATA = 3
    NOT_CONVERGED = 4
    INTERRUPTED = 130


class UsageError(Exception):
    """The command was called in a way that makes no sense; the message says what was expected."""


class OutputError(Exception):
    """A result could not be written; the message names the file."""


__all__ = ["ExitCode", "OutputError", "UsageError"]
