"""The native working-set solver against its NumPy reference, SciPy, and itself."""

import dataclasses
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from smo_problems import duals, gram, inputs, objective, scipy_solution

from bayesvm._core import working_set
from bayesvm._core.working_set.reference import ReferenceProblem
from bayesvm.likelihoods.dual import Dual
from bayesvm.solvers.base import Status
from bayesvm.solvers.working_set import WorkingSet

NAMES = sorted(duals())


def solve(K, dual, *, equality=True, columns=None, start=None, **options):
    columns = working_set.DenseColumns(K) if columns is None else columns
    return WorkingSet(**{"tol": 1e-9, **options}).start(columns, dual, equality=equality, start=start).finish()


def check_optimal(K, dual, result, equality, tol):
    """The optimality conditions, written out anew."""
    a, g = result.alpha, K @ result.alpha
    reference = ReferenceProblem(K, *dataclasses.astuple(dual), equality)
    up, down = g + reference.slope(a, 1), g + reference.slope(a, -1)
    assert np.all(a >= dual.lower)
    assert np.all(a <= dual.upper)
    assert np.allclose(result.f, g, atol=1e-9)
    if equality:
        assert abs(a.sum()) < 1e-10 * max(1.0, np.abs(a).sum())
        assert down.max() - up.min() <= tol
    else:
        assert max(down.max(), -up.min()) <= tol


@pytest.mark.parametrize("equality", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_the_reference(name, equality):
    K, dual = duals(n=16, lengthscale=0.5)[name]
    result = solve(K, dual, equality=equality)
    assert result.status is Status.CONVERGED
    check_optimal(K, dual, result, equality, 2e-9)
    reference = ReferenceProblem(K, *dataclasses.astuple(dual), equality).solve(tol=1e-6)
    assert reference.gap <= 1e-6
    assert np.isclose(result.objective, objective(K, dual, reference.alpha), rtol=1e-8)
    assert np.allclose(K @ result.alpha, K @ reference.alpha, atol=1e-4)
    assert np.allclose(result.multiplier, reference.multiplier, atol=1e-4) or not equality


@pytest.mark.parametrize("equality", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_scipy(name, equality):
    K, dual = duals(n=12, seed=3)[name]
    result = solve(K, dual, equality=equality)
    other = scipy_solution(K, dual, equality)
    assert np.isclose(result.objective, objective(K, dual, other), rtol=1e-6, atol=1e-9)
    assert result.objective <= objective(K, dual, other) + 1e-9
    assert np.isclose(result.objective, objective(K, dual, result.alpha), rtol=1e-12)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 25), name=st.sampled_from(NAMES), equality=st.booleans())
@settings(max_examples=60, deadline=None)
def test_any_problem_ends_at_the_optimum(seed, n, name, equality):
    K, dual = duals(n=n, seed=seed)[name]
    result = solve(K, dual, equality=equality, tol=1e-7, max_iter=200_000)
    if result.status is Status.CONVERGED:
        check_optimal(K, dual, result, equality, 2e-7)
    else:  # the hard margin of classes that cannot be separated, or of one class, has no solution
        assert name == "hard"


def test_one_class_has_the_zero_solution():
    K, dual = duals()["l1"]
    dual = dataclasses.replace(Dual.margin(np.ones(30), 1.0))
    result = solve(K, dual)
    assert result.status is Status.CONVERGED
    assert not result.alpha.any()


@pytest.mark.parametrize("shrink", [True, False])
@pytest.mark.parametrize("megabytes", [0.0001, 0.5, 50.0])
@pytest.mark.parametrize("equality", [True, False])
def test_shrinking_and_cache_do_not_change_the_result(shrink, megabytes, equality):
    X, signal, rng = inputs(1500, 5, d=4)
    y = np.where(signal + 0.4 * rng.normal(size=1500) > 0.0, 1.0, -1.0)
    dual = Dual.margin(y, 1.0)
    columns = working_set.KernelColumns(X, True, 1.0)
    K = gram(X, 1.0)
    result = solve(
        K, dual, equality=equality, columns=columns, tol=1e-4, shrink=shrink, cache_bytes=int(megabytes * 2**20)
    )
    assert result.status is Status.CONVERGED
    check_optimal(K, dual, result, equality, 1.1e-4)


