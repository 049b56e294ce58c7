"""Variances, moderated outputs, landmarks, pruning and Fisher's discriminant against explicit feature spaces."""

import dataclasses

import numpy as np
import pytest
from ls_svm_problems import random_problem

from bayesvm.inference import Exact
from bayesvm.inference.ls_svm import (
    Design,
    Moderator,
    complete_spectrum,
    fisher_directions,
    level2,
    robust_weights,
    row_predictor,
    softmax_log_odds,
    solve_direct,
)
from bayesvm.kernels import Gaussian, Inputs, Linear, Polynomial
from bayesvm.likelihoods import GaussianNoise
from bayesvm.models.ls_svm import complete_levels, landmark_levels, leading_levels, prune, pruned_sizes


def features(seed=0, n=40, m=6):
    """Return an explicit feature map at training and new rows, with labels."""
    rng = np.random.default_rng(seed)
    Phi, Phi_s = rng.normal(size=(n, m)), rng.normal(size=(7, m))
    y = np.where(Phi @ rng.normal(size=m) + rng.normal(size=n) > 0.2, 1.0, -1.0)
    return Phi, Phi_s, y


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_variances_are_those_of_weight_space(bias, weighted):
    Phi, Phi_s, y = features()
    n, m = Phi.shape
    v = np.random.default_rng(5).uniform(0.5, 2.0, size=n) if weighted else np.ones(n)
    design = Design(n, bias, v if weighted else None)
    K = Phi @ Phi.T
    spectrum = complete_spectrum(K, y[:, None], design)
    found = level2(spectrum)
    groups = np.column_stack([y < 0.0, y > 0.0]).astype(float)
    predictor = row_predictor(K.__matmul__, spectrum, solve_direct(K, y[:, None], design, found.gamma), found, groups)
    # the posterior of (w, b): precision mu I + zeta sum v phi phi', with an extra column of ones for the bias
    extended = np.column_stack([Phi, np.ones(n)]) if bias else Phi
    precision = found.zeta * extended.T @ (v[:, None] * extended)
    precision[:m, :m] += found.mu * np.eye(m)
    covariance = np.linalg.inv(precision)
    mean = found.zeta * covariance @ extended.T @ (v * y)
    new = np.column_stack([Phi_s, np.ones(7)]) if bias else Phi_s
    K_s, k_ss = Phi_s @ Phi.T, np.sum(Phi_s**2, axis=1)
    np.testing.assert_allclose(predictor.mean(K_s)[:, 0], new @ mean, atol=1e-9)
    np.testing.assert_allclose(predictor.var(K_s, k_ss), np.einsum("ij,jk,ik->i", new, covariance, new), rtol=1e-8)
    np.testing.assert_allclose(predictor.covariance(K_s, Phi_s @ Phi_s.T), new @ covariance @ new.T, atol=1e-10)
    # (3.10) and (3.11): distances to the class centres
    for c, side in enumerate((y < 0.0, y > 0.0)):
        delta = Phi_s - np.average(Phi[side], axis=0, weights=v[side])
        expected = np.einsum("ij,jk,ik->i", delta, covariance[:m, :m], delta)
        mixture = np.eye(2)[:, [c]]
        np.testing.assert_allclose(predictor.spreads(K_s, k_ss, mixture)[:, 0], expected, rtol=1e-7)


def test_variance_of_the_class_distance_is_the_printed_formula():
    Phi, Phi_s, y = features(1)
    n = len(Phi)
    K, K_s, k_ss = Phi @ Phi.T, Phi_s @ Phi.T, np.sum(Phi_s**2, axis=1)
    spectrum = complete_spectrum(K, y[:, None], Design(n))
    found = level2(spectrum)
    first = solve_direct(K, y[:, None], Design(n), found.gamma)
    groups = np.column_stack([y < 0.0, y > 0.0]).astype(float)
    predictor = row_predictor(K.__matmul__, spectrum, first, found, groups)
    M = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(M @ K @ M)
    keep = values > 1e-8
    D, U = values[keep], vectors[:, keep] / np.sqrt(values[keep])
    plus = y > 0.0
    count = plus.sum()
    theta = K_s - K[plus].mean(axis=0)
    inner = 1.0 / found.mu - 1.0 / (found.mu + found.zeta * D)
    expected = (
        k_ss / found.mu
        - 2.0 / (found.mu * count) * K_s[:, plus].sum(axis=1)
        + K[np.ix_(plus, plus)].sum() / (found.mu * count**2)
        - ((theta @ M @ U) ** 2) @ inner
    )
    np.testing.assert_allclose(predictor.spreads(K_s, k_ss, np.array([[0.0], [1.0]]))[:, 0], expected, rtol=1e-8)


