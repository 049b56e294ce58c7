"""Inducing inputs: with all rows the exact machine, with few a bound below it, and exact gradients in either case."""

import numpy as np
import pytest
import scipy.sparse as sp
from kernel_instances import CASES, points
from kernel_instances import IDS as KERNEL_IDS
from threadpoolctl import threadpool_limits

import bayesvm.likelihoods as lib
from bayesvm.hyper import EvidenceObjective, LogNormal
from bayesvm.hyper import inducing as module
from bayesvm.hyper.inducing import InducingObjective, greedy_rows
from bayesvm.inference import Exact, Laplace
from bayesvm.inference.low_rank import features
from bayesvm.kernels import Constant, Gaussian, Linear, Matern32, Precomputed
from bayesvm.kernels.inputs import Inputs
from bayesvm.linalg.blas_threads import one_blas_thread
from bayesvm.linalg.block_threads import block_threads
from bayesvm.solvers import Status
from bayesvm.testing import five_point, relative_error

LIKELIHOODS = [
    lib.Trigonometric(),
    lib.RaisedCosine(),
    lib.Logistic(),
    lib.Probit(),
    lib.SoftInsensitive(3.0, 0.4, 0.5),
    lib.SmoothInsensitive(5.0, 0.4, 0.8),
    lib.Huber(3.0, 0.3),
    lib.GaussianNoise(),
]
KERNELS = [Gaussian(2.0, 0.6) + case.kernel if case.id == "mlp" else case.kernel for case in CASES]
likelihoods = pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda x: type(x).__name__)
weighted = pytest.mark.parametrize("weights", [False, True], ids=["plain", "weighted"])


def problem(likelihood, n=60, seed=0, weights=False):
    X = Inputs(points(n, seed=seed))
    rng = np.random.default_rng(seed)
    signal = np.sin(1.5 * X.X[:, 0]) + 0.3 * X.X[:, 1] + 0.3 * rng.normal(size=n)
    y = np.where(signal > 0.0, 1.0, -1.0) if isinstance(likelihood, lib.Classification) else signal
    return X, y, lib.Weighted(likelihood, tuple(rng.uniform(0.5, 3.0, n))) if weights else likelihood


def gradient_error(objective, theta):
    found = objective.evaluate(theta).gradient
    expected = five_point(lambda t: objective.evaluate(t).value, theta)
    return relative_error(found, expected.ravel(), max(1.0, float(np.abs(found).max())))


@likelihoods
@weighted
def test_all_rows_as_inducing_inputs_are_the_exact_machine(likelihood, weights):
    X, y, likelihood = problem(likelihood, weights=weights)
    kernel = Matern32(2.0, 0.8, ard=True).bind(3) + Constant(0.5)
    exact = EvidenceObjective(kernel, likelihood, Exact() if likelihood.traits.quadratic else Laplace(), X, y)
    a, b = (
        exact.evaluate(exact.theta0),
        InducingObjective(kernel, likelihood, X, y, np.arange(len(X))).evaluate(exact.theta0),
    )
    assert b.value == pytest.approx(a.value, rel=1e-9)
    assert relative_error(b.gradient, a.gradient) < 1e-6
    np.testing.assert_allclose(b.evidence.latent[0], a.evidence.latent, atol=1e-7)
    new, (p,), (q,) = Inputs(points(20, seed=5)), a.posteriors, b.posteriors
    K, prior = kernel.gram(new, X), kernel.diag(new)
    np.testing.assert_allclose(q.mean(K), p.mean(K[:, p.support]), atol=1e-6)
    np.testing.assert_allclose(q.var(K, prior), p.var(K[:, p.support], prior), atol=1e-6)
    full = kernel.gram(new)
    np.testing.assert_allclose(q.covariance(K, full), p.covariance(K[:, p.support], full), atol=1e-6)
    np.testing.assert_allclose(q.factor.matrix(), q.factor.apply(np.eye(len(X))), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "likelihood", [lib.GaussianNoise(), lib.Trigonometric(), lib.Logistic(), lib.Huber(3.0, 0.3)], ids=type
)
def test_two_thousand_rows_as_inducing_inputs_are_the_exact_machine(likelihood):
    X, y, likelihood = problem(likelihood, n=2000)
    kernel = Matern32(2.0, 0.8) + Constant(0.5)
    method = Exact() if likelihood.traits.quadratic else Laplace()
    a = EvidenceObjective(kernel, likelihood, method, X, y).evaluate(np.append(kernel.theta, likelihood.theta))
    b = InducingObjective(kernel, likelihood, X, y, np.arange(len(X))).evaluate(a.theta)
    assert b.value == pytest.approx(a.value, rel=1e-6)
    np.testing.assert_allclose(b.evidence.latent[0], a.evidence.latent, atol=1e-6)
    new, (p,), (q,) = Inputs(points(50, seed=5)), a.posteriors, b.posteriors
    K, prior = kernel.gram(new, X), kernel.diag(new)
    np.testing.assert_allclose(q.mean(K), p.mean(K[:, p.support]), atol=1e-6)
    np.testing.assert_allclose(q.var(K, prior), p.var(K[:, p.support], prior), atol=1e-6)


