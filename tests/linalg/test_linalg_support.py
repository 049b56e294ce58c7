"""The factor on the support against dense formulas, for curvatures over the whole range of a double."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.linalg import SupportFactor


def gram(n, seed=0, variance=1.5):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return variance * np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2)) + 0.2


def dense(K, W):
    """R, the posterior covariance and ln|I + K W| from their definitions, in 60 digits."""
    with mp.workdps(60):
        n = len(W)
        Km, Wm = mp.matrix(K.tolist()), mp.diag([mp.mpf(float(w)) for w in W])
        inverse = (mp.eye(n) + Wm * Km) ** -1
        R = inverse * Wm
        covariance = Km - Km * R * Km
        log_det = mp.log(mp.det(mp.eye(n) + Km * Wm))
        as_array = lambda A: np.array(A.tolist(), dtype=float).reshape(n, n)  # noqa: E731
        return as_array(R), as_array(covariance), float(log_det)


def check(K, W):
    """Compare every method with the definitions; errors are measured against what B's condition number allows."""
    factor = SupportFactor.of(K, W)
    M = factor.support
    np.testing.assert_array_equal(M, np.flatnonzero(W > 0.0))
    R, covariance, log_det = dense(K, W)
    assert np.all(R[W == 0.0] == 0.0)
    R = R[np.ix_(M, M)]
    root = np.sqrt(W[M])
    condition = 1.0 + float(np.sum(W * np.diagonal(K)))  # eigenvalues of B lie between 1 and this
    allowed = 1e-14 * condition * np.outer(root, root) + 1e-300
    found, diagonal = factor.inverse()
    assert np.all(np.abs(found - R) <= allowed)
    np.testing.assert_allclose(found, found.T, rtol=1e-15)
    assert np.all((diagonal > 0.0) & (diagonal <= 1.0 + 1e-14))
    np.testing.assert_allclose(factor.log_det(), log_det, rtol=1e-12, atol=1e-13)
    columns = K[M]
    np.testing.assert_allclose(
        factor.apply(columns), R @ columns, rtol=0, atol=(allowed @ np.abs(columns)).max(initial=0)
    )
    np.testing.assert_allclose(factor.apply(columns[:, 0]), factor.apply(columns)[:, 0], rtol=1e-12, atol=1e-300)
    prior = np.diagonal(K)
    explained = factor.explained(columns)
    np.testing.assert_allclose(prior - explained, np.diagonal(covariance), rtol=0, atol=1e-13 * condition * prior.max())
    variances = factor.variances(K, diagonal)
    assert np.all(variances >= 0.0)
    error = np.abs(variances - np.diagonal(covariance)[M]) / prior[M]
    assert np.all(error <= 1e-11 + 1e-15 * condition / np.maximum(W[M] * prior[M], 1e-4)), error


@settings(deadline=None, max_examples=40)
@given(
    exponents=st.lists(st.one_of(st.none(), st.floats(-300.0, 0.0), st.floats(-8.0, 4.0)), min_size=1, max_size=6),
    seed=st.integers(0, 5),
)
def test_against_the_definitions(exponents, seed):
    W = np.array([0.0 if e is None else 10.0**e for e in exponents])
    check(gram(len(W), seed), W)


@pytest.mark.parametrize(
    "W",
    [
        [0.0, 0.0, 0.0],
        [1e-300, 1e-300, 1e-300],
        [5e-324, 0.0, 1.0],
        [1e-300, 1e-150, 1.0],
        [0.0, 1e4, 0.0],
        [0.9e-4, 1.1e-4, 1e-4],
    ],
    ids=str,
)
def test_special_curvatures(W):
    check(gram(3), np.array(W))


@pytest.mark.parametrize("size", [1e8, 1e100, 1e300])
def test_huge_curvatures_pin_the_latent_values(size):
    K, W = gram(4) + np.eye(4), np.full(4, size)
    factor = SupportFactor.of(K, W)
    R, diagonal = factor.inverse()
    np.testing.assert_allclose(R, np.linalg.inv(K + np.eye(4) / size), rtol=1e-7)
    np.testing.assert_allclose(factor.variances(K, diagonal) * size, 1.0, rtol=1e-6)
    np.testing.assert_allclose(factor.log_det(), 4 * np.log(size) + np.linalg.slogdet(K)[1], rtol=1e-7)
    np.testing.assert_allclose(factor.explained(K), np.diagonal(K), rtol=1e-7)


def test_nothing_in_the_support():
    K = gram(3)
    factor = SupportFactor.of(K, np.zeros(3))
    assert factor.support.size == 0
    assert factor.log_det() == 0.0
    assert factor.apply(np.empty(0)).shape == (0,)
    np.testing.assert_array_equal(factor.explained(K[:0]), np.zeros(3))
    R, diagonal = factor.inverse()
    assert R.shape == (0, 0)
    assert factor.variances(K, diagonal).shape == (0,)


def test_a_larger_problem_leaves_its_arguments_alone():
    K, W = gram(200), np.random.default_rng(1).uniform(size=200) * (np.arange(200) % 3 > 0)
    before = K.copy(), W.copy()
    factor = SupportFactor.of(K, W)
    covariance = K - K @ np.linalg.solve(np.eye(200) + W[:, None] * K, W[:, None] * K)
    _, diagonal = factor.inverse()
    np.testing.assert_allclose(factor.variances(K, diagonal), np.diagonal(covariance)[factor.support], rtol=1e-9)
    np.testing.assert_allclose(factor.log_det(), np.linalg.slogdet(np.eye(200) + K * W)[1], rtol=1e-12)
    assert np.array_equal(before[0], K)
    assert np.array_equal(before[1], W)


def test_an_indefinite_gram_matrix_is_named():
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(NotPositiveDefiniteError, match=r"is the kernel positive definite\?"):
        SupportFactor.of(K, np.full(2, 10.0))
