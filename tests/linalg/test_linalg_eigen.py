"""Complement basis, eigensolvers and conjugate gradients."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.linalg.cholesky import cholesky
from bayesvm.linalg.conjugate_gradients import conjugate_gradients
from bayesvm.linalg.eigen import LONG, Complement, leading_pairs, symmetric_eigen, triangle_less_both


def spd(n, seed, decay=0.7):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return (Q * decay ** np.arange(n)) @ Q.T


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 12), st.integers(0, 10_000), st.booleans())
def test_complement_is_orthonormal(n, seed, negative):
    rng = np.random.default_rng(seed)
    s = rng.uniform(0.1, 3.0, size=n) * (-1.0 if negative else 1.0)
    basis = Complement.of(s)
    P = basis.expand(np.eye(n - 1))
    np.testing.assert_allclose(P.T @ P, np.eye(n - 1), atol=1e-14)
    np.testing.assert_allclose(P.T @ s, 0.0, atol=1e-13)
    K = spd(n, seed)
    np.testing.assert_allclose(basis.compress(K), P.T @ K @ P, atol=1e-13)
    w = np.random.default_rng(1).normal(size=s.size)
    lower = np.triu(triangle_less_both(K.copy(), s, w))  # of the array in Fortran order, the transpose
    np.testing.assert_allclose(lower, np.triu(K - np.outer(s, w) - np.outer(w, s)), atol=1e-12)
    np.testing.assert_allclose(basis.project(K), P.T @ K, atol=1e-13)


def test_complement_leaves_its_argument_alone():
    s = np.ones(4)
    Complement.of(s)
    np.testing.assert_array_equal(s, np.ones(4))


def test_symmetric_eigen_is_sorted_and_takes_empty_matrices():
    values, vectors = symmetric_eigen(spd(9, 1))
    assert np.all(np.diff(values) <= 0.0)
    np.testing.assert_allclose((vectors * values) @ vectors.T, spd(9, 1), atol=1e-13)
    assert symmetric_eigen(np.empty((0, 0)))[0].size == 0


@pytest.mark.parametrize("n", [5, LONG])
def test_eigenvalues_that_cannot_be_computed_are_an_error(n, monkeypatch):
    def no_convergence(A):
        raise np.linalg.LinAlgError("no convergence")

    monkeypatch.setattr(np.linalg, "eigh", no_convergence)
    with pytest.raises(NotPositiveDefiniteError, match=rf"\({n} x {n}\) has no eigenvalues that could be computed"):
        symmetric_eigen(np.eye(n))
    monkeypatch.setattr(np.linalg, "eigh", lambda A: (np.full(n, np.nan), A))
    with pytest.raises(NotPositiveDefiniteError, match="contains non-finite values"):
        symmetric_eigen(np.eye(n))


def test_leading_pairs_bound_the_eigenvalues_from_below():
    A = spd(120, 3, decay=0.9)
    pairs = leading_pairs(A.__matmul__, 120, 15, np.random.default_rng(0), tol=1e-6, max_passes=20)
    exact = symmetric_eigen(A)[0][:15]
    assert np.all(pairs.values <= exact * (1.0 + 1e-12))
    np.testing.assert_allclose(pairs.values, exact, rtol=1e-6)
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(15), atol=1e-12)
    miss = A @ pairs.vectors - pairs.vectors * pairs.values
    assert pairs.residual == pytest.approx(np.max(np.linalg.norm(miss, axis=0)), rel=1e-6)


def test_leading_pairs_report_what_few_passes_leave():
    A = spd(120, 3, decay=0.99)
    pairs = leading_pairs(A.__matmul__, 120, 15, np.random.default_rng(0), tol=0.0, max_passes=2)
    assert pairs.passes == 2
    assert pairs.residual > 1e-6


def test_conjugate_gradients_solve_all_columns():
    A = spd(60, 5) + 0.1 * np.eye(60)
    b = np.random.default_rng(0).normal(size=(60, 3))
    b[:, 2] = 0.0
    result = conjugate_gradients(A.__matmul__, b, lambda r: r, np.zeros_like(b), tol=1e-12)
    assert result.converged
    np.testing.assert_allclose(result.x, np.linalg.solve(A, b), atol=1e-10)
    stopped = conjugate_gradients(A.__matmul__, b, lambda r: r, np.zeros_like(b), tol=1e-12, max_iter=3)
    assert not stopped.converged
    assert stopped.n_iter == 3
    assert stopped.residual > 1e-12


def test_back_solve_is_the_transposed_half_solve():
    A = spd(7, 2) + np.eye(7)
    b = np.random.default_rng(1).normal(size=(7, 2))
    factor = cholesky(A)
    np.testing.assert_allclose(factor.back_solve(factor.half_solve(b)), np.linalg.solve(A, b), atol=1e-12)
