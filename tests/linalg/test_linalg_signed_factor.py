"""The factor for curvatures of either sign against dense inverses."""

from __future__ import annotations

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.linalg import SignedFactor, SupportFactor
from bayesvm.testing.solvers import problem


def test_factor_without_negative_curvature_is_the_plain_one():
    K, _ = problem(lib.Probit(), n=10)
    W = np.linspace(0.0, 1.0, 10)
    plain, signed = SupportFactor.of(K, W), SignedFactor.of(K, W)
    np.testing.assert_allclose(signed.matrix(), plain.matrix(), atol=1e-12)
    np.testing.assert_allclose(signed.curvature, plain.curvature)
    assert signed.log_det() == pytest.approx(plain.log_det())


@pytest.mark.parametrize("dropped", [False, True])
def test_negative_curvatures_against_dense_inverses(dropped):
    K, _ = problem(lib.Probit(), n=15)
    K = K + 0.1 * np.eye(15)
    rng = np.random.default_rng(0)
    W = rng.uniform(0.1, 2.0, size=15)
    W[[2, 9]] = -0.05
    if dropped:
        W[[0, 5, 11]] = 0.0
    factor = SignedFactor.of(K, W)
    V, M = np.linalg.inv(np.linalg.inv(K) + np.diag(W)), factor.support
    R = np.linalg.inv(K) @ (K - V) @ np.linalg.inv(K)
    np.testing.assert_allclose(factor.matrix(), R[np.ix_(M, M)], atol=1e-8)
    np.testing.assert_allclose(factor.apply(np.eye(M.size)), R[np.ix_(M, M)], atol=1e-8)
    np.testing.assert_allclose(factor.explained(K[M]), np.diagonal(K - V), atol=1e-8)
    assert factor.log_det() == pytest.approx(np.linalg.slogdet(np.eye(15) + K @ np.diag(W))[1], abs=1e-9)
    again, R_again, known = SignedFactor.with_inverse(K, W)
    np.testing.assert_allclose(R_again, factor.inverse()[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(again.apply(np.eye(M.size)), factor.apply(np.eye(M.size)), rtol=1e-10, atol=1e-12)
    for given in ((), (factor.inverse()[1],), known):
        var, rest = factor.marginals(K, *given)
        np.testing.assert_allclose(var, np.diagonal(V), rtol=1e-8)
        np.testing.assert_allclose(rest, 1.0 - W * np.diagonal(V), atol=1e-8)


def test_curvatures_that_leave_no_posterior_are_refused():
    with pytest.raises(NotPositiveDefiniteError, match="leave no proper posterior"):
        SignedFactor.of(np.eye(3), np.array([1.0, -1.5, 0.0]))


@pytest.mark.parametrize("least", [1e-9, 1e-2])
def test_variances_of_weak_and_strong_points(least):
    rng = np.random.default_rng(1)
    K, _ = problem(lib.Probit(), n=40)
    K = 3.0 * K + 1e-3 * np.eye(40)
    W = np.geomspace(least, 10.0, 40)[rng.permutation(40)]
    W[:5] = -np.geomspace(1e-6, 1e-2, 5)
    factor, _, known = SignedFactor.with_inverse(K, W)
    expected = np.diagonal(K - K @ np.linalg.solve(np.eye(40) + W[:, None] * K, W[:, None] * K))
    np.testing.assert_allclose(factor.marginals(K, *known)[0], expected, rtol=1e-7)
    np.testing.assert_allclose(factor._raised(K), K[:, factor.support] @ factor.U, rtol=1e-7, atol=1e-12)
