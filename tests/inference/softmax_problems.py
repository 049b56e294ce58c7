"""Small problems of several classes, and Laplace's method in dense matrices of order C n."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax


def problem(n=12, C=3, *, weights=True, seed=0):
    """Return a Gram matrix, indicators of the classes (each occurs) and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    K = 4.0 * np.exp(-0.5 * np.sum((X[:, None] - X[None]) ** 2, axis=2)) + 1.5
    Y = np.eye(C)[np.concatenate([np.arange(C), rng.integers(0, C, n - C)])]
    return K, Y, rng.uniform(0.3, 3.0, n) if weights else np.ones(n)


def curvature(f, weights):
    """Return W for latent values of shape (n, C), classes one after the other, shape (C n, C n)."""
    n, C = f.shape
    W = np.zeros((C, n, C, n))
    for i, p in enumerate(softmax(f, axis=1)):
        W[:, i, :, i] = weights[i] * (np.diag(p) - np.outer(p, p))
    return W.reshape(C * n, C * n)


def dense_laplace(K, Y, weights):
    """Return mode, log evidence and posterior covariance (C n, C n) by a general minimiser and dense matrices."""
    n, C = Y.shape
    prior = np.kron(np.eye(C), K)
    L = np.linalg.cholesky(prior)

    def S(z):
        f = (L @ z).reshape(C, n).T
        pull = weights[:, None] * (softmax(f, axis=1) - Y)
        value = 0.5 * z @ z - weights @ np.sum(Y * log_softmax(f, axis=1), axis=1)
        return value, z + L.T @ pull.T.ravel()

    z = np.zeros(C * n)
    for _ in range(50):  # Newton's method with the full Hessian
        f = (L @ z).reshape(C, n).T
        H = np.eye(C * n) + L.T @ curvature(f, weights) @ L
        step = np.linalg.solve(H, S(z)[1])
        t = 1.0
        while S(z - t * step)[0] > S(z)[0] and t > 1e-8:
            t *= 0.5
        z = z - t * step
    check = minimize(S, np.zeros(C * n), jac=True, method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(check.fun, S(z)[0], rtol=1e-10)  # two minimisers agree
    f = (L @ z).reshape(C, n).T
    W = curvature(f, weights)
    log_det = np.linalg.slogdet(np.eye(C * n) + prior @ W)[1]
    covariance = prior - prior @ W @ np.linalg.solve(np.eye(C * n) + prior @ W, prior)
    return f, -S(z)[0] - 0.5 * log_det, covariance


def block(covariance, i, n):
    """Return the covariance of the classes at row i out of the dense one."""
    at = np.arange(covariance.shape[0] // n) * n + i
    return covariance[np.ix_(at, at)]
