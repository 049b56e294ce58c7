"""Native Newton: losses against the likelihoods, the mode against the same steps in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm._core import mode
from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.likelihoods.native import TABLE, fast_derivatives, native_loss
from bayesvm.likelihoods.weighted import Weighted
from bayesvm.solvers.base import Status
from bayesvm.solvers.newton import Newton
from bayesvm.testing.solvers import problem

LOSSES = [
    lib.Trigonometric(),
    lib.RaisedCosine(),
    lib.Logistic(),
    lib.SoftInsensitive(),
    lib.SoftInsensitive(3.0, 0.4, 0.05),
    lib.SoftInsensitive(3.0, 0.4, 1.0),
    lib.Huber(2.0, 0.3),
    lib.SmoothInsensitive(),
    lib.SmoothInsensitive(20.0, 0.2, 0.7),
]
NAMES = [f"{type(loss).__name__}-{i}" for i, loss in enumerate(LOSSES)]


def test_every_class_of_the_table_is_tried():
    assert {type(loss) for loss in LOSSES} == set(TABLE)


@pytest.mark.parametrize("likelihood", LOSSES, ids=NAMES)
def test_derivatives_are_those_of_the_likelihood(likelihood):
    small = np.geomspace(1e-12, 1e-2, 41)
    t = np.concatenate([np.linspace(-3.0, 3.0, 601), -1.0 + small, 1.0 - small, small, [-800.0, 30.0, 800.0]])
    t = np.concatenate(
        [t, likelihood.knots, *(k + small for k in likelihood.knots), *(k - small for k in likelihood.knots)]
    )
    loss = native_loss(likelihood)
    found, p = mode.derivatives(loss.kind, loss.parameters, t), likelihood.profile(t)
    for mine, theirs in zip(found, (p.loss, p.gradient, p.curvature, p.third)):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("likelihood", [*LOSSES, lib.GaussianNoise(0.3)], ids=[*NAMES, "GaussianNoise"])
def test_fast_derivatives_are_those_of_the_likelihood_in_f(likelihood, weighted):
    rng = np.random.default_rng(1)
    y, f = np.where(rng.random(90) < 0.5, -1.0, 1.0), rng.normal(size=90)
    f[y * f < -0.9] = 0.2  # within the domain of all losses
    if weighted:
        likelihood = Weighted(likelihood, np.tile([1.0, 3.0, 0.5], 30))
    found, expected = fast_derivatives(likelihood, y, f), likelihood.derivatives(y, f)
    for name, values in vars(expected).items():
        np.testing.assert_allclose(getattr(found, name), values, rtol=1e-10, atol=1e-13, err_msg=name)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("likelihood", LOSSES, ids=NAMES)
def test_mode_is_that_of_the_same_steps_in_numpy(likelihood, weighted):
    K, y = problem(likelihood, n=60)
    K += 1e-4 * np.eye(60)  # with a condition of 1e12 the roundings of two libraries lead to different steps
    if weighted:
        likelihood = Weighted(likelihood, np.tile([1.0, 3.0, 0.5, 0.0], 15))
    solver = Newton()
    start = None
    for scale in (1.0, 30.0, 1e-3):
        found = solver.solve(scale * K, y, likelihood, warm_start=start)
        other = solver.solve_in_numpy(scale * K, y, likelihood, warm_start=start)
        assert (found.status, found.n_iter) == (other.status, other.n_iter)
        size = 1.0 + np.abs(other.f).max()
        np.testing.assert_allclose(found.f, other.f, rtol=1e-10, atol=1e-10 * size)
        np.testing.assert_allclose(found.alpha, other.alpha, rtol=1e-8, atol=1e-9)
        assert found.objective == pytest.approx(other.objective, rel=1e-10)
        start = found.f


@pytest.mark.parametrize("likelihood", [loss for loss in LOSSES if native_loss(loss).parameters], ids=str)
def test_steps_from_afar_are_those_in_numpy(likelihood):
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(-5.0, 5.0, 120))
    K, y = 40.0 * np.exp(-0.5 * (x[:, None] - x) ** 2), 3.0 * np.sin(2.0 * x) + rng.standard_t(2, 120)
    found, other = Newton().solve(K, y, likelihood), Newton().solve_in_numpy(K, y, likelihood)
    assert found.status.ok
    assert (found.status, found.n_iter) == (other.status, other.n_iter)
    np.testing.assert_allclose(found.f, other.f, rtol=1e-10, atol=1e-10)


def test_the_majorant_shortens_the_way_to_the_mode():
    """With W = 0 in the tails these modes took 20 and 31 factorisations."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-5.0, 5.0, 300))
    K, y = np.exp(-0.5 * (x[:, None] - x) ** 2), np.sin(2.0 * x) + 0.05 * rng.standard_normal(300)
    for likelihood in (lib.SoftInsensitive(30.0, 0.05), lib.SoftInsensitive(100.0, 0.02)):
        found = Newton().solve(K, y, likelihood)
        assert found.status.ok
        assert found.n_iter <= 15