def test_shrinking_sets_variables_aside():
    X, signal, rng = inputs(3000, 5, d=2)
    dual = Dual.margin(np.sign(signal + 0.3 * rng.normal(size=3000)), 100.0)
    run = WorkingSet(tol=1e-6).start(working_set.KernelColumns(X, True, 1.0), dual, equality=True)
    active = []
    while not run.advance(0.001):
        active.append(run.progress().active)
    assert min(active) < 1500
    assert run.progress().active == 3000


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (lambda X: working_set.KernelColumns(X, True, 1.5), lambda X: gram(X, 1.5)),
        (lambda X: working_set.KernelColumns(X, False, 1.0), lambda X: X @ X.T),
        (lambda X: working_set.KernelColumns(X, False, 0.2, 1.0, 3), lambda X: 0.2 * (X @ X.T + 1.0) ** 3),
    ],
)
def test_columns_computed_from_the_inputs(columns, expected):
    X, signal, _ = inputs(600, 2)
    K = expected(X)
    dual = Dual.residual(signal, 0.5, kink=0.1, bend=0.01)
    native = solve(K, dual, columns=columns(X), tol=1e-5)
    dense = solve(K, dual, tol=1e-5)
    assert native.status is dense.status is Status.CONVERGED
    assert np.isclose(native.objective, dense.objective, rtol=1e-8)
    assert np.allclose(native.f, K @ native.alpha, atol=1e-8 * np.abs(K).max())


def test_columns_from_a_callback_and_shared_columns():
    X, signal, _ = inputs(500, 2)
    K = gram(X)
    dual = Dual.margin(np.sign(signal), 5.0)
    asked = []

    def block(wanted, rows):
        asked.append(wanted.size)
        return K[np.ix_(wanted, rows)]

    expected = solve(K, dual)
    called = solve(K, dual, columns=working_set.CallbackColumns(block, np.diag(K).copy()))
    assert np.array_equal(called.alpha, expected.alpha)
    shared = working_set.SharedColumns(working_set.CallbackColumns(block, np.diag(K).copy()))
    asked.clear()
    first = solve(K, dual, columns=shared.take(np.arange(500)))
    count = len(asked)
    assert 0 < count <= 500
    second = solve(K, dual, columns=shared.take(np.arange(500)))
    assert len(asked) == count
    assert np.array_equal(first.alpha, second.alpha)
    rows = np.arange(0, 500, 2)
    part = dataclasses.replace(dual, **{f.name: getattr(dual, f.name)[rows] for f in dataclasses.fields(dual)})
    half = solve(K, part, columns=shared.take(rows))
    assert np.allclose(half.alpha, solve(np.ascontiguousarray(K[np.ix_(rows, rows)]), part).alpha, atol=1e-12)


def test_errors_of_a_callback_reach_the_caller():
    def broken(wanted, rows):
        raise ZeroDivisionError("no columns today")

    dual = duals()["l1"][1]
    run = WorkingSet().start(working_set.CallbackColumns(broken, np.ones(30)), dual, equality=True)
    with pytest.raises(ZeroDivisionError, match="no columns today"):
        run.finish()
    wrong = working_set.CallbackColumns(lambda wanted, rows: np.ones((1, 1)), np.ones(30))
    with pytest.raises(ValueError, match=r"expected an array of shape \(1, 30\), found \(1, 1\)"):
        WorkingSet().start(wrong, dual, equality=True).finish()


