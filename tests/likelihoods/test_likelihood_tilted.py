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


def panels(likelihood, t, v):
    """Return the ends of many short panels that cover the product of likelihood and Gaussian."""
    s = float(np.sqrt(v))
    low, high = likelihood.domain
    grid = [
        t + s * np.linspace(-40, 40, 321),
        likelihood.knots,
        *(k + s * np.linspace(-2, 2, 33) for k in likelihood.knots),
    ]
    if np.isfinite(low):
        grid.append(low + s * np.geomspace(1e-4, 10, 60))
    ends = np.unique(np.clip(np.concatenate([*grid, [low, high]]), max(low, t - 40 * s), min(high, t + 40 * s)))
    middle = 0.5 * (ends[1:] + ends[:-1])
    level = -likelihood.profile(middle).loss - 0.5 * (middle - t) ** 2 / v
    kept = np.flatnonzero(level > level.max() - 60.0)
    return ends[kept[0] : kept[-1] + 2]


def reference(likelihood, t, v):
    """Return ln Z and its two derivatives in the mean of t by a fine composite rule."""
    ends = panels(likelihood, t, v)
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = 0.5 * np.diff(ends)[:, None]
    x = (0.5 * (ends[1:] + ends[:-1])[:, None] + half * nodes).ravel()
    exponent = -likelihood.profile(x).loss - 0.5 * (x - t) ** 2 / v
    top = exponent.max()
    w = (half * weights).ravel() * np.exp(exponent - top)
    z = w.sum()
    mean = w @ (x - t) / z
    spread = w @ (x - t - mean) ** 2 / z
    return top + np.log(z) - 0.5 * np.log(2.0 * np.pi * v), mean / v, (spread / v - 1.0) / v


EXACT = {
    lib.Trigonometric: lambda t: 1 if t >= 1 else mpmath.sin(mpmath.pi / 4 * (1 + t)) ** 2,
    lib.RaisedCosine: lambda t: 1 if t >= 1 else (1 + t + mpmath.sin(mpmath.pi * t) / mpmath.pi) / 2,
    lib.Logistic: lambda t: 1 / (1 + mpmath.exp(-t)),
    lib.Probit: mpmath.ncdf,
}


def _moment(density, power, m, var, ends):
    return mpmath.quad(lambda x: (x - m) ** power * density(x) * mpmath.exp(-((x - m) ** 2) / (2 * var)), ends)


@pytest.mark.parametrize("kind", list(EXACT), ids=lambda kind: kind.__name__)
def test_the_fine_rule_against_many_digits(kind):
    likelihood = kind()
    for t, v in ((0.3, 0.7), (-2.5, 1.0)):
        with mpmath.workdps(20):
            m, var = mpmath.mpf(t), mpmath.mpf(v)
            ends = [mpmath.mpf(float(e)) for e in panels(likelihood, t, v)[::24]] + [
                float(panels(likelihood, t, v)[-1])
            ]
            ends = sorted({*ends, *(k for k in likelihood.knots if ends[0] < k < ends[-1])})
            parts = [_moment(EXACT[kind], p, m, var, ends) for p in range(3)]
            mean = parts[1] / parts[0]
            spread = parts[2] / parts[0] - mean**2
            expected = (
                mpmath.log(parts[0]) - mpmath.log(2 * mpmath.pi * var) / 2,
                mean / var,
                (spread / var - 1) / var,
            )
        np.testing.assert_allclose(reference(likelihood, t, v), [float(e) for e in expected], rtol=1e-11, atol=1e-11)


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
@settings(max_examples=25, deadline=None)
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


@pytest.mark.parametrize("power", [0.02, 0.3, 0.8])
@pytest.mark.parametrize("kind", [lib.Trigonometric, lib.RaisedCosine], ids=lambda kind: kind.__name__)
def test_powers_of_labels_against_many_digits(kind, power):
    # where the probability is zero a power of it is no polynomial: the panel next to that end has nodes of its own
    likelihood = kind()
    for t, v in ((0.3, 0.7), (-1.0, 0.02)):
        low, reach = max(likelihood.domain[0], t - 12.0 * np.sqrt(v)), t + 12.0 * np.sqrt(v)
        ends = sorted({low, reach, *(e for e in (-0.9, 0.0, t, *likelihood.knots) if low < e < reach)})
        with mpmath.workdps(40):
            m, var = mpmath.mpf(t), mpmath.mpf(v)
            parts = [_moment(lambda x: mpmath.mpf(max(EXACT[kind](x), 0)) ** power, p, m, var, ends) for p in range(3)]
            mean = parts[1] / parts[0]
            spread = parts[2] / parts[0] - mean**2
            log_z = mpmath.log(parts[0]) - mpmath.log(2 * mpmath.pi * var) / 2
            expected = [float(e) for e in (log_z, mean / var, (spread / var - 1) / var)]
        found = lib.Weighted(likelihood, [power]).tilted(np.ones(1), np.array([t]), np.array([v]))
        np.testing.assert_allclose(
            [found.log_z[0], found.slope[0], found.bend[0]], expected, rtol=1e-11, atol=1e-12 / v
        )
