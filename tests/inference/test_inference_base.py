"""The shared posterior form and the derivative in the Gram matrix against dense formulas."""

import numpy as np
import pytest

from bayesvm.inference.base import Posterior, gram_cotangent
from bayesvm.linalg import SignedFactor, SupportFactor
from bayesvm.testing import five_point, relative_error


def dense(n=9, seed=0):
    """Return a Gram matrix of training and five new points, coefficients and curvatures with zeros."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n + 5, n + 8))
    K = A @ A.T / n
    alpha, W = rng.normal(size=n), rng.uniform(0.1, 3.0, size=n)
    alpha[[1, 4]], W[[2, 4, 6]] = 0.0, 0.0
    return K, alpha, W


@pytest.mark.parametrize("negative", [False, True])
def test_predictions_are_those_of_the_dense_gaussian(negative):
    everything, alpha, W = dense()
    n = alpha.size
    K, cross, new = everything[:n, :n], everything[n:, :n], everything[n:, n:]
    if negative:
        W[3] = -0.05
    factor = SignedFactor.of(K, W) if negative else SupportFactor.of(K, W)
    posterior = Posterior.of(alpha, factor)
    assert posterior.support.tolist() == [0, 1, 2, 3, 5, 6, 7, 8]  # point 4 has neither coefficient nor curvature
    np.testing.assert_array_equal(posterior.coefficients(n), alpha)
    V = np.linalg.inv(np.linalg.inv(K) + np.diag(W))
    gain = cross @ np.linalg.inv(K)
    covariance = new - gain @ (K - V) @ gain.T
    K_s = cross[:, posterior.support]
    np.testing.assert_allclose(posterior.mean(K_s), gain @ (K @ alpha), atol=1e-9)
    np.testing.assert_allclose(posterior.covariance(K_s, new), covariance, atol=1e-8)
    np.testing.assert_allclose(posterior.var(K_s, np.diagonal(new)), np.diagonal(covariance), atol=1e-8)


def test_variances_are_never_negative():
    K = np.ones((3, 3)) + 1e-12 * np.eye(3)
    posterior = Posterior.of(np.zeros(3), SupportFactor.of(K, np.full(3, 1e14)))
    assert np.all(posterior.var(K, np.full(3, 1.0 - 1e-9)) == 0.0)


@pytest.mark.parametrize("part", [False, True])
@pytest.mark.parametrize("with_q", [False, True])
def test_gram_cotangent(with_q, part):
    """With q = 0 it is the derivative of ln N(t; 0, K + 1/W) at t = (K + 1/W) alpha; q adds -sym(q alpha')."""
    everything, alpha, W = dense(7, 2)
    K, alpha, W = everything[:7, :7], alpha[:7], W[:7]
    alpha[W == 0.0] = 1.0 if part else 0.0
    q = np.random.default_rng(4).normal(size=7) if with_q else None
    factor = SupportFactor.of(K, W)
    rows = np.arange(7) if part else factor.support
    found = gram_cotangent(alpha, factor.matrix(), factor.support, rows, q)
    R, moved = np.zeros((7, 7)), np.zeros((7, 7)) if q is None else np.outer(q, alpha)
    R[np.ix_(factor.support, factor.support)] = factor.matrix()
    expected = 0.5 * np.outer(alpha, alpha) - 0.5 * R - 0.5 * (moved + moved.T)
    np.testing.assert_allclose(found, expected[np.ix_(rows, rows)], atol=1e-12)
    np.testing.assert_allclose(found, found.T, atol=1e-12)


def test_gram_cotangent_is_the_derivative_of_a_gaussian_density():
    everything, _, _ = dense(7, 3)
    K, t, change = everything[:6, :6], np.arange(6.0), np.cov(np.random.default_rng(0).normal(size=(6, 9)))

    def log_density(s):
        C = K + s[0] * change + 0.5 * np.eye(6)
        return -0.5 * t @ np.linalg.solve(C, t) - 0.5 * np.linalg.slogdet(C)[1]

    factor = SupportFactor.of(K, np.full(6, 2.0))
    dK = gram_cotangent(factor.apply(t), factor.matrix(), factor.support, np.arange(6))
    assert relative_error(np.sum(dK * change), five_point(log_density, np.zeros(1))[0]) < 1e-8
