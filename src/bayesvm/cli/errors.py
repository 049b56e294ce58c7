"""From errors to exit codes: a command never ends with a traceback."""

from __future__ import annotations

import contextlib
import logging
import sys
import warnings
from collections.abc import Iterator

import typer

from bayesvm.cli.exit_codes import ExitCode, UsageError
from bayesvm.exceptions import ConvergenceWarning, NotPositiveDefiniteError
from bayesvm.kernels.expression import KernelSyntaxError
from bayesvm.persistence import ModelFileError
from bayesvm.tables import DataError

#: What numbers that no machine can treat may raise in the layers below.
HOPELESS = (ValueError, TypeError, ArithmeticError, NotPositiveDefiniteError, MemoryError, RecursionError)


@contextlib.contextmanager
def guarded(*, quiet: bool) -> Iterator[None]:
    """Turn errors into one line on standard error and an exit code; log lines go to standard error too."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("bayesvm: %(message)s"))
    logger = logging.getLogger("bayesvm")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.ERROR if quiet else logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # commands say so themselves
            yield
    except (UsageError, KernelSyntaxError) as error:
        _end(ExitCode.USAGE, str(error))
    except (DataError, ModelFileError) as error:
        _end(ExitCode.DATA, str(error))
    except BrokenPipeError:
        raise typer.Exit(ExitCode.FINE) from None  # the reader has seen enough
    except OSError as error:
        _end(ExitCode.USAGE, f"{error.filename or 'file'}: {error.strerror or error}")
    except HOPELESS as error:
        _end(ExitCode.DATA, f"the data cannot be used: {_first_line(error)}")
    except KeyboardInterrupt:
        _end(ExitCode.INTERRUPTED, "interrupted before a first result; nothing was written")
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _end(code: ExitCode, message: str) -> None:
    sys.stderr.write(f"bayesvm: {message}\n")
    raise typer.Exit(int(code))


__all__ = ["guarded"]
