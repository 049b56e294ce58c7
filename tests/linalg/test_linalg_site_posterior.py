"""The posterior under Gaussian sites: both ways to it, and its response to changes of the sites."""

from __future__ import annotations

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.linalg.site_posterior import PlainSitePosterior, site_posterior
from bayesvm.testing import five_point
from bayesvm.testing.solvers import problem


@pytest.fixture
def parts():
    rng = np.random.default_rng(0)
    K, _ = problem(lib.Probit(), n=20)
    return K + 0.1 * np.eye(20), rng.uniform(0.2, 2.0, size=20), rng.normal(size=20)


@pytest.mark.parametrize("negative", [False, True])
def test_posterior_against_dense_inverses(parts, negative):
    K, tau, nu = parts
    tau[[2, 5]] = 0.0
    if negative:
        tau[7] = -0.05
    found = site_posterior(K, tau, nu)
    assert isinstance(found, PlainSitePosterior) is not negative
    V = np.linalg.inv(np.linalg.inv(K) + np.diag(tau))
    np.testing.assert_allclose(found.mean, V @ nu, atol=1e-9)
    np.testing.assert_allclose(K @ found.alpha, V @ nu, atol=1e-9)
    np.testing.assert_allclose(found.var, np.diagonal(V), atol=1e-9)
    np.testing.assert_allclose(found.rest, 1.0 - np.diagonal(V) * tau, atol=1e-9)
    assert found.factor.log_det() == pytest.approx(np.linalg.slogdet(np.eye(20) + K @ np.diag(tau))[1], abs=1e-9)
    R, M = np.linalg.inv(K) - np.linalg.inv(K) @ V @ np.linalg.inv(K), found.factor.support
    np.testing.assert_allclose(found.matrix(), R[np.ix_(M, M)], atol=1e-7)


def test_response_is_the_derivative_of_the_marginals(parts):
    K, tau, nu = parts
    tau[3] = 0.0  # off the support
    rng = np.random.default_rng(1)
    dtau, dnu = rng.normal(size=(2, 20)) * (tau > 0.0)
    found = site_posterior(K, tau, nu)
    M = found.factor.support
    response = found.response()

    def predicted(t):
        return np.concatenate(response.moved(t[0] * dtau[M], t[0] * dnu[M], np.zeros(M.size)))

    def marginals(t):
        moved = site_posterior(K, tau + t[0] * dtau, nu + t[0] * dnu)
        return np.concatenate([moved.mean[M], moved.var[M]])

    slopes, wanted = (np.asarray(five_point(f, np.zeros(1), step=1e-3)).ravel() for f in (predicted, marginals))
    np.testing.assert_allclose(slopes, wanted, rtol=1e-7, atol=1e-8)


def test_the_predicted_variance_of_a_point_is_exact_in_its_own_precision(parts):
    K, tau, nu = parts
    found = site_posterior(K, tau, nu)
    for i in range(tau.size):
        dtau = np.zeros(tau.size)
        dtau[i] = 2.0 * tau[i] + 0.5
        _, wider = found.response().moved(dtau, np.zeros(tau.size), np.zeros(tau.size))
        assert found.var[i] + wider[i] == pytest.approx(site_posterior(K, tau + dtau, nu).var[i], rel=1e-9)


def test_repeated_responses_converge_to_the_exact_mean(parts):
    K, tau, nu = parts
    dtau, dnu = 0.05 * tau, 0.1 * nu
    found = site_posterior(K, tau, nu)
    moved = np.zeros(20)
    for _ in range(30):
        moved, _ = found.response().moved(dtau, dnu, moved)
    np.testing.assert_allclose(found.mean + moved, site_posterior(K, tau + dtau, nu + dnu).mean, atol=1e-10)


def test_errors_name_the_matrix(parts):
    K, tau, nu = parts
    with pytest.raises(NotPositiveDefiniteError, match=r"is not positive definite"):
        site_posterior(-10.0 * K, tau, nu)
    K[0, 0] = np.nan
    with pytest.raises(NotPositiveDefiniteError, match="non-finite"):
        site_posterior(K, tau, nu)
