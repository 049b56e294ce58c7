"""One BLAS thread: for work that runs in several threads of its own, and for matrices too small to share.

The number of threads belongs to the whole process. So the first of several users that want one thread sets it, and the
last one restores what it was, in whatever order they end.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import scipy.linalg  # noqa: F401  (the libraries have to be loaded before they are looked for)
from threadpoolctl import ThreadpoolController

#: Looked for once, and not in the middle of a fit: the search runs in a callback from C, which swallows interrupts.
_LIBRARIES = ThreadpoolController()
#: Rows from which on several BLAS threads are worth what they cost: below, they wait for one another, on a busy machine
#: for up to a hundred times as long as the work takes.
SEVERAL_THREADS = 1500


class _Users:
    """Counts who wants one thread; the limit is in force while somebody does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._limit: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._count == 0:
                self._limit = _LIBRARIES.limit(limits=1, user_api="blas")
            self._count += 1

    def leave(self) -> None:
        with self._lock:
            self._count -= 1
            if self._count == 0:
                _release_control()
                self._limit.restore_original_limits()
                _release_control()


def _release_control() -> None:
    """Let any thread set the number: recent versions of threadpoolctl listen to the first that did, and to no other.

    The last user may be another thread than the first.
    """
    for library in _LIBRARIES.select(user_api="blas").lib_controllers:
        release = getattr(library, "clear_controlling_thread", None)
        if release is not None:
            release(force=True)


_USERS = _Users()


@contextlib.contextmanager
def one_blas_thread(wanted: bool = True) -> Iterator[None]:
    """Have BLAS use one thread inside the ``with`` statement, if ``wanted``; otherwise change nothing."""
    if not wanted:
        yield
        return
    _USERS.enter()
    try:
        yield
    finally:
        _USERS.leave()


def blas_threads() -> int:
    """Return the largest number of threads that a BLAS of this process may use now."""
    libraries = _LIBRARIES.select(user_api="blas").lib_controllers
    return max((int(library.num_threads or 1) for library in libraries), default=1)


def suited_blas_threads(n_rows: int) -> contextlib.AbstractContextManager[None]:
    """Have BLAS use one thread inside the ``with`` statement if there are few rows."""
    return one_blas_thread(n_rows < SEVERAL_THREADS)


__all__ = ["blas_threads", "one_blas_thread", "suited_blas_threads"]
