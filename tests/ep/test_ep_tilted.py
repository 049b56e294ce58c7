"""Normalisers of tilted distributions and their derivatives, against high-precision quadrature and differences."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesvm.likelihoods as lib
from bayesvm.testing import five_point

LIKELIHOODS = [
    lib.Trigonometric(),
    lib.RaisedCosine(),
    lib.Logistic(),
    lib.Probit(),
    lib.NormalizedHinge(),
    lib.NormalizedHinge(7.0),
    lib.Hinge(),
    lib.SoftInsensitive(),
    lib.SoftInsensitive(100.0, 1.0, 0.3),
    lib.SmoothInsensitive(),
    lib.Huber(),
    lib.Huber(100.0, 1.0),
    lib.Laplace(),
    lib.EpsilonInsensitive(),
    lib.GaussianNoise(),
]
IDS = [repr(likelihood) for likelihood in LIKELIHOODS]
#: Means (of the margin or the residual) and variances: usual, narrow, wide, far on either side.
CASES = [(0.3, 0.7), (-0.9, 0.02), (1.4, 3.0), (-2.5, 1.0), (6.0, 2.0), (0.2, 60.0), (-4.0, 0.1), (0.05, 1e-4)]


def smooth_density(likelihood):
    """Return the likelihood as a function of t for mpmath, exact to many more digits than float64."""
    m = mpmath
    if isinstance(likelihood, lib.Trigonometric):
        return lambda t: 0 if t <= -1 else 1 if t >= 1 else m.sin(m.pi / 4 * (1 + t)) ** 2
    if isinstance(likelihood, lib.RaisedCosine):
        return lambda t: 0 if t <= -1 else 1 if t >= 1 else (1 + t + m.sin(m.pi * t) / m.pi) / 2
    if isinstance(likelihood, lib.Logistic):
        return lambda t: 1 / (1 + m.exp(-t))
    if isinstance(likelihood, lib.Probit):
        return m.ncdf
    if isinstance(likelihood, lib.Laplace):
        return lambda t: m.mpf(likelihood.C) / 2 * m.exp(-m.mpf(likelihood.C) * abs(t))
    return lambda t: m.exp(-m.mpf(float(likelihood.profile(np.array([float(t)])).loss[0])))


def reference(likelihood, t, v):
    """Return ln Z and its two derivatives in the mean of t."""
    mpmath.mp.dps = 30
    density, s = smooth_density(likelihood), float(np.sqrt(v))
    low, high = likelihood.domain
    # points around the Gaussian, around the knots and around the peak of the product
    grid = np.concatenate([t + s * np.linspace(-14, 14, 57), *(k + s * np.linspace(-2, 2, 9) for k in likelihood.knots)])
    if np.isfinite(low):
        grid = np.concatenate([grid, low + s * np.geomspace(1e-4, 10, 16)])
    grid = np.unique(np.clip(np.concatenate([grid, likelihood.knots, [low, high]]), max(low, t - 40 * s), min(high, t + 40 * s)))
    inner = grid[(grid > low) & (grid < high)]
    level = -likelihood.profile(inner).loss - 0.5 * (inner - t) ** 2 / v
    near = inner[level > level.max() - 60.0]
    ends = [e for e in grid if near[0] - s <= e <= near[-1] + s]
    m, var = mpmath.mpf(t), mpmath.mpf(v)

    def moment(power, about):
        return mpmath.quad(
            lambda x: (x - about) ** power * density(x) * mpmath.exp(-((x - m) ** 2) / (2 * var)), ends, maxdegree=6
        )

    z = moment(0, m)
    mean = moment(1, m) / z
    spread = moment(2, m + mean) / z
    log_z = mpmath.log(z) - mpmath.log(2 * mpmath.pi * var) / 2
    return float(log_z), float(mean / var), float((spread / var - 1) / var)


def at(likelihood, t, v):
    y = np.ones(1) if isinstance(likelihood, lib.Classification) else np.zeros(1)
    f = np.array([t]) if isinstance(likelihood, lib.Classification) else np.array([-t])
    return y, f, np.array([v])


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=IDS)
def test_normaliser_and_moments_to_ten_digits(likelihood):
    for t, v in CASES:
        y, f, var = at(likelihood, t, v)
        found = likelihood.tilted(y, f, var)
        log_z, slope, bend = reference(likelihood, t, v)
        sign = float(likelihood.slope(y)[0])
        where = f"t ~ N({t}, {v})"
        assert found.log_z[0] == pytest.approx(log_z, abs=1e-10, rel=1e-10), where
        assert sign * found.slope[0] * np.sqrt(v) == pytest.approx(slope * np.sqrt(v), abs=1e-10, rel=1e-10), where
        assert found.bend[0] * v == pytest.approx(bend * v, abs=1e-10), where


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=IDS)
@given(t=st.floats(-30.0, 30.0), log_v=st.floats(-9.0, 7.0))
@settings(max_examples=60, deadline=None)
def test_normaliser_agrees_with_the_predictive_distribution(likelihood, t, log_v):
    y, f, var = at(likelihood, t, float(np.exp(log_v)))
    found = likelihood.tilted(y, f, var)
    assert found.log_z[0] == pytest.approx(likelihood.log_predictive(y, f, var)[0], rel=1e-9, abs=1e-9)
    assert found.bend[0] * var[0] > -1.0
    if likelihood.traits.convex:
        assert found.bend[0] * var[0] < 1e-9


@pytest.mark.parametrize("likelihood", [x for x in LIKELIHOODS if x.theta.size], ids=repr)
def test_derivatives_in_the_parameters(likelihood):
    rng = np.random.default_rng(0)
    n = 12
    mean, var = rng.normal(size=n), np.exp(rng.normal(size=n))
    y = np.sign(rng.normal(size=n)) if isinstance(likelihood, lib.Classification) else rng.normal(size=n)
    for each in (likelihood, lib.Weighted(likelihood, np.linspace(0.3, 2.0, n))):
        expected = five_point(lambda p, each=each: each.with_theta(p).tilted(y, mean, var).log_z, each.theta)
        np.testing.assert_allclose(each.tilted_theta(y, mean, var), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("likelihood", [lib.RaisedCosine(), lib.NormalizedHinge(), lib.Huber()], ids=repr)
def test_weights_below_one_are_powers(likelihood):
    y, f, var = at(likelihood, -0.4, 0.5)
    weighted = lib.Weighted(likelihood, [0.5])
    x = np.linspace(max(likelihood.domain[0], -9.0), 9.0, 200_001)
    x = 0.5 * (x[1:] + x[:-1])
    z = np.sum(np.exp(-0.5 * likelihood.profile(x).loss - (x + 0.4) ** 2)) * (x[1] - x[0]) / np.sqrt(np.pi)
    assert weighted.tilted(y, f, var).log_z[0] == pytest.approx(np.log(z), abs=1e-6)
    assert float(weighted.copies[0]) == 1.0
    none = lib.Weighted(likelihood, [0.0]).tilted(y, f, var)
    assert (none.log_z[0], none.slope[0], none.bend[0]) == (0.0, 0.0, 0.0)
