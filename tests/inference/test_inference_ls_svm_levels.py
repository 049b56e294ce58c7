"""The three levels against the formulas of the paper, differences and identities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ls_svm_problems import level2_by_search, level2_cost, random_problem, saddle_solution

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper.ls_svm import JointObjective, LevelsObjective
from bayesvm.inference import Exact
from bayesvm.inference.ls_svm import (
    Design,
    complete_spectrum,
    joint_evidence,
    leading_spectrum,
    level2,
    level2_at,
    level2_terms,
    level3,
    log_evidence,
    relative_range,
    solve_direct,
    solve_iterative,
    solve_spectral,
)
from bayesvm.kernels import Gaussian, Inputs, Linear, Polynomial
from bayesvm.likelihoods import GaussianNoise
from bayesvm.testing.differences import five_point, relative_error


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


@pytest.mark.parametrize("seed", range(0, 20))
def test_level_two_finds_the_best_optimum(seed):
    _, K, y = random_problem(seed)
    found = level2(complete_spectrum(K, y, Design(len(K))))
    gamma, cost, inside = level2_by_search(K, y[:, 0])
    if inside:
        assert level2_cost(K, y[:, 0], found.gamma) <= cost + 1e-9
        if abs(np.log(found.gamma / gamma)) < 1.0:
            np.testing.assert_allclose(np.log(found.gamma), np.log(gamma), atol=1e-4)
    if found.inside:  # the relations of section 4.1
        n = len(K)
        np.testing.assert_allclose(2.0 * found.mu * found.E_W, found.gamma_eff - 1.0, rtol=1e-8)
        np.testing.assert_allclose(2.0 * found.zeta * found.E_D, n - found.gamma_eff, rtol=1e-8)
        ratio = (n - found.gamma_eff) / (found.gamma_eff - 1.0) * found.E_W / found.E_D
        np.testing.assert_allclose(found.gamma, ratio, rtol=1e-8)  # (4.10)
        assert found.curvature <= 0.0


def test_level_two_compares_several_optima():
    # Large eigenvalues that carry the targets at one scale, and small ones at another: two optima in gamma.
    counts = [
        level2(complete_spectrum(*random_problem(seed)[1:], Design(len(random_problem(seed)[1])))).starts
        for seed in range(30)
    ]
    assert min(counts) >= 1
    K = np.diag(np.concatenate([np.full(20, 100.0), np.full(20, 1e-3)]))
    y = np.concatenate([np.tile([1.0, -1.0], 10) * 0.3, np.tile([1.0, -1.0], 10) * 0.02])[:, None]
    spectrum = complete_spectrum(K, y, Design(40))
    found = level2(spectrum)
    grid = level2_terms(spectrum, np.linspace(-8.0, 14.0, 2000))[0]
    assert found.value >= np.max(grid) - 1e-9


def test_level_three_is_the_printed_formula():
    _, K, y = random_problem(4)
    n = len(K)
    spectrum, found, evidence = level3(K, y, Design(n))
    M = np.eye(n) - 1.0 / n
    eigenvalues = np.sort(np.linalg.eigvalsh(M @ K @ M))[::-1][: n - 1]
    expected = 0.5 * (
        (n - 1) * np.log(found.mu)
        + (n - 1) * np.log(found.zeta)
        - np.log(found.gamma_eff - 1.0)
        - np.log(n - found.gamma_eff)
        - np.sum(np.log(found.mu + found.zeta * np.maximum(eigenvalues, 0.0)))
    )
    np.testing.assert_allclose(evidence.value, expected, rtol=1e-9)
    np.testing.assert_allclose(evidence.value, sum(evidence.terms.values()), rtol=1e-12)
    np.testing.assert_allclose(evidence.value, log_evidence(spectrum, found), rtol=1e-12)


def test_evidence_ignores_the_scale_of_the_kernel():
    _, K, y = random_problem(7)
    design = Design(len(K))
    (_, a, one), (_, b, other) = level3(K, y, design), level3(250.0 * K, y, design)
    np.testing.assert_allclose(one.value, other.value, rtol=1e-10)
    np.testing.assert_allclose([a.zeta, a.gamma_eff], [b.zeta, b.gamma_eff], rtol=1e-8)
    np.testing.assert_allclose(np.sum(one.dK * K), 0.0, atol=1e-7)


KERNELS = {
    "gaussian": Gaussian(lengthscale=1.3),
    "ard": Gaussian(lengthscale=(0.9, 1.4, 2.0), ard=True),
    "linear": Linear(ard=True, variance=(0.5, 1.0, 2.0)),
    "sum": Gaussian(0.7, 1.1) + Linear(0.3),
    "polynomial": Polynomial(2),
}


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_gradient_of_level_three(kernel, bias, weighted, outputs):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3))
    y = np.sin(X @ rng.normal(size=(3, outputs))) + 0.3 * rng.normal(size=(40, outputs))
    design = Design(40, bias, rng.uniform(0.3, 1.5, size=40) if weighted else None)
    objective = LevelsObjective(kernel, Inputs(X), y, design)
    theta = objective.theta0
    slopes = five_point(lambda t: objective.evaluate(t).value, theta, step=1e-3)
    assert relative_error(objective.evaluate(theta).gradient, slopes) < 1e-6
    joint = JointObjective(objective)
    theta = np.append(theta, 1.2)
    slopes = five_point(lambda t: joint.evaluate(t).value, theta, step=1e-3)
    assert relative_error(joint.evaluate(theta).gradient, slopes) < 1e-6


@pytest.mark.parametrize("signal", [False, True])
def test_gradient_of_level_three_at_the_ends_of_the_range(signal):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = (np.sin(X[:, :1]) if signal else np.where(rng.random((30, 1)) < 0.5, 1.0, -1.0)) * 1.0
    objective = LevelsObjective(
        Gaussian(lengthscale=3.0 if signal else 8.0), Inputs(X), y, Design(30, least_noise=1e-3)
    )
    theta = objective.theta0
    assert not objective.evaluate(theta).found.inside
    slopes = five_point(lambda t: objective.evaluate(t).value, theta, step=1e-3)
    assert relative_error(objective.evaluate(theta).gradient, slopes) < 1e-6


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.integers(1, 2))
def test_joint_evidence_touches_level_two(seed, bias, outputs):
    _, K, y = random_problem(seed, n=20, outputs=outputs)
    design = Design(20, bias)
    spectrum = complete_spectrum(K, y, design)
    low, high = relative_range(design)
    relative = np.random.default_rng(seed).uniform(max(low, -4.0), min(high, 6.0))
    log_gamma = relative - np.log(spectrum.trace / design.freedom)
    at = level2_at(spectrum, log_gamma)
    found = joint_evidence(K, y, design, relative)
    qF = outputs * design.freedom
    np.testing.assert_allclose(found.value, at.value + 0.5 * qF * np.log(qF), atol=1e-7)
    np.testing.assert_allclose(found.dphi[0], at.slope, atol=1e-6)


@pytest.mark.parametrize("bias", [False, True])
def test_weights_are_counts(bias):
    _, K, y = random_problem(11, n=18)
    counts = np.random.default_rng(0).integers(1, 4, size=18)
    rows = np.repeat(np.arange(18), counts)
    weighted = level3(K, y, Design(18, bias, counts.astype(float)))
    repeated = level3(K[np.ix_(rows, rows)], y[rows], Design(rows.size, bias))
    np.testing.assert_allclose(weighted[2].value, repeated[2].value, rtol=1e-8)
    for name in ("gamma", "mu", "zeta", "gamma_eff", "E_W", "E_D"):
        np.testing.assert_allclose(getattr(weighted[1], name), getattr(repeated[1], name), rtol=1e-6)
    gamma = weighted[1].gamma
    one = solve_direct(K, y, Design(18, bias, counts.astype(float)), gamma)
    other = solve_direct(K[np.ix_(rows, rows)], y[rows], Design(rows.size, bias), gamma)
    np.testing.assert_allclose(one.latent[rows], other.latent, atol=1e-8)


def test_without_bias_level_two_is_gaussian_process_regression():
    _, K, y = random_problem(13)
    n = len(K)
    spectrum = complete_spectrum(K, y, Design(n, bias=False))
    values = []
    for log_gamma in (-1.0, 0.5, 2.0):
        at = level2_at(spectrum, log_gamma)
        _, evidence = Exact().infer(K / at.mu, y[:, 0], GaussianNoise(1.0 / at.zeta))
        values.append(evidence.value - at.value)
        first = solve_spectral(K.__matmul__, spectrum, y, at.gamma)
        np.testing.assert_allclose(first.latent[:, 0], evidence.latent, atol=1e-9)
    np.testing.assert_allclose(values, values[0], atol=1e-8)  # the same up to a constant


@pytest.mark.parametrize("case", ["duplicated rows", "linear", "constant"])
def test_singular_gram_is_no_special_case(case):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 2))
    if case == "duplicated rows":
        X[20:] = X[:20]
    kernel = {"linear": Linear(), "constant": Gaussian(lengthscale=1e9)}.get(case, Gaussian())
    y = X[:, :1] + 0.5 * rng.normal(size=(40, 1))
    objective = LevelsObjective(kernel, Inputs(X), y, Design(40))
    result = objective.evaluate(objective.theta0)
    assert np.isfinite(result.value)
    assert np.all(np.isfinite(result.gradient))
    smooth = [objective.evaluate(objective.theta0 + t).value for t in np.linspace(-0.1, 0.1, 21)]
    assert np.max(np.abs(np.diff(smooth, 2))) < 0.1
    joint = JointObjective(objective).evaluate(np.append(objective.theta0, 0.0))
    assert np.isfinite(joint.value)


def test_indefinite_gram_is_refused():
    K = np.diag([1.0, 1.0, -1.0, 1.0])
    with pytest.raises(NotPositiveDefiniteError, match="eigenvalues reach from"):
        complete_spectrum(K, np.ones((4, 1)), Design(4))


def test_weights_must_exceed_one_row():
    with pytest.raises(ValueError, match="sum to more than 1"):
        Design(3, True, np.full(3, 0.2))


@pytest.mark.parametrize("weighted", [False, True])
def test_leading_pairs_and_conjugate_gradients(weighted):
    _, K, y = random_problem(21, n=150, outputs=2)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=150) if weighted else None
    design = Design(150, True, weights)
    complete = complete_spectrum(K, y, design)
    spectrum = leading_spectrum(K.__matmul__, complete.trace, y, design, 30, np.random.default_rng(0))
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
