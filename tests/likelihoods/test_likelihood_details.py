"""Numbers of the papers, limits between likelihoods, laws that hold for any argument."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from likelihood_instances import IDS, INSTANCES

import bayesvm.likelihoods as lib
from bayesvm.likelihoods.quadrature import PiecewiseLoss, density_nodes, log_gaussian_integral

T = np.concatenate([np.linspace(-3.0, 3.0, 121), [-1e20, -1e3, -40.0, 40.0, 1e3, 1e20]])
ORDERS = ("loss", "gradient", "curvature", "third")
CLASSIFICATION = [x for x in INSTANCES if isinstance(x, lib.Classification)]
NORMALIZED = [x for x in CLASSIFICATION if x.traits.normalized]


# -- numbers of the papers --------------------------------------------------------------------------------------------
def test_soft_insensitive_numbers():
    x = lib.SoftInsensitive(10.0, 0.1, 0.3)
    assert x.noise_variance == pytest.approx(0.026785, abs=5e-7)  # Thesis (2.33)
    q = 10.0 * 0.3 * 0.1
    from scipy.special import erf

    mass = 2 * 0.7 * 0.1 + 2 * np.sqrt(np.pi * 0.03 / 10) * erf(np.sqrt(q)) + 0.2 * np.exp(-q)  # Thesis (2.32)
    assert x.profile(np.zeros(1)).loss[0] == pytest.approx(np.log(mass), rel=1e-14)


def test_trigonometric_numbers():
    z = np.array([-0.9, -0.2, 0.0, 0.5, 0.99])
    p = lib.Trigonometric().profile(z)
    theta = np.pi / 4 * (1 - z)
    np.testing.assert_allclose(np.exp(-p.loss), np.cos(theta) ** 2, rtol=1e-13)  # Chu2003 (4)
    np.testing.assert_allclose(p.gradient, -np.pi / 2 * np.tan(theta), rtol=1e-13)  # (5)
    np.testing.assert_allclose(p.curvature, np.pi**2 / 8 / np.cos(theta) ** 2, rtol=1e-13)  # (6)
    np.testing.assert_allclose(8 / (np.pi**2 + 4 * p.gradient**2), 1 / p.curvature, rtol=1e-13)  # (29)


def test_normalized_hinge_numbers():
    below, above = (lib.NormalizedHinge().profile(np.array([-1.0 + s * 1e-9])).gradient[0] for s in (-1, 1))
    assert below == pytest.approx(-0.881, abs=5e-4)
    assert above == pytest.approx(-1.762, abs=5e-4)


def test_raised_cosine_edges():
    x = 1e-6
    p = lib.RaisedCosine().profile(np.array([-1.0 + 2.0**-20, 1.0 - 2.0**-20, 1.0, 5.0]))
    h = 2.0**-20
    assert p.loss[0] == pytest.approx(-np.log(np.pi**2 * h**3 / 12), rel=1e-12)
    assert p.gradient[0] == pytest.approx(-3 / h, rel=1e-10)
    assert p.curvature[1] == pytest.approx(np.pi**2 / 2 * h, rel=1e-5)
    assert np.all(p.loss[2:] == 0.0)
    assert lib.RaisedCosine().shifted_profile(np.array([x * 1e-30])).loss[0] == pytest.approx(
        -np.log(np.pi**2 / 12) - 3 * np.log(x * 1e-30), rel=1e-14
    )


@pytest.mark.parametrize("likelihood", [lib.Trigonometric(), lib.RaisedCosine()])
def test_outside_the_domain(likelihood):
    p = likelihood.profile(np.array([-1.0, -1.5, -1e20]))
    assert np.all(p.loss == np.inf)
    assert all(np.all(getattr(p, k) == 0.0) for k in ORDERS[1:])
    assert np.isfinite(likelihood.profile(np.array([np.nextafter(-1.0, 0.0)])).third[0])
    assert likelihood.log_predictive(np.ones(1), np.array([-2.0]), np.zeros(1))[0] == -np.inf


# -- limits -----------------------------------------------------------------------------------------------------------
def test_huber_is_soft_insensitive_with_beta_one():
    a, b = lib.Huber(3.0, 0.4), lib.SoftInsensitive(3.0, 0.4, 1.0)
    for k in ORDERS:
        np.testing.assert_array_equal(getattr(a.profile(T), k), getattr(b.profile(T), k))
    assert a.noise_variance == b.noise_variance
    assert a.traits == b.traits
    np.testing.assert_array_equal(a.profile_theta(T).loss, b.profile_theta(T).loss)


@pytest.mark.parametrize("cls", [lib.SoftInsensitive, lib.SmoothInsensitive])
def test_small_epsilon_is_laplace(cls):
    a, b = cls(3.0, 1e-9, 0.3), lib.Laplace(3.0)
    t = T[np.abs(T) > 1e-6]
    np.testing.assert_allclose(a.profile(t).loss, b.profile(t).loss, rtol=1e-8)
    np.testing.assert_array_equal(a.profile(t).gradient, b.profile(t).gradient)
    assert a.noise_variance == pytest.approx(b.noise_variance, rel=1e-8)
    m, v = np.linspace(-2, 2, 9), np.full(9, 0.3)
    np.testing.assert_allclose(a.log_predictive(0 * m, m, v), b.log_predictive(0 * m, m, v), rtol=1e-7)


@pytest.mark.parametrize("cls", [lib.SoftInsensitive, lib.SmoothInsensitive])
def test_small_beta_is_epsilon_insensitive(cls):
    a, b = cls(3.0, 0.4, 1e-8), lib.EpsilonInsensitive(3.0, 0.4)
    t = T[np.abs(np.abs(T) - 0.4) > 1e-6]
    np.testing.assert_allclose(a.profile(t).loss, b.profile(t).loss, rtol=1e-7)
    np.testing.assert_array_equal(a.profile(t).gradient, b.profile(t).gradient)
    np.testing.assert_allclose(a.profile_theta(t).loss, b.profile_theta(t).loss, rtol=1e-6, atol=1e-7)
    assert a.noise_variance == pytest.approx(b.noise_variance, rel=1e-7)


def test_large_epsilon_huber_is_gaussian():
    a, b = lib.Huber(200.0, 100.0), lib.GaussianNoise(1.0)
    np.testing.assert_allclose(a.profile(T[:121]).loss, b.profile(T[:121]).loss, rtol=1e-12)
    assert a.noise_variance == pytest.approx(1.0, rel=1e-12)


def test_smooth_insensitive_agrees_with_soft_outside_the_zones():
    a, b = lib.SmoothInsensitive(3.0, 0.4, 0.5), lib.SoftInsensitive(3.0, 0.4, 0.5)
    t = np.array([0.0, 0.1, 0.2, 0.6, 0.7, 5.0])
    shift = a.profile(t).loss - b.profile(t).loss
    np.testing.assert_allclose(shift, shift[0], atol=1e-14)


# -- laws -------------------------------------------------------------------------------------------------------------
MEANS = st.floats(-1e6, 1e6)
LOG_VARS = st.floats(-24.0, 12.0)


@pytest.mark.parametrize("likelihood", NORMALIZED, ids=str)
@settings(max_examples=25, deadline=None)
@given(mean=st.floats(-50.0, 50.0), log_var=LOG_VARS)
def test_probabilities_sum_to_one(likelihood, mean, log_var):
    m, v = np.full(2, mean), np.full(2, 10.0**log_var)
    total = np.exp(np.logaddexp(*likelihood.log_predictive(np.array([1.0, -1.0]), m, v)))
    assert total == pytest.approx(1.0, rel=1e-11)
    p = likelihood.predict_proba(np.array([mean, -mean]), v)
    assert p.sum() == pytest.approx(1.0, rel=1e-12)
    assert (p[0] > 0.5) == (mean > 0.0) or p[0] == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("likelihood", INSTANCES, ids=IDS)
@settings(max_examples=25, deadline=None)
@given(mean=MEANS, log_var=LOG_VARS)
def test_predictive_bounds(likelihood, mean, log_var):
    """Finite, and never above the logarithm of the largest density."""
    v = 10.0**log_var
    y = np.ones(1) if isinstance(likelihood, lib.Classification) else np.zeros(1)
    found = float(likelihood.log_predictive(y, y * mean if y[0] else y - mean, np.array([v]))[0])
    peak = -likelihood.profile(np.array([1e3 if y[0] else 0.0])).loss[0]
    assert np.isfinite(found)
    assert found <= peak + 1e-9 * max(1.0, abs(peak))


@pytest.mark.parametrize("likelihood", INSTANCES, ids=IDS)
@settings(max_examples=25, deadline=None)
@given(mean=st.floats(-30.0, 30.0), log_var=LOG_VARS)
def test_closed_forms_are_the_quadrature(likelihood, mean, log_var):
    m, v = np.array([mean]), np.array([10.0**log_var])
    y = np.ones(1) if isinstance(likelihood, lib.Classification) else np.zeros(1)
    a = likelihood.log_predictive(y, y * m if y[0] else y - m, v)
    args = (likelihood.shifted_profile, likelihood.knots, likelihood.domain, m, v)
    np.testing.assert_allclose(a, log_gaussian_integral(*args, origin=likelihood.origin), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "likelihood",
    [
        *(lib.Hinge(), lib.Laplace(1e-2), lib.Laplace(1e5), lib.EpsilonInsensitive(10.0, 1.0), lib.Probit()),
        *(lib.EpsilonInsensitive(1e5, 1e-4), lib.EpsilonInsensitive(1e-2, 1e-4), lib.GaussianNoise(1e-8)),
    ],
    ids=str,
)
def test_closed_forms_are_the_quadrature_everywhere(likelihood):
    """Means up to 1e20 and next to the kinks, variances from 1e-24 to 1e12: two independent routes agree."""
    rng = np.random.default_rng(1)
    n = 3000
    distance = rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-16.0, 20.0, n)
    m, v = (
        np.concatenate([rng.choice([-1.0, 0.0, 1.0], n // 2), np.zeros(n // 2)]) + distance,
        10.0 ** rng.uniform(-24, 12, n),
    )
    y = np.ones(n) if isinstance(likelihood, lib.Classification) else np.zeros(n)
    a = likelihood.log_predictive(y, m if y[0] else -m, v)
    args = (likelihood.shifted_profile, likelihood.knots, likelihood.domain, m, v)
    np.testing.assert_allclose(a, log_gaussian_integral(*args, origin=likelihood.origin), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("likelihood", INSTANCES, ids=IDS)
@settings(max_examples=50, deadline=None)
@given(t=st.floats(-1e20, 1e20))
def test_profile_is_finite_inside(likelihood, t):
    p = likelihood.profile(np.array([t]))
    inside = likelihood.domain[0] < t < likelihood.domain[1]
    assert np.isfinite(p.loss[0]) == inside
    assert all(np.isfinite(getattr(p, k)[0]) for k in ORDERS[1:])
    if likelihood.traits.convex:
        assert p.curvature[0] >= 0.0


@pytest.mark.parametrize("likelihood", INSTANCES, ids=IDS)
def test_the_loss_alone_is_that_of_the_profile(likelihood):
    x = np.concatenate(
        [10.0 ** np.linspace(-100, 3, 60), np.linspace(0.0, 4.0, 81), -(10.0 ** np.linspace(-100, 3, 60))]
    )
    np.testing.assert_allclose(likelihood.shifted_loss(x), likelihood.shifted_profile(x).loss, rtol=1e-13, atol=1e-15)


def test_nodes_give_moments():
    """The nodes integrate mild functions too: here the mean and variance of a tilted Gaussian with a known answer."""
    noise = lib.GaussianNoise(0.5)
    m, v = np.array([0.3, -2.0]), np.array([1.5, 0.2])
    nodes = density_nodes(PiecewiseLoss.of(noise), m, v)
    one, mean, square = nodes.average(np.stack([nodes.x**0, nodes.x, nodes.x**2]))
    np.testing.assert_allclose(one, 1.0, rtol=1e-14)
    np.testing.assert_allclose(mean, m * 0.5 / (0.5 + v), rtol=1e-12)
    np.testing.assert_allclose(square - mean**2, 0.5 * v / (0.5 + v), rtol=1e-12)
    first, second = nodes.moments()
    np.testing.assert_allclose(m + np.sqrt(v) * first, mean, rtol=1e-12)
    np.testing.assert_allclose(v * second, square - mean**2, rtol=1e-12)
    np.testing.assert_allclose(
        nodes.x, m[nodes.sample] + np.sqrt(v)[nodes.sample] * (nodes.centre + nodes.r), rtol=1e-12
    )
    np.testing.assert_allclose(nodes.log_z, noise.log_predictive(m, np.zeros(2), v), rtol=1e-12)


def test_one_sided_domain_without_knots():
    """A loss with an edge and no knot: the density of an exponential, whose integral is a normal tail."""

    def profile(x):
        inside = x > 0.0
        zero = np.zeros_like(x)
        return lib.Derivatives(np.where(inside, x, np.inf), np.where(inside, 1.0, 0.0), zero, zero)

    m, v = np.array([0.5, -3.0, 20.0]), np.array([1.0, 0.01, 4.0])
    from bayesvm.likelihoods.normal_tails import log_exponential_tail

    expected = log_exponential_tail(-m / np.sqrt(v), np.sqrt(v))
    np.testing.assert_allclose(log_gaussian_integral(profile, (), (0.0, np.inf), m, v), expected, rtol=1e-12)
