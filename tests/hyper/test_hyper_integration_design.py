"""Points and weights with which theta is averaged over."""

from __future__ import annotations

import numpy as np
import pytest

from bayesvm.hyper.integration_design import POINTS, REACH, importance_weights, integration_design

WIDE = np.array([-50.0, 50.0])


def bounds(k):
    return np.tile(WIDE, (k, 1))


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_points_are_mirrored_about_the_optimum_within_reach(k):
    centre = np.arange(k, dtype=float)
    axes = np.linalg.qr(np.random.default_rng(k).normal(size=(k, k)))[0] * np.arange(1.0, k + 1.0)
    design = integration_design(centre, axes, bounds(k))
    assert design.theta.shape == (POINTS, k)
    assert design.theta.mean(axis=0) == pytest.approx(centre)
    scores = np.linalg.solve(axes, (design.theta - centre).T).T
    assert np.max(np.abs(scores)) <= REACH + 1e-12
    assert design.log_density == pytest.approx(-0.5 * np.sum(scores**2, axis=1))
    assert np.std(scores, axis=0) == pytest.approx(np.ones(k), abs=0.15)


def test_the_design_is_the_same_each_time_and_stays_within_the_bounds():
    narrow = np.array([[-0.1, 0.1], [-50.0, 50.0]])
    first, second = (integration_design(np.zeros(2), np.eye(2), narrow) for _ in range(2))
    assert np.array_equal(first.theta, second.theta)
    assert np.all(np.abs(first.theta[:, 0]) <= 0.1)


def test_without_hyperparameters_there_is_one_point():
    design = integration_design(np.zeros(0), np.zeros((0, 0)), np.zeros((0, 2)))
    assert design.theta.shape == (1, 0)
    weights, effective = importance_weights([-3.0], design.log_density)
    assert weights.tolist() == [1.0]
    assert effective == 1.0


@pytest.mark.parametrize("points", [0, 1, 3, 24])
def test_the_number_of_points_is_a_power_of_two(points):
    with pytest.raises(ValueError, match="expected a power of two of at least 2"):
        integration_design(np.zeros(1), np.eye(1), bounds(1), points=points)


def test_a_gaussian_has_equal_weights():
    design = integration_design(np.zeros(3), np.eye(3), bounds(3))
    weights, effective = importance_weights(-0.5 * np.sum(design.theta**2, axis=1), design.log_density)
    assert weights == pytest.approx(np.full(POINTS, 1.0 / POINTS))
    assert effective == pytest.approx(POINTS)


def test_expectations_under_a_shifted_gaussian():
    design = integration_design(np.zeros(2), np.eye(2), bounds(2), points=1024, reach=5.0)
    target = np.array([0.5, -0.3])
    weights, _ = importance_weights(-0.5 * np.sum((design.theta - target) ** 2, axis=1), design.log_density)
    assert weights @ design.theta == pytest.approx(target, abs=0.02)
    assert weights @ design.theta**2 == pytest.approx(1.0 + target**2, abs=0.05)


def test_no_point_rules_alone():
    values = np.zeros(64)
    values[3] = 1000.0
    weights, effective = importance_weights(values, np.zeros(64))
    assert weights.sum() == pytest.approx(1.0)
    assert effective == pytest.approx(1.0 / np.sum(weights**2))
    values[3] = 4.0  # cut: eight times the mean
    weights, _ = importance_weights(values, np.zeros(64))
    free = np.exp(4.0) / (np.exp(4.0) + 63.0)
    assert weights[3] < free


def test_points_that_cannot_be_computed_have_no_weight():
    weights, effective = importance_weights([0.0, -np.inf, 0.0, -np.inf], np.zeros(4))
    assert weights == pytest.approx([0.5, 0.0, 0.5, 0.0])
    assert effective == pytest.approx(2.0)
    with pytest.raises(ValueError, match="a finite value at one point at least"):
        importance_weights([-np.inf, -np.inf], np.zeros(2))
