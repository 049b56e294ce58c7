"""Softmax likelihood: dense formulas, differences, the logistic model of two classes, symmetries, cavities."""

from __future__ import annotations

import numpy as np
import pytest
from softmax_problems import block, curvature, dense_laplace, problem

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.inference import Laplace
from bayesvm.inference.softmax import SoftmaxPosterior, softmax_coefficients, softmax_evidence
from bayesvm.likelihoods import Logistic, Weighted
from bayesvm.linalg.softmax_factor import SoftmaxFactor
from bayesvm.solvers import Newton, Status
from bayesvm.testing import five_point

TIGHT = 1e-13


def evidence(K, Y, w, **options):
    return softmax_evidence(K, Y, w, tol=TIGHT, **options)


def symmetric(n, seed=5):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T / n


# -- against matrices of order C n ------------------------------------------------------------------------------------
@pytest.mark.parametrize(("n", "C"), [(12, 3), (10, 2), (14, 6)])
@pytest.mark.parametrize("weights", [False, True])
def test_evidence_and_posterior_are_those_of_dense_matrices(n, C, weights):
    K, Y, w = problem(n, C, weights=weights)
    found = evidence(K, Y, w)
    f, value, covariance = dense_laplace(K, Y, w)
    assert found.status is Status.CONVERGED
    assert found.value == pytest.approx(sum(found.terms.values()), rel=1e-14)
    assert found.value == pytest.approx(value, abs=1e-9)
    np.testing.assert_allclose(found.latent, f, atol=1e-9)
    posterior = SoftmaxPosterior.at(K, found.latent, Y, w)
    np.testing.assert_allclose(posterior.mean(K), f, atol=1e-9)
    blocks = posterior.covariances(K, np.diagonal(K))
    for i in range(n):
        np.testing.assert_allclose(blocks[i], block(covariance, i, n), atol=1e-9)


def test_covariances_at_new_points_and_their_draws():
    K, Y, w = problem(18, 3)
    train, new = np.arange(14), np.arange(14, 18)
    inner = K[np.ix_(train, train)]
    f, _, covariance = dense_laplace(inner, Y[train], w[train])
    posterior = SoftmaxPosterior.at(inner, f, Y[train], w[train])
    K_s, K_ss = K[np.ix_(new, train)], K[np.ix_(new, new)]
    gain = np.kron(np.eye(3), np.linalg.solve(inner, K_s.T).T)
    joint = np.kron(np.eye(3), K_ss) - gain @ (np.kron(np.eye(3), inner) - covariance) @ gain.T
    blocks = posterior.covariances(K_s, np.diagonal(K_ss))
    for i in range(4):
        np.testing.assert_allclose(blocks[i], block(joint, i, 4), atol=1e-8)
    draws = posterior.factor.draws(K_s, K_ss, 200_000, np.random.default_rng(0))
    found = np.cov(draws.transpose(2, 0, 1).reshape(12, -1))
    np.testing.assert_allclose(found, joint, atol=0.05)  # six standard errors of the largest entries


def test_the_factor_with_probabilities_and_weights_of_zero():
    K, Y, w = problem(10, 3)
    w[[2, 7]] = 0.0
    proba = np.where(Y > 0.0, 1.0, 0.0)
    proba[0] = [0.3, 0.7, 0.0]
    factor = SoftmaxFactor.of(K, proba, w)
    W = np.zeros((3, 10, 3, 10))
    for i, p in enumerate(proba):
        W[:, i, :, i] = w[i] * (np.diag(p) - np.outer(p, p))
    W, prior = W.reshape(30, 30), np.kron(np.eye(3), K)
    assert factor.log_det() == pytest.approx(np.linalg.slogdet(np.eye(30) + prior @ W)[1], abs=1e-10)
    x = np.random.default_rng(0).normal(size=(10, 3))
    expected = (W @ np.linalg.solve(np.eye(30) + prior @ W, x.T.ravel())).reshape(3, 10).T
    np.testing.assert_allclose(factor.apply(x), expected, atol=1e-10)
    np.testing.assert_allclose(factor.curvature_times(x), (W @ x.T.ravel()).reshape(3, 10).T, atol=1e-12)
    for part in factor.derivatives():
        assert np.all(np.isfinite(part))


# -- derivatives ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("C", [2, 3, 8, 20])
@pytest.mark.parametrize("weights", [False, True])
def test_derivative_in_K(C, weights):
    K, Y, w = problem(24, C, weights=weights, seed=C)
    found, change = evidence(K, Y, w), symmetric(24)
    slope = five_point(lambda t: evidence(K + t[0] * change, Y, w).value, np.zeros(1), 1e-3)[0]
    assert np.sum(found.dK * change) == pytest.approx(slope, rel=1e-7, abs=1e-7)
    np.testing.assert_allclose(found.dK, found.dK.T, atol=1e-12)


