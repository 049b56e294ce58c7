"""The maximiser: several starts, interrupts, failures, threads, records."""

import dataclasses
import logging

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import bayesvm.likelihoods as lib
from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper import EvidenceObjective, Maximizer, SearchStatus, keep_best_on_interrupt
from bayesvm.inference import Laplace
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.solvers import Status


@dataclasses.dataclass(frozen=True)
class Inner:
    """The parts of an evidence that the maximiser looks at."""

    status: Status = Status.CONVERGED
    latent: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(1))


@dataclasses.dataclass(frozen=True)
class Found:
    value: float
    gradient: np.ndarray
    evidence: Inner = dataclasses.field(default_factory=Inner)


class Known:
    """An objective with a known value and gradient; it counts its evaluations."""

    def __init__(self, function, d, bound=50.0):
        self.function, self.calls = function, 0
        self.bounds = np.tile([-bound, bound], (d, 1))

    def evaluate(self, theta, warm_start=None):
        self.calls += 1
        value, gradient = self.function(theta)
        return Found(float(value), np.asarray(gradient, dtype=float))


def hill(theta):
    return -0.5 * theta @ theta, -theta


def two_hills(theta):
    """A high hill at 0 and one five nats lower at 8."""
    high, low = -0.5 * theta[0] ** 2, -5.0 - 0.5 * (theta[0] - 8.0) ** 2
    return (high, [-theta[0]]) if high > low else (low, [8.0 - theta[0]])


def machine(n=30, likelihood=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] - 0.5 * X[:, 1] ** 2 + 0.3 * rng.normal(size=n) > -0.3, 1.0, -1.0)
    return EvidenceObjective(Gaussian() + Constant(), likelihood or lib.RaisedCosine(), Laplace(), Inputs(X), y)


STARTS = [np.array(s) for s in ([2.3, 0.3, 4.6], [0.0, 0.0, 0.0], [4.6, 0.3, 4.6], [-2.3, -1.0, 1.0])]


# -- results ----------------------------------------------------------------------------------------------------------
def test_best_of_two_optima():
    found = Maximizer().maximize(Known(two_hills, 1), [np.array([9.0]), np.array([1.0])])
    assert found.status is SearchStatus.CONVERGED
    np.testing.assert_allclose(found.theta, 0.0, atol=0.2)
    assert found.value == max(r.value for r in found.history)
    assert len(found.history) == 2


def test_history_keeps_a_record_per_start_in_order():
    starts = [np.array([3.0, 1.0]), np.array([-4.0, 0.5])]
    objective = Known(hill, 2)
    found = Maximizer().maximize(objective, starts)
    for record, start in zip(found.history, starts):
        np.testing.assert_array_equal(record.start, start)
        assert record.seconds > 0.0
        assert record.value == hill(record.end)[0]
    assert sum(r.evaluations for r in found.history) == objective.calls


def test_a_real_evidence():
    objective = machine()
    found = Maximizer(tol=1e-6).maximize(objective, STARTS)
    assert found.status.ok
    at_end = objective.evaluate(found.theta, found.latent)
    np.testing.assert_allclose(at_end.value, found.value, rtol=1e-8)
    low, high = objective.bounds.T
    inside = (found.theta > low) & (found.theta < high)
    assert np.all(np.abs(at_end.gradient[inside]) < 0.1)
    assert found.value >= max(objective.evaluate(s).value for s in STARTS)


def test_a_tighter_tolerance_ends_higher():
    objective = machine()
    loose, tight = (Maximizer(tol=tol).maximize(objective, STARTS[:1]) for tol in (3e-3, 1e-6))
    assert tight.value >= loose.value
    assert tight.history[0].evaluations > loose.history[0].evaluations
    assert tight.value - loose.value < 1.0


def test_no_start():
    with pytest.raises(ValueError, match="maximize: expected at least one start, found none"):
        Maximizer().maximize(Known(hill, 1), [])


def test_nothing_to_learn():
    found = Maximizer().maximize(Known(lambda t: (2.5, []), 0), [np.empty(0)])
    assert found.value == 2.5
    assert found.status is SearchStatus.CONVERGED
    assert found.history[0].evaluations == 1


