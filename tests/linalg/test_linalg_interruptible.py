"""Native calculations that an interrupt need not wait for: where they run, and what comes back."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from bayesvm.linalg.interruptible import interruptible


def test_in_the_main_thread_the_work_is_done_by_another_one():
    assert interruptible(threading.current_thread) is not threading.main_thread()
    assert interruptible(lambda: 3 * 7) == 21


def test_elsewhere_it_is_done_in_place():
    with ThreadPoolExecutor(1) as pool:
        place, worker = pool.submit(lambda: (interruptible(threading.get_ident), threading.get_ident())).result()
    assert place == worker


def test_errors_come_back():
    def broken():
        raise ZeroDivisionError("by nothing")

    with pytest.raises(ZeroDivisionError, match="by nothing"):
        interruptible(broken)


def test_an_interrupt_leaves_at_once_and_the_work_ends_by_itself(monkeypatch):
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def work():
        begun.set()
        go_on.wait(60.0)
        ended.set()

    class Interrupted:
        """A future whose caller is interrupted while it waits."""

        def set_result(self, value):
            assert value is None

        def result(self):
            assert begun.wait(60.0)
            raise KeyboardInterrupt

    monkeypatch.setattr("bayesvm.linalg.interruptible.Future", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        interruptible(work)
    assert not ended.is_set()
    go_on.set()
    assert ended.wait(60.0)
