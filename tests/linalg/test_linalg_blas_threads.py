"""One BLAS thread for small work: in force while somebody wants it, restored by the last one, whatever the order."""

import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from bayesvm.linalg.blas_threads import SEVERAL_THREADS, one_blas_thread, suited_blas_threads


def threads():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("BLAS runs in one thread here")
        yield


@pytest.mark.parametrize(("n_rows", "expected"), [(10, {1}), (SEVERAL_THREADS - 1, {1}), (SEVERAL_THREADS, {2})])
def test_few_rows_take_one_thread(n_rows, expected):
    with suited_blas_threads(n_rows):
        assert threads() == expected
    assert threads() == {2}


def test_users_that_overlap_restore_the_threads_whoever_ends_last():
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert threads() == {1}
    second.__exit__(None, None, None)
    assert threads() == {2}


def test_an_exception_restores_the_threads():
    with pytest.raises(KeyboardInterrupt), one_blas_thread():
        raise KeyboardInterrupt
    assert threads() == {2}


def test_the_last_user_restores_the_threads_from_whatever_thread():
    entered, leave = threading.Event(), threading.Event()

    def use():
        with one_blas_thread():
            entered.set()
            leave.wait(60.0)

    worker = threading.Thread(target=use)
    with one_blas_thread():
        worker.start()
        entered.wait(60.0)
    assert threads() == {1}
    leave.set()
    worker.join()
    assert threads() == {2}


def test_users_in_many_threads_leave_nothing_changed():
    def use():
        for _ in range(20):
            with one_blas_thread(), one_blas_thread():
                pass

    workers = [threading.Thread(target=use) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert threads() == {2}
