"""Gaussian integrals of hinge factors against adaptive quadrature and differences."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import log_ndtr

from bayesvm.inference.hinge.exact_integral import integrate_hinges
from bayesvm.testing import five_point


def test_no_margin_has_the_integral_one():
    moments = integrate_hinges(np.zeros(0), np.zeros((0, 0)), np.zeros(0))
    assert moments.log_z == 0.0
    assert moments.loss == 0.0
    assert moments.slope.shape == (0,)
    assert moments.precision.shape == (0, 0)


def by_quadrature(mean, cov, c):
    """The integral over two margins: the second in closed form, the first by adaptive quadrature."""
    s, slope = np.sqrt(cov[0, 0]), cov[0, 1] / cov[0, 0]
    rest = np.sqrt(cov[1, 1] - slope * cov[0, 1])

    def log_integrand(u):
        v = (mean[1] + slope * (u - mean[0]) - 1.0) / rest
        a = c[1] * rest
        inner = np.logaddexp(log_ndtr(v), log_ndtr(-v - a) + a * v + 0.5 * a * a)
        return inner - 0.5 * ((u - mean[0]) / s) ** 2 - np.log(s) - 0.5 * np.log(2.0 * np.pi) - c[0] * max(1.0 - u, 0.0)

    crossing = mean[0] + (1.0 - mean[1]) / slope
    grid = np.sort(
        np.r_[[p + t * s * d for p in (1.0, crossing) for d in np.geomspace(1e-6, 12.0, 60) for t in (-1, 1)]]
    )
    top = max(map(log_integrand, grid))
    pieces = itertools.pairwise(grid)
    return top + np.log(sum(quad(lambda u: np.exp(log_integrand(u) - top), a, b)[0] for a, b in pieces))


@pytest.mark.parametrize("variance", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("correlation", [-0.6, 0.3, 0.999])
def test_large_variances_are_integrated_exactly_too(variance, correlation):
    cov = variance * np.array([[1.0, correlation], [correlation, 1.0]])
    c, mean = np.array([3.0, 1.0]), np.array([0.2, -0.5])
    assert integrate_hinges(mean, cov, c).log_z == pytest.approx(by_quadrature(mean, cov, c), abs=1e-7)


@given(st.integers(1, 3), st.integers(0, 10**6))
@settings(max_examples=4, deadline=None)
def test_pattern_moments_are_derivatives(d, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d))
    V, m, c = A @ A.T + 0.3 * np.eye(d), rng.normal(size=d), rng.uniform(0.5, 3.0, size=d)
    found = integrate_hinges(m, V, c)
    slope = five_point(lambda x: integrate_hinges(x, V, c).log_z, m, 1e-3)
    assert np.allclose(found.slope, slope, atol=1e-6)
    bend = five_point(lambda x: integrate_hinges(x, V, c).slope, m, 1e-3)
    assert np.allclose(-found.precision, bend, atol=1e-5)
    rate = five_point(lambda x: integrate_hinges(m, V, np.exp(x[0]) * c).log_z, np.zeros(1), 1e-3)
    assert np.allclose(-found.loss, rate, atol=1e-6)
