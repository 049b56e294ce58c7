"""The mode by the working set: the same as Newton's."""

import logging

import numpy as np
import pytest

from bayesvm import solvers
from bayesvm.exceptions import IncompatibleError
from bayesvm.inference import Laplace as LaplaceMethod
from bayesvm.likelihoods import (
    EpsilonInsensitive,
    GaussianNoise,
    Hinge,
    Huber,
    Laplace,
    Logistic,
    RaisedCosine,
    SoftInsensitive,
    Trigonometric,
    Weighted,
)
from bayesvm.solvers import Newton, Status
from bayesvm.solvers.auto import Auto
from bayesvm.solvers.smo import SMO
from bayesvm.testing.differences import five_point
from bayesvm.testing.solvers import check_solver, problem

SMOOTH = [
    Trigonometric(),
    SoftInsensitive(10.0, 0.1, 0.3),
    SoftInsensitive(3.0, 0.2, 1.0),
    Huber(10.0, 0.1),
    GaussianNoise(0.1),
    Weighted(Trigonometric(), np.random.default_rng(0).uniform(0.0, 2.0, 40)),
    Weighted(SoftInsensitive(5.0, 0.1, 0.5), np.random.default_rng(1).uniform(0.0, 2.0, 40)),
]


def names(likelihood):
    return type(likelihood).__name__ + " of " * (likelihood.plain is not likelihood) + type(likelihood.plain).__name__


@pytest.mark.parametrize("likelihood", SMOOTH, ids=names)
def test_mode_agrees_with_newton(likelihood):
    K, y = problem(likelihood)
    newton, smo = Newton().solve(K, y, likelihood), SMO().solve(K, y, likelihood)
    assert smo.status is Status.CONVERGED
    assert smo.kkt <= 1e-8
    assert np.allclose(smo.f, newton.f, atol=1e-7)
    assert np.isclose(smo.objective, newton.objective, rtol=1e-7, atol=1e-7)
    check_solver(SMO(), likelihood)


@pytest.mark.parametrize("likelihood", [Hinge(3.0), EpsilonInsensitive(10.0, 0.1), Laplace(5.0)], ids=names)
def test_losses_with_kinks(likelihood):
    K, y = problem(likelihood)
    result = SMO().solve(K, y, likelihood)
    assert result.status is Status.CONVERGED
    assert np.allclose(result.f, K @ result.alpha, atol=1e-10)
    rng = np.random.default_rng(0)
    for size in (1e-1, 1e-3):
        moved = result.alpha + size * rng.normal(size=y.size)
        f = K @ moved
        assert 0.5 * moved @ f + likelihood.derivatives(y, f).loss.sum() > result.objective


