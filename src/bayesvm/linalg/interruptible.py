"""Long calculations in native code that Ctrl-C need not wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def interruptible(function: Callable[[], T]) -> T:
    """Return the result of a function that spends seconds in native code without holding the interpreter.

    In the main thread, where Python delivers interrupts, the function runs in a thread of its own: KeyboardInterrupt
    then leaves this call at once, and what the function computes is dropped when it ends.
    """
    if threading.current_thread() is not threading.main_thread():
        return function()
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # raised again in the main thread
            future.set_exception(error)

    threading.Thread(target=run, daemon=True, name="bayesvm-native").start()
    return future.result()


__all__ = ["interruptible"]