@pytest.mark.parametrize("lengthscale", [0.8, 3.0])
def test_two_hundred_inducing_inputs_of_two_thousand_rows_bound_the_evidence(lengthscale):
    X, y, noise = problem(lib.GaussianNoise(), n=2000)
    kernel = Matern32(2.0, lengthscale) + Constant(0.5)
    exact = EvidenceObjective(kernel, noise, Exact(), X, y).evaluate(np.append(kernel.theta, noise.theta))
    objective = InducingObjective(kernel, noise, X, y, np.sort(greedy_rows(kernel, X, 200).rows))
    found, upper = objective.evaluate(exact.theta), objective.infer(exact.theta).found[0].upper_bound()
    assert objective.rows.size == 200
    assert found.value < exact.value < upper


@likelihoods
@weighted
def test_gradient_of_every_likelihood(likelihood, weights):
    X, y, likelihood = problem(likelihood, weights=weights)
    kernel = Matern32(2.0, 0.8, ard=True).bind(3) + Constant(0.5)
    objective = InducingObjective(kernel, likelihood, X, y, np.arange(12), LogNormal(0.1, 2.0))
    assert gradient_error(objective, objective.theta0) < 1e-6


@pytest.mark.parametrize("kernel", KERNELS, ids=KERNEL_IDS)
@pytest.mark.parametrize("likelihood", [lib.GaussianNoise(), lib.Logistic()], ids=["gaussian", "logistic"])
def test_gradient_of_every_kernel(kernel, likelihood):
    X, y, likelihood = problem(likelihood, n=40)
    kernel = kernel.bind(3)
    rows = np.sort(greedy_rows(kernel, X, 8, enough=1e-4).rows)
    objective = InducingObjective(kernel, likelihood, X, y, rows)
    assert gradient_error(objective, objective.theta0) < 1e-6


@pytest.mark.parametrize(
    "kernel", [Gaussian(ard=True) + Linear(), Matern32() * Linear(ard=True)], ids=["sum", "product"]
)
def test_sparse_inputs(kernel):
    X, y, noise = problem(lib.GaussianNoise())
    kernel, rows = kernel.bind(3), np.arange(10)
    dense = InducingObjective(kernel, noise, X, y, rows)
    part = Inputs(sp.csr_array(X.X))
    sparse = InducingObjective(kernel, noise, part, y, rows)
    a, b = dense.evaluate(dense.theta0), sparse.evaluate(dense.theta0)
    assert b.value == pytest.approx(a.value, rel=1e-10)
    np.testing.assert_allclose(b.gradient, a.gradient, rtol=1e-7, atol=1e-8)


def test_precomputed_gram_matrix():
    X, y, noise = problem(lib.GaussianNoise())
    G, kernel = Inputs(Gaussian(1.0, 0.8).gram(X)), Gaussian(2.0, 0.8).fix("lengthscale")
    rows = np.arange(10)
    a = InducingObjective(kernel, noise, X, y, rows).evaluate(np.log([2.0, 0.1]))
    b = InducingObjective(Precomputed(2.0), noise, G, y, rows).evaluate(np.log([2.0, 0.1]))
    assert b.value == pytest.approx(a.value, rel=1e-10)
    np.testing.assert_allclose(b.gradient, a.gradient, rtol=1e-8)


@weighted
def test_bounds_of_the_evidence_close_as_inputs_are_added(weights):
    X, y, noise = problem(lib.GaussianNoise(), n=150, weights=weights)
    kernel = Gaussian(1.0, 2.5) + Constant()
    exact = EvidenceObjective(kernel, noise, Exact(), X, y).evaluate(np.append(kernel.theta, noise.theta))
    order, before = greedy_rows(kernel, X, 150).rows, -np.inf
    for m in (5, 20, 60, 120):
        objective = InducingObjective(kernel, noise, X, y, np.sort(order[:m]))
        found, upper = objective.evaluate(exact.theta), objective.infer(exact.theta).found[0].upper_bound()
        assert before - 1e-9 <= found.value <= exact.value + 1e-8 <= upper + 2e-8
        before = found.value
    assert upper - found.value < 0.05


def test_outputs_with_common_hyperparameters_add_up():
    X, y, noise = problem(lib.GaussianNoise())
    kernel, Y = Matern32(ard=True).bind(3), np.column_stack([y, np.cos(X.X[:, 1])])
    objective = InducingObjective(kernel, noise, X, Y, np.arange(9))
    parts = [InducingObjective(kernel, noise, X, column, objective.rows) for column in Y.T]
    both, alone = objective.evaluate(objective.theta0), [p.evaluate(objective.theta0) for p in parts]
    assert both.value == pytest.approx(sum(e.value for e in alone), rel=1e-12)
    np.testing.assert_allclose(both.gradient, np.sum([e.gradient for e in alone], axis=0), rtol=1e-9)
    again = objective.evaluate(objective.theta0, both.evidence.latent)
    assert again.value == pytest.approx(both.value, rel=1e-12)


