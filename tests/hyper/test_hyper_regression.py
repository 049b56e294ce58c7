"""Regression: surrogates with wider zones, several outputs under one theta, and starts."""

import dataclasses

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm.datasets import make_robot_arm, make_sinc
from bayesvm.hyper import EvidenceObjective, regression_starting_points
from bayesvm.inference import Laplace
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.testing import five_point, relative_error


@pytest.mark.parametrize("kind", [lib.SoftInsensitive, lib.SmoothInsensitive])
@pytest.mark.parametrize(("n", "beta"), [(100, 1.0), (2000, 1.0), (4000, 0.5), (100_000, 0.3)])
def test_the_eased_surrogate_has_wider_zones(kind, n, beta):
    loss = kind(7.0, 0.2, 0.3).fix("C")
    eased = loss.eased(n, 2000)
    assert eased.beta == beta
    assert (eased.C, eased.epsilon, eased.limits) == (loss.C, loss.epsilon, loss.limits)
    assert eased is loss or isinstance(eased, lib.SoftInsensitive)


def test_the_eased_surrogate_of_huber_and_of_weights():
    assert lib.Huber().eased(10, 300) == lib.Huber()
    weighted = lib.Weighted(lib.SoftInsensitive(), [1.0, 2.0])
    assert weighted.eased(2, 300).likelihood.beta == 1.0
    assert weighted.eased(2, 300).weights == weighted.weights
    logistic = lib.Logistic()
    assert logistic.eased(10, 300) is logistic


def test_shared_objective_is_the_sum_of_its_outputs():
    X, Y, _ = make_robot_arm(40, random_state=0)
    kernel = Gaussian(1.0, 0.8) + Constant(1.0)
    shared = EvidenceObjective(kernel, lib.SmoothInsensitive(5.0, 0.3, 0.8), Laplace(), Inputs(X), Y)
    theta = shared.theta0
    total = shared.evaluate(theta)
    alone = [dataclasses.replace(shared, y=np.ascontiguousarray(shared.y[:, k])) for k in range(2)]
    parts = [objective.evaluate(theta) for objective in alone]
    assert len(total.posteriors) == 2
    for mine, theirs in zip(total.posteriors, parts):
        np.testing.assert_allclose(mine.alpha, theirs.posteriors[0].alpha)
    assert total.value == pytest.approx(sum(part.value for part in parts))
    np.testing.assert_allclose(total.gradient, sum(part.gradient for part in parts), rtol=1e-9)
    warm = shared.evaluate(theta, total.evidence.latent)
    assert warm.value == pytest.approx(total.value, abs=1e-8)
    assert relative_error(total.gradient, five_point(lambda t: shared.evaluate(t).value, theta, 1e-4)) < 1e-6


@pytest.mark.parametrize("likelihood", [lib.SoftInsensitive(), lib.GaussianNoise(), lib.SoftInsensitive().fix("C")])
def test_starts_scale_with_the_targets(likelihood):
    X, _, _ = make_sinc(30, random_state=0)
    kernel = Gaussian() + Constant()
    unit = regression_starting_points(kernel, likelihood, Inputs(X), 8, np.random.default_rng(0))
    wide = regression_starting_points(kernel, likelihood, Inputs(X), 8, np.random.default_rng(0), spread=10.0)
    assert len(unit) == len(wide) == 8
    for a, b in zip(unit, wide):
        assert a.size == kernel.theta.size + likelihood.theta.size
        free = likelihood.with_theta(a[kernel.theta.size :]), likelihood.with_theta(b[kernel.theta.size :])
        np.testing.assert_allclose(b[:3] - a[:3], [np.log(100.0), 0.0, np.log(100.0)], atol=1e-12)
        if not likelihood.limits:
            assert free[1].noise_variance == pytest.approx(100.0 * free[0].noise_variance)
