"""Cholesky with pivots, and the factor of a posterior with features."""

import numpy as np
import pytest

from bayesvm.linalg import SupportFactor, cholesky
from bayesvm.linalg.feature_factor import FeatureFactor
from bayesvm.linalg.pivoted_cholesky import pivoted_cholesky


def test_it_ends_at_the_rank():
    B = np.random.default_rng(0).normal(size=(12, 4))
    A = B @ B.T
    pivots, factor = pivoted_cholesky(A, 1e-12)
    assert pivots.size == 4
    assert pivots[0] == np.argmax(np.diagonal(A))
    L = factor.lower()
    np.testing.assert_allclose(L @ L.T, A[np.ix_(pivots, pivots)], rtol=1e-12)
    phi = factor.half_solve(A[pivots]).T
    np.testing.assert_allclose(phi @ phi.T, A, atol=1e-11)


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_a_matrix_without_rank_has_no_pivots(value):
    pivots, factor = pivoted_cholesky(np.full((3, 3), value), 1e-12)
    assert pivots.size == 0
    assert factor.log_det() == 0.0


def test_the_factor_of_features_is_that_of_their_gram_matrix():
    rng = np.random.default_rng(0)
    phi, W = rng.normal(size=(20, 3)), np.where(np.arange(20) % 3, rng.uniform(0.5, 2.0, 20), 0.0)
    K, S = phi @ phi.T, np.eye(3) + (phi.T * W) @ phi
    found, expected = FeatureFactor.of(phi, W, cholesky(S)), SupportFactor.of(K, W)
    np.testing.assert_array_equal(found.support, expected.support)
    np.testing.assert_allclose(found.curvature, expected.curvature)
    assert found.log_det() == pytest.approx(expected.log_det())
    x, k = rng.normal(size=(found.support.size, 2)), K[found.support]
    np.testing.assert_allclose(found.apply(x), expected.apply(x), atol=1e-12)
    np.testing.assert_allclose(found.apply(x[:, 0]), expected.apply(x[:, 0]), atol=1e-12)
    np.testing.assert_allclose(found.explained(k), expected.explained(k), atol=1e-12)
    np.testing.assert_allclose(found.matrix(), expected.matrix(), atol=1e-12)
    for mine, theirs in zip(found.marginals(K), expected.marginals(K), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)
