"""The search for the hyperparameters of many rows: what is chosen where, on how many rows, and what it finds."""

import dataclasses

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper import Maximizer, keep_best_on_interrupt, maximize_evidence
from bayesvm.hyper import large as module
from bayesvm.hyper.bfgs import SearchStatus
from bayesvm.hyper.cost import expected_cost
from bayesvm.hyper.fit_cost import expected_fit
from bayesvm.hyper.inducing import InducingObjective
from bayesvm.hyper.large import (
    LargeProblem,
    covered,
    describe,
    maximize_large,
    maximize_on_blocks,
    typical_curvature,
)
from bayesvm.hyper.local import LocalGaussianObjective, LocalObjective
from bayesvm.inference import Exact, Laplace, Variational
from bayesvm.kernels import Constant, Gaussian, Matern32
from bayesvm.kernels.inputs import Inputs


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for name, value in {"SAMPLE": 150, "BLOCKS": 4, "POOL": 300, "MOST": 60, "BESIDE": 10, "ROWS": 300}.items():
        monkeypatch.setattr(module, name, value)


def problem(likelihood, lengthscale=0.3, n=500, **options):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=n)
    if isinstance(likelihood, lib.Classification):
        y = np.where(y > 0.0, 1.0, -1.0)
    kernel = Matern32(1.0, lengthscale) + Constant()
    inference = Exact() if likelihood.traits.quadratic else Laplace()
    return LargeProblem(kernel, likelihood, options.pop("inference", inference), Inputs(X), y, **options)


def test_inducing_inputs_where_little_is_left_and_neighbours_elsewhere():
    smooth, rough = problem(lib.GaussianNoise(), 30.0), problem(lib.GaussianNoise(0.01), 0.1)
    low_rank, local = smooth.at(smooth.theta0), rough.at(rough.theta0)
    assert isinstance(low_rank, InducingObjective)
    assert low_rank.rows.size < 60
    assert isinstance(local, LocalGaussianObjective)
    assert covered(low_rank) == covered(local) == 500
    assert describe(low_rank) == f"{low_rank.rows.size} inducing inputs"
    assert describe(local).endswith("8 blocks given their neighbours")


def test_a_function_far_below_the_noise_keeps_its_inducing_inputs():
    weak = problem(lib.GaussianNoise(1.0))
    weak = dataclasses.replace(weak, kernel=Matern32(1e-3, 3.0))
    kernel, likelihood = weak.model(weak.theta0)
    rows, left = weak.greedy(kernel, likelihood)
    whole = 0.5 * typical_curvature(likelihood) * 1e-3
    assert whole < module.ENOUGH  # by nats alone one inducing input would be enough
    assert left <= module.UNEXPLAINED * whole
    assert 3 < rows.size < 60
    exact = weak.sample()
    low_rank = dataclasses.replace(weak, X=exact.X, y=exact.y).at(weak.theta0)
    assert low_rank.evaluate(weak.theta0).value == pytest.approx(exact.evaluate(weak.theta0).value, abs=0.05)


def test_a_given_number_of_inducing_inputs_is_kept():
    rough = problem(lib.GaussianNoise(0.01), 0.1, size=25, neighbours=False)
    assert rough.at(rough.theta0).rows.size == 25
    assert rough.some_blocks(rough.theta0).rows.size == 25


def test_inducing_inputs_beside_neighbours_where_they_raise_the_evidence(monkeypatch):
    mixed = problem(lib.GaussianNoise(0.001), 3.0)
    monkeypatch.setattr(module, "ENOUGH", 0.0)
    for worth, size in ((-np.inf, 10), (np.inf, 0)):
        monkeypatch.setattr(module, "WORTH", worth)
        assert mixed.at(mixed.theta0).rows.size == size


def test_kernels_are_judged_on_more_rows_with_gaussian_noise(monkeypatch):
    monkeypatch.setattr(module, "ROWS", 500)
    gaussian, labels = problem(lib.GaussianNoise(0.01), 0.1), problem(lib.Logistic(), 0.05)
    assert covered(gaussian.judged_at(gaussian.theta0)) == 500
    assert covered(labels.judged_at(labels.theta0)) < 400
    whole = gaussian.at(gaussian.theta0).evaluate(gaussian.theta0).value
    assert gaussian.value_per_row(gaussian.theta0) == pytest.approx(whole / 500)


@pytest.mark.parametrize("lengthscale", [0.05, 4.0])
def test_the_evidence_decides_for_other_likelihoods(lengthscale, monkeypatch):
    monkeypatch.setattr(module, "ENOUGH", 0.0)
    p = problem(lib.Logistic(), lengthscale)
    chosen = p.at(p.theta0)
    low_rank = p._low_rank(p.greedy(*p.model(p.theta0))[0], None)
    local = p._with_neighbours(p.theta0, p._blocks(p.kernel), np.empty(0, dtype=int))
    values = [objective.evaluate(p.theta0).value for objective in (low_rank, local)]
    assert isinstance(chosen, LocalObjective if values[1] > values[0] else InducingObjective)
    assert chosen.evaluate(p.theta0).value == pytest.approx(max(values))


def test_methods_without_weights_use_neighbours():
    p = problem(lib.Probit(), 5.0, inference=Variational())
    assert isinstance(p.at(p.theta0), LocalObjective)


def test_a_search_needs_only_so_many_rows():
    smooth, rough = problem(lib.GaussianNoise(), 30.0), problem(lib.GaussianNoise(0.01), 0.1)
    assert 300 <= covered(smooth.at(smooth.theta0, most=300)) <= 360
    assert covered(rough.at(rough.theta0, most=300)) < 400
    part = smooth.at(smooth.theta0, most=300)
    whole = smooth.at(smooth.theta0)
    np.testing.assert_array_equal(part.X.X[part.rows], whole.X.X[whole.rows])


