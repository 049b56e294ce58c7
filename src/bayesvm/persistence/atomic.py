"""Files that are replaced in one step: after a crash there is the old file or the complete new one.

The new contents are written to a hidden file beside the old one, ``.name.????????.tmp``, which is locked as long as its
writer lives. The next write of the same file removes those that a killed writer has left behind.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # not on Windows, where age tells whether a file was left behind
    fcntl = None  # type: ignore[assignment]

#: Seconds after which a temporary file counts as left behind where files cannot be locked.
OLD = 24 * 3600.0


def write_atomically(path: Path, data: Any) -> None:
    """Write bytes beside the path, flush them to the disk, and put them in place in one step.

    A symbolic link is followed: the file it points to is replaced, and the link stays.

    Raises
    ------
    OSError
        With the name of the file: if it is no regular file (a device, a folder, a pipe), or cannot be written.
    """
    path = Path(os.path.realpath(path))
    try:
        require_regular(path)
        remove_left_behind(path)
        with _temporary(path) as (handle, temporary):
            with os.fdopen(handle, "wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
            os.replace(temporary, path)
        _flush_folder(path.parent)
    except OSError as error:
        raise type(error)(error.errno, error.strerror or str(error), str(path)) from error


def require_regular(path: Path) -> None:
    """Raise ``OSError`` if there is something at the path other than a regular file."""
    if path.exists() and not path.is_file():
        raise OSError(None, "expected a regular file, found a folder, a device or a pipe", str(path))


def remove_left_behind(path: Path) -> None:
    """Remove temporary files of the path whose writers are gone."""
    left = re.compile(re.escape(f".{path.name}.") + r"[a-z0-9_]{8}\.tmp")
    with os.scandir(path.parent) as entries:
        names = [entry.name for entry in entries if left.fullmatch(entry.name)]
    for name in names:
        with contextlib.suppress(OSError):  # another process may be faster, or have the right to it that we lack
            if _is_left_behind(path.parent / name):
                os.unlink(path.parent / name)


def _is_left_behind(temporary: Path) -> bool:
    if fcntl is None:
        return time.time() - os.stat(temporary).st_mtime > OLD
    handle = os.open(temporary, os.O_RDONLY)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return False
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True


@contextlib.contextmanager
def _temporary(path: Path) -> Iterator[tuple[int, str]]:
    """Yield a handle, to be closed by who writes, and the name of a new file beside the path.

    The file is locked until the end, and removed if it was not put in place.
    """
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    lock = None
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX)
            lock = os.dup(handle)  # the lock lasts as long as one of the two is open
        yield handle, temporary
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    finally:
        if lock is not None:
            os.close(lock)


def _flush_folder(folder: Path) -> None:
    """Have the new name on the disk too, where the file system knows how; the file itself is there by now."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


__all__ = ["remove_left_behind", "require_regular", "write_atomically"]