def test_derivatives_of_the_determinant():
    K, Y, w = problem(9, 4)
    f = np.random.default_rng(1).normal(size=Y.shape)

    def log_det(f):
        p = np.exp(f - np.logaddexp.reduce(f, axis=1, keepdims=True))
        return SoftmaxFactor.of(K, p, w).log_det()

    p = np.exp(f - np.logaddexp.reduce(f, axis=1, keepdims=True))
    dK, df = SoftmaxFactor.of(K, p, w).derivatives()
    slopes = five_point(lambda x: log_det(x.reshape(Y.shape)), f.ravel(), 1e-3).reshape(Y.shape)
    np.testing.assert_allclose(df, slopes, atol=1e-9)
    np.testing.assert_allclose(df.sum(axis=1), 0.0, atol=1e-12)
    change = symmetric(9)
    along = five_point(lambda t: SoftmaxFactor.of(K + t[0] * change, p, w).log_det(), np.zeros(1), 1e-3)[0]
    assert np.sum(dK * change) == pytest.approx(along, abs=1e-9)


# -- two classes ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("weights", [False, True])
def test_two_classes_are_the_logistic_model_with_twice_the_kernel(weights):
    K, Y, w = problem(20, 2, weights=weights)
    y, likelihood = Y[:, 1] - Y[:, 0], Weighted(Logistic(), tuple(w))
    binary_posterior, binary = Laplace(Newton(tol=1e-12)).infer(2.0 * K, y, likelihood)
    found = evidence(K, Y, w)
    assert found.value == pytest.approx(binary.value, abs=1e-10)
    np.testing.assert_allclose(found.dK, 2.0 * binary.dK, atol=1e-10)
    np.testing.assert_allclose(found.latent[:, 1] - found.latent[:, 0], binary.latent, atol=1e-10)
    posterior = SoftmaxPosterior.at(K, found.latent, Y, w)
    sign = np.array([-1.0, 1.0])
    variance = (posterior.covariances(K, np.diagonal(K)) @ sign) @ sign
    expected = binary_posterior.var(2.0 * K[:, binary_posterior.support], 2.0 * np.diagonal(K))
    np.testing.assert_allclose(variance, expected, atol=1e-9)


# -- what must not matter ---------------------------------------------------------------------------------------------
def test_the_order_of_classes_and_of_rows_does_not_matter():
    K, Y, w = problem(16, 5)
    classes, rows = np.array([3, 0, 4, 1, 2]), np.random.default_rng(2).permutation(16)
    here, there = evidence(K, Y, w), evidence(K[np.ix_(rows, rows)], Y[np.ix_(rows, classes)], w[rows])
    assert there.value == pytest.approx(here.value, abs=1e-11)
    np.testing.assert_allclose(there.latent, here.latent[np.ix_(rows, classes)], atol=1e-10)
    np.testing.assert_allclose(there.dK, here.dK[np.ix_(rows, rows)], atol=1e-10)


def test_a_row_given_twice_has_weight_two():
    K, Y, _ = problem(12, 3)
    w, twice = np.ones(12), np.concatenate([np.arange(12), [4]])
    w[4] = 2.0
    once, repeated = evidence(K, Y, w), evidence(K[np.ix_(twice, twice)], Y[twice], np.ones(13))
    assert repeated.value == pytest.approx(once.value, abs=1e-10)
    np.testing.assert_allclose(repeated.latent[:12], once.latent, atol=1e-9)
    first, second = (
        SoftmaxPosterior.at(k, e.latent, y, v).cavities(slice(4, 5), k[4:5], np.diagonal(k)[4:5])
        for k, e, y, v in ((K, once, Y, w), (K[np.ix_(twice, twice)], repeated, Y[twice], np.ones(13)))
    )
    for a, b in zip(first, second, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8)


def test_a_row_without_weight_is_as_good_as_left_out():
    K, Y, w = problem(12, 3)
    w[5], others = 0.0, np.delete(np.arange(12), 5)
    left_out = evidence(K[np.ix_(others, others)], Y[others], w[others])
    found = evidence(K, Y, w)
    assert found.value == pytest.approx(left_out.value, abs=1e-10)
    np.testing.assert_allclose(found.dK[5], 0.0, atol=1e-12)


def test_a_class_without_rows():
    K, Y, w = problem(12, 3)
    found = evidence(K, np.column_stack([Y, np.zeros(12)]), w)
    assert found.status is Status.CONVERGED
    assert np.all(found.latent[:, 3] < found.latent[:, :3].max(axis=1))
    assert found.value < evidence(K, Y, w).value  # it might have had some


def test_warm_starts_change_the_cost_and_not_the_result():
    K, Y, w = problem(30, 4)
    before = evidence(K, Y, w)
    cold, warm = evidence(1.1 * K, Y, w), evidence(1.1 * K, Y, w, warm_start=before.latent)
    assert warm.value == pytest.approx(cold.value, abs=1e-10)
    assert warm.n_iter < cold.n_iter
    far = evidence(K, Y, w, warm_start=np.full_like(Y, 1e3) * Y)
    assert far.value == pytest.approx(before.value, abs=1e-10)


@pytest.mark.parametrize("variance", [1e-6, 1e3, 1e6])
def test_small_and_large_variances(variance):
    K, Y, w = problem(40, 6, seed=3)
    found = softmax_evidence(variance * K, Y, w)
    assert found.status is Status.CONVERGED
    slope = five_point(lambda t: evidence(np.exp(t[0]) * variance * K, Y, w).value, np.zeros(1), 1e-2)[0]
    assert np.sum(found.dK * variance * K) == pytest.approx(slope, rel=1e-5, abs=1e-8)


