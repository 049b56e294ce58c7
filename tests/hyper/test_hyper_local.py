"""Blocks of rows given their neighbours: the exact machine with one block, and exact gradients in every case."""

import numpy as np
import pytest
import scipy.sparse as sp
from kernel_instances import CASES, points
from kernel_instances import IDS as KERNEL_IDS
from threadpoolctl import threadpool_limits

import bayesvm.likelihoods as lib
from bayesvm.hyper import EvidenceObjective, LogNormal
from bayesvm.hyper import local as module
from bayesvm.hyper.inducing import greedy_rows
from bayesvm.hyper.local import LocalGaussianObjective, LocalObjective, LocalProcess
from bayesvm.hyper.neighbours import Neighbourhood, bisected, nearest, neighbourhoods
from bayesvm.inference import EP, Exact, Laplace
from bayesvm.inference.low_rank.conditional import conditioned
from bayesvm.kernels import Constant, Gaussian, Linear, Matern32
from bayesvm.kernels.inputs import Inputs
from bayesvm.linalg.blas_threads import one_blas_thread
from bayesvm.linalg.block_threads import block_threads
from bayesvm.solvers import Newton
from bayesvm.testing import five_point, relative_error

NONE = np.empty(0, dtype=int)
KERNELS = [Gaussian(2.0, 0.6) + case.kernel if case.id == "mlp" else case.kernel for case in CASES]
KERNEL = Matern32(2.0, (0.8, 1.1, 0.9)) + Constant(0.5)
LIKELIHOODS = [
    lib.RaisedCosine(),
    lib.Logistic(),
    lib.Probit(),
    lib.SmoothInsensitive(5.0, 0.4, 0.8),
    lib.Huber(3.0, 0.3),
    lib.GaussianNoise(),
]
weighted = pytest.mark.parametrize("weights", [False, True], ids=["plain", "weighted"])


def problem(likelihood, n=60, weights=False):
    X, rng = Inputs(points(n)), np.random.default_rng(0)
    signal = np.sin(1.5 * X.X[:, 0]) + 0.3 * X.X[:, 1] + 0.3 * rng.normal(size=n)
    y = np.where(signal > 0.0, 1.0, -1.0) if isinstance(likelihood, lib.Classification) else signal
    return X, y, lib.Weighted(likelihood, tuple(rng.uniform(0.5, 3.0, n))) if weights else likelihood


def chosen(kernel, X, own=12, given=15):
    return neighbourhoods(kernel, X, np.random.default_rng(1), own=own, given=given)


def gradient_error(objective):
    found = objective.evaluate(objective.theta0).gradient
    expected = five_point(lambda t: objective.evaluate(t).value, objective.theta0)
    return relative_error(found, expected.ravel(), max(1.0, float(np.abs(found).max())))


@weighted
@pytest.mark.parametrize("m", [0, 7])
def test_one_block_is_the_exact_machine(m, weights):
    X, y, noise = problem(lib.GaussianNoise(), weights=weights)
    exact = EvidenceObjective(KERNEL, noise, Exact(), X, y)
    whole = (Neighbourhood(np.arange(60), NONE),)
    a = exact.evaluate(exact.theta0)
    b = LocalGaussianObjective(KERNEL, noise, X, y, whole, np.arange(m)).evaluate(exact.theta0)
    assert b.value == pytest.approx(a.value, rel=1e-10)
    np.testing.assert_allclose(b.gradient, a.gradient, rtol=1e-6, atol=1e-7)


@weighted
def test_neighbours_that_are_all_earlier_rows_are_the_exact_machine(weights):
    X, y, noise = problem(lib.GaussianNoise(), weights=weights)
    chain = tuple(Neighbourhood(np.arange(i, i + 20), np.arange(i)) for i in (0, 20, 40))
    exact = EvidenceObjective(KERNEL, noise, Exact(), X, y)
    a = exact.evaluate(exact.theta0)
    for objective in (
        LocalGaussianObjective(KERNEL, noise, X, y, chain, np.arange(5)),
        LocalObjective(KERNEL, noise, X, y, chain, Exact()),
    ):
        b = objective.evaluate(exact.theta0)
        assert b.value == pytest.approx(a.value, rel=1e-10)
        np.testing.assert_allclose(b.gradient, a.gradient, rtol=1e-6, atol=1e-7)


