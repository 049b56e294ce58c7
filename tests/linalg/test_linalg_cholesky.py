"""Cholesky: solves against NumPy, and every rule of the jitter policy."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.linalg import cholesky
from bayesvm.linalg.cholesky import JITTER_FIRST, JITTER_LAST, scaled_plus_products

sizes = pytest.mark.parametrize("n", [1, 2, 7, 127, 128, 129, 260])


def definite(n, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n + 3))
    return A @ A.T + np.eye(n)


def with_eigenvalues(values, seed=0):
    Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))
    A = (Q * np.asarray(values)) @ Q.T
    return 0.5 * (A + A.T)


@sizes
@pytest.mark.parametrize("order", ["C", "F"])
def test_against_numpy(n, order):
    A = np.asarray(definite(n), order=order)
    before = A.copy()
    factor = cholesky(A)
    assert factor.jitter == 0.0
    assert np.array_equal(A, before)
    L = factor.lower()
    np.testing.assert_allclose(L, np.linalg.cholesky(A), rtol=1e-10, atol=1e-12)
    b, B = np.arange(1.0, n + 1.0), np.random.default_rng(1).normal(size=(n, 3))
    for right in (b, B):
        given_right = right.copy()
        np.testing.assert_allclose(factor.solve(right), np.linalg.solve(A, right), rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(factor.half_solve(right), np.linalg.solve(L, right), rtol=1e-8, atol=1e-12)
        assert np.array_equal(right, given_right)
    np.testing.assert_allclose(factor.log_det(), np.linalg.slogdet(A)[1], rtol=1e-12)
    inverse = factor.inverse()
    np.testing.assert_allclose(inverse, np.linalg.inv(A), rtol=1e-7, atol=1e-12)
    assert np.array_equal(inverse, inverse.T)
    np.testing.assert_allclose(factor.lower(), L, rtol=0.0)  # the factor is still there


def test_empty():
    factor = cholesky(np.empty((0, 0)))
    assert factor.log_det() == 0.0
    assert factor.jitter == 0.0
    assert factor.inverse().shape == factor.lower().shape == (0, 0)
    assert factor.solve(np.empty(0)).shape == factor.half_solve(np.empty(0)).shape == (0,)
    assert factor.solve(np.empty((0, 4))).shape == factor.half_solve(np.empty((0, 4))).shape == (0, 4)


def test_only_one_triangle_is_read_and_memory_may_be_taken():
    A = definite(50)
    upper, lower = np.triu(A), np.asfortranarray(np.tril(A))  # C order: upper, Fortran order: lower
    np.testing.assert_array_equal(cholesky(upper).lower(), cholesky(A).lower())
    np.testing.assert_array_equal(cholesky(lower).lower(), cholesky(A).lower())
    work = A.copy()
    factor = cholesky(work, overwrite=True)
    assert np.shares_memory(work, factor.L)
    np.testing.assert_allclose(factor.lower() @ factor.lower().T, A, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1e-3, 1.0, 1e200])
def test_no_jitter_where_none_is_needed(scale):
    A = scale * definite(20)
    asked, plain = cholesky(A, jitter=True), cholesky(A)
    assert asked.jitter == 0.0
    np.testing.assert_array_equal(asked.lower(), plain.lower())


@given(
    negative=st.floats(-13.5, -8.3),
    scale=st.sampled_from([1e-8, 1.0, 1e6]),
    seed=st.integers(0, 3),
)
def test_the_smallest_jitter_that_works_is_used_and_reported(negative, scale, seed):
    values = np.r_[-(10.0**negative), np.linspace(0.5, 1.5, 11)]
    A = scale * with_eigenvalues(values, seed)
    before = A.copy()
    factor = cholesky(A, jitter=True, overwrite=True)
    unit = float(np.mean(np.diagonal(A)))
    steps = np.log10(factor.jitter / unit / JITTER_FIRST)
    assert abs(steps - round(steps)) < 1e-9  # a power of ten times the first
    assert np.array_equal(A, before)
    np.testing.assert_allclose(
        factor.lower() @ factor.lower().T, A + factor.jitter * np.eye(12), rtol=1e-12, atol=1e-14 * unit
    )
    for size in itertools.takewhile(
        lambda j: j < 0.5 * factor.jitter / unit, (JITTER_FIRST * 10.0**k for k in range(9))
    ):
        with pytest.raises(NotPositiveDefiniteError):
            cholesky(A + size * unit * np.eye(12))


def test_a_singular_gram_matrix_needs_jitter():
    K = np.ones((30, 30))
    with pytest.raises(NotPositiveDefiniteError, match=r"the matrix \(30 x 30\) is not positive definite$"):
        cholesky(K)
    factor = cholesky(K, jitter=True)
    assert 0.0 < factor.jitter <= JITTER_LAST


def test_an_indefinite_matrix_is_refused_with_what_was_tried():
    A = np.array([[3.0, 4.0], [4.0, 3.0]])
    message = r"the Gram matrix \(2 x 2\) is not positive definite even with 3e-08 added to its diagonal"
    with pytest.raises(NotPositiveDefiniteError, match=message):
        cholesky(A, jitter=True, what="the Gram matrix")
    with pytest.raises(ValueError, match="not positive definite"):  # the error is a ValueError for scikit-learn's sake
        cholesky(A)
    with pytest.raises(NotPositiveDefiniteError, match="not positive definite"):
        cholesky(np.zeros((2, 2)), jitter=True)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", [(0, 0), (3, 3), (1, 3)])
@pytest.mark.parametrize("n", [5, 150])
@pytest.mark.parametrize("jitter", [False, True])
def test_non_finite_values_are_named(bad, where, n, jitter):
    A = definite(n)
    i, j = where
    A[i, j] = A[j, i] = bad
    with pytest.raises(NotPositiveDefiniteError, match=rf"K \({n} x {n}\) contains non-finite values"):
        cholesky(A, jitter=jitter, what="K")


@pytest.mark.parametrize("n", [0, 1, 7])
def test_inverse_factor_and_products_in_place(n):
    rng = np.random.default_rng(n)
    B = rng.normal(size=(n, n + 2))
    A = B @ B.T
    W = cholesky(A).inverse_factor()
    np.testing.assert_allclose(W.T @ W @ A, np.eye(n), atol=1e-8)
    assert not np.any(np.triu(W, 1))
    C = rng.normal(size=(n, 2))
    for order in "CF":
        found = scaled_plus_products(np.array(A, order=order), -0.5, C, np.array([3.0, -2.0]))
        np.testing.assert_allclose(found, -0.5 * A + C @ np.diag([3.0, -2.0]) @ C.T, atol=1e-12)
