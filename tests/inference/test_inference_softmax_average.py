"""Averaged softmax probabilities: long runs of sampling, two classes by quadrature, invariances."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from bayesvm.inference.softmax_average import POINTS, averaged_log_proba, mutual_information, normal_points
from bayesvm.likelihoods import Logistic

DRAWS = 200_000


def gaussians(n, C, deviation, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, C, C))
    return 2.0 * rng.normal(size=(n, C)), deviation**2 * (0.5 * np.eye(C) + 0.5 * A @ A.transpose(0, 2, 1) / C)


@pytest.mark.parametrize("C", [2, 3, 5, 10, 20])
@pytest.mark.parametrize(("deviation", "error"), [(0.3, 1e-3), (1.0, 3e-3), (3.0, 1e-2)])
def test_against_sampling(C, deviation, error):
    mean, covariance = gaussians(2, C, deviation)
    found, rng = np.exp(averaged_log_proba(mean, covariance)), np.random.default_rng(1)
    for p, m, V in zip(found, mean, covariance, strict=True):
        draws = softmax(rng.multivariate_normal(m, V, size=DRAWS), axis=1)
        sampling = 4.0 * draws.std(axis=0) / np.sqrt(DRAWS)
        assert np.all(np.abs(p - draws.mean(axis=0)) < error + sampling)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)


def test_two_classes_by_quadrature():
    mean, covariance = gaussians(5, 2, 2.0)
    variance = covariance[:, 0, 0] + covariance[:, 1, 1] - 2.0 * covariance[:, 0, 1]
    expected = Logistic().predict_proba(mean[:, 1] - mean[:, 0], variance)
    found = averaged_log_proba(mean, covariance)
    np.testing.assert_allclose(np.exp(found), np.column_stack([1.0 - expected, expected]), atol=1e-12)


def test_two_of_three_classes_are_close_to_quadrature():
    """A third class that is out of the question leaves the logistic integral of the other two."""
    mean, covariance = np.array([[0.4, -0.7, -60.0]]), np.diag([1.5, 0.8, 1.0])[None]
    found = np.exp(averaged_log_proba(mean, covariance))[0]
    expected = Logistic().predict_proba(np.array([1.1]), np.array([2.3]))[0]
    assert found[0] == pytest.approx(expected, abs=2e-4)


def test_without_variance_it_is_the_softmax():
    mean, covariance = gaussians(3, 4, 0.0)
    np.testing.assert_allclose(averaged_log_proba(mean, covariance), log_softmax(mean, axis=1), atol=1e-12)


def test_what_all_classes_share_does_not_matter():
    mean, covariance = gaussians(6, 5, 1.5)
    np.testing.assert_allclose(
        averaged_log_proba(mean + 7.0, covariance + 100.0), averaged_log_proba(mean, covariance), atol=1e-9
    )


def test_the_order_of_the_classes_does_not_matter():
    mean, covariance = gaussians(6, 5, 1.5)
    order = np.array([2, 4, 0, 3, 1])
    there = averaged_log_proba(mean[:, order], covariance[:, order][:, :, order])
    np.testing.assert_allclose(there, averaged_log_proba(mean, covariance)[:, order], atol=1e-9)


def test_far_from_all_data_no_class_is_preferred():
    found = np.exp(averaged_log_proba(np.zeros((1, 6)), 9.0 * np.eye(6)[None]))
    np.testing.assert_allclose(found, 1.0 / 6.0, atol=6e-3)


def test_large_latent_values_stay_finite():
    found = averaged_log_proba(np.array([[800.0, 0.0, -800.0]]), np.eye(3)[None])
    assert np.all(np.isfinite(found))
    np.testing.assert_allclose(found[0], [0.0, -799.0, -1599.0], atol=1.0)


def test_the_points_are_mirrored_and_always_the_same():
    points = normal_points(4)
    assert points.shape == (POINTS, 4)
    np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=1e-14)
    np.testing.assert_allclose(points.T @ points / POINTS, np.eye(4), atol=0.02)
    np.testing.assert_array_equal(points, normal_points.__wrapped__(4))


@pytest.mark.parametrize("C", [2, 4])
def test_mutual_information_against_sampling(C):
    mean, covariance = gaussians(3, C, 1.5)
    found, rng = mutual_information(mean, covariance), np.random.default_rng(1)
    for value, m, V in zip(found, mean, covariance, strict=True):
        p = softmax(rng.multivariate_normal(m, V, size=DRAWS), axis=1)
        whole = p.mean(axis=0)
        expected = np.mean(np.sum(p * np.log(p), axis=1)) - np.sum(whole * np.log(whole))
        assert value == pytest.approx(expected, abs=5e-3)


def test_nothing_is_told_where_nothing_is_open():
    mean, covariance = gaussians(3, 4, 0.0)
    np.testing.assert_allclose(mutual_information(mean, covariance), 0.0, atol=1e-12)
