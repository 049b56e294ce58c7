"""The evidence from inner products against the density of the targets and the general problem."""

import numpy as np
import pytest
from rvm_problems import ACTIVE, LOGS, basis_of, data
from scipy.stats import multivariate_normal

from bayesvm.inference.rvm import GaussianRVM, LaplaceRVM
from bayesvm.likelihoods import GaussianNoise, Weighted


def test_quadratic_evidence_is_the_density_of_the_targets():
    X, y, _ = data()
    basis, likelihood = basis_of(X), GaussianNoise(0.05)
    state = GaussianRVM(basis, y, likelihood).state(ACTIVE, LOGS, likelihood.theta)
    phi = basis[:, ACTIVE]
    C = phi @ np.diag(np.exp(-LOGS)) @ phi.T + 0.05 * np.eye(len(y))
    assert state.value == pytest.approx(multivariate_normal(np.zeros(len(y)), C).logpdf(y), abs=1e-9)


def test_quadratic_problem_is_the_general_one_for_gaussian_noise():
    X, y, _ = data()
    basis = basis_of(X)
    likelihood = Weighted(GaussianNoise(0.05), np.linspace(0.5, 2.0, len(y)))
    fast, slow = GaussianRVM(basis, y, likelihood), LaplaceRVM(basis, y, likelihood)
    a, b = (problem.state(ACTIVE, LOGS, likelihood.theta) for problem in (fast, slow))
    assert a.value == pytest.approx(b.value, abs=1e-9)
    np.testing.assert_allclose(a.v, b.v, atol=1e-9)
    np.testing.assert_allclose(a.gradient, b.gradient, atol=1e-8)
    for name in ("norm", "s", "q", "alignment"):
        np.testing.assert_allclose(getattr(fast.scores(a), name), getattr(slow.scores(b), name), rtol=1e-7, atol=1e-8)


def test_a_fixed_noise_has_no_derivative():
    X, y, _ = data()
    free, fixed = GaussianNoise(0.05), GaussianNoise(0.05).fix("variance")
    a, b = (GaussianRVM(basis_of(X), y, noise).state(ACTIVE, LOGS, noise.theta) for noise in (free, fixed))
    assert b.value == pytest.approx(a.value, rel=1e-13)
    assert b.gradient.size == a.gradient.size - 1
    np.testing.assert_allclose(b.gradient, a.gradient[: ACTIVE.size], rtol=1e-10)