@pytest.mark.parametrize("limit", [1, 5, 20])
def test_limit_of_evaluations(limit):
    objective = Known(lambda t: (t[0], [1.0]), 1, bound=1e6)
    found = Maximizer(max_evaluations=limit).maximize(objective, [np.zeros(1)])
    assert found.status is SearchStatus.LIMIT
    assert not found.status.ok
    assert limit <= objective.calls <= limit + 10  # a step that was begun is finished
    assert limit > 1 or objective.calls == 1


def test_a_solver_that_did_not_converge_is_no_obstacle():
    class Stalled(Known):
        def evaluate(self, theta, warm_start=None):
            return dataclasses.replace(super().evaluate(theta), evidence=Inner(Status.STALLED))

    assert Maximizer().maximize(Stalled(hill, 1), [np.ones(1)]).status is SearchStatus.CONVERGED


# -- jumps ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("height", [0.1, 1.0])
def test_the_best_point_seen_is_returned_across_jumps(height):
    seen = []

    def with_jumps(theta):
        phase = theta / 0.3 - np.floor(theta / 0.3)
        seen.append(float(-0.5 * theta @ theta + height * phase.sum()))
        return seen[-1], -theta + height / 0.3

    found = Maximizer().maximize(
        Known(with_jumps, 2), [np.array([3.0, 1.0]), np.array([-3.1, 0.2]), np.array([0.1, 9.0])]
    )
    assert found.value == max(seen)
    assert found.status.ok
    assert len(seen) < 400


# -- several starts ---------------------------------------------------------------------------------------------------
def rosenbrock(x):
    a, b = 1.0 - x[0], x[1] - x[0] ** 2
    return -(a**2 + 100.0 * b**2), np.array([2.0 * a + 400.0 * b * x[0], -200.0 * b])


def test_a_start_far_below_the_best_is_abandoned():
    """Its optimum is a hundred nats lower, and its search long."""

    def far_apart(theta):
        if theta[0] < 20.0:
            return hill(theta)
        value, gradient = rosenbrock(theta - 30.0)
        return value - 100.0, gradient

    found = Maximizer(tol=1e-9).maximize(Known(far_apart, 2), [np.array([28.8, 31.0]), np.array([5.0, 0.0])])
    assert found.history[0].status is SearchStatus.ABANDONED
    assert found.history[1].status.ok
    assert found.history[0].evaluations < 30


def test_starts_that_meet_are_merged():
    start = np.array([-1.2, 1.0])
    objective = Known(rosenbrock, 2)
    found = Maximizer(tol=1e-8).maximize(objective, [start, start.copy(), start.copy()])
    assert [r.status for r in found.history] == [SearchStatus.CONVERGED, SearchStatus.MERGED, SearchStatus.MERGED]
    assert found.history[1].evaluations < found.history[0].evaluations
    np.testing.assert_allclose(found.theta, 1.0, atol=1e-2)


def test_screening_halves_the_starts_round_by_round():
    starts = [np.array([-1.2, 1.0 + 0.5 * k]) for k in range(4)]
    found = Maximizer(tol=1e-8, screening=True).maximize(Known(rosenbrock, 2), starts)
    assert [r.status for r in found.history].count(SearchStatus.ABANDONED) == 3
    spent = sorted(r.evaluations for r in found.history)
    assert spent[1] < spent[2] < spent[3]  # two are abandoned after the first round, one after the second
    np.testing.assert_allclose(found.theta, 1.0, atol=1e-2)


def test_the_order_of_the_starts_does_not_matter():
    objective = machine()
    forward = Maximizer().maximize(objective, STARTS)
    backward = Maximizer().maximize(objective, STARTS[::-1])
    assert forward.value == backward.value
    np.testing.assert_array_equal(forward.theta, backward.theta)


@pytest.mark.parametrize("likelihood", [lib.RaisedCosine(), lib.Logistic()], ids=lambda x: type(x).__name__)
def test_two_threads_give_the_same_bits_as_one(likelihood):
    objective = machine(likelihood=likelihood)
    with threadpool_limits(limits=1):
        one = Maximizer(n_jobs=1).maximize(objective, STARTS)
        two = Maximizer(n_jobs=2).maximize(objective, STARTS)
    assert one.value == two.value
    np.testing.assert_array_equal(one.theta, two.theta)
    np.testing.assert_array_equal(one.latent, two.latent)
    for a, b in zip(one.history, two.history):
        assert (a.value, a.evaluations, a.status) == (b.value, b.evaluations, b.status)
        np.testing.assert_array_equal(a.end, b.end)


