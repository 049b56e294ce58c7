"""Recalibration on leave-one-out predictions: derivatives, integrals, invariances."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad, trapezoid
from scipy.special import expit, log_expit

import bayesvm.likelihoods as lib
from bayesvm.models import calibration
from bayesvm.models.calibration import (
    CAUTIOUS,
    FULL,
    Calibration,
    ScaleCalibration,
    Shrinkage,
    calibrate_odds,
    calibrate_scale,
)
from bayesvm.testing.differences import five_point, relative_error


def odds(n=120, slope=0.6, shift=0.3, seed=0):
    """Return log odds, and labels whose log odds are ``slope`` times them plus ``shift``."""
    rng = np.random.default_rng(seed)
    o = 2.0 * rng.normal(size=n)
    return o, np.where(rng.random(n) < expit(slope * o + shift), 1.0, -1.0)


def merit(p, o, y, w, shrinkage, determined, start=0.0):
    """Return F(ln s, b) as the module's docstring has it."""
    fit = w @ log_expit(y * (np.exp(p[0]) * o + p[1]))
    prior = 0.5 * ((p[0] - start) / shrinkage.slope) ** 2 + 0.5 * (p[1] / shrinkage.shift) ** 2
    return float(fit - prior - shrinkage.optimism * determined * np.exp(p[0] - start))


@pytest.mark.parametrize("reference", [None, 5.0])
@pytest.mark.parametrize("shrinkage", [CAUTIOUS, FULL, Shrinkage(0.3, 2.0, 1.0)])
def test_the_gradient_of_the_loss(monkeypatch, shrinkage, reference):
    seen = []

    def watched(loss, start, **options):
        seen.append(loss)
        return original(loss, start, **options)

    original = calibration.minimize
    monkeypatch.setattr(calibration, "minimize", watched)
    o, y = odds()
    w = np.random.default_rng(1).uniform(0.2, 3.0, size=o.size)
    calibrate_odds(o, y, w, determined=2.5, shrinkage=shrinkage, reference=reference)
    start = 0.0 if reference is None else np.log(reference / np.average(np.abs(o), weights=w))
    for p in ([0.0, 0.0], [-0.7, 0.4], [0.9, -1.1]):
        value, gradient = seen[0](np.array(p))
        assert value == pytest.approx(-merit(p, o, y, w, shrinkage, 2.5, start), rel=1e-12)
        assert relative_error(gradient, five_point(lambda q: seen[0](q)[0], np.array(p))) < 1e-8


def test_the_correction_is_the_maximum():
    o, y = odds()
    found = calibrate_odds(o, y, np.ones(o.size), determined=1.5)
    at = np.array([np.log(found.scale), found.shift])
    slope = five_point(lambda p: merit(p, o, y, np.ones(o.size), CAUTIOUS, 1.5), at)
    assert np.max(np.abs(slope)) < 1e-2
    plain = np.sum(log_expit(y * o))
    assert found.gain == pytest.approx(np.sum(log_expit(y * found.apply(o))) - plain)


@pytest.mark.parametrize("determined", [0.0, 3.0])
@pytest.mark.parametrize(("n", "slope"), [(40, 1.0), (120, 0.6), (300, 0.3)])
def test_what_a_correction_is_worth_against_the_integral(n, slope, determined):
    o, y = odds(n, slope)
    w = np.ones(n)
    found = calibrate_odds(o, y, w, determined=determined)
    top = merit([np.log(found.scale), found.shift], o, y, w, CAUTIOUS, determined)
    slopes, shifts = np.linspace(-3.0, 3.0, 121), np.linspace(-2.5, 2.5, 101)
    values = np.exp([[merit([log_s, b], o, y, w, CAUTIOUS, determined) - top for b in shifts] for log_s in slopes])
    volume = trapezoid(trapezoid(values, shifts), slopes)
    expected = top + np.log(volume) - np.log(2.0 * np.pi * CAUTIOUS.slope * CAUTIOUS.shift)
    assert found.log_evidence == pytest.approx(expected, abs=0.1)


def test_without_rows_that_speak_the_correction_is_none():
    o, y = odds()
    found = calibrate_odds(np.zeros(4), np.array([1.0, -1.0, 1.0, -1.0]), np.ones(4), determined=0.0)
    assert (found.scale, found.shift, found.gain) == pytest.approx((1.0, 0.0, 0.0), abs=1e-9)
    few = calibrate_odds(o[:5], y[:5], np.ones(5), determined=0.0)
    many = calibrate_odds(*odds(4000), np.ones(4000), determined=0.0)
    assert abs(np.log(few.scale)) < abs(np.log(many.scale))
    assert (many.scale, many.shift) == pytest.approx((0.6, 0.3), abs=0.1)


