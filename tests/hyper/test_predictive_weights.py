"""The predictive finish: what is looked at, what is kept, and that the evidence's values stay unless the gain pays."""

import numpy as np
import pytest
from scipy.special import expit

from bayesvm.hyper.predictive_weights import shifted, weighted_places
from bayesvm.kernels import Constant, Gaussian, Linear


def problem(n=300, seed=0):
    rng = np.random.default_rng(seed)
    odds = 2.0 * rng.normal(size=n)
    y = np.where(rng.random(n) < expit(odds), 1.0, -1.0)
    return odds, y, rng.normal(size=n)


def test_stays_where_nothing_is_gained():
    odds, y, _ = problem()
    seen = []

    def look(a, length):
        seen.append((a, length))
        return odds

    places = weighted_places(look, y, np.ones(y.size), determined=2.0)
    assert (places[0].variance, places[0].lengthscale) == (0.0, 0.0)
    assert seen[0] == (0.0, 0.0)
    assert len(seen) == len(set(seen)) == 5
    assert sum(p.weight for p in places) == pytest.approx(1.0)
    assert all(p.weight <= places[0].weight for p in places)


def test_moves_to_better_odds():
    odds, y, noise = problem()
    spoilt = {0: 3.0, -1: 1.5, -2: 0.1, -3: 0.1, 1: 4.0}

    def look(a, length):
        return odds + spoilt[round(a / 2.0)] * noise + abs(length) * noise

    places = weighted_places(look, y, np.ones(y.size), determined=2.0)
    assert places[0].variance == -4.0
    assert all(p.variance < 0.0 for p in places)


def test_a_place_without_a_posterior_is_passed_over():
    odds, y, _ = problem()
    places = weighted_places(lambda a, l: odds if a <= 0.0 else None, y, np.ones(y.size), determined=0.0)
    assert all(p.variance <= 0.0 for p in places)


def test_the_origin_is_needed():
    _, y, _ = problem()
    with pytest.raises(ValueError, match="found None"):
        weighted_places(lambda a, l: None, y, np.ones(y.size), determined=0.0)


def test_shifted_moves_variances_and_length_scales_within_bounds():
    kernel = (Gaussian(ard=True) + Linear() + Constant()).bind(2)
    theta = np.array([0.0, 1.0, 2.0, 3.0, 4.0, -1.0])
    names = (*kernel.names, "likelihood.variance")
    bounds = np.tile([-5.0, 5.0], (6, 1))
    moved = shifted(theta, names, bounds, -2.0, 0.7)
    assert moved == pytest.approx([-2.0, 1.7, 2.7, 1.0, 2.0, -1.0])
    assert shifted(theta, names, bounds, 9.0, 0.0) == pytest.approx([5.0, 1.0, 2.0, 5.0, 5.0, -1.0])
