"""Proposals for the normaliser: unbiased whatever they are, and their moments."""

import numpy as np
import pytest

from bayesvm.inference.hinge import Annealing, Normalizer, log_nu
from bayesvm.inference.hinge.proposal import nu_moments, proposal_factor, proposals
from bayesvm.kernels import Constant, Gaussian
from bayesvm.testing import five_point


def test_any_proposals_give_the_same_integral():
    X = np.linspace(0.0, 4.0, 12)[:, None]
    L = np.linalg.cholesky((Gaussian(3.0, 1.0) + Constant(0.5)).gram(X) + 1e-6 * np.eye(12))
    normalizer = Normalizer(np.full(12, 1.0 / 12.0), 30.0)
    log_factor = normalizer.log_factor(1.5)
    rng = np.random.default_rng(0)
    truth = Annealing(200_000).run(L, log_factor, rng)
    for own in (proposals(L, 1.5, 30.0, normalizer.weights), proposals(L, 0.4, 90.0, normalizer.weights)):
        h = proposal_factor(log_factor, own)
        means = [np.exp(h(q.mean[:, None] + q.root @ rng.standard_normal((12, 40_000)))) for q in own]
        value, error = np.mean(means), np.sqrt(sum(np.var(x) / x.size for x in means)) / len(own)
        assert abs(value / np.exp(truth.log_mean) - 1.0) < 4.0 * np.hypot(error / value, truth.error)


@pytest.mark.parametrize("C", [0.2, 2.0, 15.0])
def test_moments_of_nu(C):
    rng = np.random.default_rng(3)
    mean, var = rng.normal(size=6) * 2.0, np.exp(rng.normal(size=6))
    z = np.linspace(-9.0, 9.0, 200_001)
    w = np.exp(-0.5 * z**2) / np.sum(np.exp(-0.5 * z**2))
    direct = [np.exp(log_nu(m + np.sqrt(v) * z, C)) @ w for m, v in zip(mean, var)]
    level, slope, bend = nu_moments(mean, var, C)
    assert np.allclose(level, direct, rtol=1e-6)
    rise = [five_point(lambda t, k=k: nu_moments(mean + t[0], var, C)[k], np.zeros(1), 1e-3).ravel() for k in (0, 1)]
    assert np.allclose(slope, rise[0], atol=1e-7)
    assert np.allclose(bend, rise[1], atol=1e-5)
