"""Elliptical slice sampling against targets whose moments are known."""

import numpy as np
import pytest

from bayesvm.inference.hinge.elliptical_slice import elliptical_step


def chains(L, log_factor, power, count, sweeps, seed=0):
    """Return the states of many chains after some sweeps from the prior."""
    rng = np.random.default_rng(seed)
    f = L @ rng.standard_normal((L.shape[0], count))
    value = log_factor(f)
    for _ in range(sweeps):
        f, value = elliptical_step(f, value, L @ rng.standard_normal(f.shape), log_factor, power, rng)
    np.testing.assert_allclose(value, log_factor(f))
    return f


@pytest.mark.parametrize("power", [0.4, 1.0])
def test_a_gaussian_factor_gives_the_conjugate_posterior(power):
    K, y, noise = np.array([[2.0, 1.2], [1.2, 1.5]]), np.array([1.0, -0.5]), 0.5
    f = chains(np.linalg.cholesky(K), lambda f: -0.5 * np.sum((y[:, None] - f) ** 2, axis=0) / noise, power, 20_000, 30)
    V = np.linalg.inv(np.linalg.inv(K) + power / noise * np.eye(2))
    deviation = np.sqrt(np.diagonal(V) / 20_000)
    assert np.all(np.abs(f.mean(axis=1) - V @ y * power / noise) < 4.0 * deviation)
    np.testing.assert_allclose(np.cov(f), V, atol=0.02)


def test_a_hinge_factor_against_quadrature():
    f = chains(np.array([[1.5]]), lambda f: -3.0 * np.maximum(1.0 - f[0], 0.0), 1.0, 40_000, 20)[0]
    x = np.linspace(-12.0, 12.0, 100_001)
    density = np.exp(-0.5 * (x / 1.5) ** 2 - 3.0 * np.maximum(1.0 - x, 0.0))
    density /= density.sum()
    for moment in (1, 2, 3):
        draws, exact = f**moment, float(density @ x**moment)
        assert abs(draws.mean() - exact) < 4.0 * draws.std() / np.sqrt(draws.size)


def test_where_a_step_leads_does_not_depend_on_the_other_chains():
    def moved(others):
        rng = np.random.default_rng(0)
        f, direction = np.concatenate([[3.0], others])[None], np.concatenate([[2.0], others[::-1]])[None]
        calls = []

        def log_factor(f):
            calls.append(f.shape[1])
            return -40.0 * f[0] ** 2

        f, _ = elliptical_step(f, log_factor(f), direction, log_factor, 1.0, rng)
        return f[0, 0], len(calls)

    (near, few), (far, many) = moved(np.full(4, 0.01)), moved(np.linspace(100.0, 500.0, 4))
    assert few != many  # the others had to draw more often
    assert near == far


def test_a_chain_that_finds_no_better_place_stays():
    # rounding can leave the state itself below its level: nothing on the ellipse is then acceptable
    f, value = np.array([[1.0, 2.0]]), np.array([0.0, -1.0])
    direction = np.array([[0.5, -0.5]])
    rng = np.random.default_rng(0)
    new, new_value = elliptical_step(f, value, direction, lambda f: np.full(f.shape[1], -np.inf), 1.0, rng)
    np.testing.assert_array_equal(new, f)
    np.testing.assert_array_equal(new_value, value)
