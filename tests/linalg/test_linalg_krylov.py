"""Minimal residuals against a direct solution."""

import numpy as np
import pytest

from bayesvm.linalg.krylov import minimal_residual


@pytest.mark.parametrize("tol", [1e-1, 1e-6, 1e-12])
def test_the_residual_is_as_small_as_asked_for(tol):
    rng = np.random.default_rng(0)
    A, b = 4.0 * np.eye(30) + 0.3 * rng.normal(size=(30, 30)), rng.normal(size=30)  # not symmetric
    x = minimal_residual(lambda p: A @ p, b, tol=tol, max_iter=40)
    assert np.linalg.norm(A @ x - b) <= 1.01 * tol * np.linalg.norm(b)


def test_products_are_limited_and_none_is_needed_for_zero():
    calls = []

    def product(p):
        calls.append(p)
        return np.arange(1.0, 11.0) * p

    x = minimal_residual(product, np.ones(10), tol=0.0, max_iter=3)
    assert len(calls) == 3
    np.testing.assert_array_less(np.linalg.norm(np.arange(1.0, 11.0) * x - 1.0), np.sqrt(10.0))
    np.testing.assert_array_equal(minimal_residual(product, np.zeros(10), tol=0.1, max_iter=3), 0.0)
    assert len(calls) == 3


def test_a_direction_without_image_ends_the_search():
    A = np.diag([2.0, 1.0, 0.0])
    x = minimal_residual(lambda p: A @ p, np.array([2.0, 3.0, 5.0]), tol=1e-12, max_iter=10)
    np.testing.assert_allclose(A @ x, [2.0, 3.0, 0.0], atol=1e-12)
    np.testing.assert_array_equal(minimal_residual(lambda p: 0.0 * p, np.ones(3), tol=1e-12, max_iter=10), 0.0)
