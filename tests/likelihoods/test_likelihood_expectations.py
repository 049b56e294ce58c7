"""Gaussian expectations of losses: against mpmath, differences, closed forms and limits."""

import dataclasses
import itertools
import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from likelihood_instances import IDS, INSTANCES
from likelihood_reference import CASES
from mpmath import mp, mpf

import bayesvm.likelihoods as lib
from bayesvm.exceptions import IncompatibleError
from bayesvm.likelihoods.expectations import expected
from bayesvm.testing import five_point

FINITE = [(i, x) for i, x in zip(IDS, INSTANCES) if not np.isfinite(x.domain[0])]
INFINITE = [x for x in INSTANCES if np.isfinite(x.domain[0])]
REFERENCE = [
    (name, loss, p)
    for name, (loss, several) in CASES.items()
    for p in several
    if not np.isinf(float(loss(mpf(-5), **p)))
]
MOMENTS = [(0.3, 1.0), (-1.0, 1e-3), (0.101, 1e4), (4.0, 1e8), (-37.0, 30.0), (1e3, 0.01), (0.9, 1e-20)]

every = pytest.mark.parametrize("likelihood", [x for _, x in FINITE], ids=[i for i, _ in FINITE])


def given_t(likelihood, t):
    """Targets and latent values with the margins or residuals t."""
    y = np.where(np.arange(t.size) % 2 == 0, 1.0, -1.0) if isinstance(likelihood, lib.Classification) else 0.3 + 0.0 * t
    return y, y * t if isinstance(likelihood, lib.Classification) else y - t


# -- mpmath -----------------------------------------------------------------------------------------------------------
def legendre(order=24):
    """Gauss-Legendre nodes and weights with many digits, by Newton's method on the recursion."""
    nodes = []
    for guess in np.polynomial.legendre.leggauss(order)[0]:
        x = mpf(guess)
        for _ in range(3):
            p0, p1 = mpf(1), x
            for k in range(2, order + 1):
                p0, p1 = p1, ((2 * k - 1) * x * p1 - (k - 1) * p0) / k
            slope = order * (x * p1 - p0) / (x * x - 1)
            x -= p1 / slope
        nodes.append((x, 2 / ((1 - x * x) * slope**2)))
    return nodes


def reference(loss, knots, m, v):
    """E loss with its derivatives in the mean, E[loss u]/s and E[loss (u^2 - 1)]/v, by panels between the knots."""
    s = mp.sqrt(v)
    low, high = m - 10 * s, m + 10 * s
    ends = {low, high, *(m + k * s for k in range(-9, 10, 3))}
    ends |= {k for k in map(mpf, knots) if low < k < high}
    ends |= {sign * mpf(2) ** k for k in range(-4, 17, 2) for sign in (-1, 1) if low < sign * mpf(2) ** k < high}
    ends = sorted(ends)
    centre = loss(m)
    sums = [mpf(0)] * 3
    for a, b in itertools.pairwise(ends):
        for x, w in RULE:
            u = (a + (b - a) * (1 + x) / 2 - m) / s
            value = (loss(m + s * u) - centre) * w * (b - a) / 2 * mp.exp(-u * u / 2) / (mp.sqrt(2 * mp.pi) * s)
            for i, h in enumerate((1, u / s, (u * u - 1) / v)):
                sums[i] += value * h
    return [float(centre + sums[0]), float(sums[1]), float(sums[2])]


with mp.workdps(32):
    RULE = legendre()


