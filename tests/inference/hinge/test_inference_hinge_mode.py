"""The hinge machine against coordinate descent, its sets, weights and warm starts."""

import numpy as np
import pytest
from hinge_problems import KERNEL, problem

from bayesvm.inference.hinge import hinge_mode
from bayesvm.inference.hinge import mode as module
from bayesvm.kernels import Constant, Gaussian


def coordinate_descent(K, y, c):
    t, f = np.zeros(y.size), np.zeros(y.size)
    for _ in range(20000):
        largest = 0.0
        for i in range(y.size):
            change = min(max(t[i] + (1.0 - y[i] * f[i]) / K[i, i], 0.0), c[i]) - t[i]
            t[i] += change
            f += change * y[i] * K[:, i]
            largest = max(largest, abs(change))
        if largest < 1e-13:
            break
    return f


@pytest.mark.parametrize("seed", range(3))
def test_the_mode_is_the_hinge_machine(seed):
    X, y = problem(40, seed)
    K = (Gaussian(1.0, 0.7) + Constant(0.5)).gram(X)
    c = np.random.default_rng(seed).uniform(0.5, 2.0, size=40)
    mode = hinge_mode(K, y, c)
    assert mode.status.ok
    assert np.max(np.abs(mode.f - coordinate_descent(K, y, c))) < 1e-9
    margin, t = y * mode.f, y * mode.alpha
    assert np.allclose(margin[mode.marginal], 1.0, atol=1e-9)
    assert np.all((t[mode.marginal] > 0.0) & (t[mode.marginal] < c[mode.marginal]))
    assert np.array_equal(t[mode.bounded], c[mode.bounded])
    rest = np.setdiff1d(np.arange(40), np.union1d(mode.marginal, mode.bounded))
    assert np.all(t[rest] == 0.0)
    assert np.all(margin[rest] >= 1.0 - 1e-8)


def test_the_solution_depends_on_the_product_of_C_and_kernel_only():
    X, y = problem(50)
    K = KERNEL.gram(X)
    first = hinge_mode(K, y, np.full(50, 1.0))
    second = hinge_mode(K / 3.0, y, np.full(50, 3.0), warm_start=first.share)
    assert second.n_iter == 1
    assert np.allclose(first.f, second.f, atol=1e-10)


def test_a_row_given_twice_is_a_row_of_weight_two():
    X, y = problem(30)
    twice = np.r_[X, X[:5]], np.r_[y, y[:5]]
    weights = np.r_[np.full(5, 2.0), np.ones(25)]
    first = hinge_mode(KERNEL.gram(twice[0]), twice[1], np.full(35, 1.3))
    second = hinge_mode(KERNEL.gram(X), y, 1.3 * weights)
    assert np.allclose(first.f[:30], second.f, atol=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_a_wrong_guess_of_the_sets_changes_nothing(seed):
    X, y = problem(40, seed)
    K = (Gaussian(1.0, 0.7) + Constant(0.5)).gram(X)
    c = np.full(40, 1.5)
    cold = hinge_mode(K, y, c)
    for guess in (np.random.default_rng(seed).uniform(size=40), np.zeros(40), np.ones(40)):
        warm = hinge_mode(K, y, c, warm_start=guess)
        assert warm.status.ok
        np.testing.assert_allclose(warm.f, cold.f, atol=1e-8)


def test_rows_that_contradict_one_another_are_bounded():
    x = np.repeat(np.linspace(0.0, 1.0, 5), 2)[:, None]
    y = np.tile([1.0, -1.0], 5)
    mode = hinge_mode(Gaussian(2.0, 0.5).gram(x), y, np.full(10, 0.7))
    np.testing.assert_allclose(mode.f, 0.0, atol=1e-9)
    np.testing.assert_allclose(y * mode.alpha, 0.7)


@pytest.mark.parametrize("seed", range(3))
def test_sets_that_do_not_settle_are_found_with_smaller_gaps(seed, monkeypatch):
    X, y = problem(40, seed=seed)
    K, bound = KERNEL.gram(X), np.full(40, 2.0)
    expected = hinge_mode(K, y, bound)
    monkeypatch.setattr(module, "ROUNDS", 1)  # no point may change its set
    monkeypatch.setattr(module, "GAPS", (1.0, 1e-9))
    found = hinge_mode(K, y, bound)
    assert expected.status.ok
    assert found.status.ok
    np.testing.assert_allclose(found.f, expected.f, atol=1e-9)


@pytest.mark.parametrize("warm", [None, np.full(40, 0.5)], ids=["cold", "warm"])
def test_rounds_are_counted(warm, monkeypatch):
    X, y = problem(40)
    rounds = []
    coefficients = module._coefficients
    monkeypatch.setattr(module, "_coefficients", lambda *args: rounds.append(1) or coefficients(*args))
    mode = hinge_mode(KERNEL.gram(X), y, np.ones(40), warm_start=warm)
    assert mode.status.ok
    assert mode.n_iter == len(rounds) > 0