def test_arguments_of_the_wrong_shape_are_refused():
    K, dual = duals()["l1"]
    with pytest.raises(ValueError, match="square"):
        working_set.DenseColumns(np.ones((3, 4)))
    with pytest.raises(ValueError, match="target: expected 29 entries, found 30"):
        WorkingSet().start(working_set.DenseColumns(np.ascontiguousarray(K[:29, :29])), dual, equality=True)
    with pytest.raises(IndexError, match="row number 30"):
        working_set.SharedColumns(working_set.DenseColumns(K)).take(np.array([30]))


def test_start_at_the_optimum_takes_no_step():
    K, dual = duals()["soft"]
    cold = solve(K, dual)
    warm = solve(K, dual, start=cold.alpha, tol=1e-8)
    assert cold.n_iter > 0
    assert warm.n_iter == 0


def test_same_problem_same_bits():
    K, dual = duals(n=100)["trigonometric"]
    a, b = solve(K, dual), solve(K, dual)
    assert np.array_equal(a.alpha, b.alpha)
    assert a.multiplier == b.multiplier


def test_a_run_can_be_stopped_looked_at_and_continued():
    X, signal, _ = inputs(2000, 7)
    K, dual = gram(X), Dual.residual(signal, 10.0, kink=0.01)
    run = WorkingSet(tol=1e-6).start(working_set.DenseColumns(K), dual, equality=True)
    assert not run.advance(0.001)
    middle = run.alpha
    assert abs(middle.sum()) < 1e-9
    whole = run.finish()
    again = solve(K, dual, tol=1e-6)
    assert np.array_equal(whole.alpha, again.alpha)


def test_max_iter_and_sharpen():
    K, dual = duals()["soft"]
    short = solve(K, dual, max_iter=3)
    assert short.status is Status.MAX_ITER
    assert short.n_iter == 3
    assert short.gap > 1e-9
    run = WorkingSet(tol=1e-2).start(working_set.DenseColumns(K), dual, equality=True)
    coarse = run.finish()
    run.sharpen(1e-9)
    fine = run.finish()
    assert coarse.gap > 1e-9 >= fine.gap
    assert fine.status is Status.CONVERGED


def test_an_impossible_tolerance_is_reported_as_stalled():
    K, dual = duals()["trigonometric"]
    result = solve(K, dual, tol=1e-20)
    assert result.status is Status.STALLED
    assert result.gap < 1e-12


def test_a_slice_ends_before_the_problem_and_the_interpreter_is_free_meanwhile():
    X, signal, _ = inputs(4000, 8, d=5)
    run = WorkingSet(tol=1e-10, cache_bytes=2**20).start(
        working_set.KernelColumns(X, True, 1.0), Dual.residual(signal, 1e4), equality=True
    )
    ticks = 0
    started, done = threading.Event(), threading.Event()

    def count():
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            started.set()
            time.sleep(0.005)

    thread = threading.Thread(target=count)
    thread.start()
    started.wait()
    before = ticks
    assert not run.advance(0.2)
    during = ticks - before
    done.set()
    thread.join()
    assert during > 0  # the other thread ran while the native loop did


def test_a_callback_sees_the_run_and_may_end_it():
    X, signal, _ = inputs(4000, 8, d=5)
    run = WorkingSet(tol=1e-3, cache_bytes=2**20).start(
        working_set.KernelColumns(X, True, 1.0), Dual.residual(signal, 1e4), equality=True
    )
    run.sharpen(1e-10)  # before the first step there is no ending to take back
    seen = []

    def look(progress):
        seen.append(progress)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.finish(look)
    first, second = seen
    assert first.tol == second.tol == 1e-10
    assert 0 < first.n_iter < second.n_iter
    assert not run.done
    assert abs(run.alpha.sum()) < 1e-9 * np.abs(run.alpha).sum()


def test_a_finished_run_stays_as_it_is():
    K, dual = duals()["soft"]
    run = WorkingSet(tol=1e-6).start(working_set.DenseColumns(K), dual, equality=True)
    result = run.finish()
    assert run.advance()
    assert run.result().n_iter == result.n_iter
    np.testing.assert_array_equal(run.alpha, result.alpha)