def test_odds_that_were_only_shrunk_are_worth_the_same():
    o, y = odds()
    size = float(np.mean(np.abs(o)))
    own = calibrate_odds(o, y, np.ones(o.size), determined=2.0)
    shrunk = calibrate_odds(0.25 * o, y, np.ones(o.size), determined=2.0, reference=size)
    assert shrunk.scale == pytest.approx(4.0 * own.scale, rel=1e-3)
    assert shrunk.log_evidence == pytest.approx(own.log_evidence, abs=1e-4)
    paid = calibrate_odds(0.25 * o, y, np.ones(o.size), determined=2.0)
    assert paid.log_evidence < own.log_evidence


def test_weights_are_repetitions_and_the_labels_can_be_exchanged():
    o, y = odds()
    w = np.random.default_rng(2).integers(1, 4, size=o.size)
    found = calibrate_odds(o, y, w.astype(float), determined=1.0)
    repeated = calibrate_odds(np.repeat(o, w), np.repeat(y, w), np.ones(w.sum()), determined=1.0)
    exchanged = calibrate_odds(-o, -y, w.astype(float), determined=1.0)
    for name in ("scale", "shift", "gain", "log_evidence"):
        assert getattr(found, name) == pytest.approx(getattr(repeated, name), abs=1e-5)
    assert exchanged.scale == pytest.approx(found.scale, abs=1e-5)
    assert exchanged.shift == pytest.approx(-found.shift, abs=1e-5)


def test_tuned_hyperparameters_make_odds_smaller():
    o, y = odds(60, 1.0, 0.0)
    scales = [calibrate_odds(o, y, np.ones(60), determined=k).scale for k in (0.0, 2.0, 8.0)]
    assert scales[0] > scales[1] > scales[2]


def test_odds_that_are_always_right_grow_to_a_finite_size():
    y = np.where(np.arange(400) % 2, 1.0, -1.0)
    found = calibrate_odds(3.0 * y, y, np.ones(400), determined=0.0, shrinkage=FULL)
    assert 1.0 < found.scale <= np.exp(6.0)
    assert np.isfinite(found.log_evidence)


# -- regression --------------------------------------------------------------------------------------------------------
NOISES = [lib.GaussianNoise(0.3), lib.Laplace(2.0), lib.Huber(), lib.SoftInsensitive()]


@pytest.mark.parametrize("noise", NOISES, ids=lambda one: type(one).__name__)
def test_the_corrected_density_integrates_to_one_with_deviations_stretched(noise):
    mean, var, correction = np.array([0.4]), np.array([0.2]), ScaleCalibration(1.7)

    def density(t):
        return float(np.exp(correction.log_density(noise, np.array([t]), mean, var)[0]))

    total = quad(density, -30.0, 30.0, points=[0.4], limit=200)[0]
    spread = quad(lambda t: density(t) * (t - 0.4) ** 2, -30.0, 30.0, points=[0.4], limit=200)[0]
    assert total == pytest.approx(1.0, abs=1e-7)
    assert spread == pytest.approx(1.7**2 * (0.2 + noise.noise_variance), rel=1e-6)


def test_the_scale_of_errors_is_found():
    rng = np.random.default_rng(0)
    noise, mean, var = lib.GaussianNoise(0.5), np.zeros(800), np.full(800, 0.5)
    y = 1.5 * rng.normal(size=800)
    full = calibrate_scale(noise, y, mean, var, np.ones(800), tuned=3, cautious=False)
    cautious = calibrate_scale(noise, y, mean, var, np.ones(800), tuned=3, cautious=True)
    assert full.scale == pytest.approx(np.sqrt(np.mean(y**2)), abs=0.01)
    assert full.weight == 1.0
    assert cautious.weight == pytest.approx(1.0, abs=1e-6)
    right = calibrate_scale(noise, y / 1.5, mean, var, np.ones(800), tuned=3, cautious=True)
    assert right.weight < 0.05
    assert right.scale == pytest.approx(1.0, abs=1e-2)


def test_no_correction_changes_nothing():
    o = np.linspace(-900.0, 900.0, 7)
    assert np.array_equal(Calibration().apply(o), o)
    noise = lib.GaussianNoise(0.5)
    y = np.linspace(-1.0, 1.0, 7)
    plain = noise.log_predictive(y, np.zeros(7), np.ones(7))
    assert ScaleCalibration().log_density(noise, y, np.zeros(7), np.ones(7)) == pytest.approx(plain, abs=1e-14)
