"""Posteriors on few rows: the projection against dense formulas, the choice of rows, and the bounds."""

from __future__ import annotations

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm.inference import EP, Exact, Laplace, Posterior, basis_fit, leave_one_out, reduction
from bayesvm.inference.basis_fit import RIDGE
from bayesvm.inference.reduction import reduce_posteriors
from bayesvm.linalg import SignedFactor

TOL = 0.02


def gram(X, Z, scale=1.0):
    """Return the Gram matrix of a Gaussian kernel plus a constant."""
    return 2.0 * np.exp(-0.5 * ((X[:, None] - Z[None]) ** 2).sum(axis=2) / scale**2) + 1.0


@pytest.fixture(scope="module")
def inputs():
    rng = np.random.default_rng(0)
    return rng.normal(size=(150, 2)), rng.uniform(-5.0, 5.0, size=(400, 2))


def labels(X):
    return np.where(X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.3 * np.cos(7.0 * X[:, 0]) > 0.0, 1.0, -1.0)


def inferred(name, X):
    """Return posterior and marginals by some method."""
    K, y = gram(X, X), labels(X)
    if name == "negative curvatures":
        posterior = Posterior.of(0.1 * y, SignedFactor.of(K, np.where(np.arange(y.size) % 10, 0.3, -0.02)))
        return K, posterior, leave_one_out(K, posterior).var
    method, likelihood, targets = {
        "ep": (EP(), lib.Trigonometric(), y),
        "laplace": (Laplace(), lib.Logistic(), y),
        "exact": (Exact(), lib.GaussianNoise(0.1), np.sin(X[:, 0]) + 0.2 * X[:, 1]),
    }[name]
    posterior, _ = method.infer(K, targets, likelihood)
    return K, posterior, leave_one_out(K, posterior).var


METHODS = ["ep", "laplace", "exact", "negative curvatures"]


def nearest(K, B, m, var, weights):
    """Return mean coefficients and share of the basis' covariance by dense least squares, without any factor of Phi."""
    inverse = np.linalg.inv(K[np.ix_(B, B)])
    P = K[:, B] @ inverse
    lacking, scale = m - P @ m[B], np.sqrt(weights / var)
    root = np.linalg.cholesky(K[np.ix_(B, B)])
    rows = np.vstack([scale[:, None] * K[:, B], np.sqrt(RIDGE) * root.T])  # |delta|^2 is the squared norm of a function
    change = np.linalg.lstsq(rows, np.concatenate([scale * lacking, np.zeros(B.size)]), rcond=None)[0]
    return inverse @ m[B] + change


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_mean_and_variance_on_the_basis_are_those_nearest_to_the_training_rows(name, weighted, inputs):
    X, Z = inputs
    K, posterior, var = inferred(name, X)
    weights = np.random.default_rng(1).uniform(0.5, 3.0, len(X)) if weighted else np.ones(len(X))
    (reduced,), reduction = reduce_posteriors(K, [posterior], [var], TOL, weights=weights if weighted else None)
    B = reduction.basis
    assert B.size < posterior.support.size / 2
    np.testing.assert_array_equal(reduced.support, B)
    full = K[:, posterior.support]
    m, S = posterior.mean(full), posterior.covariance(full, K)[np.ix_(B, B)]
    inverse = np.linalg.inv(K[np.ix_(B, B)])
    K_s, prior = gram(Z, X[B]), gram(Z, Z)
    np.testing.assert_allclose(reduced.mean(K_s), K_s @ nearest(K, B, m, var, weights), atol=1e-6)
    # the covariance of the basis is scaled by the number that brings the training rows' variances nearest
    P, Q = K_s @ inverse, K[:, B] @ inverse
    inside = np.einsum("ij,jk,ik->i", Q, S, Q)
    scale, left = np.sqrt(weights) / var, np.diagonal(K) - np.einsum("ij,ij->i", Q, K[:, B])
    share = np.linalg.lstsq((scale * inside)[:, None], scale * (var - left), rcond=None)[0][0]
    expected = prior - P @ K_s.T + min(share, 1.0) * (P @ S @ P.T)
    np.testing.assert_allclose(reduced.covariance(K_s, prior), expected, atol=1e-6)
    np.testing.assert_allclose(reduced.var(K_s, np.diagonal(prior)), np.diagonal(expected), atol=1e-6)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("tol", [0.2, 0.02, 1e-3])
