"""The factor of a projected posterior against dense inverses."""

from __future__ import annotations

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm.linalg import cholesky
from bayesvm.linalg.projected_factor import ProjectedFactor
from bayesvm.testing.solvers import problem

ROWS = np.array([7, 2, 11, 4])


@pytest.fixture
def parts():
    """Return a Gram matrix, the posterior covariance on some rows in increasing order, and the factor."""
    K, _ = problem(lib.Probit(), n=15)
    K = K + 0.1 * np.eye(15)
    V = np.linalg.inv(np.linalg.inv(K) + np.diag(np.linspace(0.0, 2.0, 15)))
    K_BB, S = K[np.ix_(ROWS, ROWS)], V[np.ix_(ROWS, ROWS)]
    L = cholesky(K_BB)
    half = np.linalg.inv(L.lower())
    increasing = np.sort(ROWS)
    return K, V[np.ix_(increasing, increasing)], ProjectedFactor.of(ROWS, L, half @ (K_BB - S) @ half.T)


def test_factor_against_dense_inverses(parts):
    K, S, factor = parts
    B = factor.support
    np.testing.assert_array_equal(B, np.sort(ROWS))
    inverse = np.linalg.inv(K[np.ix_(B, B)])
    R = inverse - inverse @ S @ inverse
    np.testing.assert_allclose(factor.matrix(), R, atol=1e-11)
    np.testing.assert_allclose(factor.apply(np.eye(4)), R, atol=1e-11)
    np.testing.assert_allclose(factor.apply(np.ones(4)), R.sum(axis=1), atol=1e-11)
    np.testing.assert_allclose(factor.explained(K[B]), np.einsum("bi,bc,ci->i", K[B], R, K[B]), atol=1e-11)
    assert np.all(factor.gain < 1.0)


def test_precision_that_the_data_add(parts):
    K, S, factor = parts
    K_BB = K[np.ix_(factor.support, factor.support)]
    added = np.diagonal(np.linalg.inv(S) - np.linalg.inv(K_BB))
    np.testing.assert_allclose(factor.curvature, added, rtol=1e-9)
    assert factor.log_det() == pytest.approx(np.linalg.slogdet(K_BB)[1] - np.linalg.slogdet(S)[1], abs=1e-10)


def test_variances_of_all_points(parts):
    K, S, factor = parts
    var, rest = factor.marginals(K)
    np.testing.assert_allclose(var[factor.support], np.diagonal(S), rtol=1e-9)
    np.testing.assert_allclose(rest[factor.support], 1.0 - factor.curvature * np.diagonal(S), rtol=1e-8)
    np.testing.assert_array_equal(np.delete(rest, factor.support), 1.0)
