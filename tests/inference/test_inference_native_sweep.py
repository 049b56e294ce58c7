"""Expectation propagation in native code, against the same in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm._core import sites
from bayesvm.inference import EP, Laplace, ep
from bayesvm.inference.native_sweep import native_iterate
from bayesvm.inference.sweep import GramPrior
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.native import MOMENTS
from bayesvm.likelihoods.tilted import tilted
from bayesvm.solvers import Status

LIKELIHOODS = [lib.Trigonometric(), lib.RaisedCosine(), lib.Logistic(), lib.Probit()]
ROWS = 120
#: Rows left out, powers of the probability, and rows that occur several times.
WEIGHTS = np.random.default_rng(7).choice([0.0, 0.01, 0.3, 0.9, 1.0, 1.7, 5.0], size=ROWS)
TERMS = LIKELIHOODS + [lib.Weighted(likelihood, WEIGHTS) for likelihood in LIKELIHOODS]
TIGHT = EP(tol=1e-11)


def problem(n=ROWS, variance=4.0):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3))
    y = np.where(np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.4 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    return (Gaussian(variance, 1.2) + Constant(2.0)).gram(Inputs(X)), y


def cold_and_warm(K, y, likelihood):
    """Return sites of three kinds: none, those of Laplace's method, those of a neighbouring problem."""
    f = Laplace().infer(K, y, likelihood)[1].latent
    return [np.zeros((2, y.size)), ep._start(K, y, likelihood, f), TIGHT.infer(1.05 * K, y, likelihood)[1].latent]


def native(method, K, y, likelihood, start, frozen=None):
    frozen = np.zeros(y.size, dtype=bool) if frozen is None else frozen
    return native_iterate(K, y, likelihood, start, frozen, (method.tol, method.drop, method.max_iter))


def named(terms):
    return type(terms.plain).__name__ + (", weighted" if terms.plain is not terms else "")


def test_every_class_of_the_table_is_tried():
    assert {type(likelihood) for likelihood in LIKELIHOODS} == set(MOMENTS)


