"""Slope and shift of log odds: shrinkage, the reference, tuned hyperparameters, weights."""

import numpy as np
import pytest
from scipy.special import expit

from bayesvm.hyper.recalibration import determined, recalibrate


def labelled(n, slope, shift=0.0, seed=0):
    """Return log odds that are too small by the factor ``slope``, and labels."""
    rng = np.random.default_rng(seed)
    odds = 2.0 * rng.normal(size=n)
    return odds, np.where(rng.random(n) < expit(slope * odds + shift), 1.0, -1.0)


def test_finds_slope_and_shift_of_many_rows():
    odds, y = labelled(20000, 2.0, 0.5)
    found = recalibrate(odds, y, np.ones(y.size), determined=0.0)
    assert found.scale == pytest.approx(2.0, rel=0.05)
    assert found.shift == pytest.approx(0.5, abs=0.05)
    assert found.gain > 100.0


def test_few_rows_change_little():
    odds, y = labelled(10, 3.0)
    found = recalibrate(odds, y, np.ones(10), determined=0.0)
    assert 0.5 < found.scale < 2.0


def test_tuned_hyperparameters_lower_the_slope():
    odds, y = labelled(100, 1.5)
    scales = [recalibrate(odds, y, np.ones(100), determined=g).scale for g in (0.0, 3.0, 20.0)]
    assert scales[0] > scales[1] > scales[2]


def test_the_size_of_all_odds_is_undone_at_no_cost():
    odds, y = labelled(200, 1.2)
    size = float(np.mean(np.abs(odds)))
    plain = recalibrate(odds, y, np.ones(200), determined=2.0)
    small = recalibrate(odds / 50.0, y, np.ones(200), determined=2.0, reference=size)
    assert small.scale == pytest.approx(50.0 * plain.scale, rel=1e-4)
    assert small.log_evidence == pytest.approx(plain.log_evidence, abs=1e-4)
    assert small.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-3)


def test_a_weight_counts_as_copies():
    odds, y = labelled(60, 1.5)
    weights = np.where(np.arange(60) % 3 == 0, 2.0, 1.0)
    rows = np.repeat(np.arange(60), weights.astype(int))
    a = recalibrate(odds, y, weights, determined=1.0)
    b = recalibrate(odds[rows], y[rows], np.ones(rows.size), determined=1.0)
    assert a.scale == pytest.approx(b.scale, rel=1e-5)
    assert a.log_evidence == pytest.approx(b.log_evidence, abs=1e-6)


def test_separable_rows_stay_finite():
    odds = np.concatenate([np.full(20, 5.0), np.full(20, -5.0)])
    found = recalibrate(odds, np.sign(odds), np.ones(40), determined=1.0)
    assert np.isfinite(found.log_evidence)
    assert found.scale < 3.0


def test_odds_of_zero():
    y = np.tile([1.0, -1.0], 10)
    found = recalibrate(np.zeros(20), y, np.ones(20), determined=0.0, reference=1.0)
    assert found.scale == pytest.approx(1.0)
    assert found.gain == pytest.approx(0.0, abs=1e-9)


def test_determined_counts_what_the_data_fix():
    prior = np.diag([1.0, 4.0, 0.25])
    assert determined(prior, prior) == pytest.approx(0.0, abs=1e-12)
    assert determined(prior + np.diag([1e9, 0.0, 0.25]), prior) == pytest.approx(1.5, abs=1e-6)
    assert determined(prior - np.diag([0.0, 3.0, 0.0]), prior) == 0.0
