"""Points about an optimum: symmetry, reach, bounds, weights."""

import numpy as np
import pytest

from bayesvm.hyper.integration_design import design, importance_weights

BOUNDS = np.tile([-50.0, 50.0], (3, 1))


def test_points_have_the_moments_of_the_gaussian():
    axes = np.array([[1.0, 0.2, 0.0], [0.0, 0.5, 0.1], [0.0, 0.0, 2.0]])
    centre = np.array([1.0, -2.0, 0.5])
    made = design(centre, axes, BOUNDS, points=512, reach=4.0)
    assert made.theta.mean(axis=0) == pytest.approx(centre, abs=1e-12)
    assert np.cov(made.theta.T, bias=True) == pytest.approx(axes @ axes.T, rel=0.1, abs=0.05)


def test_same_points_every_time_in_mirrored_pairs():
    axes = np.eye(3)
    first, second = (design(np.zeros(3), axes, BOUNDS) for _ in range(2))
    assert np.array_equal(first.theta, second.theta)
    assert first.theta[:16] == pytest.approx(-first.theta[16:])


def test_reach_and_bounds_hold():
    bounds = np.array([[-0.5, 50.0], [-50.0, 50.0], [-50.0, 50.0]])
    made = design(np.zeros(3), 3.0 * np.eye(3), bounds, points=64, reach=1.5)
    assert np.abs(made.theta).max() <= 4.5 + 1e-12
    assert made.theta[:, 0].min() == -0.5


def test_nothing_to_integrate():
    made = design(np.ones(2), np.zeros((2, 0)), BOUNDS[:2])
    assert made.theta.shape == (1, 2)


@pytest.mark.parametrize("points", [0, 1, 3, 24])
def test_refuses_numbers_that_are_no_power_of_two(points):
    with pytest.raises(ValueError, match="power of two"):
        design(np.zeros(3), np.eye(3), BOUNDS, points=points)


def test_weights_of_a_gaussian_are_equal():
    made = design(np.zeros(3), np.eye(3), BOUNDS)
    weights, effective = importance_weights(-0.5 * np.sum(made.theta**2, axis=1), made.log_density)
    assert weights == pytest.approx(np.full(32, 1.0 / 32.0))
    assert effective == pytest.approx(32.0)


def test_no_point_rules_alone_and_failures_weigh_nothing():
    values = np.array([0.0, 100.0, -np.inf, 0.0])
    weights, effective = importance_weights(values, np.zeros(4))
    assert weights[2] == 0.0
    assert weights.sum() == pytest.approx(1.0)
    assert effective >= 1.0


def test_all_failed():
    with pytest.raises(ValueError, match="finite value"):
        importance_weights([-np.inf, -np.inf], np.zeros(2))
