"""Values of mpmath (``likelihood_reference.py``): derivatives at 1e-13, Gaussian integrals at 1e-12, with extremes."""

from __future__ import annotations

import json

import likelihood_reference as reference
import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

import bayesvm.likelihoods as lib
from bayesvm.likelihoods.normal_tails import hazard, log_exponential_tail, log_interval, log_ndtr
from bayesvm.likelihoods.quadrature import log_gaussian_integral

TABLE = json.loads(reference.TABLE.read_text())
CASES = [(name, i) for name, rows in TABLE.items() for i in range(len(rows))]


def _case(name, i):
    entry = TABLE[name][i]
    return getattr(lib, name)(**entry["parameters"]), entry


@pytest.mark.parametrize(("name", "i"), CASES)
@pytest.mark.parametrize("order", ["loss", "gradient", "curvature", "third"])
def test_derivatives(name, i, order):
    likelihood, entry = _case(name, i)
    k = ["loss", "gradient", "curvature", "third"].index(order)
    t = np.array([row[0] for row in entry["derivatives"]])
    expected = np.array([float(mpf(row[1 + k])) for row in entry["derivatives"]])
    found = getattr(likelihood.profile(t), order)
    # beside a kink of a scaled zone the zone's own rounding limits the accuracy
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13 * (1.0 if order == "loss" else 0.0) + 1e-300)


@pytest.mark.parametrize("name", ["Trigonometric", "RaisedCosine", "Logistic", "Probit", "NormalizedHinge"])
def test_small_losses_keep_relative_accuracy(name):
    likelihood, entry = _case(name, 0)
    rows = [row for row in entry["derivatives"] if 0.0 < row[0] < 50.0]
    expected = np.array([float(mpf(row[1])) for row in rows])
    np.testing.assert_allclose(likelihood.profile(np.array([row[0] for row in rows])).loss, expected, rtol=1e-13)


@pytest.mark.parametrize("route", ["log_predictive", "quadrature"])
@pytest.mark.parametrize(("name", "i"), CASES)
def test_integrals(name, i, route):
    likelihood, entry = _case(name, i)
    mean, var = (np.array([row[k] for row in entry["integrals"]]) for k in (0, 1))
    expected = np.array([float(mpf(row[2])) for row in entry["integrals"]])
    if route == "quadrature":
        args = (likelihood.shifted_profile, likelihood.knots, likelihood.domain)
        found = log_gaussian_integral(*args, mean, var, origin=likelihood.origin)
    elif isinstance(likelihood, lib.Classification):
        found = likelihood.log_predictive(-np.ones_like(mean), -mean, var)
    else:
        found = likelihood.log_predictive(np.zeros_like(mean), -mean, var)
    error = np.abs(found - expected) / np.maximum(1.0, np.abs(expected))
    worst = int(np.argmax(error))
    assert error[worst] < 1e-12, f"N({mean[worst]}, {var[worst]}): {found[worst]}, expected {expected[worst]}"


def test_recipe():
    """The stored table is what the recipe gives (one entry here; all of them by running the recipe)."""
    with mp.workdps(reference.DIGITS):
        row = TABLE["Trigonometric"][0]["integrals"][2]
        value = reference.log_gaussian_integral(reference.trigonometric, (1.0,), (-1.0, mp.inf), row[0], row[1])
        assert abs(value - mpf(row[2])) < mpf(10) ** -20
        row = TABLE["RaisedCosine"][0]["derivatives"][2]
        for found, stored in zip(reference.derivatives(reference.raised_cosine, row[0]), row[1:], strict=True):
            assert abs(found - mpf(stored)) <= mpf(10) ** -20 * max(1, abs(mpf(stored)))


def test_normal_functions():
    z = np.array([-1e20, -1e3, -37.0, -8.0, -2.0, -0.3, 0.0, 0.3, 5.5, 8.0, 20.0])
    with mp.workdps(100):
        below = [mp.erfc(-mpf(x) / mp.sqrt(2)) / 2 for x in z]
        expected = [
            float(mp.log(p)) if p < 0.5 else float(mp.log1p(-mp.erfc(mpf(x) / mp.sqrt(2)) / 2))
            for p, x in zip(below, z)
        ]
        rates = [float(mp.npdf(mpf(x)) / p) for p, x in zip(below, z)]
    np.testing.assert_allclose(log_ndtr(z), expected, rtol=5e-14)
    np.testing.assert_allclose(hazard(z), rates, rtol=1e-13)


@pytest.mark.parametrize("u", [-1e6, -30.0, -1.0, 0.0, 0.7, 40.0, 1e6])
@pytest.mark.parametrize("c", [0.0, 1e-8, 0.5, 30.0, 1e6])
def test_exponential_tail(u, c):
    with mp.workdps(60):
        a, b = mpf(u), mpf(c)
        expected = a * b + b * b / 2 + mp.log(mp.erfc((a + b) / mp.sqrt(2)) / 2)
    found = float(log_exponential_tail(np.array([u]), np.array([c]))[0])
    assert found == pytest.approx(float(expected), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("centre", [0.0, 1e-3, -0.7, 5.0, -40.0, 1e4])
@pytest.mark.parametrize("half", [1e-12, 1e-5, 0.3, 4.0, 100.0])
def test_interval(centre, half):
    with mp.workdps(60):
        a, b = mpf(abs(centre)) - mpf(half), mpf(abs(centre)) + mpf(half)
        r = mp.sqrt(2)
        p = (mp.erfc(a / r) - mp.erfc(b / r)) / 2 if a > 0 else (mp.erf(b / r) - mp.erf(a / r)) / 2
        if p < mpf(10) ** -40:  # the difference has cancelled: add digits
            with mp.workdps(60 + int(-mpmath.log10(p + mpf(10) ** -300))):
                p = (mp.erfc(a / r) - mp.erfc(b / r)) / 2
        expected = float(mp.log(p))
    found = float(log_interval(np.array([float(a)]), np.array([half]))[0])
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("k", [1e-6, 0.3, 7.0, 1e3, 1e6])
@pytest.mark.parametrize("beta", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("cls", [lib.SoftInsensitive, lib.SmoothInsensitive])
def test_scaled_mass_and_moment(cls, beta, k):
    """G, k G' and M of the zoned losses against integrals in mpmath, to 1e-13."""
    shape = reference._quadratic if cls is lib.SoftInsensitive else reference._cosine
    with mp.workdps(30):
        b, c = mpf(beta), mpf(k)
        cuts = sorted({mpf(-1), mpf(1), *(-1 + mpf(2) ** -j for j in range(12))})

        def zone(function):
            return b * c * mp.quad(lambda u: function(u) * mp.exp(-b * c * shape(u)), cuts)

        tail, outer = mp.exp(-b * c), (1 + b) * c
        mass = (1 - b) * c + zone(lambda u: 1) + tail
        change = (1 - b) * c + zone(lambda u: 1 - b * c * shape(u)) - b * c * tail
        moment = ((1 - b) * c) ** 3 / 3 + zone(lambda u: (c * (1 + b * u)) ** 2) + (outer**2 + 2 * outer + 2) * tail
    likelihood = cls(1.0, 1.0, beta)
    np.testing.assert_allclose(likelihood.scaled_mass(k), [float(mass), float(change)], rtol=1e-13)
    assert likelihood.scaled_moment(k) == pytest.approx(float(moment), rel=1e-13)
