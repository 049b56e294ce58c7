"""Ctrl-C during a search: it leaves ``fit``, unless the best point so far was asked for."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayesvm.hyper.multistart import SearchProgress


@dataclasses.dataclass
class _Asked:
    """One use of :func:`keep_best_on_interrupt`: whether an interrupt has arrived since."""

    arrived: bool = False


_asked: ContextVar[_Asked | None] = ContextVar("keep_best_on_interrupt", default=None)


@contextlib.contextmanager
def keep_best_on_interrupt() -> Iterator[None]:
    """Have the fits inside the ``with`` statement keep the best point so far when the user interrupts.

    Without it KeyboardInterrupt leaves ``fit``, and the estimator is what it was before. With it an interrupt that
    arrives during the search for hyperparameters ends that search, and every later one of the same ``with`` statement
    after a single evaluation; ``fit`` returns, ``converged_`` is False, and a ConvergenceWarning gives the reason. An
    interrupt that arrives outside the search is raised as ever, and so is a second one.

    Examples
    --------
    >>> from bayesvm import BayesianSVC, datasets
    >>> from bayesvm.hyper import keep_best_on_interrupt
    >>> X, y, _ = datasets.make_ripley(60, random_state=0)
    >>> with keep_best_on_interrupt():
    ...     machine = BayesianSVC(n_starts=1).fit(X, y)
    >>> machine.converged_
    True
    """
    token = _asked.set(_Asked())
    try:
        yield
    finally:
        _asked.reset(token)


def keep_this_interrupt() -> bool:
    """Take note of an interrupt; return whether the best point is to be kept (of the first one, if asked for)."""
    asked = _asked.get()
    if asked is None or asked.arrived:
        return False
    asked.arrived = True
    return True


def interrupt_was_kept() -> bool:
    """Return whether an interrupt has arrived that was not raised, so that no further search is to be begun."""
    asked = _asked.get()
    return asked is not None and asked.arrived


@contextlib.contextmanager
def no_interrupt_lost() -> Iterator[None]:
    """Raise an interrupt at the end of the block if it was lost inside.

    The interpreter ignores exceptions in finalizers and callbacks of weak references, such as those that pools of
    threads run; an interrupt that arrives there would vanish. What the handler that is in force raises, and the block
    does not, is raised when the block ends.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    raised: list[BaseException] = []

    def watched(number: int, frame: FrameType | None) -> None:
        try:
            handler(number, frame)
        except BaseException as error:
            raised.append(error)
            raise

    signal.signal(signal.SIGINT, watched)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if raised:
        raise raised[0]


class Stop:
    """Ends searches that run in other threads: each leaves its next evaluation by KeyboardInterrupt."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def __reduce__(self) -> tuple[type[Stop], tuple[()]]:  # another process is stopped by other means
        return Stop, ()

    def set(self) -> None:
        """End the searches."""
        self._event.set()

    def check(self) -> None:
        """Raise KeyboardInterrupt if the searches are to end."""
        if self._event.is_set():
            raise KeyboardInterrupt

    def before(self, callback: Callable[[SearchProgress], None] | None) -> Callable[[SearchProgress], None]:
        """Return a callback of the maximiser that ends its search if it is to end, and else calls the given one."""
        return _Checked(self, callback)


@dataclasses.dataclass(frozen=True)
class _Checked:
    stop: Stop
    callback: Callable[[SearchProgress], None] | None

    def __call__(self, progress: SearchProgress) -> None:
        self.stop.check()
        if self.callback is not None:
            self.callback(progress)


__all__ = ["Stop", "interrupt_was_kept", "keep_best_on_interrupt", "keep_this_interrupt", "no_interrupt_lost"]
