"""Marginals and leave-one-out predictions against refits and dense inverses."""

from __future__ import annotations

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm.inference import EP, Exact, FactorAnalysed, Laplace, Marginals, Posterior, leave_one_out
from bayesvm.inference.leave_one_out import left_out_columns, left_out_means
from bayesvm.linalg import SignedFactor, SupportFactor
from bayesvm.testing.solvers import problem

LIKELIHOODS = [
    lib.Trigonometric(),
    lib.RaisedCosine(),
    lib.Logistic(),
    lib.Probit(),
    lib.NormalizedHinge(),
    lib.SoftInsensitive(),
    lib.SmoothInsensitive(),
    lib.Huber(),
    lib.Laplace(),
    lib.EpsilonInsensitive(),
    lib.GaussianNoise(),
]


NAMES = [type(likelihood).__name__ for likelihood in LIKELIHOODS]


def gaussians(n, d, scale, variance, seed=0):
    """Return a Gram matrix and labels of two overlapping Gaussian classes in d dimensions."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.normal(size=(n, d)) + 0.8 * y[:, None] / np.sqrt(d)
    return variance * np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2) / scale**2) + 1.0, y


def _refitted(inference, K, y, likelihood):
    out = np.empty(y.size)
    for i in range(y.size):
        rest = np.delete(np.arange(y.size), i)
        posterior, _ = inference.infer(K[np.ix_(rest, rest)], y[rest], likelihood)
        K_s = K[[i]][:, rest][:, posterior.support]
        out[i] = likelihood.predict_proba(posterior.mean(K_s), posterior.var(K_s, K[[i], [i]]))[0]
    return out


@pytest.mark.parametrize("likelihood", LIKELIHOODS[:4], ids=NAMES[:4])
def test_leave_one_out_against_refits(likelihood):
    for d, scale, variance in ((2, 2.0, 3.0), (10, 4.0, 5.0)):
        K, y = gaussians(60, d, scale, variance)
        posterior, _ = EP().infer(K, y, likelihood)
        q = leave_one_out(K, posterior)
        found = likelihood.predict_proba(q.cavity_mean, q.cavity_var)
        assert np.mean(np.abs(found - _refitted(EP(tol=1e-5), K, y, likelihood))) <= 0.005


def test_leave_one_out_of_laplace_is_close():
    likelihood = lib.Logistic()
    K, y = problem(likelihood, n=60)
    q = leave_one_out(K, Laplace().infer(K, y, likelihood)[0])
    found = likelihood.predict_proba(q.cavity_mean, q.cavity_var)
    assert np.mean(np.abs(found - _refitted(Laplace(), K, y, likelihood))) <= 0.02


def test_leave_one_out_is_exact_for_gaussian_noise():
    likelihood = lib.GaussianNoise(0.2)
    K, y = problem(likelihood, n=30)
    q = leave_one_out(K, Exact().infer(K, y, likelihood)[0])
    for i in range(30):
        rest = np.delete(np.arange(30), i)
        posterior, _ = Exact().infer(K[np.ix_(rest, rest)], y[rest], likelihood)
        assert q.cavity_mean[i] == pytest.approx(posterior.mean(K[[i]][:, rest])[0], abs=1e-9)
        assert q.cavity_var[i] == pytest.approx(posterior.var(K[[i]][:, rest], K[[i], [i]])[0], abs=1e-9)


@pytest.mark.parametrize("curvature", ["plain", "partial", "signed"])
def test_marginals_are_those_of_the_dense_inverse(curvature):
    K, _ = problem(lib.Logistic(), n=25)
    K = K + 0.1 * np.eye(25)
    rng = np.random.default_rng(1)
    W, alpha = rng.uniform(1e-9, 2.0, size=25), rng.normal(size=25)
    if curvature == "partial":
        W[::3] = 0.0
    if curvature == "signed":
        W[::5] = -0.02
    factor = SignedFactor.of(K, W) if curvature == "signed" else SupportFactor.of(K, W)
    q = Marginals.of(K, alpha, factor)
    precision = np.linalg.inv(K) + np.diag(W)
    np.testing.assert_allclose(q.mean, K @ alpha, atol=1e-10)
    np.testing.assert_allclose(q.var, np.diagonal(np.linalg.inv(precision)), rtol=1e-7)
    for i in (0, 7, 13, 20):  # without the term exp(nu f - W f^2 / 2) of point i
        without = precision.copy()
        without[i, i] -= W[i]
        V, nu = np.linalg.inv(without), alpha + W * (K @ alpha)
        nu[i] = 0.0
        assert q.cavity_var[i] == pytest.approx(V[i, i], rel=1e-7)
        assert q.cavity_mean[i] == pytest.approx((V @ nu)[i], abs=1e-7)


def test_a_copy_is_left_out_once():
    K, _ = problem(lib.Logistic(), n=6)
    K, W, alpha, copies = K + 0.1 * np.eye(6), np.linspace(0.5, 3.0, 6), np.linspace(-1.0, 1.0, 6), np.arange(1.0, 7.0)
    q = Marginals.of(K, alpha, SupportFactor.of(K, W), copies)
    i, nu = 4, alpha + W * (K @ alpha)
    precision = np.linalg.inv(K) + np.diag(W)
    precision[i, i] -= W[i] / copies[i]
    nu[i] *= 1.0 - 1.0 / copies[i]
    V = np.linalg.inv(precision)
    assert q.cavity_var[i] == pytest.approx(V[i, i], rel=1e-9)
    assert q.cavity_mean[i] == pytest.approx((V @ nu)[i], abs=1e-9)


def test_factor_analysed_posteriors_have_marginals_too():
    K, y = problem(lib.Logistic(), n=12)
    K = K + 0.3 * np.eye(12)
    posterior, _ = FactorAnalysed(1).infer(K, y, lib.Logistic())
    q = leave_one_out(K, posterior)
    sigma = np.diag(posterior.factor.d) + posterior.factor.C @ posterior.factor.C.T
    np.testing.assert_allclose(q.var, np.diagonal(sigma), rtol=1e-7)
    np.testing.assert_allclose(q.cavity_var, q.var / (1.0 - q.var * posterior.factor.curvature), rtol=1e-7)


@pytest.mark.parametrize(
    ("inference", "likelihood"),
    [(Laplace(), lib.Trigonometric()), (Laplace(), lib.Logistic()), (EP(), lib.Probit())],
    ids=["sparse", "every row", "sites"],
)
@pytest.mark.parametrize("copies", [1.0, 1.0 + np.arange(40) % 2], ids=["plain", "copies"])
def test_means_alone_are_those_of_the_whole_prediction(inference, likelihood, copies):
    K, y = problem(likelihood)
    posterior, _ = inference.infer(K, y, likelihood)
    whole = leave_one_out(K, posterior, copies)
    mean, left_out = left_out_means(K, posterior, copies)
    np.testing.assert_allclose(mean, whole.mean, atol=1e-9)
    np.testing.assert_allclose(left_out, whole.cavity_mean, atol=1e-9)


def test_columns_with_one_factor_are_each_as_alone():
    K, y = problem(lib.Logistic())
    posterior, _ = Laplace().infer(K, y, lib.Logistic())
    copies = 1.0 + np.arange(40) % 3
    alpha = np.column_stack([posterior.alpha, -2.0 * posterior.alpha])
    mean, left_out = left_out_columns(K, alpha, posterior.factor, copies)
    expected = left_out_means(K, posterior, copies)
    for column, scale in ((0, 1.0), (1, -2.0)):
        np.testing.assert_allclose(mean[:, column], scale * expected[0], atol=1e-9)
        np.testing.assert_allclose(left_out[:, column], scale * expected[1], atol=1e-9)


def test_means_alone_of_a_posterior_with_negative_precisions():
    K, _ = problem(lib.Laplace(), n=12)
    W = np.linspace(-0.05, 2.0, 12)
    alpha = np.linspace(-1.0, 1.0, 12)
    posterior = Posterior.of(alpha, SignedFactor.of(K, W))
    mean, left_out = left_out_means(K, posterior)
    V = np.linalg.inv(np.linalg.inv(K) + np.diag(W))
    var = np.diagonal(V)
    np.testing.assert_allclose(mean, K @ alpha, rtol=1e-12)
    np.testing.assert_allclose(left_out, mean - var / (1.0 - var * W) * alpha, rtol=1e-7)
