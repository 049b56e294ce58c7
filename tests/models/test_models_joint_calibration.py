"""Slopes and shifts of several classes: derivatives, evidence, what they do not depend on."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp

from bayesvm.models import joint_calibration
from bayesvm.models.joint_calibration import (
    CAUTIOUS_CLASSES,
    COUPLED,
    FULL_CLASSES,
    ClassShrinkage,
    calibrate_classes,
)
from bayesvm.testing import five_point


def drawn(n=120, n_classes=4, seed=0, slope=2.0):
    """Return scores and classes that follow them with a slope and shifts of their own."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, n_classes))
    odds = slope * scores + 0.5 * rng.normal(size=n_classes)
    proba = np.exp(log_softmax(odds, axis=1))
    return scores, np.array([rng.choice(n_classes, p=row) for row in proba])


def problem(scores, codes, weights=None, tuned=1.5, shrinkage=CAUTIOUS_CLASSES):
    given = np.ones(codes.size) if weights is None else weights
    return joint_calibration._Problem(scores, codes, given, 0.3, tuned, shrinkage)


def test_the_gradient_is_that_of_the_loss():
    scores, codes = drawn()
    rng = np.random.default_rng(1)
    own = problem(scores, codes, rng.uniform(0.5, 2.0, size=codes.size))
    p = 0.3 * rng.normal(size=9)
    numeric = five_point(lambda q: own.loss(q)[0], p)
    np.testing.assert_allclose(own.loss(p)[1], numeric, atol=1e-6, rtol=1e-7)


def test_the_curvature_is_that_of_the_loss_without_the_slopes_own_second_derivative():
    """Where errors are zero on average the part that is left out vanishes: here, the classes drawn infinitely often."""
    scores, _ = drawn(n=40)
    p = 0.1 * np.random.default_rng(2).normal(size=9)
    scales, shifts = problem(scores, np.zeros(40, dtype=int)).split(p)
    proba = np.exp(log_softmax(scores * scales + shifts, axis=1))
    rows = np.repeat(scores, 4, axis=0)
    own = problem(rows, np.tile(np.arange(4), 40), proba.ravel(), tuned=0.0)
    numeric = five_point(lambda q: own.loss(q)[1], p)
    np.testing.assert_allclose(own.curvature(p), numeric, atol=1e-5, rtol=1e-6)


def test_the_evidence_is_an_integral():
    """Against an integral over the slope alone, the shifts and deviations having almost no room."""
    scores, codes = drawn(n=60, n_classes=3)
    tight = ClassShrinkage(slope=0.7, own=1e-5, shift=1e-5, optimism=0.5)
    found = calibrate_classes(scores, codes, np.ones(60), determined=2.0, shrinkage=tight)
    expected = np.log(tight.size / np.mean(np.abs(scores)))
    grid = np.linspace(-5.0, 5.0, 4001)
    terms = []
    for z in grid:
        log_p = log_softmax(np.exp(expected + z) * scores, axis=1)[np.arange(60), codes].sum()
        terms.append(log_p - 0.5 * (z / 0.7) ** 2 - np.log(0.7) - 0.5 * 2.0 * np.exp(z))
    integral = logsumexp(terms) + np.log(grid[1] - grid[0]) - 0.5 * np.log(2.0 * np.pi)
    assert found.log_evidence == pytest.approx(integral, abs=0.03)


def test_slopes_and_shifts_come_back():
    scores, codes = drawn(n=20000, n_classes=3, slope=2.5)
    found = calibrate_classes(scores, codes, np.ones(codes.size), determined=0.0, shrinkage=FULL_CLASSES)
    np.testing.assert_allclose(found.scales, 2.5, rtol=0.05)
    assert found.gain > 0.0


def test_the_scale_of_the_scores_does_not_matter():
    scores, codes = drawn()
    first = calibrate_classes(scores, codes, np.ones(120), determined=3.0)
    other = calibrate_classes(1e6 * scores, codes, np.ones(120), determined=3.0)
    assert other.log_evidence == pytest.approx(first.log_evidence, abs=1e-6)
    np.testing.assert_allclose(1e6 * other.scales, first.scales, rtol=1e-4)


def test_repetition_is_weight_and_order_does_not_matter():
    scores, codes = drawn()
    weights = np.random.default_rng(3).integers(1, 4, size=codes.size)
    weighted = calibrate_classes(scores, codes, weights.astype(float), determined=3.0)
    order = np.random.default_rng(4).permutation(int(weights.sum()))
    repeated = np.repeat(scores, weights, axis=0)[order], np.repeat(codes, weights)[order]
    found = calibrate_classes(*repeated, np.ones(order.size), determined=3.0)
    np.testing.assert_allclose(found.scales, weighted.scales, rtol=1e-4)
    assert found.log_evidence == pytest.approx(weighted.log_evidence, abs=1e-5)


def test_determined_hyperparameters_make_it_shy():
    scores, codes = drawn()
    slopes = [calibrate_classes(scores, codes, np.ones(120), determined=g).scales.mean() for g in (0.0, 5.0, 50.0)]
    assert slopes[0] > slopes[1] > slopes[2]


def test_scores_that_are_log_odds_stay_where_they_are_right():
    scores, codes = drawn(n=5000, slope=1.0)
    found = calibrate_classes(scores, codes, np.ones(5000), determined=0.0, shrinkage=COUPLED)
    np.testing.assert_allclose(found.scales, 1.0, atol=0.12)


def test_scores_that_say_nothing():
    codes = np.repeat([0, 1, 2], 10)
    found = calibrate_classes(np.zeros((30, 3)), codes, np.ones(30), determined=1.0)
    np.testing.assert_allclose(found.shifts, 0.0, atol=1e-6)
    assert np.isfinite(found.log_evidence)


def test_parts_are_the_same_correction():
    scores, codes = drawn()
    found = calibrate_classes(scores, codes, np.ones(120), determined=1.0)
    parts = found.parts()
    columns = np.column_stack([part.apply(scores[:, k]) for k, part in enumerate(parts)])
    np.testing.assert_allclose(columns, found.apply(scores), rtol=1e-12)
    assert sum(part.gain for part in parts) == pytest.approx(found.gain)
    assert dataclasses.is_dataclass(found)
