"""Interrupts of a search: none is lost, other threads are stopped, and the best so far is kept if asked for."""

import pickle
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm.hyper import EvidenceObjective, Maximizer, SearchStatus, keep_best_on_interrupt, maximize_evidence
from bayesvm.hyper import search as module
from bayesvm.hyper.interrupts import Stop, interrupt_was_kept, no_interrupt_lost
from bayesvm.inference import Laplace
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs


def swallowed():
    """Interrupt this process where nobody can see the exception, as in a finalizer."""
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        return "swallowed"


def test_an_interrupt_that_vanished_is_raised_when_the_block_ends():
    before, seen = signal.getsignal(signal.SIGINT), []

    def block():
        with no_interrupt_lost():
            seen.append(swallowed())
            seen.append("end of the block")

    with pytest.raises(KeyboardInterrupt):
        block()
    assert seen == ["swallowed", "end of the block"]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_block_that_raises_it_itself_raises_it_once():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), no_interrupt_lost():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_elsewhere_handlers_are_left_alone():
    def handler_inside():
        with no_interrupt_lost():
            return signal.getsignal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(handler_inside).result() is before


def test_a_stop_ends_what_checks_it_and_is_fresh_in_another_process():
    stop, told = Stop(), []
    checked, silent = stop.before(told.append), stop.before(None)
    checked("first")
    silent("first")
    stop.set()
    for callback in (checked, silent):
        with pytest.raises(KeyboardInterrupt):
            callback("second")
    assert told == ["first"]
    pickle.loads(pickle.dumps(stop)).check()


def objective():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = np.where(np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=30) > 0.0, 1.0, -1.0)
    return EvidenceObjective((Gaussian(ard=True) + Constant()).bind(3), lib.Logistic(), Laplace(), Inputs(X), y)


@pytest.mark.parametrize("name", ["switch_on", "switch_off"])
def test_an_interrupt_between_searches_keeps_what_was_found(name, monkeypatch):
    problem, calls = objective(), []
    tied = problem.kernel.tied().theta

    def interrupted(maximizer, objective, maximum):
        calls.append(maximum)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, name, interrupted)
    with keep_best_on_interrupt():
        found = maximize_evidence(Maximizer(), problem, [tied, tied + 0.5])
        assert interrupt_was_kept()
    assert found.status is SearchStatus.INTERRUPTED
    np.testing.assert_array_equal(found.theta, calls[0].theta)
    with pytest.raises(KeyboardInterrupt):
        maximize_evidence(Maximizer(), problem, [tied, tied + 0.5])


def test_an_interrupt_with_tied_length_scales_gives_a_point_of_the_untied_ones():
    problem, main = objective(), threading.main_thread()
    tied, count = problem.kernel.tied().theta, []

    def callback(progress):
        assert threading.current_thread() is main
        count.append(progress)
        if len(count) == 3:
            raise KeyboardInterrupt

    with keep_best_on_interrupt():
        found = maximize_evidence(Maximizer(callback=callback), problem, [tied, tied + 0.5])
    assert found.interrupted
    assert found.theta.shape == problem.theta0.shape
    assert all(record.end.shape == problem.theta0.shape for record in found.history)
    assert problem.evaluate(found.theta).value == pytest.approx(found.value, rel=1e-6)