def test_no_training_row_changes_by_more_than_the_tolerance(name, tol, inputs):
    K, posterior, var = inferred(name, inputs[0])
    (reduced,), reduction = reduce_posteriors(K, [posterior], [var], tol)
    full, few = K[:, posterior.support], K[:, reduced.support]
    mean = np.abs(reduced.mean(few) - posterior.mean(full)) / np.sqrt(var)
    std = np.abs(np.sqrt(reduced.var(few, np.diagonal(K)) / var) - 1.0)
    worst = max(mean.max(), std.max())
    assert reduction.error == pytest.approx(worst, abs=1e-9)
    assert worst <= 1.01 * tol
    assert reduction.tol == tol


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("tol", [0.5, 0.02])
def test_the_bound_of_the_mean_holds_everywhere(name, tol, inputs):
    X, Z = inputs
    K, posterior, var = inferred(name, X)
    (reduced,), reduction = reduce_posteriors(K, [posterior], [var], tol)
    for points in (X, Z):
        prior = np.full(len(points), 3.0)
        few = gram(points, X[reduced.support])
        change = np.abs(reduced.mean(few) - posterior.mean(gram(points, X[posterior.support])))
        assert np.all(change <= reduction.mean_bound * np.sqrt(reduced.var(few, prior)) + 1e-9)


def test_the_fit_needs_fewer_rows_than_the_projection(inputs):
    """With one row less the projection alone, which is exact at its rows, would not be good enough long before."""
    K, posterior, var = inferred("ep", inputs[0])
    _, reduction = reduce_posteriors(K, [posterior], [var], TOL)
    B, full = reduction.basis, K[:, posterior.support]
    inverse = np.linalg.inv(K[np.ix_(B, B)])
    change = posterior.mean(full) - K[:, B] @ (inverse @ posterior.mean(full)[B])
    S = posterior.covariance(full, K)[np.ix_(B, B)]
    explained = np.einsum("ij,jk,ik->i", K[:, B] @ inverse, K[np.ix_(B, B)] - S, K[:, B] @ inverse)
    inflated = np.sqrt((np.diagonal(K) - explained) / var) - 1.0
    assert max(np.max(np.abs(change) / np.sqrt(var)), np.max(inflated)) > 1.1 * TOL >= 1.1 * reduction.error


def test_weights_count_as_repetitions(inputs):
    X = inputs[0][:60]
    counts = np.random.default_rng(3).integers(1, 4, 60)
    rows = np.repeat(np.arange(60), counts)
    K, R = gram(X, X), gram(X[rows], X[rows])
    found = []
    for G, targets, likelihood, weights in (
        (K, labels(X), lib.Weighted(lib.Logistic(), tuple(counts.astype(float))), counts.astype(float)),
        (R, labels(X)[rows], lib.Logistic(), None),
    ):
        posterior, _ = Laplace().infer(G, targets, likelihood)
        (reduced,), reduction = reduce_posteriors(
            G, [posterior], [leave_one_out(G, posterior).var], 0.05, weights=weights
        )
        points = X if weights is not None else X[rows]
        K_s = gram(inputs[1], points[reduced.support])
        found.append((reduction.basis.size, reduced.mean(K_s), reduced.var(K_s, np.full(len(K_s), 3.0))))
    (size, mean, variance), (again, m, v) = found
    assert size == again < 30
    np.testing.assert_allclose(mean, m, atol=1e-5)
    np.testing.assert_allclose(variance, v, atol=1e-5)


