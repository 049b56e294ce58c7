"""Roots of covariances that are singular up to rounding."""

import numpy as np
import pytest

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.linalg.covariance_root import ROUNDING, covariance_root


def orthogonal(n, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]


@pytest.mark.parametrize("values", [[3.0, 1.0, 0.2, 0.1], [1.0, 0.5, 0.0, -1e-9], [2.0, 0.0, 0.0, 0.0]])
def test_the_root_gives_the_matrix_back_up_to_its_negative_eigenvalues(values):
    Q = orthogonal(4)
    A = (Q * values) @ Q.T
    R = covariance_root(A, 1.0, what="A")
    np.testing.assert_allclose(R @ R.T, (Q * np.maximum(values, 0.0)) @ Q.T, atol=2e-8)


def test_more_than_rounding_is_refused():
    Q = orthogonal(3)
    A = (Q * [1.0, 0.5, -2.0 * ROUNDING]) @ Q.T
    with pytest.raises(NotPositiveDefiniteError, match="spread"):
        covariance_root(A, 1.0, what="spread")
    assert covariance_root(A, 10.0, what="spread").shape == (3, 3)
