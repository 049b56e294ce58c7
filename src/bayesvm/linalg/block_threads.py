"""Blocks of rows in threads of our own, with one BLAS thread each.

NumPy and SciPy bring a BLAS each, with threads of its own. Where products of both take turns, as in every pass over
rows, two BLAS threads were measured to be slower than one. Blocks that have nothing to do with one another until their
sums are added need no such threads: each is computed by one, and the results are taken in the order of the blocks, so
that sums do not depend on how many threads there are.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from bayesvm.linalg.blas_threads import blas_threads, one_blas_thread

Block = TypeVar("Block")
Result = TypeVar("Result")

#: The threads of the fit that runs here, and how many they are. Threads that others start have none, so that what runs
#: in several threads already is not shared out again.
_POOL: contextvars.ContextVar[tuple[ThreadPoolExecutor, int] | None] = contextvars.ContextVar("pool", default=None)


@contextlib.contextmanager
def block_threads() -> Iterator[None]:
    """Have one BLAS thread inside the ``with`` statement, and for blocks as many threads as BLAS had before."""
    count = blas_threads()
    with one_blas_thread():
        if count == 1:
            yield
            return
        with ThreadPoolExecutor(count, thread_name_prefix="bayesvm-block") as pool:
            token = _POOL.set((pool, count))
            try:
                yield
            finally:
                _POOL.reset(token)


def in_turn(function: Callable[[Block], Result], blocks: Iterable[Block]) -> Iterator[Result]:
    """Yield what a function returns for every block, in their order; inside :func:`block_threads` by several threads.

    At most one block for each thread is under way or waiting for its turn, and one more.
    """
    known = _POOL.get()
    if known is None:
        yield from map(function, blocks)
        return
    pool, count = known
    waiting: deque[Future[Result]] = deque()
    try:
        for block in blocks:
            waiting.append(pool.submit(function, block))
            if len(waiting) > count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:  # after an exception: what has not begun need not
        for future in waiting:
            future.cancel()


__all__ = ["block_threads", "in_turn"]
