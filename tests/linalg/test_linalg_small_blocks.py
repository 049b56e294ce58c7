"""Many small symmetric matrices at once: roots along principal axes, covariances without a precision."""

from __future__ import annotations

import numpy as np

from bayesvm.linalg.small_blocks import covariance_without, principal_roots


def blocks(n=5, C=4):
    A = np.random.default_rng(0).normal(size=(n, C, C))
    return 0.5 * np.eye(C) + A @ A.transpose(0, 2, 1) / C


def test_roots_are_roots_with_the_longest_axis_first():
    A = blocks()
    R = principal_roots(A)
    np.testing.assert_allclose(R @ R.transpose(0, 2, 1), A, atol=1e-12)
    assert np.all(np.diff(np.linalg.norm(R, axis=1), axis=1) <= 0.0)


def test_a_permutation_permutes_the_rows_of_the_roots():
    A, order = blocks(), np.array([2, 0, 3, 1])
    np.testing.assert_allclose(principal_roots(A[:, order][:, :, order]), principal_roots(A)[:, order], atol=1e-10)


def test_negative_eigenvalues_by_rounding_count_as_zero():
    A = np.array([[[1.0, 1.0], [1.0, 1.0 - 1e-16]]])
    np.testing.assert_allclose(principal_roots(A)[0], [[1.0, 0.0], [1.0, 0.0]], atol=1e-7)


def test_a_precision_is_taken_away():
    A, W = blocks(), 0.2 * blocks()
    whole = np.linalg.inv(np.linalg.inv(A) + W)
    np.testing.assert_allclose(covariance_without(whole, W), A, atol=1e-10)


def test_a_singular_covariance_stays_singular():
    found = covariance_without(np.diag([1.0, 0.0, 2.0])[None], 0.1 * np.eye(3)[None])[0]
    np.testing.assert_allclose(found, np.diag([1.0 / 0.9, 0.0, 2.5]), atol=1e-12)