def test_warm_start_where_the_loss_is_infinite_is_not_used():
    likelihood = lib.Trigonometric()
    K, y = problem(likelihood, n=30)
    solver = Newton()
    found, cold = solver.solve(K, y, likelihood, warm_start=-5.0 * y), solver.solve(K, y, likelihood)
    np.testing.assert_array_equal(found.f, cold.f)


def test_budget_is_kept():
    likelihood = lib.Logistic()
    K, y = problem(likelihood, n=30)
    found = Newton(max_iter=1).solve(100.0 * K, y, likelihood)
    assert found.n_iter == 1
    assert not found.status.ok


def test_a_subclass_with_another_loss_is_not_taken_for_its_parent():
    class Steeper(lib.Logistic):
        def profile(self, t):
            p = super().profile(2.0 * np.asarray(t))
            return type(p)(p.loss, 2.0 * p.gradient, 4.0 * p.curvature, 8.0 * p.third)

    assert native_loss(Steeper()) is None


@pytest.mark.parametrize("broken", ["negative", "not finite"])
def test_errors_name_the_matrix(broken):
    likelihood = lib.Logistic()
    K, y = problem(likelihood, n=10)
    K = -10.0 * K if broken == "negative" else np.where(np.eye(10) > 0.0, np.nan, K)
    with pytest.raises(NotPositiveDefiniteError, match=r"I \+ W\^1/2 K W\^1/2 .* \(10 x 10\)"):
        Newton().solve(K, y, likelihood)


def test_shapes_and_parameters_are_checked():
    K, y, empty = np.eye(3), np.ones(3), np.empty(0)
    with pytest.raises(ValueError, match="4 parameters"):
        mode.derivatives(mode.LossKind.SOFT_INSENSITIVE, (1.0,), y)
    for arguments in ((K, y[:2], empty, empty, empty), (K, y, y[:1], y, empty), (K, y, empty, empty, y[:2])):
        matrix, targets, weights, copies, start = arguments
        with pytest.raises(ValueError, match="expected 3 values"):
            mode.newton(matrix, targets, mode.LossKind.LOGISTIC, (), weights, copies, start, 1e-9, 10)


@pytest.mark.parametrize("tol", [1e-12, 1e-16])
def test_steps_that_change_nothing_but_rounding_end_the_search(tol):
    likelihood = Weighted(lib.SoftInsensitive(1e3, 1e-3, 1.0), np.linspace(0.4, 4.5, 10))
    K, y = problem(likelihood.likelihood, n=10)
    found, other = (solve(100.0 * K, y, likelihood) for solve in (Newton(tol).solve, Newton(tol).solve_in_numpy))
    assert found.status is other.status is Status.STALLED
    assert found.kkt < 1e-9
    assert abs(found.n_iter - other.n_iter) <= 3