def test_both_objectives_agree_without_inducing_inputs():
    X, y, noise = problem(lib.GaussianNoise(), weights=True)
    parts = chosen(KERNEL, X)
    a = LocalGaussianObjective(KERNEL, noise, X, y, parts, NONE)
    b = LocalObjective(KERNEL, noise, X, y, parts, Exact()).evaluate(a.theta0)
    assert b.value == pytest.approx(a.evaluate(a.theta0).value, rel=1e-10)
    np.testing.assert_allclose(b.gradient, a.evaluate(a.theta0).gradient, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=KERNEL_IDS)
def test_gradient_of_every_kernel(kernel):
    X, y, noise = problem(lib.GaussianNoise(), n=40)
    kernel = kernel.bind(3)
    rows = np.sort(greedy_rows(kernel, X, 6, enough=1e-3).rows)
    assert gradient_error(LocalGaussianObjective(kernel, noise, X, y, chosen(kernel, X), rows)) < 1e-6


@weighted
def test_gradient_with_weights_and_hyperprior(weights):
    X, y, noise = problem(lib.GaussianNoise(), weights=weights)
    parts = chosen(KERNEL, X)
    assert gradient_error(LocalGaussianObjective(KERNEL, noise, X, y, parts, np.arange(9), LogNormal(0.1, 2.0))) < 1e-6


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda x: type(x).__name__)
@weighted
def test_gradient_of_every_likelihood(likelihood, weights):
    X, y, likelihood = problem(likelihood, weights=weights)
    parts = chosen(KERNEL, X)
    method = Laplace(Newton(tol=1e-12))
    assert gradient_error(LocalObjective(KERNEL, likelihood, X, y, parts, method, LogNormal(0.1, 2.0))) < 1e-6


def test_gradient_by_expectation_propagation_and_warm_start():
    X, y, likelihood = problem(lib.Probit())
    objective = LocalObjective(KERNEL, likelihood, X, y, chosen(KERNEL, X), Laplace())
    first = objective.evaluate(objective.theta0)
    again = objective.evaluate(objective.theta0, first.evidence.latent)
    assert again.value == pytest.approx(first.value, rel=1e-8)  # both modes are found to 1e-9
    closer = LocalObjective(KERNEL, likelihood, X, y, objective.neighbourhoods, EP())
    found = closer.evaluate(closer.theta0)
    assert closer.evaluate(closer.theta0, found.evidence.latent).value == pytest.approx(found.value, rel=1e-7)
    assert gradient_error(closer) < 1e-5


def test_several_outputs_add_up_and_blocks_can_be_made_anew(monkeypatch):
    X, y, noise = problem(lib.GaussianNoise())
    parts, Y = chosen(KERNEL, X), np.column_stack([y, np.cos(X.X[:, 1])])
    objective = LocalGaussianObjective(KERNEL, noise, X, Y, parts, np.arange(6))
    both = objective.evaluate(objective.theta0)
    alone = [LocalGaussianObjective(KERNEL, noise, X, c, parts, np.arange(6)).evaluate(both.theta) for c in Y.T]
    assert both.value == pytest.approx(sum(e.value for e in alone), rel=1e-12)
    np.testing.assert_allclose(both.gradient, np.sum([e.gradient for e in alone], axis=0), rtol=1e-8)
    monkeypatch.setattr(module, "KEPT", 0)
    np.testing.assert_allclose(objective.evaluate(both.theta).gradient, both.gradient, rtol=1e-12)


def test_prediction_from_all_rows_is_that_of_the_exact_machine():
    X, y, noise = problem(lib.GaussianNoise())
    new = Inputs(points(9, seed=4))
    process = LocalProcess.of(KERNEL, noise, X, y[:, None], np.arange(8))
    posterior, _ = process.sums(process.blocks([Neighbourhood(np.arange(60), NONE)])).solve()
    phi, everything = process.features(new), np.arange(60)
    cross = KERNEL.gram(X, new) - process.phi @ phi.T
    found, residual = conditioned(process.block(everything), cross, phi, posterior), KERNEL.gram(new) - phi @ phi.T
    K = KERNEL.gram(X) + noise.variance * np.eye(60)
    gain = np.linalg.solve(K, KERNEL.gram(X, new))
    expected = KERNEL.gram(new) - KERNEL.gram(new, X) @ gain
    np.testing.assert_allclose(found.mean[:, 0], gain.T @ y, atol=1e-9)
    np.testing.assert_allclose(found.covariance(posterior, residual), expected, atol=1e-9)
    np.testing.assert_allclose(found.var(posterior, np.diagonal(residual)), np.diagonal(expected), atol=1e-9)


