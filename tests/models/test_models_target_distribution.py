"""Mixtures of predictive distributions: densities, tails, intervals and moments against quadrature and sampling."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import norm

import bayesvm.likelihoods as lib
from bayesvm.likelihoods.convolution import half_width
from bayesvm.models.calibration import ScaleCalibration
from bayesvm.models.target_distribution import TargetDistribution


def mixture(weights=(0.6, 0.3, 0.1), gap=1.0):
    """Return three members at two rows: Gaussian, Laplace and soft insensitive noise, two of them stretched."""
    return TargetDistribution(
        np.array(weights),
        np.array([[0.0, 1.0], [gap, 1.0], [-2.0 * gap, 1.5]]),
        np.array([[0.3, 0.01], [0.1, 0.01], [0.5, 0.2]]),
        (lib.GaussianNoise(0.2), lib.Laplace(2.0), lib.SoftInsensitive()),
        (ScaleCalibration(), ScaleCalibration(1.4), ScaleCalibration(0.8)),
    )


def single(noise, scale=1.0):
    return TargetDistribution(
        np.ones(1), np.array([[0.5, -1.0]]), np.array([[0.3, 0.0004]]), (noise,), (ScaleCalibration(scale),)
    )


def at(found, row, n):
    """Return the distribution of one row n times, so that n targets are judged at once."""
    repeated = (np.repeat(part[:, [row]], n, axis=1) for part in (found.means, found.variances))
    return TargetDistribution(found.weights, *repeated, found.noise, found.corrections)


def integral(found, function, row, low=-40.0, high=40.0):
    """Return the integral of a function times the density, by Gauss-Legendre rules between the members' means."""
    knots = [low, *sorted({float(t) for t in found.means[:, row] if low < t < high}), high]
    ends = np.concatenate([np.linspace(a, b, 61)[:-1] for a, b in itertools.pairwise(knots)] + [[high]])
    nodes, weights = np.polynomial.legendre.leggauss(12)
    half = 0.5 * np.diff(ends)
    t = (0.5 * (ends[:-1] + ends[1:])[:, None] + half[:, None] * nodes).ravel()
    density = np.exp(at(found, row, t.size).log_density(t))
    return float(np.sum((half[:, None] * weights).ravel() * density * function(t)))


@pytest.mark.parametrize("row", [0, 1])
def test_density_mean_and_variance_by_quadrature(row):
    found = mixture()
    assert integral(found, np.ones_like, row) == pytest.approx(1.0, abs=1e-6)
    mean = integral(found, lambda t: t, row)
    assert found.mean[row] == pytest.approx(mean, abs=1e-6)
    assert found.variance[row] == pytest.approx(integral(found, lambda t: (t - mean) ** 2, row), rel=1e-6)


def test_the_variance_against_draws():
    found, n = mixture(), 100_000
    rng = np.random.default_rng(0)
    which = rng.choice(3, size=n, p=found.weights)
    for row in (0, 1):
        latent = rng.normal(size=n) * np.sqrt(found.variances[which, row])
        noise = np.stack([one.distribution().rvs((n,), rng) for one in found.noise])[which, np.arange(n)]
        scale = np.array([c.scale for c in found.corrections])[which]
        y = found.means[which, row] + scale * (latent + noise)
        error = np.std((y - y.mean()) ** 2) / np.sqrt(n)
        assert abs(np.var(y) - found.variance[row]) < 5.0 * error


@pytest.mark.parametrize("row", [0, 1])
def test_tails_by_quadrature(row):
    found = mixture()
    for t in (-3.0, 0.2, 2.5):
        y = np.full(2, t)
        assert np.exp(found.log_survival(y)[row]) == pytest.approx(integral(found, np.ones_like, row, low=t), abs=1e-6)
        both = np.exp(found.log_survival(y)[row]) + np.exp(found.log_survival(y, -1.0)[row])
        assert both == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("confidence", [0.1, 0.5, 0.95, 0.999, 1.0 - 1e-9])
@pytest.mark.parametrize("gap", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("weights", [(0.6, 0.3, 0.1), (1.0 - 2e-7, 1e-7, 1e-7)])
def test_both_ends_of_an_interval_leave_the_same_probability(confidence, gap, weights):
    found = mixture(weights, gap)
    low, high = found.interval(confidence)
    half = np.log(0.5 * (1.0 - confidence))
    assert np.all(low < high)
    assert found.log_survival(high) == pytest.approx(np.full(2, half), abs=1e-6)
    assert found.log_survival(low, -1.0) == pytest.approx(np.full(2, half), abs=1e-6)


def test_intervals_are_nested():
    found = mixture()
    ends = [found.interval(c) for c in (0.2, 0.5, 0.9, 0.99)]
    for (low, high), (wider_low, wider_high) in itertools.pairwise(ends):
        assert np.all(wider_low < low)
        assert np.all(high < wider_high)


@pytest.mark.parametrize("noise", [lib.GaussianNoise(0.2), lib.Laplace(2.0), lib.SoftInsensitive()])
def test_one_member_is_the_plain_distribution(noise):
    found = single(noise, 1.3)
    mean, var = found.means[0], found.variances[0]
    low, high = found.interval(0.9)
    assert high - mean == pytest.approx(1.3 * half_width(noise, var, 0.9))
    assert mean - low == pytest.approx(high - mean)
    assert found.variance == pytest.approx(1.69 * (var + noise.noise_variance))
    y = np.array([0.1, 0.7])
    assert found.log_density(y) == pytest.approx(ScaleCalibration(1.3).log_density(noise, y, mean, var))
    assert found.log_two_sided(mean) == pytest.approx(np.zeros(2), abs=1e-12)


@pytest.mark.parametrize("noise", [lib.GaussianNoise(0.2), lib.Laplace(2.0)])
def test_equal_members_are_one(noise):
    one = single(noise)
    several = TargetDistribution(
        np.array([0.5, 0.3, 0.2]),
        np.repeat(one.means, 3, axis=0),
        np.repeat(one.variances, 3, axis=0),
        one.noise * 3,
        one.corrections * 3,
    )
    y = np.array([2.0, -0.3])
    assert several.variance == pytest.approx(one.variance)
    assert several.log_density(y) == pytest.approx(one.log_density(y))
    assert several.log_two_sided(y) == pytest.approx(one.log_two_sided(y))
    for ours, theirs in zip(several.interval(0.95), one.interval(0.95), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-9)


def test_two_sided_tails_far_out_and_in_the_middle():
    found = mixture()
    far = found.log_two_sided(np.array([60.0, -60.0]))
    assert np.all(np.isfinite(far))
    assert np.all(far < -20.0)
    low, high = found.interval(0.3)
    assert found.log_two_sided(low) == pytest.approx(np.full(2, np.log(0.7)), abs=1e-6)
    assert found.log_two_sided(high) == pytest.approx(np.full(2, np.log(0.7)), abs=1e-6)
    gaussian = single(lib.GaussianNoise(0.2))
    z = np.array([30.0, -35.0])
    y = gaussian.mean + z * np.sqrt(gaussian.variance)
    assert gaussian.log_two_sided(y) == pytest.approx(norm.logsf(np.abs(z)) + np.log(2.0), rel=1e-9)
