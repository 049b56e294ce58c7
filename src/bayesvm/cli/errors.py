"""From errors to exit codes.

Errors that the library raises on its own account end a command with one line. Anything else is a fault of the library:
it ends with a traceback, so that it can be reported, and not with the claim that the data are at fault.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import typer

from bayesvm.cli.console import Reporter
from bayesvm.cli.exit_codes import ExitCode, OutputError, UsageError

#: What says beforehand what a fit of many rows is expected to need.
STATED = "bayesvm.estimators._large"


@contextlib.contextmanager
def guarded(say: Reporter) -> Iterator[None]:
    """Turn errors into one line on standard error and an exit code; warnings and log lines go there too."""
    try:
        with _logged(say), _warned(say):
            yield
    except typer.Exit:
        raise
    except BrokenPipeError:
        raise typer.Exit(ExitCode.FINE) from None  # the reader has seen enough
    except KeyboardInterrupt:
        _end(say, ExitCode.INTERRUPTED, "interrupted before a first result; nothing was written")
    except MemoryError as error:
        own = type(error) is MemoryError and str(error)  # the library's, which says what is needed
        _end(say, ExitCode.DATA, own or "there is not enough memory for these data; take fewer rows")
    except Exception as error:
        code = _code(error)
        if code is None:
            traceback.print_exception(error, file=sys.stderr)
            message = f"{type(error).__name__}: {_first_line(error)}"
            _end(say, ExitCode.FAILED, f"a fault of bayesvm, please report it: {message}")
        else:
            _end(say, code, _first_line(error))


def _code(error: Exception) -> ExitCode | None:
    """Return the exit code of an error that the library raises on its own account, None for any other."""
    from bayesvm.datasets import MissingDataError
    from bayesvm.exceptions import IncompatibleError, NotPositiveDefiniteError
    from bayesvm.kernels.expression import KernelSyntaxError
    from bayesvm.persistence import ModelFileError
    from bayesvm.tables import DataError

    codes: tuple[tuple[tuple[type[Exception], ...], ExitCode], ...] = (
        ((UsageError, KernelSyntaxError, IncompatibleError), ExitCode.USAGE),
        ((DataError, ModelFileError, MissingDataError, NotPositiveDefiniteError), ExitCode.DATA),
        ((OutputError,), ExitCode.FAILED),
    )
    return next((code for kinds, code in codes if isinstance(error, kinds)), None)


@contextlib.contextmanager
def data_refused() -> Iterator[None]:
    """Turn the ``ValueError`` by which an estimator refuses data into a :class:`~bayesvm.tables.DataError`.

    That is how scikit-learn's interface has estimators refuse data. It belongs around calls of estimators alone: a
    ``ValueError`` from elsewhere is a fault.
    """
    from bayesvm.persistence import ModelFileError
    from bayesvm.tables import DataError

    try:
        yield
    except (DataError, ModelFileError):
        raise
    except ValueError as error:
        raise DataError(f"the data cannot be used: {_first_line(error)}") from error


@contextlib.contextmanager
def _logged(say: Reporter) -> Iterator[None]:
    """Send the library's log to standard error: warnings, and what a fit of many rows is expected to need."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("bayesvm: %(message)s"))
    logger, stated = logging.getLogger("bayesvm"), logging.getLogger(STATED)
    before = logger.level, stated.level
    logger.addHandler(handler)
    logger.setLevel(logging.ERROR if say.quiet else logging.WARNING)
    stated.setLevel(logging.ERROR if say.quiet else logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        stated.setLevel(before[1])


@contextlib.contextmanager
def _warned(say: Reporter) -> Iterator[None]:
    """Say warnings about tables as lines; those about convergence are the commands' own to tell."""
    from bayesvm.exceptions import ConvergenceWarning
    from bayesvm.tables import TableWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("always", TableWarning)
        warnings.showwarning = _shown_by(say, warnings.showwarning)
        yield


def _shown_by(say: Reporter, others: Callable[..., None]) -> Callable[..., None]:
    """Return a function that says warnings about tables, and leaves others to the one that was there."""
    from bayesvm.tables import TableWarning

    def show(message: Any, category: type[Warning], *place: Any, **options: Any) -> None:
        if issubclass(category, TableWarning):
            say.warn(str(message))
        else:
            others(message, category, *place, **options)

    return show


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _end(say: Reporter, code: ExitCode, message: str) -> None:
    say.failure(code, message)
    raise typer.Exit(int(code))


__all__ = ["data_refused", "guarded"]