@pytest.mark.parametrize("likelihood", [lib.GaussianNoise(), lib.Logistic(), lib.Trigonometric()], ids=repr)
def test_the_search_ends_near_the_exact_optimum(likelihood, monkeypatch):
    monkeypatch.setattr(module, "ROWS", 1000)
    p = problem(likelihood, 1.0)
    p = LargeProblem(Gaussian() + Constant(), likelihood, p.inference, p.X, p.y)
    starts = [p.theta0, p.theta0 + 0.5]
    found = maximize_large(Maximizer(tol=0.05), p, starts)
    monkeypatch.setattr(module, "SAMPLE", 500)
    exact = p.sample()
    best = maximize_evidence(Maximizer(tol=0.05), exact, starts)
    assert exact.evaluate(found.theta).value > best.value - module.ENOUGH * 500  # what may be left over
    assert sum(record.evaluations for record in found.history) > 4


@pytest.mark.parametrize("failing", ["some_blocks", "some_rows", "value_per_row"])
def test_a_search_that_fails_leaves_the_others(failing, monkeypatch, caplog):
    labels, maximizer = problem(lib.Logistic(), n=300), Maximizer(tol=0.1, max_evaluations=4)
    own, left = getattr(LargeProblem, failing), [False, True, True]

    def fails_once(problem, theta):
        if failing == "some_rows" or not left.pop():
            raise NotPositiveDefiniteError("it has no posterior")
        return own(problem, theta)

    whole = maximize_on_blocks(maximizer, labels, [labels.theta0])
    monkeypatch.setattr(LargeProblem, failing, fails_once)
    found = maximize_on_blocks(maximizer, labels, [labels.theta0])
    failed = [record for record in found.history if record.status is SearchStatus.FAILED]
    assert failed
    assert all(record.value == -np.inf for record in failed)
    assert "a search on a sample is left out: it has no posterior" in caplog.text
    assert np.isfinite(found.value)
    assert not any(record.status is SearchStatus.FAILED for record in whole.history)


def test_no_search_of_blocks_or_rows_succeeds(monkeypatch):
    def fails(problem, theta):
        raise NotPositiveDefiniteError("it has no posterior")

    for name in ("some_blocks", "some_rows"):
        monkeypatch.setattr(LargeProblem, name, fails)
    labels = problem(lib.Logistic(), n=300)
    with pytest.raises(NotPositiveDefiniteError, match="it has no posterior"):
        maximize_on_blocks(Maximizer(tol=0.1, max_evaluations=4), labels, [labels.theta0])


def test_typical_curvature():
    assert typical_curvature(lib.GaussianNoise(0.25)) == pytest.approx(4.0)
    assert typical_curvature(lib.Weighted(lib.Logistic(), (1.0, 2.0))) == pytest.approx(0.25)


def test_costs_grow_with_the_problem():
    p = problem(lib.GaussianNoise(0.01), 0.1)
    local, few = p.at(p.theta0), p.some_blocks(p.theta0)
    assert expected_cost(few).seconds < expected_cost(local).seconds
    smaller, larger = (problem(lib.Logistic(), size=m)._low_rank(np.arange(m), None) for m in (10, 40))
    assert expected_cost(smaller).memory < expected_cost(larger).memory
    assert expected_cost(p._with_neighbours(p.theta0, local.neighbourhoods, np.arange(5))).operations > 0.0
    other = problem(lib.Logistic())
    assert "MiB" in str(expected_cost(other._with_neighbours(p.theta0, local.neighbourhoods, np.arange(5))))
    with pytest.raises(TypeError, match="expected an evidence of many rows, found int"):
        expected_cost(3)


def test_equal_rows_have_no_short_length_scale():
    many = problem(lib.GaussianNoise())
    theta = many.theta0
    assert np.any(many.close(theta) != theta)
    equal = dataclasses.replace(many, X=Inputs(np.ones((500, 2))))
    np.testing.assert_array_equal(equal.close(theta), theta)


@pytest.mark.parametrize("blocks", [False, True], ids=["on a sample of rows", "on a sample of blocks"])
def test_an_interrupt_ends_the_search_at_the_best_point_so_far(blocks):
    many, seen = problem(lib.GaussianNoise(0.01), 0.1, n=300), []
    starts = [many.theta0, many.theta0 + 0.5]
    before = maximize_evidence(Maximizer(), many.sample(), starts).history if blocks else ()
    calls = 3 + sum(record.evaluations for record in before)

    def callback(progress):
        seen.append(progress)
        if len(seen) == calls:
            raise KeyboardInterrupt

    with keep_best_on_interrupt():
        found = maximize_large(Maximizer(callback=callback), many, starts)
    assert found.interrupted
    assert np.isfinite(found.value)
    assert found.theta.shape == many.theta0.shape
    seen.clear()
    with pytest.raises(KeyboardInterrupt):
        maximize_large(Maximizer(callback=callback), many, starts)


@pytest.mark.parametrize("size", [None, 50])
def test_the_cost_of_many_rows_grows_with_each_number(size):
    def operations(rows, features, outputs, quadratic=True):
        return expected_fit(rows, features, outputs, quadratic=quadratic, size=size).operations

    base = operations(10_000, 5, 1)
    assert operations(40_000, 5, 1) > base
    assert operations(10_000, 50, 1) > base
    assert operations(10_000, 5, 3) > base
    assert operations(10_000, 5, 1, quadratic=False) > base
