"""Gram matrices of low rank: the same evidence, gradient and predictions of jumps as with all pairs of rows."""

import dataclasses

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm import BayesianSVR
from bayesvm.hyper import EvidenceObjective, search
from bayesvm.hyper.covariance import Candidates, GramCovariance, PivotedCovariance
from bayesvm.hyper.low_rank import LowRankObjective, with_low_rank
from bayesvm.hyper.outlook import Outlook
from bayesvm.inference import EP, Exact, Laplace
from bayesvm.kernels import Constant, Gaussian, Linear, Matern32
from bayesvm.kernels.inputs import Inputs
from bayesvm.linalg.feature_factor import FeatureFactor
from bayesvm.linalg.support_factor import SupportFactor
from bayesvm.solvers import WorkingSet
from bayesvm.testing import five_point

KERNEL = Gaussian(1.7, 0.9) + Constant(0.3)
LIKELIHOODS = [
    lib.SoftInsensitive(4.0, 0.2),
    lib.SmoothInsensitive(4.0, 0.2),
    lib.Weighted(lib.SoftInsensitive(4.0, 0.2), tuple(1.0 + np.arange(250) % 3)),
    lib.GaussianNoise(0.09),
    lib.Huber(4.0, 0.2).fix(),  # nothing but its curvature tells which rows have one
    lib.Logistic(),
    lib.Trigonometric(),
]


def problem(likelihood, kernel=KERNEL, inference=None, n=250):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, size=(n, 1))
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_t(3, size=n)
    y = np.sign(y) if isinstance(likelihood, lib.Classification) else y
    method = inference or (Exact() if likelihood.traits.quadratic else Laplace())
    return EvidenceObjective(kernel, likelihood, method, Inputs(X), y)


def pivoted(objective):
    return PivotedCovariance.of(objective.kernel, objective.X, with_low_rank(objective).candidates)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda likelihood: type(likelihood).__name__)
@pytest.mark.parametrize("warm", [False, True])
def test_evaluations_equal_those_with_all_pairs_of_rows(likelihood, warm):
    exact = problem(likelihood)
    low = with_low_rank(exact)
    start = exact.evaluate(exact.theta0 + 0.1).evidence.latent if warm else None
    expected, found = exact.evaluate(exact.theta0, start), low.evaluate(low.theta0, start)
    assert isinstance(found.posteriors[0].factor, FeatureFactor)
    assert found.value == pytest.approx(expected.value, abs=1e-7)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.evidence.latent, expected.evidence.latent, atol=1e-8)
    assert found.evidence.terms == pytest.approx(expected.evidence.terms, abs=1e-7)
    K = exact.kernel.gram(exact.X)
    mine, theirs = (e.posteriors[0].factor.marginals(K)[0] for e in (found, expected))
    np.testing.assert_allclose(mine, theirs, atol=1e-8)


def test_the_gradient_is_the_derivative_of_the_value():
    low = with_low_rank(problem(lib.SmoothInsensitive(4.0, 0.2)))
    expected = five_point(lambda theta: low.evaluate(theta).value, low.theta0)
    np.testing.assert_allclose(low.evaluate(low.theta0).gradient, expected, rtol=1e-5, atol=1e-5)


def test_the_hyperprior_counts_once():
    exact = problem(LIKELIHOODS[0])

    class Slope:
        def log_density(self, theta, names):
            return float(np.sum(theta)), np.ones_like(theta)

    plain, tilted = (
        with_low_rank(o).evaluate(exact.theta0) for o in (exact, dataclasses.replace(exact, prior=Slope()))
    )
    assert tilted.value - plain.value == pytest.approx(np.sum(exact.theta0))
    np.testing.assert_allclose(tilted.gradient - plain.gradient, 1.0, rtol=1e-9)


@pytest.mark.parametrize("kernel", [Gaussian(1.0, 0.01), Matern32(1.0, 1.0)], ids=["short length scale", "rough"])
def test_kernels_of_full_rank_are_evaluated_with_all_pairs_of_rows(kernel):
    exact = problem(LIKELIHOODS[0], kernel)
    assert with_low_rank(exact) is exact
    low = LowRankObjective(**{field.name: getattr(exact, field.name) for field in dataclasses.fields(exact)})
    assert isinstance(low.evaluate(low.theta0).posteriors[0].factor, SupportFactor)
    assert low.evaluate(low.theta0).value == exact.evaluate(exact.theta0).value
    assert isinstance(low.covariance(kernel), GramCovariance)


def test_one_start_with_a_low_rank_is_enough():
    exact = problem(LIKELIHOODS[0])
    short = exact.theta0 - np.array([0.0, 5.0, 0.0, 0.0, 0.0])
    assert with_low_rank(exact, [short]) is exact
    assert isinstance(with_low_rank(exact, [short, exact.theta0]), LowRankObjective)


