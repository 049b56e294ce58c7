"""Coefficients and bias against the linear system of the paper, directly, by eigenpairs and by iteration."""

import numpy as np
import pytest
from ls_svm_problems import level2_cost, random_problem, saddle_solution

from bayesvm.inference.ls_svm import (
    Design,
    complete_spectrum,
    leading_spectrum,
    level2,
    level2_terms,
    solve_direct,
    solve_iterative,
    solve_spectral,
)
from bayesvm.inference.ls_svm.level1 import _spectral


@pytest.mark.parametrize("seed", range(50))
def test_levels_one_and_two_agree_with_direct_formulas(seed):
    _, K, y = random_problem(seed)
    n = len(K)
    design = Design(n)
    spectrum = complete_spectrum(K, y, design)
    found = level2(spectrum)
    first = solve_spectral(K.__matmul__, spectrum, y, found.gamma)
    alpha, b = saddle_solution(K, y[:, 0], found.gamma)
    scale = np.max(np.abs(alpha))
    np.testing.assert_allclose(first.alpha[:, 0], alpha, atol=1e-9 * scale)
    np.testing.assert_allclose(first.bias[0], b, atol=1e-9)
    direct = solve_direct(K, y, design, found.gamma)
    np.testing.assert_allclose(direct.alpha, first.alpha, atol=1e-9 * scale)
    assert max(first.residual, direct.residual) < 1e-9
    np.testing.assert_allclose(np.sum(y - first.latent), 0.0, atol=1e-9 * n)  # errors have zero mean

    # E_W and E_D both ways, and the sum (4.13)
    noise = first.alpha / found.gamma  # e_i, end of section 4.2
    E_W, E_D = 0.5 * np.sum(first.alpha * (y - noise - first.bias)), 0.5 * np.sum(noise**2)
    np.testing.assert_allclose([E_W, E_D], [found.E_W, found.E_D], rtol=1e-8, atol=1e-12)
    M = np.eye(n) - 1.0 / n
    quadratic = 0.5 * y[:, 0] @ M @ np.linalg.solve(M @ K @ M + np.eye(n) / found.gamma, M @ y[:, 0])
    np.testing.assert_allclose(found.E_W + found.gamma * found.E_D, quadratic, rtol=1e-9)

    # J_4 up to a constant, at any gamma
    gammas = np.exp(np.array([-2.0, 0.5, 2.0]))
    ours = -2.0 * level2_terms(spectrum, np.log(gammas))[0]
    theirs = np.array([level2_cost(K, y[:, 0], g) for g in gammas])
    np.testing.assert_allclose(np.diff(ours), np.diff(theirs), atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_leading_pairs_and_conjugate_gradients(weighted):
    _, K, y = random_problem(21, n=150, outputs=2)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=150) if weighted else None
    design = Design(150, True, weights)
    complete = complete_spectrum(K, y, design)
    spectrum = leading_spectrum(K.__matmul__, complete.trace, complete.whole, y, design, 30, np.random.default_rng(0))
    assert np.all(spectrum.values <= complete.values[:30] * (1.0 + 1e-10))
    np.testing.assert_allclose(
        np.sum(spectrum.power) + spectrum.rest, np.sum(complete.power), rtol=1e-10
    )  # nothing of the targets is lost
    assert spectrum.largest_left_out >= complete.values[30] - 1e-8
    np.testing.assert_allclose(spectrum.left_out, complete.trace - np.sum(spectrum.values), rtol=1e-9)
    iterative = solve_iterative(K.__matmul__, spectrum, y, 3.0, tol=1e-11)
    exact = solve_direct(K, y, design, 3.0)
    assert iterative.status.ok
    assert iterative.residual < 1e-9
    np.testing.assert_allclose(iterative.alpha, exact.alpha, atol=1e-7)
    np.testing.assert_allclose(iterative.bias, exact.bias, atol=1e-7)
    stopped = solve_iterative(K.__matmul__, spectrum, y, 1e6, tol=1e-14, max_iter=2)
    assert not stopped.status.ok


def test_a_kernel_that_is_constant_over_the_rows_leaves_the_bias_alone():
    rng = np.random.default_rng(5)
    K, y, design = np.full((40, 40), 2.0), rng.normal(size=(40, 1)), Design(40)
    spectrum = leading_spectrum(K.__matmul__, 1e-14, 80.0, y, design, 3, rng)
    assert spectrum.trace == 0.0
    np.testing.assert_array_equal(spectrum.values, 0.0)
    found = level2(spectrum)
    first = solve_iterative(K.__matmul__, spectrum, y, found.gamma)
    assert first.status.ok
    assert first.residual < 1e-6
    np.testing.assert_allclose(first.latent, np.mean(y), atol=1e-2)


def test_pairs_that_hold_the_whole_matrix_leave_nothing_to_iterate():
    X = np.random.default_rng(0).normal(size=(150, 5))
    y, design = X[:, :1] + np.random.default_rng(1).normal(size=(150, 1)), Design(150)
    K = X @ X.T
    trace = complete_spectrum(K, y, design).trace
    spectrum = leading_spectrum(K.__matmul__, trace, np.trace(K), y, design, 10, np.random.default_rng(0))
    start = _spectral(spectrum, y, 0.7)  # where the iteration begins; outside of the pairs it counts on zeros
    M = np.eye(150) - 1.0 / 150
    np.testing.assert_allclose(start, np.linalg.solve(M @ K @ M + np.eye(150) / 0.7, M @ y), atol=1e-6)
