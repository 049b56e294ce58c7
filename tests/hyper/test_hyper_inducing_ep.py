"""Expectation propagation in the weights of inducing inputs: the exact one with all rows, and exact gradients."""

import numpy as np
import pytest
from kernel_instances import points
from test_hyper_inducing import LIKELIHOODS, gradient_error, problem

import bayesvm.likelihoods as lib
from bayesvm.hyper import EvidenceObjective
from bayesvm.hyper.inducing import InducingObjective
from bayesvm.inference import EP
from bayesvm.inference.low_rank import features
from bayesvm.kernels import Constant, Matern32
from bayesvm.kernels.inputs import Inputs
from bayesvm.testing import relative_error

METHOD = EP(tol=1e-10)
KERNEL = Matern32(2.0, 0.8, ard=True).bind(3) + Constant(0.5)
likelihoods = pytest.mark.parametrize("likelihood", [*LIKELIHOODS, lib.Laplace()], ids=lambda x: type(x).__name__)


def objectives(likelihood, rows, weights=False):
    X, y, likelihood = problem(likelihood, weights=weights)
    exact = EvidenceObjective(KERNEL, likelihood, METHOD, X, y)
    return exact, InducingObjective(KERNEL, likelihood, X, y, rows, inference=METHOD)


@likelihoods
@pytest.mark.parametrize("weights", [False, True], ids=["plain", "weighted"])
def test_all_rows_as_inducing_inputs_are_the_exact_machine(likelihood, weights):
    exact, inducing = objectives(likelihood, np.arange(60), weights)
    a, b = exact.evaluate(exact.theta0), inducing.evaluate(exact.theta0)
    assert b.evidence.status.ok
    assert b.value == pytest.approx(a.value, rel=1e-7)
    assert relative_error(b.gradient, a.gradient) < 1e-6
    new, (p,), (q,) = Inputs(points(20, seed=5)), a.posteriors, b.posteriors
    K, prior = KERNEL.gram(new, exact.X), KERNEL.diag(new)
    np.testing.assert_allclose(q.mean(K), p.mean(K[:, p.support]), atol=1e-6)
    np.testing.assert_allclose(q.var(K, prior), p.var(K[:, p.support], prior), atol=1e-6)


@likelihoods
@pytest.mark.parametrize("weights", [False, True], ids=["plain", "weighted"])
def test_gradient_of_every_likelihood(likelihood, weights):
    _, inducing = objectives(likelihood, np.arange(12), weights)
    assert gradient_error(inducing, inducing.theta0) < 1e-6


def test_a_warm_start_saves_sweeps_and_changes_nothing():
    _, inducing = objectives(lib.Logistic(), np.arange(12))
    first = inducing.evaluate(inducing.theta0)
    again = inducing.evaluate(inducing.theta0, first.evidence.latent)
    assert again.value == pytest.approx(first.value, rel=1e-10)
    assert again.evidence.n_iter < first.evidence.n_iter


def test_the_split_into_blocks_changes_nothing(monkeypatch):
    _, inducing = objectives(lib.Trigonometric(), np.arange(12))
    whole = inducing.evaluate(inducing.theta0)
    monkeypatch.setattr(features, "BLOCK", 12 * 7)
    parts = inducing.evaluate(inducing.theta0)
    assert parts.value == pytest.approx(whole.value, rel=1e-10)
    np.testing.assert_allclose(parts.gradient, whole.gradient, rtol=1e-6, atol=1e-8)


def test_independent_remainders_are_part_of_the_model():
    """With one inducing input far away nothing is explained, and every row has its own normaliser."""
    X, y, likelihood = problem(lib.Probit(), n=30)
    far = Inputs(np.vstack([X.X, np.full((1, 3), 1e3)]))
    kernel = Matern32(2.0, 0.8)
    found = InducingObjective(kernel, likelihood, far, np.append(y, 1.0), np.array([30]), inference=METHOD)
    expected = likelihood.tilted(np.append(y, 1.0), np.zeros(31), np.full(31, 2.0)).log_z.sum()
    assert found.evaluate(kernel.theta).value == pytest.approx(expected, rel=1e-9)


@likelihoods
def test_what_features_leave_over_is_told(likelihood):
    """Half the summed products of the precisions of sites and the variances that inducing inputs do not explain."""
    exact, inducing = objectives(likelihood, np.arange(12))
    K = exact.kernel.gram(exact.X)
    explained = K[:, :12] @ np.linalg.solve(K[:12, :12], K[:12])
    (found,) = inducing.infer(inducing.theta0).found
    tau = np.maximum(found.sites[0], 0.0)
    assert found.left == pytest.approx(0.5 * tau @ np.maximum(np.diagonal(K - explained), 0.0), rel=1e-5)


@likelihoods
def test_latent_values_of_a_block_of_rows(likelihood):
    exact, inducing = objectives(likelihood, np.arange(60))
    a, b = exact.evaluate(exact.theta0), inducing.infer(inducing.theta0)
    (posterior,), (found,), K = a.posteriors, b.found, exact.kernel.gram(exact.X)
    here = [(block.rows, found.moments(block)) for block in b.features.blocks()]
    rows = np.concatenate([np.arange(60)[own] for own, _ in here])
    np.testing.assert_array_equal(rows, np.arange(60))
    mean, var = (np.concatenate([getattr(m, name) for _, m in here]) for name in ("mean", "var"))
    np.testing.assert_allclose(mean, posterior.mean(K[:, posterior.support]), atol=1e-6)
    np.testing.assert_allclose(var, posterior.var(K[:, posterior.support], np.diagonal(K)), atol=1e-6)
    curvature = np.concatenate([m.curvature for _, m in here])
    gradient = np.concatenate([m.gradient for _, m in here])
    np.testing.assert_allclose(curvature, a.evidence.latent[0], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(gradient, -posterior.coefficients(60), rtol=1e-4, atol=1e-6)
