"""One BLAS thread for work that runs in several threads of its own."""

from __future__ import annotations

import contextlib
from typing import Any

import scipy.linalg  # noqa: F401  (the libraries have to be loaded before they are looked for)
from threadpoolctl import ThreadpoolController

#: Looked for once, and not in the middle of a fit: the search runs in a callback from C, which swallows interrupts.
_LIBRARIES = ThreadpoolController()


def one_blas_thread(wanted: bool = True) -> contextlib.AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread, if ``wanted``, and else one that changes nothing."""
    return _LIBRARIES.limit(limits=1, user_api="blas") if wanted else contextlib.nullcontext()


__all__ = ["one_blas_thread"]
