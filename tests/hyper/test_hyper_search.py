"""Untying length scales: never below the tied optimum."""

import dataclasses

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm.hyper import EvidenceObjective, Maximizer, maximize_evidence
from bayesvm.hyper.ard_search import untied
from bayesvm.hyper.surrogate import maximize_through_surrogates
from bayesvm.inference import Laplace
from bayesvm.kernels import Constant, Gaussian, Linear
from bayesvm.kernels.inputs import Inputs

KERNEL = (Gaussian(ard=True) + Constant()).bind(4)


def machine(likelihood, n=60, seed=0, kernel=KERNEL):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.where(np.sin(2.0 * X[:, 0]) + 0.2 * X[:, 1] + 0.2 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    return EvidenceObjective(kernel, likelihood, Laplace(), Inputs(X), y)


def tied_starts(objective):
    tied = objective.kernel.tied().theta
    return [tied, tied + 1.0, tied - 0.5]


@pytest.mark.parametrize(
    "likelihood", [lib.RaisedCosine(), lib.Logistic(), lib.Trigonometric()], ids=lambda x: type(x).__name__
)
@pytest.mark.parametrize("seed", [0, 1])
def test_never_below_the_tied_optimum(likelihood, seed):
    objective = machine(likelihood, seed=seed)
    starts = tied_starts(objective)
    tied = dataclasses.replace(objective, kernel=objective.kernel.tied())
    first = maximize_evidence(Maximizer(), tied, starts)
    found = maximize_evidence(Maximizer(), objective, starts)
    assert found.value >= first.value - 1e-9
    assert found.theta.shape == objective.theta0.shape
    np.testing.assert_allclose(objective.evaluate(found.theta).value, found.value, rtol=1e-6)


def test_relevant_features_are_told_from_noise():
    objective = machine(lib.RaisedCosine(), n=100)
    found = maximize_evidence(Maximizer(), objective, tied_starts(objective))
    relevance = objective.model(found.theta)[0].relevance(4)
    assert np.argmax(relevance) == 0
    assert relevance[0] > 10.0 * relevance[2:].max()


def test_history_holds_points_of_the_larger_space():
    objective = machine(lib.RaisedCosine())
    starts = tied_starts(objective)
    calls = []
    found = maximize_evidence(Maximizer(callback=calls.append), objective, starts)
    assert len(found.history) >= len(starts) + 1
    for record in found.history:
        assert record.start.shape == record.end.shape == objective.theta0.shape
        np.testing.assert_allclose(objective.evaluate(record.end).value, record.value, rtol=1e-6)
        assert record.value <= found.value + 1e-9
    assert sum(r.evaluations for r in found.history) == len(calls)


def test_untied_point_has_the_same_evidence():
    objective = machine(lib.SmoothInsensitive(), kernel=(Gaussian(ard=True) + Linear(ard=True) + Constant()).bind(4))
    tied = dataclasses.replace(objective, kernel=objective.kernel.tied())
    theta = tied.theta0 + np.linspace(-0.3, 0.4, tied.theta0.size)
    larger = untied(objective, tied.kernel, theta)
    assert larger.shape == objective.theta0.shape
    np.testing.assert_allclose(objective.evaluate(larger).value, tied.evaluate(theta).value, rtol=1e-9)
    np.testing.assert_array_equal(larger[-2:], theta[-2:])  # the likelihood's parameters


def test_starts_of_the_larger_space_are_searched_as_they_are():
    objective = machine(lib.RaisedCosine())
    loose = objective.theta0 + np.array([0.5, 0.0, 1.0, 2.0, 2.0, 0.0])
    found = maximize_evidence(Maximizer(), objective, [loose, *tied_starts(objective)])
    assert any(np.array_equal(record.start, loose) for record in found.history)
    alone = maximize_evidence(Maximizer(), objective, [loose])
    assert found.value >= alone.value - 1e-9


def test_without_ard_there_is_nothing_to_untie():
    objective = machine(lib.RaisedCosine(), kernel=Gaussian() + Constant())
    starts = tied_starts(objective)
    plain, untying = (m(Maximizer(), objective, starts) for m in (maximize_through_surrogates, maximize_evidence))
    assert plain.value == untying.value
    assert len(plain.history) == len(untying.history)


def test_starts_of_the_larger_space_alone_need_no_ties():
    objective = machine(lib.Logistic())
    starts = [objective.theta0, objective.theta0 + 0.5]
    found = maximize_evidence(Maximizer(), objective, starts)
    assert found.value >= max(objective.evaluate(start).value for start in starts)
    for record, start in zip(found.history, starts):
        np.testing.assert_array_equal(record.start, start)
