"""Landmarks, leading eigenpairs and pruning of the least-squares estimators against the complete machine."""

import dataclasses

import numpy as np
import pytest
from ls_svm_problems import random_problem

from bayesvm.inference import Exact
from bayesvm.inference.ls_svm import (
    Design,
    complete_spectrum,
    solve_direct,
)
from bayesvm.kernels import Gaussian, Inputs, Linear
from bayesvm.likelihoods import GaussianNoise
from bayesvm.models.ls_svm import (
    complete_levels,
    factored_levels,
    landmark_levels,
    leading_levels,
    prune,
    pruned_sizes,
)


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


@pytest.mark.parametrize("bias", [True, False])
def test_factors_give_what_eigenpairs_give(bias):
    X, _, y = random_problem(4, n=60)
    kernel, inputs, design = Gaussian(lengthscale=1.1), Inputs(X), Design(60, bias)
    groups = np.column_stack([y[:, 0] > 0.0, y[:, 0] <= 0.0]).astype(float)
    full = complete_levels(kernel, inputs, y, design, groups)
    part = factored_levels(kernel, inputs, y, design, groups, float(np.log(full.found.gamma)))
    np.testing.assert_allclose(part.log_evidence, full.log_evidence, rtol=1e-10)
    np.testing.assert_allclose(part.latent, full.latent, atol=1e-7)
    new = np.random.default_rng(0).normal(size=(20, X.shape[1]))
    K_s, k_ss = kernel.gram(new, X), kernel.diag(new)
    np.testing.assert_allclose(part.predictor.mean(K_s), full.predictor.mean(K_s), atol=1e-7)
    np.testing.assert_allclose(part.predictor.var(K_s, k_ss), full.predictor.var(K_s, k_ss), rtol=1e-6)
    covariances = (levels.predictor.covariance(K_s, kernel.gram(new)) for levels in (part, full))
    np.testing.assert_allclose(*covariances, atol=1e-7)


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
