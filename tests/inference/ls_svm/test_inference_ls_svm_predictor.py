"""The posterior at new points against weight space."""

import numpy as np
import pytest
from ls_svm_problems import features

from bayesvm.inference.ls_svm import (
    Design,
    FeatureSums,
    complete_spectrum,
    feature_predictor,
    feature_spectrum,
    group_weights,
    level2,
    row_predictor,
    solve_direct,
)
from bayesvm.linalg import cholesky


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


def test_distances_that_are_rounding_are_zero():
    y = np.where(np.arange(20) % 3 > 0, 1.0, -1.0)
    K, design, groups = np.full((20, 20), 0.7), Design(20), np.column_stack([y < 0.0, y > 0.0]).astype(float)
    spectrum = complete_spectrum(K, y[:, None], design)
    found = level2(spectrum)
    first = solve_direct(K, y[:, None], design, found.gamma)
    predictor = row_predictor(K.__matmul__, spectrum, first, found, groups)
    spreads = predictor.spreads(K[:4], np.full(4, 0.7), np.array([[1.0, 0.0, 0.3], [0.0, 1.0, 0.7]]))
    np.testing.assert_array_equal(spreads, 0.0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_landmarks_that_span_all_features_are_the_machine_of_all_rows(bias, weighted):
    Phi, Phi_s, y = features()
    n, m = Phi.shape
    v = np.random.default_rng(5).uniform(0.5, 2.0, size=n) if weighted else np.ones(n)
    design, K = Design(n, bias, v if weighted else None), Phi @ Phi.T
    groups = np.column_stack([y < 0.0, y > 0.0]).astype(float)
    spectrum = complete_spectrum(K, y[:, None], design)
    found = level2(spectrum)
    rows = row_predictor(K.__matmul__, spectrum, solve_direct(K, y[:, None], design, found.gamma), found, groups)
    factor = cholesky(Phi[:m] @ Phi[:m].T)
    phi = factor.half_solve(Phi[:m] @ Phi.T).T
    mean, y_mean = np.average(phi, axis=0, weights=v), np.average(y[:, None], axis=0, weights=v)
    sums = FeatureSums(phi.T @ (v[:, None] * phi), mean, phi.T @ (v * y)[:, None], y_mean, float(v @ y**2))
    small, coordinates = feature_spectrum(sums, design)
    second, (averages, totals) = level2(small), group_weights(groups, v)
    landmarks = feature_predictor(factor, small, coordinates, second, phi.T @ averages, totals, mean, y_mean)
    assert second.gamma == pytest.approx(found.gamma, rel=1e-6)
    K_s, K_m, k_ss = Phi_s @ Phi.T, Phi_s @ Phi[:m].T, np.sum(Phi_s**2, axis=1)
    np.testing.assert_allclose(landmarks.mean(K_m), rows.mean(K_s), atol=1e-6)
    np.testing.assert_allclose(landmarks.var(K_m, k_ss), rows.var(K_s, k_ss), rtol=1e-5)
    for mixture in (np.eye(2)[:, [0]], np.eye(2)[:, [1]]):
        np.testing.assert_allclose(landmarks.spreads(K_m, k_ss, mixture), rows.spreads(K_s, k_ss, mixture), rtol=1e-5)