@pytest.mark.parametrize(
    ("name", "loss", "parameters"), REFERENCE, ids=[f"{n}-{list(p.values())}" for n, _, p in REFERENCE]
)
def test_mpmath(name, loss, parameters):
    likelihood = getattr(lib, name)(**parameters)
    with mpmath.workdps(32):
        exact = {k: mpf(v) for k, v in parameters.items()}
        rows = [reference(lambda t: loss(t, **exact), likelihood.knots, mpf(m), mpf(v)) for m, v in MOMENTS]
    mean, var = np.array(MOMENTS).T
    y, f = given_t(likelihood, mean)
    found = likelihood.expected(y, f, var)
    slope = likelihood.slope(y)
    for part, expected_values in zip((found.loss, slope * found.gradient, found.curvature), np.array(rows).T):
        # an error of the last bit in t counts with the slope of the loss and with the inverse width of the Gaussian
        scale = np.maximum(1.0, np.abs(expected_values))
        assert np.max(np.abs(part - expected_values) / scale) < 1e-10, (part, expected_values)


# -- identities -------------------------------------------------------------------------------------------------------
@every
def test_each_derivative_is_that_of_the_one_before(likelihood):
    rng = np.random.default_rng(0)
    mean, var = 2.0 * rng.normal(size=30), 10.0 ** rng.uniform(-1.5, 2.0, size=30)
    y, f = given_t(likelihood, mean)
    centre, step = likelihood.expected(y, f, var), 1e-3 * np.sqrt(var)
    names = [field.name for field in dataclasses.fields(centre)]
    for name, following in itertools.pairwise(names):
        slopes = five_point(
            lambda t, name=name: getattr(likelihood.expected(y, f + t[0] * step, var), name), np.zeros(1), 1.0
        )
        slopes = slopes[0] / step
        np.testing.assert_allclose(getattr(centre, following), slopes, atol=1e-8 * max(1.0, np.abs(slopes).max()))
    in_var = five_point(lambda t: likelihood.expected(y, f, var * (1.0 + t[0])).loss, np.zeros(1), 1e-3)[0] / var
    np.testing.assert_allclose(0.5 * centre.curvature, in_var, atol=1e-8 * max(1.0, np.abs(in_var).max()))
    in_theta = five_point(lambda t: likelihood.with_theta(t).expected(y, f, var).loss, likelihood.theta).reshape(-1, 30)
    np.testing.assert_allclose(
        likelihood.expected_theta(y, f, var), in_theta, atol=1e-7 * max(1.0, np.abs(in_theta).max(initial=0.0))
    )


@every
def test_quadrature_and_closed_forms_agree(likelihood):
    rng = np.random.default_rng(1)
    mean, var = 3.0 * rng.normal(size=50), 10.0 ** rng.uniform(-4.0, 4.0, size=50)
    y, f = given_t(likelihood, mean)
    general = expected.dispatch(object)(likelihood, mean, var).scaled(1.0, likelihood.slope(y))
    own = likelihood.expected(y, f, var)
    for a, b in zip(dataclasses.astuple(own)[:3], dataclasses.astuple(general)[:3]):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


@every
def test_without_variance_it_is_the_loss(likelihood):
    t = np.array([-3.3, -0.77, 0.013, 0.51, 2.9])
    y, f = given_t(likelihood, t)
    e, d = likelihood.expected(y, f, np.zeros(5)), likelihood.derivatives(y, f)
    np.testing.assert_allclose(e.loss, d.loss, rtol=1e-13)
    np.testing.assert_allclose(e.gradient, d.gradient, rtol=1e-13)
    np.testing.assert_allclose(e.curvature, d.curvature, rtol=1e-13)