def test_rows_of_the_coefficients_sum_to_zero():
    K, Y, w = problem(15, 4)
    alpha = softmax_coefficients(evidence(K, Y, w).latent, Y, w)
    np.testing.assert_allclose(alpha.sum(axis=1), 0.0, atol=1e-14)


# -- cavities ---------------------------------------------------------------------------------------------------------
def test_cavities_are_gaussians_without_the_term_of_their_row():
    K, Y, w = problem(10, 3)
    f, _, covariance = dense_laplace(K, Y, w)
    mean, V = SoftmaxPosterior.at(K, f, Y, w).cavities(slice(2, 6), K[2:6], np.diagonal(K)[2:6])
    W = curvature(f, w)
    alpha = softmax_coefficients(f, Y, w)
    for j, i in enumerate(range(2, 6)):
        copies = max(w[i], 1.0)
        expected = np.linalg.inv(np.linalg.inv(block(covariance, i, 10)) - block(W, i, 10) / copies)
        np.testing.assert_allclose(V[j], expected, atol=1e-7)
        np.testing.assert_allclose(mean[j], f[i] - expected @ alpha[i] / copies, atol=1e-7)


def test_cavities_come_close_to_fits_without_the_row():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(60, 1))
    codes = np.digitize(X[:, 0] + 0.5 * rng.normal(size=60), [-0.7, 0.7])
    K, Y, w = 3.0 * np.exp(-0.5 * (X - X.T) ** 2) + 1.0, np.eye(3)[codes], np.ones(60)
    mean, V = SoftmaxPosterior.at(K, evidence(K, Y, w).latent, Y, w).cavities(slice(0, 60), K, np.diagonal(K))
    contrast = np.eye(3) - 1.0 / 3.0
    for i in range(0, 60, 7):
        others = np.delete(np.arange(60), i)
        inner, cross = K[np.ix_(others, others)], K[i : i + 1, others]
        refit = SoftmaxPosterior.at(inner, evidence(inner, Y[others], w[others]).latent, Y[others], w[others])
        deviation = np.sqrt(np.diagonal(contrast @ V[i] @ contrast))
        gap = (mean[i] - refit.mean(cross)[0]) @ contrast
        assert np.all(np.abs(gap) < 0.15 * deviation)  # the other rows' terms move with the mode
        other = contrast @ refit.covariances(cross, K[i : i + 1, i])[0] @ contrast
        np.testing.assert_allclose(deviation, np.sqrt(np.diagonal(other)), rtol=0.1)


# -- hard problems ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(8))
def test_weights_of_twelve_orders_of_magnitude(seed):
    """What all classes share cancels in every Newton step, though the products of weights and variances are 1e12."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2))
    K = 10.0 ** rng.uniform(0.0, 5.0) * np.exp(-0.5 * np.sum((X[:, None] - X[None]) ** 2, axis=2)) + 1e3
    codes, w = rng.integers(0, 4, 30), 10.0 ** rng.uniform(-6.0, 6.0, 30)
    found = softmax_evidence(K, np.eye(4)[codes], w)
    assert found.status is Status.CONVERGED
    mean, V = SoftmaxPosterior.at(K, found.latent, np.eye(4)[codes], w).cavities(slice(0, 30), K, np.diagonal(K))
    assert np.all(np.isfinite(mean))
    assert np.linalg.eigvalsh(V).min() > -1e-9 * K.max()
    y = np.where(codes % 2 == 0, 1.0, -1.0)
    two = softmax_evidence(K, np.column_stack([y < 0.0, y > 0.0]).astype(float), w)
    _, binary = Laplace().infer(2.0 * K, y, Weighted(Logistic(), tuple(w)))
    assert two.value == pytest.approx(binary.value, rel=1e-6)


def test_equal_rows_with_different_classes():
    K, Y = np.full((12, 12), 3.0), np.eye(3)[np.arange(12) % 3]
    found = evidence(K, Y, np.ones(12))
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.latent, 0.0, atol=1e-12)


def test_a_matrix_that_is_no_covariance_is_refused():
    K, Y, w = problem(10, 3)
    with pytest.raises(NotPositiveDefiniteError):
        softmax_evidence(-K, Y, w)


# -- endings -----------------------------------------------------------------------------------------------------------
def test_a_search_that_may_take_no_further_step_says_so(monkeypatch):
    K, Y, w = problem()
    monkeypatch.setattr("bayesvm.inference.softmax.MAX_ITER", 1)
    found = evidence(K, Y, w)
    assert found.status is Status.MAX_ITER
    assert np.isfinite(found.value)


def test_a_tolerance_below_rounding_ends_as_stalled_at_the_mode():
    K, Y, w = problem()
    found, mode = softmax_evidence(K, Y, w, tol=0.0), evidence(K, Y, w)
    assert found.status is Status.STALLED
    np.testing.assert_allclose(found.latent, mode.latent, atol=1e-9)
