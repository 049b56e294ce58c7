"""Blocks in threads: results in the order of the blocks whatever the number of threads, and nothing is left behind."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from bayesvm.linalg.blas_threads import blas_threads, one_blas_thread
from bayesvm.linalg.block_threads import block_threads, in_turn


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != 2:
            pytest.skip("BLAS runs in one thread here")
        yield


def test_results_come_in_the_order_of_the_blocks():
    first_may_end = threading.Event()

    def slow_first(block):
        if block == 0:
            assert first_may_end.wait(60.0)
        elif block == 1:
            first_may_end.set()  # only another thread than that of block 0 gets here
        return block**2

    with block_threads():
        assert list(in_turn(slow_first, range(7))) == [k**2 for k in range(7)]


def test_one_blas_thread_inside_and_as_many_as_before_afterwards():
    with block_threads():
        assert blas_threads() == 1
        assert list(in_turn(lambda _: blas_threads(), range(3))) == [1, 1, 1]
    assert blas_threads() == 2


def test_threads_are_those_that_blas_had():
    with block_threads():
        names = set(in_turn(lambda _: threading.current_thread().name, range(50)))
    assert threading.current_thread().name not in names
    assert 1 <= len(names) <= 2


def test_without_a_second_blas_thread_blocks_are_computed_here():
    with one_blas_thread(), block_threads():
        assert set(in_turn(lambda _: threading.current_thread(), range(3))) == {threading.current_thread()}
    assert set(in_turn(lambda _: threading.current_thread(), range(3))) == {threading.current_thread()}


def test_blocks_of_blocks_are_not_shared_out_again():
    def inner(_):
        here = threading.current_thread()
        return all(thread is here for thread in in_turn(lambda _: threading.current_thread(), range(3)))

    with block_threads():
        assert all(in_turn(inner, range(4)))


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_exception_in_a_block_is_raised_and_ends_the_rest(error):
    begun = []

    def failing(block):
        begun.append(block)
        if block == 1:
            raise error("block 1")

    with pytest.raises(error, match="block 1"), block_threads():
        list(in_turn(failing, range(1000)))
    assert len(begun) < 10
    assert blas_threads() == 2


def test_few_blocks_are_ahead_of_the_one_that_is_taken():
    begun = []
    with block_threads():
        for block in in_turn(lambda block: begun.append(block) or block, range(100)):
            assert len(begun) <= block + 4


def test_sums_do_not_depend_on_the_threads():
    rng = np.random.default_rng(0)
    blocks = [rng.normal(size=(300, 40)) * 10.0**k for k in range(-4, 5)]
    with one_blas_thread():
        expected = sum(in_turn(lambda block: block.T @ block, blocks))
    with block_threads():
        found = sum(in_turn(lambda block: block.T @ block, blocks))
    np.testing.assert_array_equal(found, expected)
