"""The posterior over inducing inputs against dense inverses."""

import numpy as np
import pytest

from bayesvm.linalg import InducingFactor, cholesky


def test_against_dense_inverses():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(6, 9)), rng.normal(size=(6, 4))
    K, S = A @ A.T, np.eye(6) + B @ B.T
    L = np.linalg.cholesky(K)
    factor = InducingFactor(np.arange(6), cholesky(K.copy()), cholesky(S.copy()))
    inverse = np.linalg.inv(L)
    R = inverse.T @ (np.eye(6) - np.linalg.inv(S)) @ inverse
    np.testing.assert_allclose(factor.matrix(), R, atol=1e-10)
    np.testing.assert_allclose(factor.apply(A), R @ A, atol=1e-10)
    np.testing.assert_allclose(factor.apply(A[:, 0]), R @ A[:, 0], atol=1e-10)
    np.testing.assert_allclose(factor.explained(A), np.einsum("ij,ik,kj->j", A, R, A), atol=1e-10)
    added = inverse.T @ (S - np.eye(6)) @ inverse
    np.testing.assert_allclose(factor.curvature, np.diagonal(added), rtol=1e-9)
    assert factor.log_det() == pytest.approx(np.linalg.slogdet(S)[1])
    # the posterior of the values at the inducing inputs has the precision of the prior plus what the data add
    var, rest = factor.marginals(K)
    np.testing.assert_allclose(var, np.diagonal(np.linalg.inv(np.linalg.inv(K) + added)), rtol=1e-8)
    np.testing.assert_allclose(rest, 1.0 - var * np.diagonal(added), rtol=1e-8)
