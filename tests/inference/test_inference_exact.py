"""Exact regression: conformance, refusal, weights, extremes. Its formulas are compared in test_inference_laplace.py."""

import numpy as np
import pytest
from likelihood_instances import IDS, INSTANCES

import bayesvm.likelihoods as lib
from bayesvm.exceptions import IncompatibleError
from bayesvm.inference import Exact
from bayesvm.testing import check_inference
from bayesvm.testing.solvers import problem


@pytest.mark.parametrize(
    "likelihood", [lib.GaussianNoise(), lib.GaussianNoise(0.5).fix(), lib.GaussianNoise(1e-3)], ids=str
)
@pytest.mark.parametrize("seed", [0, 1])
def test_contract(likelihood, seed):
    check_inference(Exact(), likelihood, seed=seed)


def test_contract_with_weights():
    check_inference(Exact(), lib.Weighted(lib.GaussianNoise(0.2), np.random.default_rng(0).uniform(0.1, 3.0, size=40)))


REFUSED = [(i, x) for i, x in zip(IDS, INSTANCES) if not isinstance(x, lib.GaussianNoise)]


@pytest.mark.parametrize("likelihood", [x for _, x in REFUSED], ids=[i for i, _ in REFUSED])
def test_refusal_names_what_is_missing(likelihood):
    K, y = problem(likelihood)
    message = rf"exact inference cannot treat {type(likelihood).__name__}: it needs a quadratic loss \(Gaussian noise\)"
    with pytest.raises(IncompatibleError, match=message):
        Exact().infer(K, y, likelihood)


def test_weights_equal_repeated_rows_and_zero_weights_are_left_out():
    likelihood = lib.GaussianNoise(0.2)
    K, y = problem(likelihood, n=15)
    w = np.array([1, 2, 3, 0, 1] * 3)
    rows = np.repeat(np.arange(15), w)
    p, repeated = Exact().infer(np.ascontiguousarray(K[np.ix_(rows, rows)]), y[rows], likelihood)
    q, weighted = Exact().infer(K, y, lib.Weighted(likelihood, w.astype(float)))
    np.testing.assert_allclose(weighted.value, repeated.value, rtol=1e-11)
    np.testing.assert_allclose(weighted.dphi, repeated.dphi, rtol=1e-9)
    np.testing.assert_array_equal(q.support, np.flatnonzero(w))
    K_s = 0.8 * K
    np.testing.assert_allclose(q.mean(K_s[:, q.support]), p.mean(K_s[:, rows]), rtol=1e-8)
    np.testing.assert_allclose(
        q.var(K_s[:, q.support], np.full(15, 3.0)), p.var(K_s[:, rows], np.full(15, 3.0)), rtol=1e-9
    )


@pytest.mark.parametrize("variance", [1e-8, 1e4])
@pytest.mark.parametrize("n", [1, 2, 40])
def test_noise_at_its_bounds(variance, n):
    likelihood = lib.GaussianNoise(variance)
    K, y = problem(likelihood, n=n)
    K = K + 0.1 * np.eye(n)
    noisy = K + variance * np.eye(n)
    value = -0.5 * y @ np.linalg.solve(noisy, y) - 0.5 * np.linalg.slogdet(noisy)[1] - 0.5 * n * np.log(2 * np.pi)
    np.testing.assert_allclose(Exact().infer(K, y, likelihood)[1].value, value, rtol=1e-6)


def test_a_warm_start_is_ignored():
    likelihood = lib.GaussianNoise()
    K, y = problem(likelihood)
    assert (
        Exact().infer(K, y, likelihood, warm_start=np.full(40, 7.0))[1].value
        == Exact().infer(K, y, likelihood)[1].value
    )


def test_one_factorisation_is_the_whole_work():
    K, y = problem(lib.GaussianNoise())
    evidence = Exact().infer(K, y, lib.GaussianNoise())[1]
    assert (evidence.status.ok, evidence.n_iter) == (True, 1)