@pytest.mark.parametrize("likelihood", TERMS, ids=named)
@pytest.mark.parametrize("variance", [0.01, 4.0, 400.0])
def test_the_fixed_point_is_that_of_numpy(likelihood, variance):
    K, y = problem(variance=variance)
    for start in cold_and_warm(K, y, likelihood):
        found, status, _ = native(TIGHT, K, y, likelihood, start)
        wanted, *_ = TIGHT.iterate_in_numpy(GramPrior(K), y, likelihood, start)
        assert status is Status.CONVERGED
        assert found.residual <= TIGHT.tol
        np.testing.assert_array_equal(found.factor.support, wanted.factor.support)
        np.testing.assert_allclose(found.sites, wanted.sites, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(found.image, wanted.image, rtol=1e-9, atol=1e-10)
        for name in ("mean", "var", "alpha", "rest"):
            mine, theirs = (getattr(sweep.matched.marginals, name) for sweep in (found, wanted))
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-10)
        mine, theirs = (sum(ep.evidence_terms(sweep).values()) for sweep in (found, wanted))
        assert mine == pytest.approx(theirs, abs=1e-10)
        np.testing.assert_allclose(found.posterior.matrix(), wanted.posterior.matrix(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("likelihood", TERMS, ids=named)
@pytest.mark.parametrize("variance", [0.01, 4.0, 400.0])
def test_the_way_is_that_of_numpy(likelihood, variance):
    K, y = problem(variance=variance)
    method = EP(tol=1e-3)
    for start in cold_and_warm(K, y, likelihood):
        found, _, n_iter = native(method, K, y, likelihood, start)
        wanted, _, as_many = method.iterate_in_numpy(GramPrior(K), y, likelihood, start)
        assert n_iter == as_many
        np.testing.assert_allclose(found.sites, wanted.sites, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("likelihood", TERMS, ids=named)
def test_frozen_sites_stay_at_zero(likelihood):
    K, y = problem()
    frozen = np.arange(y.size) % 4 == 1
    start = np.where(frozen, 0.0, cold_and_warm(K, y, likelihood)[2])
    found, *_ = native(TIGHT, K, y, likelihood, start, frozen)
    wanted, *_ = TIGHT.iterate_in_numpy(GramPrior(K), y, likelihood, start, frozen)
    assert not np.any(found.sites[:, frozen])
    np.testing.assert_allclose(found.sites, wanted.sites, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("likelihood", TERMS, ids=named)
def test_a_rough_fixed_point_is_settled_as_in_numpy(likelihood, monkeypatch):
    K, y = problem()
    rough, start = EP(tol=0.25), cold_and_warm(K, y, likelihood)[1]
    exact = TIGHT.iterate(GramPrior(K), y, likelihood, start)[0].matched
    found = rough._settled(GramPrior(K), y, likelihood, start, 1e-4)
    monkeypatch.setattr(ep, "native_iterate", lambda *_: None)
    wanted = rough._settled(GramPrior(K), y, likelihood, start, 1e-4)
    second_order = 0.2 if likelihood.plain is not likelihood else 0.1  # in 0.2; rows of a large weight answer less
    for other, tol in ((wanted, 1e-9), (exact, second_order)):
        np.testing.assert_allclose(found.tilted.slope, other.tilted.slope, rtol=tol, atol=tol)
        np.testing.assert_allclose(found.marginals.cavity_var, other.marginals.cavity_var, rtol=tol)


def test_what_native_code_does_not_know_is_left_to_numpy():
    K, y = problem(40)
    start = np.zeros((2, y.size))
    for likelihood in (lib.NormalizedHinge(), lib.Weighted(lib.NormalizedHinge(), np.full(y.size, 2.0))):
        assert native(TIGHT, K, y, likelihood, start) is None


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)
def test_repeated_rows_are_rows_of_a_weight(likelihood):
    K, y = problem(60)
    copies = np.arange(60) % 3 + 1
    weighted = lib.Weighted(likelihood, copies.astype(float))
    few = native(TIGHT, K, y, weighted, np.zeros((2, 60)))[0]
    rows = np.repeat(np.arange(60), copies)
    many = native(TIGHT, K[np.ix_(rows, rows)], y[rows], likelihood, np.zeros((2, rows.size)))[0]
    np.testing.assert_allclose(few.posterior.mean[rows], many.posterior.mean, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(few.posterior.var[rows], many.posterior.var, rtol=1e-8)
    evidences = [sum(ep.evidence_terms(sweep).values()) for sweep in (few, many)]
    assert evidences[0] == pytest.approx(evidences[1], abs=1e-8)


@pytest.mark.parametrize(
    "start",
    [np.full((2, 40), 1e30), np.full((2, 40), -1.0), np.full((2, 40), np.nan)],
    ids=["large", "negative", "nan"],
)
def test_sites_that_lead_too_far_are_left_to_numpy(start):
    K, y = problem(40)
    assert native(TIGHT, K, y, lib.Trigonometric(), start) is None


def test_a_matrix_that_is_no_covariance_is_left_to_numpy():
    K, y = problem(40)
    assert native(TIGHT, -K, y, lib.Trigonometric(), np.ones((2, 40))) is None


def test_too_few_sweeps_are_left_to_numpy():
    K, y = problem()
    assert native(EP(max_iter=1), K, y, lib.Trigonometric(), np.zeros((2, y.size))) is None


ZONES = {"ordinary": (-1.0, 1.5), "narrow": (-6.0, -2.0), "wide": (1.5, 6.0), "deep": (-8.0, 4.0), "far": (-8.0, 4.0)}


def cavities(zone, rng):
    """Return means and standard deviations."""
    scale = np.exp(rng.uniform(*ZONES[zone], size=2000))
    below = {"deep": rng.uniform(3.0, 40.0, 2000), "far": 10.0 ** rng.uniform(0.5, 6.0, 2000)}
    return (-1.0 - below[zone] * scale if zone in below else rng.uniform(-4.0, 6.0, 2000)), scale


def check_moments(likelihood, mean, scale, power):
    """Compare moments in units of the standard deviation; where ln Z is huge its rounding is that of the integrand."""
    log_z, slope, bend = sites.tilted(MOMENTS[type(likelihood)], mean, scale**2, power)
    terms = lib.Weighted(likelihood, power) if power.size else likelihood
    wanted = tilted(terms, mean, scale**2)
    off = [log_z - wanted.log_z, scale * (slope - wanted.slope), scale**2 * (bend - wanted.bend)]
    size = [np.abs(wanted.log_z), np.abs(scale * wanted.slope), np.zeros(mean.size)]
    rounding = 1e-12 + 8.0 * np.finfo(float).eps * np.abs(wanted.log_z)
    for difference, value in zip(off, size):
        assert np.max(np.abs(difference) / (rounding + 1e-12 * value)) <= 1.0


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)
@pytest.mark.parametrize("zone", ZONES)
def test_tilted_moments_are_those_of_numpy(likelihood, zone):
    check_moments(likelihood, *cavities(zone, np.random.default_rng(0)), np.empty(0))


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)
@pytest.mark.parametrize("zone", ZONES)
def test_tilted_moments_of_powers_are_those_of_numpy(likelihood, zone):
    rng = np.random.default_rng(1)
    power = np.where(rng.uniform(size=2000) < 0.1, 0.0, 10.0 ** rng.uniform(-2.5, 0.0, size=2000))
    check_moments(likelihood, *cavities(zone, rng), power)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=named)
def test_a_rough_end_is_not_predicted_unless_asked_for(likelihood):
    """Sites, marginals and moments are those of the last sweep, however rough it is."""
    K, y = problem()
    start = np.zeros((2, y.size))
    found, status, n_iter = EP(tol=0.25).iterate(GramPrior(K), y, likelihood, start)
    wanted, _, as_many = EP(tol=0.25).iterate_in_numpy(GramPrior(K), y, likelihood, start)
    assert (status.ok, n_iter) == (True, as_many)
    np.testing.assert_allclose(found.matched.marginals.mean, wanted.matched.marginals.mean, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.matched.image, wanted.matched.image, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.posterior.mean, found.matched.marginals.mean, rtol=1e-12)