def test_moderated_odds_are_bayes_rule_of_two_gaussians():
    Phi, Phi_s, y = features(2)
    n = len(Phi)
    K, K_s, k_ss = Phi @ Phi.T, Phi_s @ Phi.T, np.sum(Phi_s**2, axis=1)
    spectrum = complete_spectrum(K, y[:, None], Design(n))
    found = level2(spectrum)
    first = solve_direct(K, y[:, None], Design(n), found.gamma)
    groups = np.column_stack([y < 0.0, y > 0.0]).astype(float)
    predictor = row_predictor(K.__matmul__, spectrum, first, found, groups)
    positive = np.array([[0.0], [1.0]])
    moderator = Moderator.of(first.latent, groups, np.ones(n), positive, found.gamma_eff)
    mean, spreads = predictor.mean(K_s), predictor.spreads(K_s, k_ss, moderator.mixtures)
    odds = moderator.log_odds(mean, spreads)[:, 0]

    z = K @ first.alpha[:, 0]
    plus = y > 0.0
    error = z - np.where(plus, z[plus].mean(), z[~plus].mean())
    noise = np.sum(error**2) / (n - found.gamma_eff)
    z_s = K_s @ first.alpha[:, 0]

    def density(centre, var):
        return np.exp(-0.5 * (z_s - centre) ** 2 / (noise + var)) / np.sqrt(noise + var)

    expected = plus.mean() * density(z[plus].mean(), spreads[:, 0])
    expected /= (1.0 - plus.mean()) * density(z[~plus].mean(), spreads[:, 1])
    np.testing.assert_allclose(odds, np.log(expected), atol=1e-9)
    var = predictor.var(K_s, k_ss)
    np.testing.assert_allclose(softmax_log_odds(mean, var)[:, 0], mean[:, 0] / np.sqrt(1.0 + np.pi * var / 8.0))


def test_without_bias_prediction_is_gaussian_process_regression():
    X, _, y = random_problem(3, n=50)
    kernel = Gaussian(lengthscale=1.2)
    inputs = Inputs(X)
    levels = complete_levels(kernel, inputs, y, Design(50, bias=False), np.ones((50, 1)))
    new = np.random.default_rng(0).normal(size=(9, X.shape[1])) * 2.0
    K_s, k_ss = kernel.gram(new, X), kernel.diag(new)
    posterior, _ = Exact().infer(kernel.gram(X) / levels.found.mu, y[:, 0], GaussianNoise(1.0 / levels.found.zeta))
    mu = levels.found.mu
    np.testing.assert_allclose(levels.predictor.mean(K_s)[:, 0], posterior.mean(K_s / mu), atol=1e-9)
    np.testing.assert_allclose(levels.predictor.var(K_s, k_ss), posterior.var(K_s / mu, k_ss / mu), rtol=1e-7)


@pytest.mark.parametrize("k", [5, 15, 40])
def test_truncation_never_understates_variances(k):
    X, _, y = random_problem(5, n=80)
    kernel, inputs, groups = Gaussian(lengthscale=0.8), Inputs(X), np.ones((80, 1))
    design = Design(80)
    full = complete_levels(kernel, inputs, y, design, groups)
    new = np.random.default_rng(0).normal(size=(200, X.shape[1])) * 1.5
    K_s, k_ss = kernel.gram(new, X), kernel.diag(new)
    part = leading_levels(kernel, inputs, y, design, groups, k, np.random.default_rng(0))
    # at the same gamma and mu
    exact = full.predictor
    gamma, mu = part.found.gamma, part.found.mu
    spectrum = complete_spectrum(kernel.gram(X), y, design)
    reference = dataclasses.replace(exact, gain=gamma / (1.0 + gamma * spectrum.values), mu=mu, zeta=part.found.zeta)
    truth, found = reference.var(K_s, k_ss), part.predictor.var(K_s, k_ss)
    assert np.all(found >= truth * (1.0 - 1e-9))
    excess = part.approximation.variance_excess
    centre = reference.spreads(K_s, k_ss, exact.centre[:, None])[:, 0]
    assert 0.0 < excess < 1.0
    prior = (k_ss - 2.0 * K_s.mean(axis=1) + kernel.gram(X).mean()) / mu
    assert np.all(found - truth <= excess * prior + 1e-9)
    assert np.all(centre >= 0.0)
    assert part.approximation.solve_residual < 1e-5


@pytest.mark.parametrize("bias", [False, True])
def test_all_rows_as_landmarks_give_the_complete_machine(bias):
    X, _, y = random_problem(9, n=40)
    kernel, inputs = Gaussian(lengthscale=0.5), Inputs(X)
    groups = np.eye(2)[(X[:, 0] > 0.0).astype(int)]
    weights = np.random.default_rng(3).uniform(0.5, 2.0, size=40)
    design = Design(40, bias, weights)
    full = complete_levels(kernel, inputs, y, design, groups)
    marks = landmark_levels(kernel, inputs, y, design, groups, np.arange(40))
    np.testing.assert_allclose(marks.log_evidence, full.log_evidence, rtol=1e-6)
    np.testing.assert_allclose(marks.latent, full.latent, atol=1e-6)
    new = np.random.default_rng(0).normal(size=(20, X.shape[1]))
    K_s, k_ss = kernel.gram(new, X), kernel.diag(new)
    np.testing.assert_allclose(marks.predictor.mean(K_s), full.predictor.mean(K_s), atol=1e-5)
    np.testing.assert_allclose(marks.predictor.var(K_s, k_ss), full.predictor.var(K_s, k_ss), rtol=1e-4)
    mixtures = np.array([[1.0, 0.3], [0.0, 0.7]])
    np.testing.assert_allclose(
        marks.predictor.spreads(K_s, k_ss, mixtures), full.predictor.spreads(K_s, k_ss, mixtures), rtol=1e-4
    )