@pytest.mark.parametrize("likelihood", [*SMOOTH, Hinge(3.0), EpsilonInsensitive(10.0, 0.1), Laplace(5.0)], ids=names)
def test_duality_gap_is_zero(likelihood):
    """Minus the dual objective is the primal one, up to the constant of the likelihood's normalisation."""
    K, y = problem(likelihood)
    result = SMO().solve(K, y, likelihood)
    dual = likelihood.dual(y)
    flat = likelihood.derivatives(y, y * 1e6 if np.all(np.abs(y) == 1.0) else y).loss.sum()  # the least loss
    value = 0.5 * result.alpha @ K @ result.alpha + dual.value(result.alpha)
    assert np.isclose(-value, result.objective - flat, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("likelihood", [*SMOOTH, Hinge(3.0), EpsilonInsensitive(10.0, 0.1)], ids=names)
def test_dual_slope_is_the_inverse_of_the_loss_slope(likelihood):
    """h'(-loss'(f)) = -f: the dual is the conjugate of the loss."""
    y = problem(likelihood)[1]
    f = y * 0.3 if np.all(np.abs(y) == 1.0) else y - 0.1 * np.sign(y)
    d = likelihood.derivatives(y, f)
    inside = (d.curvature > 0.0) & (np.abs(d.gradient) > 0.0)
    dual = likelihood.dual(y)
    for i in np.flatnonzero(inside)[:5]:

        def h(a, i=i):
            point = np.zeros_like(y)
            point[i] = a[0]
            return dual.value(point)

        assert np.isclose(five_point(h, np.array([-d.gradient[i]]))[0], -f[i], atol=1e-6)


@pytest.mark.parametrize("likelihood", [Trigonometric(), SoftInsensitive(10.0, 0.1, 0.3)], ids=names)
@pytest.mark.parametrize("name", ["smo", "auto"])
def test_evidence_and_gradient_are_those_of_newton(likelihood, name):
    K, y = problem(likelihood)
    posterior, evidence = LaplaceMethod(solvers.from_name(name)).infer(K, y, likelihood)
    expected_posterior, expected = LaplaceMethod(solvers.from_name("newton")).infer(K, y, likelihood)
    assert np.isclose(evidence.value, expected.value, atol=1e-7)
    assert np.allclose(evidence.dK, expected.dK, atol=1e-6)
    assert np.allclose(evidence.dphi, expected.dphi, atol=1e-6)
    assert np.allclose(posterior.alpha, expected_posterior.alpha, atol=1e-6)


def test_names_of_solvers():
    with pytest.raises(ValueError, match="solver: expected one of 'newton', 'smo', 'auto', found 'simplex'"):
        solvers.from_name("simplex")


@pytest.mark.parametrize("likelihood", [RaisedCosine(), Logistic()], ids=names)
def test_likelihoods_without_a_known_dual_are_refused(likelihood):
    K, y = problem(likelihood)
    with pytest.raises(IncompatibleError, match="SMO cannot treat"):
        SMO().solve(K, y, likelihood)


def test_auto_says_what_it_took(caplog):
    likelihood = Trigonometric()
    K, y = problem(likelihood)
    with caplog.at_level(logging.INFO, logger="bayesvm.solvers.auto"):
        result = Auto().solve(K, y, likelihood)
    assert result.solver == "Newton"
    assert "mode of 40 samples by Newton" in caplog.text
    small = Auto(memory=100).solve(K, y, likelihood)
    assert small.solver == "SMO"
    assert np.allclose(small.f, result.f, atol=1e-7)


def test_auto_chooses_by_size_support_and_memory():
    chosen = {
        (n, type(likelihood).__name__, warm): type(Auto().choose(n, likelihood, warm=warm)[0])
        for n in (500, 5000, 40_000)
        for likelihood in (Trigonometric(), SoftInsensitive(), Hinge(), Logistic())
        for warm in (False, True)
    }
    assert chosen[500, "Trigonometric", False] is Newton
    assert chosen[5000, "Trigonometric", False] is SMO
    assert chosen[5000, "Trigonometric", True] is Newton
    assert chosen[5000, "SoftInsensitive", False] is Newton
    assert chosen[40_000, "SoftInsensitive", True] is SMO
    assert chosen[500, "Hinge", True] is SMO
    assert chosen[40_000, "Logistic", False] is Newton


def test_steps_that_rounding_keeps_from_the_tolerance_are_told_from_too_few():
    # two rows that are nearly the same have different labels, which count a million times
    far, near = np.array([-0.5, 0.5, 0.45]), 0.01
    x = np.array([far[0], 0.0, far[1], near])
    K = 1e5 * np.exp(-0.5 * np.subtract.outer(x, x) ** 2 / 0.25)
    y, likelihood = np.array([-1.0, 1.0, 1.0, -1.0]), Weighted(Trigonometric(), np.full(4, 1e6))
    newton = Newton().solve(K, y, likelihood)
    result = SMO(max_iter=50_000).solve(K, y, likelihood)
    assert result.status is Status.STALLED
    assert np.allclose(result.f, newton.f, atol=1e-6)
    assert SMO(max_iter=3).solve(K, y, likelihood).status is Status.MAX_ITER
