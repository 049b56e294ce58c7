"""Weighted: powers of a likelihood, and the relatives of a likelihood (plain, smoothed)."""

from __future__ import annotations

import numpy as np
import pytest
from likelihood_instances import IDS, INSTANCES

import bayesvm.likelihoods as lib

ORDERS = ("loss", "gradient", "curvature", "third")


@pytest.mark.parametrize("likelihood", INSTANCES, ids=IDS)
def test_integer_weights_are_repeated_rows(likelihood):
    rng = np.random.default_rng(1)
    n = 12
    w = rng.integers(0, 4, n)
    y = np.sign(rng.normal(size=n)) if isinstance(likelihood, lib.Classification) else rng.normal(size=n)
    f = 0.9 * np.sign(y) * rng.uniform(-1, 1, n)
    weighted = lib.Weighted(likelihood, w)
    a, b = weighted.derivatives(y, f), likelihood.derivatives(np.repeat(y, w), np.repeat(f, w))
    for k in ORDERS:
        assert np.sum(getattr(a, k)) == pytest.approx(np.sum(getattr(b, k)), rel=1e-12, abs=1e-12)
    a, b = weighted.theta_derivatives(y, f), likelihood.theta_derivatives(np.repeat(y, w), np.repeat(f, w))
    for k in ORDERS[:3]:
        np.testing.assert_allclose(np.sum(getattr(a, k), axis=1), np.sum(getattr(b, k), axis=1), rtol=1e-12, atol=1e-12)


def test_weighted_is_its_likelihood_otherwise():
    inner = lib.SoftInsensitive(3.0, 0.2, 0.5)
    weighted = lib.Weighted(inner, [1.0, 2.0])
    assert (weighted.traits, weighted.knots, weighted.domain, weighted.names) == (
        *(inner.traits, inner.knots, inner.domain, inner.names),
    )
    np.testing.assert_array_equal(weighted.theta, inner.theta)
    np.testing.assert_array_equal(weighted.bounds, inner.bounds)
    assert weighted.with_theta(np.log([5.0, 0.1])).likelihood == lib.SoftInsensitive(
        *np.exp(np.log([5.0, 0.1])).tolist(), 0.5
    )
    assert weighted.fix("C").names == ("epsilon",)
    assert weighted.fix().free("C").names == ("C",)
    assert weighted.bounded(C=(1.0, 2.0)).bounds[0, 1] == np.log(2.0)
    assert weighted.plain is inner
    y, m, v = np.zeros(5), np.linspace(-1, 1, 5), np.ones(5)
    np.testing.assert_array_equal(weighted.log_predictive(y, m, v), inner.log_predictive(y, m, v))
    assert weighted == lib.Weighted(inner, np.array([1.0, 2.0]))
    assert weighted != lib.Weighted(inner, [1.0, 3.0])


def test_zero_weight_leaves_out_a_point_outside_the_domain():
    weighted = lib.Weighted(lib.Trigonometric(), [0.0, 1.0])
    assert weighted.derivatives(np.ones(2), np.array([-5.0, 0.0])).loss[0] == 0.0


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -1.0], "Weighted.weights: expected finite non-negative weights"),
        ([1.0, np.inf], "Weighted.weights: expected finite non-negative weights"),
        ([[1.0]], "Weighted.weights: expected one weight per sample"),
        ([1.0, 2.0, 3.0], "Weighted: expected 3 samples, one per weight, found 2"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        lib.Weighted(lib.Logistic(), weights).derivatives(np.ones(2), np.zeros(2))


def test_weighted_needs_a_likelihood():
    with pytest.raises(TypeError, match=r"Weighted\.likelihood: expected a likelihood, found str"):
        lib.Weighted("logistic", [1.0])


@pytest.mark.parametrize("likelihood", INSTANCES, ids=IDS)
def test_relatives(likelihood):
    assert likelihood.plain is likelihood
    smooth = likelihood.smoothed
    assert smooth is likelihood or smooth.traits.smoothness >= 2
    assert smooth.names == likelihood.names
    np.testing.assert_array_equal(smooth.theta, likelihood.theta)
    weighted = lib.Weighted(likelihood, [1.0, 2.0])
    assert weighted.plain is likelihood
    assert weighted.smoothed.plain == smooth
    assert weighted.smoothed.weights == weighted.weights


@pytest.mark.parametrize(
    "likelihood", [x for x in INSTANCES if x.traits.normalized and isinstance(x, lib.Classification)], ids=str
)
def test_log_odds(likelihood):
    m, v = np.array([-60.0, -2.0, 0.0, 2.0, 60.0]), np.full(5, 0.7)
    odds = likelihood.log_odds(m, v)
    np.testing.assert_array_equal(odds, -odds[::-1])
    up, down = (likelihood.log_predictive(np.full(5, y), m, v) for y in (1.0, -1.0))
    np.testing.assert_allclose(odds, up - down, rtol=1e-10, atol=1e-13)


OWN = [*INSTANCES, lib.SoftInsensitive().fix("C"), lib.Huber().fix("epsilon")]


@pytest.mark.parametrize("likelihood", OWN, ids=repr)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_curvatures_with_parameters_of_their_own(likelihood, weighted):
    rng = np.random.default_rng(2)
    n = 40
    y = np.sign(rng.normal(size=n)) if isinstance(likelihood, lib.Classification) else rng.normal(size=n)
    f = 0.9 * np.sign(y) * rng.uniform(-1, 1, n)
    terms = lib.Weighted(likelihood, rng.uniform(0.0, 3.0, n)) if weighted else likelihood
    thetas = np.repeat(likelihood.theta + 0.3 * rng.normal(size=(8, likelihood.n_free)), 5, axis=0)
    wanted = [
        terms.with_theta(theta).part(np.array([i])).derivatives(y[i : i + 1], f[i : i + 1]).curvature[0]
        for i, theta in enumerate(thetas)
    ]
    np.testing.assert_allclose(terms.curvatures(y, f, thetas), wanted, rtol=1e-13)
    assert terms.part(np.arange(0)).curvatures(y[:0], f[:0], thetas[:0]).size == 0