@pytest.mark.parametrize("likelihood", [lib.GaussianNoise(), lib.Trigonometric()], ids=["gaussian", "trigonometric"])
def test_the_split_into_blocks_changes_nothing(likelihood, monkeypatch):
    X, y, likelihood = problem(likelihood)
    objective = InducingObjective(Gaussian() + Constant(), likelihood, X, y, np.arange(10))
    whole = objective.evaluate(objective.theta0)
    monkeypatch.setattr(features, "BLOCK", 70)
    parts = objective.evaluate(objective.theta0)
    monkeypatch.setattr(module, "KEPT", 0)
    anew = objective.evaluate(objective.theta0, whole.evidence.latent)
    for other in (parts, anew):
        assert other.value == pytest.approx(whole.value, rel=1e-11)
        np.testing.assert_allclose(other.gradient, whole.gradient, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kept", [0, module.KEPT], ids=["anew", "kept"])
@pytest.mark.parametrize("likelihood", [lib.GaussianNoise(), lib.Trigonometric()], ids=["gaussian", "trigonometric"])
def test_the_number_of_threads_changes_nothing(likelihood, kept, monkeypatch):
    X, y, likelihood = problem(likelihood)
    objective = InducingObjective(Gaussian() + Constant(), likelihood, X, y, np.arange(10))
    monkeypatch.setattr(features, "BLOCK", 70)
    monkeypatch.setattr(module, "KEPT", kept)
    with one_blas_thread():
        alone = objective.evaluate(objective.theta0)
    with threadpool_limits(3, user_api="blas"), block_threads():
        shared = objective.evaluate(objective.theta0)
    assert shared.value == alone.value
    np.testing.assert_array_equal(shared.gradient, alone.gradient)
    np.testing.assert_array_equal(shared.posteriors[0].alpha, alone.posteriors[0].alpha)


def test_greedy_choice_takes_the_largest_conditional_variance():
    X, kernel = Inputs(points(40)), Matern32(2.0, 0.9) + Linear(0.3)
    choice, K = greedy_rows(kernel, X, 12), (Matern32(2.0, 0.9) + Linear(0.3)).gram(X)
    for k, row in enumerate(choice.rows):
        before = choice.rows[:k]
        rest = K - K[:, before] @ np.linalg.solve(K[np.ix_(before, before)], K[before]) if k else K
        assert np.diagonal(rest)[row] == pytest.approx(np.diagonal(rest).max(), rel=1e-8)
    after = K - K[:, choice.rows] @ np.linalg.solve(K[np.ix_(choice.rows, choice.rows)], K[choice.rows])
    assert choice.left[-1] == pytest.approx(np.trace(after) / np.trace(K), rel=1e-6)
    assert greedy_rows(kernel, X, 40, enough=0.5).rows.size < 12


def test_greedy_choice_ends_with_the_rank():
    X = Inputs(points(30))
    assert greedy_rows(Linear(), X, 30).rows.size == 3


@pytest.mark.parametrize(
    ("name", "status"), [("MAX_STEPS", Status.MAX_ITER), ("HALVINGS", Status.STALLED)], ids=["steps", "halvings"]
)
def test_a_mode_that_is_not_reached_is_told(name, status, monkeypatch):
    X, y, likelihood = problem(lib.Logistic())
    objective = InducingObjective(Matern32(50.0, 0.8) + Constant(0.5), likelihood, X, y, np.arange(12))
    reached = objective.evaluate(objective.theta0)
    monkeypatch.setattr(f"bayesvm.inference.low_rank.weights.{name}", 1 if name == "MAX_STEPS" else 0)
    found = objective.evaluate(objective.theta0)
    assert reached.evidence.status is Status.CONVERGED
    assert found.evidence.status is status
    assert found.value < reached.value


def test_weights_of_a_warm_start_that_are_worse_than_none_are_dropped():
    X, y, likelihood = problem(lib.Logistic())
    objective = InducingObjective(Matern32(2.0, 0.8) + Constant(0.5), likelihood, X, y, np.arange(12))
    reached = objective.evaluate(objective.theta0)
    again = objective.evaluate(objective.theta0, -1e3 * reached.evidence.latent)
    assert again.value == pytest.approx(reached.value, rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_a_mode_at_rounding_is_not_sought_any_further(seed):
    X, y, noise = problem(lib.GaussianNoise(1e-8), n=30, seed=seed)
    weights = np.random.default_rng(seed).permutation(np.geomspace(1e-4, 4e5, 30))
    objective = InducingObjective(Gaussian(2.0, 0.1) + Constant(), lib.Weighted(noise, weights), X, y, np.arange(12))
    evidence = objective.evaluate(objective.theta0).evidence
    assert evidence.status in (Status.CONVERGED, Status.STALLED)
    assert evidence.n_iter < 20
