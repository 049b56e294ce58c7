"""Better estimates of the naive evidence against brute force, differences and known numbers."""

import itertools

import numpy as np
import pytest
from hinge_problems import KERNEL, brute_force, problem, random_problem

from bayesvm.inference.hinge import (
    HingeExactOrEP,
    NaiveHinge,
    SliceSampling,
    hinge_mode,
    log_nu,
)
from bayesvm.inference.hinge import ep_or_exact as module
from bayesvm.inference.hinge.ep_or_exact import marginal_precision
from bayesvm.kernels import Gaussian
from bayesvm.likelihoods import Hinge, Weighted
from bayesvm.testing import five_point, relative_error


def test_the_known_numbers_of_one_point():
    K, y, C = np.array([[2.0]]), np.ones(1), 3.0
    kappa = 1.0 / (1.0 + np.exp(-2.0 * C))
    values = [
        np.exp(m.infer(K, y, Hinge(C))[1].value) / kappa for m in (NaiveHinge(False), NaiveHinge(), HingeExactOrEP())
    ]
    assert np.allclose(values, [0.527, 0.437, 0.322], atol=5e-4)


@pytest.mark.parametrize(
    "method", [NaiveHinge(), HingeExactOrEP(), HingeExactOrEP(exact_up_to=0)], ids=["naive", "exact", "gaussian"]
)
@pytest.mark.parametrize("n", [1, 2, 3, 30])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_of_the_naive_evidence(method, n, weighted):
    X, y = problem(n, seed=5)
    w = np.random.default_rng(1).uniform(0.5, 2.0, size=n)

    def likelihood(log_c):
        plain = Hinge(float(np.exp(log_c)))
        return Weighted(plain, w) if weighted else plain

    def evidence(theta):
        return method.infer(KERNEL.with_theta(theta[:3]).gram(X), y, likelihood(theta[3]))[1]

    theta = np.r_[KERNEL.theta, np.log(2.1)]
    here = evidence(theta)
    gradient = np.r_[KERNEL.pullback(X[here.rows], here.dK), here.dphi]
    assert relative_error(gradient, five_point(lambda t: evidence(t).value, theta, 1e-4)) < 1e-6


@pytest.mark.parametrize("method", [HingeExactOrEP(), HingeExactOrEP(exact_up_to=0)], ids=["exact", "gaussian"])
def test_better_estimates_against_brute_force(method):
    rng = np.random.default_rng(3)
    for _ in range(15):
        K, y, C = random_problem(rng)
        assert abs(np.expm1(method.infer(K, y, Hinge(C))[1].value - brute_force(K, y, C, 100))) < 0.1


def test_the_model_is_normalised_over_all_data_sets():
    K3, C = Gaussian(1.5, 0.6).gram(np.array([[0.0], [0.5], [1.2]])), 1.7
    L = np.linalg.cholesky(K3)
    z = (np.arange(100) + 0.5) / 100 * 14.0 - 7.0
    w = np.exp(-0.5 * z**2) / np.sum(np.exp(-0.5 * z**2))
    Z = np.stack(np.meshgrid(z, z, z, indexing="ij")).reshape(3, -1)
    W = (w[:, None, None] * w[:, None] * w).ravel()
    N = np.mean(np.exp(log_nu(L @ Z, C)), axis=0)
    total = 0.0
    for rows in itertools.product(range(3), repeat=2):
        K = K3[np.ix_(rows, rows)] + 1e-9 * np.eye(2)
        for labels in itertools.product((-1.0, 1.0), repeat=2):
            total += np.exp(HingeExactOrEP().infer(K, np.array(labels), Hinge(C))[1].value) / 9.0
    assert total / float(W @ N**2) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(
    "method",
    [NaiveHinge(), NaiveHinge(guarded=False), HingeExactOrEP(), HingeExactOrEP(exact_up_to=0)],
    ids=["naive", "printed", "exact", "gaussian"],
)
def test_no_point_in_doubt(method):
    """A kernel of small variance: all points are bounded, and the integral is that of the tangents."""
    X, y = problem(10)
    kernel = Gaussian(1e-4, 1.0)

    def evidence(theta):
        return method.infer(kernel.with_theta(theta[:2]).gram(X), y, Hinge(float(np.exp(theta[2]))))

    theta = np.r_[kernel.theta, np.log(1.3)]
    posterior, here = evidence(theta)
    K = kernel.gram(X)
    tangents = 0.5 * 1.3**2 * float(y @ K @ y) - 10.0 * (1.3 + np.log1p(np.exp(-2.6)))
    assert here.value == pytest.approx(tangents, abs=1e-9)
    gradient = np.r_[kernel.pullback(X[here.rows], here.dK), here.dphi]
    assert relative_error(gradient, five_point(lambda t: evidence(t)[1].value, theta, 1e-3)) < 1e-6
    draws = SliceSampling(40, 4, 5, 2).run(K, y, np.full(10, 1.3), posterior, np.random.default_rng(0))
    assert np.allclose((K @ draws.coefficients).mean(axis=1), 1.3 * K @ y, atol=0.02)