def test_a_smaller_tolerance_takes_more_rows(inputs):
    K, posterior, var = inferred("ep", inputs[0])
    sizes = [reduce_posteriors(K, [posterior], [var], tol)[1].basis.size for tol in (0.3, 0.1, 0.03, 0.01)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_several_outputs_share_a_basis(inputs):
    X, _ = inputs
    K, y = gram(X, X), labels(X)
    posteriors = [EP().infer(K, sign * y, lib.Probit())[0] for sign in (1.0, -1.0)]
    posteriors.append(EP().infer(K, labels(X[:, ::-1]), lib.Probit())[0])
    variances = [leave_one_out(K, p).var for p in posteriors]
    reduced, reduction = reduce_posteriors(K, posteriors, variances, TOL)
    assert len(reduced) == 3
    for p in reduced:
        np.testing.assert_array_equal(p.support, reduction.basis)
    np.testing.assert_allclose(reduced[0].alpha, -reduced[1].alpha, rtol=1e-9, atol=1e-9)
    assert reduction.error <= 1.01 * TOL


def test_a_kernel_of_low_rank_is_reproduced_with_as_many_rows(inputs):
    X, _ = inputs
    K = X @ X.T + 1.0
    posterior, _ = EP().infer(K, labels(X), lib.Probit())
    var = leave_one_out(K, posterior).var
    (reduced,), reduction = reduce_posteriors(K, [posterior], [var], 1e-5)
    assert reduction.basis.size == 3
    few = K[:, reduced.support]
    np.testing.assert_allclose(reduced.mean(few), posterior.mean(K[:, posterior.support]), atol=1e-6)
    np.testing.assert_allclose(reduced.var(few, np.diagonal(K)), var, rtol=1e-5)


def test_repeated_rows_enter_once(inputs):
    X = np.repeat(inputs[0][:40], 3, axis=0)
    K, posterior, var = inferred("ep", X)
    _, reduction = reduce_posteriors(K, [posterior], [var], 1e-6)
    assert np.unique(X[reduction.basis], axis=0).shape[0] == reduction.basis.size <= 40


def test_no_reduction_where_every_row_counts():
    K = np.eye(12)
    posterior, _ = Laplace().infer(K, np.where(np.arange(12) % 2, 1.0, -1.0), lib.Logistic())
    assert reduce_posteriors(K, [posterior], [leave_one_out(K, posterior).var], TOL) is None


def test_the_bound_of_the_change_of_the_mean_is_attained():
    rng = np.random.default_rng(0)
    n, b, t = 12, 4, 0.3
    Phi, delta = rng.normal(size=(n, b)), rng.normal(size=b)
    Q, _ = np.linalg.qr(rng.normal(size=(b, b)))
    G = Q @ np.diag([0.1, 0.4, 0.7, 0.9]) @ Q.T
    nothing = np.zeros(n)
    output = basis_fit.Output(nothing, None, nothing, np.ones(n), np.ones(n), nothing, nothing)
    fit = basis_fit.BasisFit(delta, delta, t, output)
    worst = np.linalg.solve(np.eye(b) - G, delta)  # where Cauchy's and Schwarz's inequality is an equality
    ratio = (worst @ delta) ** 2 / ((1.0 - t) * (worst @ (np.eye(b) - G) @ worst))
    assert basis_fit.squared_bound(output, fit, Phi, G) == pytest.approx(ratio, rel=1e-9)
    # what the projection lacks adds alpha' z, here with a mean that it does not explain at all
    alpha = rng.uniform(size=n)
    lacking = basis_fit.Output(alpha, None, alpha.copy(), np.ones(n), np.ones(n), nothing, nothing)
    assert basis_fit.squared_bound(lacking, fit, Phi, G) == pytest.approx(ratio + alpha @ alpha, rel=1e-9)


def test_the_rows_that_change_most_are_prepared():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 30))
    K, Phi, change = A @ A.T, rng.normal(size=(30, 4)), rng.permutation(30.0 + np.arange(30))
    basis = reduction._Basis(np.arange(4), Phi, (), (), ())
    for count in (1, 7, 30, 50):
        numbers, columns = reduction._prepared(K, basis, change, count)
        assert set(numbers) == set(np.argsort(-change)[:count].tolist())
        for row, number in numbers.items():
            np.testing.assert_allclose(columns[number], K[row] - Phi[row] @ Phi.T)