def test_too_much_left_over_is_noticed():
    objective = problem(LIKELIHOODS[0])
    low = dataclasses.replace(with_low_rank(objective))
    inside = np.flatnonzero(np.abs(objective.X.X[:, 0]) < 1.0)  # nothing is known of the outer rows
    object.__setattr__(low, "candidates", Candidates.of(objective.X, inside, 30.0))
    assert PivotedCovariance.of(KERNEL, objective.X, low.candidates) is not None
    assert isinstance(low.evaluate(low.theta0).posteriors[0].factor, SupportFactor)


@pytest.mark.parametrize(
    "objective",
    [
        problem(LIKELIHOODS[0], n=100),
        problem(LIKELIHOODS[0], inference=Laplace(WorkingSet())),
        problem(lib.Logistic(), inference=EP()),
        dataclasses.replace(problem(LIKELIHOODS[0]), y=np.zeros((250, 2))),
    ],
    ids=["few rows", "another solver", "another method", "outputs"],
)
def test_what_is_not_known_is_left_alone(objective):
    assert with_low_rank(objective) is objective


@pytest.mark.parametrize("kernel", [KERNEL, Linear(0.5) + Constant(0.2)], ids=["gaussian", "linear"])
def test_the_covariance_equals_the_gram_matrix(kernel):
    objective = problem(LIKELIHOODS[0], kernel)
    K, found = GramCovariance.of(kernel, objective.X), pivoted(objective)
    rng, some, others = np.random.default_rng(0), np.arange(3, 90, 7), np.arange(5, 250, 9)
    x, alpha = rng.normal(size=(250, 2)), rng.normal(size=(250, 2))
    assert found.phi.shape[1] < 30
    np.testing.assert_allclose(found.times(x), K.K @ x, atol=1e-9)
    np.testing.assert_allclose(found.times(x[some], some), K.times(x[some], some), atol=1e-9)
    W = np.where(np.arange(250) % 3 == 0, 0.0, 2.0 + np.sin(np.arange(250)))
    factor, Sigma = SupportFactor.of(K.K, W), K.K @ np.linalg.inv(np.eye(250) + W[:, None] * K.K)
    for covariance in (K, found):
        posterior = covariance.given(factor)
        np.testing.assert_allclose(posterior.block(others), Sigma[np.ix_(others, others)], atol=1e-10)
        np.testing.assert_allclose(posterior.variances(others), np.diagonal(Sigma)[others], atol=1e-10)
    np.testing.assert_allclose(found.slopes(alpha), K.slopes(alpha), rtol=1e-5, atol=1e-5)
    theta = kernel.theta
    for j in range(theta.size):
        step = 1e-5 * np.eye(theta.size)[j]
        plus, minus = (kernel.with_theta(theta + s).gram(objective.X) @ alpha for s in (step, -step))
        np.testing.assert_allclose(found.slopes(alpha)[j], (plus - minus) / 2e-5, rtol=1e-3, atol=2e-3)


def test_jumps_are_predicted_alike():
    exact = problem(LIKELIHOODS[0])
    low = with_low_rank(exact)
    steps = 0.02 * np.random.default_rng(1).normal(size=(100, exact.theta0.size))
    found = [Outlook.of(o, o.evaluate(exact.theta0)).gains(steps, 0.0, 50.0) for o in (exact, low)]
    np.testing.assert_array_equal(found[0][1], found[1][1])
    assert found[0][1].max() > 3.0
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-4, atol=1e-4)


def test_a_fit_ends_at_the_same_point(monkeypatch):
    objective = problem(LIKELIHOODS[0])
    X, y = objective.X.X, objective.y
    low = BayesianSVR(KERNEL, likelihood="soft-insensitive").fit(X, y)
    monkeypatch.setattr(search, "with_low_rank", lambda objective, starts: objective)
    plain = BayesianSVR(KERNEL, likelihood="soft-insensitive").fit(X, y)
    assert low.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-3)
    np.testing.assert_allclose(low.predict(X), plain.predict(X), atol=1e-3)


def test_parts_of_the_rows_keep_the_low_rank():
    low = with_low_rank(problem(LIKELIHOODS[3]))
    rows = np.arange(10, 240)
    part, plain = low.part(rows), problem(LIKELIHOODS[3]).part(rows)
    assert isinstance(part.evaluate(part.theta0).posteriors[0].factor, FeatureFactor)
    assert part.evaluate(part.theta0).value == pytest.approx(plain.evaluate(plain.theta0).value, abs=1e-7)
    alpha = np.ones((rows.size, 1))
    covariances = part.covariance(part.kernel), GramCovariance.of(plain.kernel, plain.X)
    np.testing.assert_allclose(*(c.slopes(alpha) for c in covariances), rtol=1e-5, atol=1e-5)