def test_weights_of_many_orders_of_magnitude_take_the_naive_evidence():
    X, y = problem(12, seed=5)
    K, w = KERNEL.gram(X), np.geomspace(1e-3, 1e3, 12)
    likelihood = Weighted(Hinge(2.0), w)
    found, naive = (method.infer(K, y, likelihood)[1] for method in (HingeExactOrEP(exact_up_to=0), NaiveHinge()))
    assert found.status.ok
    assert found.value == pytest.approx(naive.value, rel=1e-12)
    near = Weighted(Hinge(2.0), np.geomspace(0.5, 2.0, 12))
    other, plain = (method.infer(K, y, near)[1].value for method in (HingeExactOrEP(exact_up_to=0), NaiveHinge()))
    assert abs(other - plain) > 0.01


@pytest.mark.parametrize("number", [-1, 4])
def test_the_number_of_exact_points_is_checked(number):
    with pytest.raises(ValueError, match=f"exact_up_to: expected 0 to 3, found {number}"):
        HingeExactOrEP(exact_up_to=number)


@pytest.mark.parametrize("covariance", [1.5, 0.9], ids=["the point itself", "another"])
def test_of_one_point_the_variance_is_exact(covariance):
    K, y, C = np.array([[1.5]]), np.ones(1), 2.0
    posterior, _ = HingeExactOrEP().infer(K, y, Hinge(C))
    f = np.linspace(-12.0, 12.0, 200_001)
    p = np.exp(-(f**2) / 3.0 - C * np.maximum(1.0 - f, 0.0))
    p /= p.sum()
    var = p @ f**2 - (p @ f) ** 2
    slope = covariance / 1.5
    expected = 1.5 - slope * covariance + slope**2 * var
    np.testing.assert_allclose(posterior.var(np.array([[covariance]]), np.array([1.5])), expected, rtol=1e-6)


@pytest.mark.parametrize("doubt", [0.0, 1.0, 5.0])
def test_points_whose_kink_is_within_reach_are_in_doubt(doubt):
    X, y = problem(40, seed=2)
    K = KERNEL.gram(X)
    mode = hinge_mode(K, y, np.full(40, 2.0))
    W = marginal_precision(mode)
    std = np.sqrt(np.diagonal(K - K @ np.linalg.solve(np.diag(1.0 / np.maximum(W, 1e-12)) + K, K)))
    near = np.abs(y * mode.f - 1.0) <= doubt * std
    expected = np.union1d(np.flatnonzero(near), mode.marginal)
    np.testing.assert_array_equal(module._in_doubt(K, y, mode, doubt), expected)
    assert mode.marginal.size <= expected.size
    assert module._in_doubt(K[:3, :3], y[:3], hinge_mode(K[:3, :3], y[:3], np.ones(3)), doubt).tolist() == [0, 1, 2]
