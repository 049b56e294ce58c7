"""Sites kept while the kernel changes: gradients, the fixed point of expectation propagation, Gaussian noise."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm.exceptions import IncompatibleError
from bayesvm.hyper import EvidenceObjective
from bayesvm.inference import EP, Exact
from bayesvm.inference.kept_sites import KeptSites
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.testing.differences import five_point, relative_error

LIKELIHOODS = [lib.Trigonometric(), lib.Logistic(), lib.Probit()]


def labels(n=24, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)


def objective(likelihood, inference):
    X, y = labels()
    kernel = (Gaussian(3.0, [1.0, 2.0, 4.0]) + Constant(0.5)).bind(3)
    return EvidenceObjective(kernel, likelihood, inference, Inputs(X), y)


@pytest.mark.parametrize("signed", [False, True], ids=["positive", "signed"])
def test_the_gradient_is_that_of_the_value(signed):
    kept = objective(lib.Logistic(), KeptSites())
    rng = np.random.default_rng(1)
    tau = rng.uniform(0.05, 1.0, size=24)
    if signed:
        tau[::5] = -0.02
    sites = np.stack([tau, rng.normal(size=24)])
    found = kept.evaluate(kept.theta0, sites).gradient
    expected = five_point(lambda theta: kept.evaluate(theta, sites).value, kept.theta0)
    assert relative_error(found, expected) < 1e-7


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda one: type(one).__name__)
def test_at_the_fixed_point_it_is_expectation_propagation(likelihood):
    ep = objective(likelihood, EP(tol=1e-10))
    kept = dataclasses.replace(ep, inference=KeptSites())
    here = ep.evaluate(ep.theta0)
    same = kept.evaluate(ep.theta0, here.evidence.latent)
    assert relative_error(same.gradient, here.gradient) < 1e-7
    K = ep.kernel.gram(ep.X)
    for own, other in zip(here.posteriors, same.posteriors, strict=True):
        rows, others = own.support, other.support
        assert own.mean(K[:, rows]) == pytest.approx(other.mean(K[:, others]), abs=1e-8)
        variances = own.var(K[:, rows], K.diagonal()), other.var(K[:, others], K.diagonal())
        assert variances[0] == pytest.approx(variances[1], abs=1e-8)


def test_with_the_sites_of_gaussian_noise_it_is_a_regression():
    X, y = labels()
    kernel, noise = (Gaussian(3.0, 1.5) + Constant(0.5)).bind(3), 0.4
    exact = EvidenceObjective(kernel, lib.GaussianNoise(noise), Exact(), Inputs(X), y)
    kept = EvidenceObjective(kernel, lib.Logistic(), KeptSites(), Inputs(X), y)
    sites = np.stack([np.full(24, 1.0 / noise), y / noise])
    moved = exact.theta0 + np.array([0.3, -0.2, 0.1, 0.0])
    gaps = [exact.evaluate(t).value - kept.evaluate(t[:3], sites).value for t in (exact.theta0, moved)]
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-9)  # a constant that does not depend on the kernel


def test_sites_are_needed_and_parameters_of_the_likelihood_refused():
    X, y = labels()
    K = Gaussian().bind(3).gram(Inputs(X))
    with pytest.raises(ValueError, match=r"expected sites of shape \(2, 24\), found None"):
        KeptSites().infer(K, y, lib.Logistic())
    with pytest.raises(ValueError, match=r"found \(24,\)"):
        KeptSites().infer(K, y, lib.Logistic(), warm_start=np.zeros(24))
    with pytest.raises(IncompatibleError, match="without free parameters"):
        KeptSites().infer(K, y, lib.GaussianNoise(), warm_start=np.zeros((2, 24)))