@every
@settings(max_examples=12, deadline=None)
@given(mean=st.floats(-1e8, 1e8), log_var=st.floats(-40.0, 28.0))
def test_nothing_overflows(likelihood, mean, log_var):
    y, f = given_t(likelihood, np.array([mean, 1.0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        e = likelihood.expected(y, f, np.full(2, np.exp(log_var)))
    assert all(np.all(np.isfinite(part)) for part in dataclasses.astuple(e))
    if likelihood.traits.convex:
        assert np.all(e.curvature >= 0.0)
        loss = likelihood.derivatives(y, f).loss  # of either sign
        assert np.all(e.loss >= loss - 1e-12 * (1.0 + np.abs(loss)))  # Jensen


def test_the_concave_kink_has_negative_expected_curvature():
    e = lib.NormalizedHinge().expected(np.ones(3), np.array([-1.0, -1.0, 3.0]), np.array([0.01, 25.0, 0.01]))
    assert e.curvature[0] < 0.0 < e.curvature[1]
    assert e.curvature[2] > 0.0


# -- weights and refusals ---------------------------------------------------------------------------------------------
@every
def test_weights(likelihood):
    rng = np.random.default_rng(2)
    w = rng.uniform(0.0, 3.0, size=8)
    w[3] = 0.0
    y, f = given_t(likelihood, rng.normal(size=8))
    var = rng.uniform(0.1, 2.0, size=8)
    plain, weighted = likelihood.expected(y, f, var), lib.Weighted(likelihood, w).expected(y, f, var)
    for a, b in zip(dataclasses.astuple(plain), dataclasses.astuple(weighted)):
        np.testing.assert_array_equal(w * a, b)
    found = lib.Weighted(likelihood, w).expected_theta(y, f, var)
    np.testing.assert_array_equal(found, w * likelihood.expected_theta(y, f, var))


@pytest.mark.parametrize("likelihood", INFINITE, ids=lambda x: type(x).__name__)
def test_infinite_losses_are_refused_with_the_reason(likelihood):
    for x in (likelihood, lib.Weighted(likelihood, [1.0])):
        with pytest.raises(IncompatibleError, match="under a Gaussian is infinite"):
            x.expected(np.ones(1), np.zeros(1), np.ones(1))


def test_the_convex_loss_of_the_machine():
    w = np.array([1.0, 2.0])
    assert lib.NormalizedHinge(3.0).margin_loss == lib.Hinge(3.0)
    assert lib.Logistic().margin_loss == lib.Logistic()
    assert lib.Weighted(lib.NormalizedHinge(), w).margin_loss == lib.Weighted(lib.Hinge(), w)


# -- small changes, and the company of other samples ------------------------------------------------------------------
@every
def test_small_changes_of_mean_and_variance_leave_errors_of_the_third_order(likelihood):
    rng = np.random.default_rng(3)
    mean, var = 2.0 * rng.normal(size=30), 10.0 ** rng.uniform(-0.5, 1.0, size=30)
    shift, change = np.sqrt(var) * rng.choice([-1.0, 1.0], size=30), var * rng.choice([-1.0, 1.0], size=30)
    y, f = given_t(likelihood, mean)
    here = likelihood.expected(y, f, var)
    orders = {"loss": 3, "gradient": 3, "curvature": 3, "third": 2, "fourth": 2}
    errors = {name: [] for name in orders}
    for h in (4e-2, 2e-2):
        there = likelihood.expected(y, f + h * shift, var * (1.0 + h * np.sign(change)))
        found = here.moved(h * shift, h * change)
        for name in orders:
            errors[name].append(np.max(np.abs(getattr(found, name) - getattr(there, name))))
    for name, order in orders.items():
        assert errors[name][1] <= errors[name][0] / 2 ** (order - 0.5) + 1e-11, (name, errors[name])


@every
def test_each_sample_is_as_by_itself(likelihood):
    rng = np.random.default_rng(4)
    mean, var = 5.0 * rng.normal(size=60), 10.0 ** rng.uniform(-6.0, 6.0, size=60)
    y, f = given_t(likelihood, mean)
    together = likelihood.expected(y, f, var)
    alone = [likelihood.expected(y[i : i + 1], f[i : i + 1], var[i : i + 1]) for i in range(60)]
    for name in ("loss", "gradient", "curvature"):
        expected_values = np.concatenate([getattr(one, name) for one in alone])
        np.testing.assert_allclose(getattr(together, name), expected_values, rtol=1e-12, atol=2e-13, err_msg=name)
