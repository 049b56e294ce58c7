"""What a search leans on: parabolas above a loss, and Gaussian noise of the same variance."""

import numpy as np
import pytest
from likelihood_instances import IDS, INSTANCES

import bayesvm.likelihoods as lib
from bayesvm.likelihoods.transition_loss import SHAPES

INSENSITIVE = [lib.SoftInsensitive(), lib.SoftInsensitive(3.0, 0.4, 0.05), lib.Huber(2.0, 0.3), lib.SmoothInsensitive()]


@pytest.mark.parametrize("likelihood", INSENSITIVE, ids=str)
def test_the_parabola_with_the_majorant_touches_the_loss_and_lies_above_it(likelihood):
    edge = (1.0 - likelihood.beta) * likelihood.epsilon
    grid = np.linspace(-4.0, 4.0, 801)
    loss = likelihood.profile(grid).loss
    for t in np.array([1.01, 1.2, 3.0, 30.0]) * (1.0 + likelihood.beta) * likelihood.epsilon:
        (there,), (W,) = likelihood.profile(np.array([t])).loss[None], likelihood.majorant(np.array([t]))[None]
        parabola = there + 0.5 * W * ((grid - edge) ** 2 - (t - edge) ** 2)
        assert np.all(parabola >= loss - 1e-9 * (1.0 + np.abs(loss)))


@pytest.mark.parametrize("likelihood", INSTANCES, ids=IDS)
def test_the_majorant_is_at_least_the_curvature_and_equal_to_it_where_no_part_is_straight(likelihood):
    t = np.linspace(-0.9, 0.9, 61) if likelihood.domain[0] > -np.inf else np.linspace(-5.0, 5.0, 101)
    curvature, majorant = likelihood.profile(t).curvature, likelihood.majorant(t)
    assert np.all(majorant >= curvature)
    if not hasattr(likelihood, "epsilon") or type(likelihood) is lib.EpsilonInsensitive:
        np.testing.assert_array_equal(majorant, curvature)


def test_majorants_carry_weights():
    w, t = np.array([0.0, 0.5, 3.0]), np.array([-2.0, 0.3, 1.0])
    inner = lib.SoftInsensitive()
    np.testing.assert_array_equal(lib.Weighted(inner, tuple(w)).majorant(t), w * inner.majorant(t))


@pytest.mark.parametrize("likelihood", INSENSITIVE, ids=str)
def test_companion_and_matches_have_the_variance_of_the_noise(likelihood):
    companion = likelihood.companion
    assert isinstance(companion, lib.GaussianNoise)
    assert companion.variance == pytest.approx(likelihood.noise_variance, rel=1e-12)
    for match in likelihood.matching(companion):
        assert type(match) is type(likelihood)
        assert match.beta == likelihood.beta
        assert match.noise_variance == pytest.approx(companion.variance, rel=1e-12)


def test_matches_stay_within_bounds():
    likelihood = lib.SoftInsensitive(10.0, 0.1).bounded(C=(5.0, 20.0), epsilon=(0.05, 0.2))
    low, high = likelihood.companion.bounds[0]
    for log_variance in (low, high):
        for match in likelihood.matching(likelihood.companion.with_theta(np.array([log_variance]))):
            assert np.all((match.theta >= likelihood.bounds[:, 0]) & (match.theta <= likelihood.bounds[:, 1]))


def test_companions_carry_weights():
    weighted = lib.Weighted(lib.Huber(), (1.0, 2.0))
    assert isinstance(weighted.companion.plain, lib.GaussianNoise)
    matches = weighted.matching(weighted.companion)
    assert all(isinstance(match, lib.Weighted) and match.weights == (1.0, 2.0) for match in matches)


@pytest.mark.parametrize("likelihood", [lib.Logistic(), lib.GaussianNoise(), lib.Huber().fix("epsilon")], ids=str)
def test_itself_where_gaussian_noise_is_no_help(likelihood):
    assert likelihood.companion is likelihood


def test_the_companion_has_the_variances_that_the_bounds_permit():
    noise = lib.SoftInsensitive(5.0, 0.2).bounded(C=(2.0, 50.0), epsilon=(0.05, 0.4))
    k = SHAPES[0]  # C times epsilon, so that C is between 2.5 and 20
    expected = [lib.SoftInsensitive(C, k / C).noise_variance for C in (k / 0.05, k / 0.4)]
    np.testing.assert_allclose(np.exp(noise.companion.bounds[0]), expected)
    assert noise.companion.variance == noise.noise_variance