def test_landmarks_in_the_span_of_a_linear_kernel_lose_nothing():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    y = X[:, :1] + 0.3 * rng.normal(size=(60, 1))
    inputs, groups = Inputs(X), np.ones((60, 1))
    full = complete_levels(Linear(), inputs, y, Design(60), groups)
    marks = landmark_levels(Linear(), inputs, y, Design(60), groups, np.arange(5))
    assert marks.approximation.left_out < 1e-6
    np.testing.assert_allclose(marks.log_evidence, full.log_evidence, atol=1e-4)
    np.testing.assert_allclose(marks.latent, full.latent, atol=1e-5)


def test_pruning_keeps_large_support_values_and_reports_the_curve():
    assert pruned_sizes(100, 50)[-1] == 50
    assert pruned_sizes(10, 10) == []
    assert pruned_sizes(5, 1) == [4, 3, 2, 1]
    X, _, y = random_problem(4, n=50)
    kernel, inputs, design = Gaussian(), Inputs(X), Design(50)
    seen = []

    def visit(rows):
        seen.append(rows)
        return -float(rows.size)

    kept, curve = prune(kernel, inputs, y, design, 2.0, 20, visit)
    assert kept.size == 20
    assert [size for size, _ in curve] == pruned_sizes(50, 20)
    assert [value for _, value in curve] == [-float(size) for size, _ in curve]
    first = solve_direct(kernel.gram(X), y, design, 2.0)
    out = np.setdiff1d(np.arange(50), seen[0])
    assert np.max(np.abs(first.alpha[out])) <= np.min(np.abs(first.alpha[seen[0]]))
    assert set(seen[-1]) <= set(seen[0])


@pytest.mark.parametrize("weighted", [False, True])
def test_fisher_direction_is_that_of_the_least_squares_machine(weighted):
    X, _, _ = random_problem(2, n=60)
    y = np.where(np.random.default_rng(0).random(60) + X[:, 0] > 0.6, 1.0, -1.0)
    K = Polynomial(2).gram(X)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=60) if weighted else None
    groups = np.column_stack([y < 0.0, y > 0.0]).astype(float)
    fisher = fisher_directions(K, groups, weights, 0.7, 1)
    alpha = solve_direct(K, y[:, None], Design(60, True, weights), 0.7).alpha[:, 0]
    direction = fisher.alpha[:, 0]
    cosine = direction @ alpha / np.sqrt((direction @ direction) * (alpha @ alpha))
    np.testing.assert_allclose(abs(cosine), 1.0, atol=1e-12)


def test_fisher_directions_solve_the_eigenproblem_in_feature_space():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 3, size=70)
    Phi = rng.normal(size=(70, 5)) + 1.5 * np.eye(3, 5)[codes]
    gamma = 0.4
    fisher = fisher_directions(Phi @ Phi.T, np.eye(3)[codes], None, gamma, 2)
    W = Phi.T @ fisher.alpha
    centre = Phi.mean(axis=0)
    means = np.stack([Phi[codes == c].mean(axis=0) for c in range(3)])
    between = sum((codes == c).sum() * np.outer(m - centre, m - centre) for c, m in enumerate(means))
    within = (Phi - means[codes]).T @ (Phi - means[codes]) + np.eye(5) / gamma
    ratios = np.linalg.eigvals(np.linalg.solve(within + between, between)).real
    np.testing.assert_allclose(np.sort(ratios)[::-1][:2], fisher.ratio, atol=1e-10)
    np.testing.assert_allclose(W.T @ within @ W, (70 - 3) * np.eye(2), atol=1e-8)
    np.testing.assert_allclose((means - centre) @ W, fisher.centres, atol=1e-9)
    residual = between @ W - within @ W * (fisher.ratio / (1.0 - fisher.ratio))
    np.testing.assert_allclose(residual, 0.0, atol=1e-8)


def test_robust_weights_leave_the_bulk_alone():
    e = np.concatenate([np.linspace(-1.0, 1.0, 41), [50.0]])[:, None]
    weights = robust_weights(e)
    assert np.all(weights[:-1] == 1.0)
    assert weights[-1] == pytest.approx(1e-4)
    assert np.all(robust_weights(np.zeros((5, 2))) == 1.0)