# -- failures ---------------------------------------------------------------------------------------------------------
def broken_above(limit):
    def function(theta):
        if theta[0] > limit:
            raise NotPositiveDefiniteError(f"no factor at {theta[0]:.3f}")
        return hill(theta - 2.0)

    return function


def test_a_start_that_fails_is_left_behind():
    found = Maximizer().maximize(Known(broken_above(4.0), 1), [np.array([5.0]), np.array([-1.0])])
    assert [r.status for r in found.history] == [SearchStatus.FAILED, SearchStatus.CONVERGED]
    assert found.history[0].value == -np.inf
    assert found.history[0].evaluations == 1
    np.testing.assert_allclose(found.theta, 2.0, atol=0.2)


def test_failures_on_the_way_are_turned_back_from(caplog):
    with caplog.at_level(logging.INFO, logger="bayesvm"):
        found = Maximizer(tol=1e-3).maximize(Known(broken_above(1.0), 1), [np.array([-3.0])])
    assert found.status.ok
    assert 0.8 < found.theta[0] <= 1.0
    assert "evidence not computable" in caplog.text


def test_failure_everywhere_is_an_error_with_the_reason():
    with pytest.raises(NotPositiveDefiniteError, match=r"no factor at 5\.000"):
        Maximizer().maximize(Known(broken_above(-60.0), 1), [np.array([5.0]), np.array([6.0])])


def test_other_errors_pass_through():
    def function(theta):
        raise RuntimeError("a bug, not a bad Gram matrix")

    with pytest.raises(RuntimeError, match="a bug"):
        Maximizer().maximize(Known(function, 1), [np.zeros(1)])


# -- callbacks and interrupts -----------------------------------------------------------------------------------------
def test_the_callback_is_told_every_evaluation():
    ticks = []
    objective = Known(two_hills, 1)
    found = Maximizer(callback=ticks.append).maximize(objective, [np.array([9.0]), np.array([1.0])])
    assert len(ticks) == objective.calls
    bests = [t.best for t in ticks]
    assert bests == sorted(bests)
    assert bests[-1] == found.value
    for i, record in enumerate(found.history):
        assert [t.evaluation for t in ticks if t.start == i] == list(range(1, record.evaluations + 1))
    for t in ticks:
        assert t.value == two_hills(t.theta)[0]
        assert t.best >= t.value


@pytest.mark.parametrize("when", [1, 2, 9, 13])
def test_an_interrupt_keeps_the_best_so_far(when, caplog):
    ticks = []

    def callback(tick):
        ticks.append(tick)
        if len(ticks) == when:
            raise KeyboardInterrupt

    starts = [np.array([9.0, 40.0]), np.array([-30.0, 20.0]), np.array([1.0, 45.0])]
    with keep_best_on_interrupt():
        found = Maximizer(tol=1e-9, callback=callback).maximize(Known(hill, 2), starts)
    assert len(ticks) == when
    assert found.value == max(t.value for t in ticks)
    assert found.status is SearchStatus.INTERRUPTED
    assert not found.status.ok
    assert "interrupted" in caplog.text
    assert sum(r.evaluations for r in found.history) == when
    for i, record in enumerate(found.history):
        own = [t.value for t in ticks if t.start == i]
        assert record.value == max(own, default=-np.inf)
        assert record.status in (SearchStatus.INTERRUPTED, SearchStatus.CONVERGED, SearchStatus.ABANDONED)


def test_an_interrupt_in_a_thread_keeps_the_best_so_far():
    ticks = []

    def callback(tick):
        ticks.append(tick)
        if len(ticks) == 6:
            raise KeyboardInterrupt

    with keep_best_on_interrupt():
        found = Maximizer(tol=1e-9, n_jobs=2, callback=callback).maximize(machine(), STARTS)
    assert found.status is SearchStatus.INTERRUPTED
    assert found.value == max(t.value for t in ticks)


def test_an_interrupt_before_the_first_evaluation_is_raised():
    def function(theta):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Maximizer().maximize(Known(function, 1), [np.zeros(1)])