@pytest.mark.parametrize("kernel", [KERNEL, Gaussian(1.0, 0.4) * Linear() + Constant()], ids=["sum", "product"])
@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_are_a_partition_and_neighbours_come_earlier(kernel, sparse):
    X = Inputs(sp.csr_array(points(200))) if sparse else Inputs(points(200))
    parts = neighbourhoods(kernel, X, np.random.default_rng(0), own=16, given=30)
    assert np.array_equal(np.sort(np.concatenate([p.own for p in parts])), np.arange(200))
    assert max(p.own.size for p in parts) <= 16
    sizes = [p.given.size for p in parts]
    assert min(sizes) == 0
    assert max(sizes) == 30
    block_of = np.empty(200, dtype=int)
    for b, part in enumerate(parts):
        block_of[part.own] = b
    edges = {(int(block_of[row]), b) for b, part in enumerate(parts) for row in part.given}
    assert all((b, a) not in edges for a, b in edges)


@weighted
def test_some_of_the_blocks(weights):
    X, y, noise = problem(lib.GaussianNoise(), weights=weights)
    parts = neighbourhoods(KERNEL, X, np.random.default_rng(1), own=12, given=15, most=2)
    assert len(parts) == 2
    a = LocalGaussianObjective(KERNEL, noise, X, y, parts, NONE)
    b = LocalObjective(KERNEL, noise, X, y, parts, Exact()).evaluate(a.theta0)
    assert b.value == pytest.approx(a.evaluate(a.theta0).value, rel=1e-10)
    assert gradient_error(a.at_inputs(np.array([5, 3, 9]), parts)) < 1e-6


@pytest.mark.parametrize("likelihood", [lib.GaussianNoise(), lib.Logistic()], ids=["gaussian", "logistic"])
def test_the_number_of_threads_changes_nothing(likelihood):
    X, y, likelihood = problem(likelihood)
    blocks = chosen(KERNEL, X)
    objective = (
        LocalGaussianObjective(KERNEL, likelihood, X, y, blocks, np.array([5, 20, 40]))
        if likelihood.traits.quadratic
        else LocalObjective(KERNEL, likelihood, X, y, blocks, Laplace())
    )
    with one_blas_thread():
        alone = objective.evaluate(objective.theta0)
    with threadpool_limits(3, user_api="blas"), block_threads():
        shared = objective.evaluate(objective.theta0)
    assert shared.value == alone.value
    np.testing.assert_array_equal(shared.gradient, alone.gradient)
    np.testing.assert_array_equal(shared.evidence.latent, alone.evidence.latent)


def test_blocks_hold_neighbours():
    X, rng = Inputs(np.random.default_rng(0).uniform(size=(400, 2))), np.random.default_rng(1)
    kernel = Matern32(1.0, 0.3)
    spread = np.mean([np.var(X.X[part], axis=0).sum() for part in bisected(kernel, X, 20, rng)])
    assert spread < 0.2 * np.var(X.X, axis=0).sum()
    near = nearest(kernel, X.take(np.array([3])), X, 10)
    distance = np.linalg.norm(X.X - X.X[3], axis=1)
    assert set(near) == set(np.argsort(distance)[:10])


def test_a_fixed_noise_has_no_derivative():
    X, y, noise = problem(lib.GaussianNoise())
    found = []
    for likelihood in (noise, noise.fix("variance")):
        objective = LocalGaussianObjective(KERNEL, likelihood, X, y, chosen(KERNEL, X), NONE)
        found.append(objective.evaluate(objective.theta0))
    free, fixed = found
    assert fixed.value == pytest.approx(free.value, rel=1e-12)
    np.testing.assert_allclose(fixed.gradient, free.gradient[:-1], rtol=1e-9)
