"""Files that commands write: never over another file without being told, and never in place of a device or a link."""

from __future__ import annotations

import os
from pathlib import Path

from bayesvm.cli.exit_codes import OutputError, UsageError


def check_output(path: str, *, force: bool) -> None:
    """Refuse an output that cannot be written, or that would replace a file, before the work and not after it."""
    if path == "-":
        return
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder) or os.path.isdir(path) or not os.access(folder, os.W_OK):
        raise UsageError(f"{path}: expected a file name in a folder that exists and can be written to")
    if os.path.isfile(path) and not force:
        raise UsageError(f"{path}: exists already; say --force to replace it, or choose another name")


def write_output(path: str, data: bytes) -> None:
    """Write a file in one step: the old one or the complete new one. Links are followed, devices are written to."""
    from bayesvm.persistence.atomic import write_atomically

    try:
        if os.path.exists(path) and not os.path.isfile(path):
            Path(path).write_bytes(data)
        else:
            write_atomically(Path(os.path.realpath(path)), data)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror or error})") from error


__all__ = ["check_output", "write_output"]
