"""Gaussian noise first: what the search from a companion returns, spends and records."""

import dataclasses

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm.hyper import (
    EvidenceObjective,
    Maximizer,
    SearchStatus,
    companion,
    keep_best_on_interrupt,
    maximize_evidence,
    search,
)
from bayesvm.hyper.companion import BUDGET, LIKELY, ROUNDS, SCREENED, SHARE, companion_of
from bayesvm.hyper.jumps import climb
from bayesvm.hyper.starts import regression_starting_points
from bayesvm.inference import EP, Exact, Laplace
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs

LOSSES = [lib.SoftInsensitive(), lib.SmoothInsensitive(), lib.Huber()]


def problem(likelihood, n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-4.0, 4.0, size=(n, 1))
    y = np.sin(X[:, 0]) + 0.2 * rng.standard_t(3, size=n)
    return EvidenceObjective(Gaussian() + Constant(), likelihood, Laplace(), Inputs(X), y / y.std())


def starts(objective, number=4):
    plain = objective.likelihood.plain
    return regression_starting_points(objective.kernel, plain, objective.X, number, np.random.default_rng(0))


@pytest.mark.parametrize("likelihood", LOSSES, ids=lambda x: type(x).__name__)
def test_the_result_is_a_maximum_of_the_objective_itself_and_every_start_has_its_record(likelihood):
    objective = problem(likelihood)
    calls = []
    found = maximize_evidence(Maximizer(callback=calls.append), objective, starts(objective))
    assert found.status.ok
    np.testing.assert_allclose(objective.evaluate(found.theta).value, found.value, rtol=1e-8)
    for record, start in zip(found.history, starts(objective), strict=True):
        np.testing.assert_array_equal(record.start, start)
        np.testing.assert_allclose(objective.evaluate(record.end).value, record.value, rtol=1e-6)
        assert record.value <= found.value
    assert found.value == max(record.value for record in found.history)
    once = sum(record.status is SearchStatus.ABANDONED for record in found.history)  # their ends, evaluated once
    assert sum(record.evaluations for record in found.history) == len(calls) + once


@pytest.mark.parametrize(
    ("likelihood", "jump"), [(lib.SoftInsensitive(), 0.5), (lib.SmoothInsensitive(), 0.02), (lib.Huber(), 0.1)], ids=str
)
def test_not_lower_than_a_search_on_the_evidence_alone(likelihood, jump):
    objective = problem(likelihood)
    direct = Maximizer().maximize(objective, starts(objective))
    assert maximize_evidence(Maximizer(), objective, starts(objective)).value > direct.value - jump


def test_an_evidence_that_jumps_takes_few_evaluations():
    objective = problem(lib.SoftInsensitive())
    spent = sum(r.evaluations for r in maximize_evidence(Maximizer(), objective, starts(objective)).history)
    assert spent <= BUDGET


def test_weights_equal_repeated_rows():
    objective = problem(lib.SoftInsensitive())
    counts = np.where(np.arange(80) % 8 == 0, 2, 1)
    repeated = dataclasses.replace(
        objective, X=Inputs(np.repeat(objective.X.X, counts, axis=0)), y=np.repeat(objective.y, counts)
    )
    weighted = dataclasses.replace(objective, likelihood=lib.Weighted(lib.SoftInsensitive(), tuple(counts)))
    both = [maximize_evidence(Maximizer(), o, starts(objective)) for o in (repeated, weighted)]
    np.testing.assert_allclose(both[0].theta, both[1].theta, rtol=1e-6)


def test_the_companion_is_gaussian_noise_treated_exactly():
    companion = companion_of(problem(lib.SoftInsensitive()))
    assert isinstance(companion.likelihood, lib.GaussianNoise)
    assert companion.inference == Exact()


@pytest.mark.parametrize(
    "likelihood", [lib.GaussianNoise(), lib.SoftInsensitive().fix("C"), lib.Logistic()], ids=["gaussian", "C", "labels"]
)
def test_likelihoods_without_a_companion(likelihood):
    objective = dataclasses.replace(problem(lib.Huber()), likelihood=likelihood)
    assert companion_of(objective) is None


def test_other_methods_of_inference_search_on_their_own_evidence():
    objective = dataclasses.replace(problem(lib.Huber(), n=30), inference=EP())
    few = Maximizer(max_evaluations=2)
    found = maximize_evidence(few, objective, starts(objective, 1))
    assert found.history[0].evaluations <= 4


@pytest.mark.parametrize("when", [1, 5, 20, 40])
def test_an_interrupt_keeps_the_best_so_far(when):
    ticks = []

    def callback(tick):
        ticks.append(tick)
        if len(ticks) == when:
            raise KeyboardInterrupt

    objective = problem(lib.SoftInsensitive())
    with keep_best_on_interrupt():
        found = maximize_evidence(Maximizer(callback=callback), objective, starts(objective))
    assert found.status is SearchStatus.INTERRUPTED
    assert len(found.history) == 4
    np.testing.assert_allclose(objective.evaluate(found.theta).value, found.value, rtol=1e-6)


def test_an_interrupt_is_raised_unless_the_best_point_was_asked_for():
    def callback(tick):
        raise KeyboardInterrupt

    objective = problem(lib.SoftInsensitive())
    with pytest.raises(KeyboardInterrupt):
        maximize_evidence(Maximizer(callback=callback), objective, starts(objective))


def test_the_limit_of_the_user_is_a_limit():
    objective = problem(lib.SoftInsensitive())
    found = maximize_evidence(Maximizer(max_evaluations=3), objective, starts(objective))
    assert found.status is SearchStatus.LIMIT


def test_many_starts_are_screened_on_a_part_of_the_rows(monkeypatch):
    objective = problem(lib.SoftInsensitive(), n=320)
    sizes = []
    evaluate = EvidenceObjective.evaluate

    def counted(self, theta, warm_start=None):
        sizes.append((type(self.likelihood), self.n_rows))
        return evaluate(self, theta, warm_start)

    monkeypatch.setattr(EvidenceObjective, "evaluate", counted)
    monkeypatch.setattr(search, "with_low_rank", lambda objective, starts: objective)
    found = maximize_evidence(Maximizer(), objective, starts(objective))
    part, whole = (sizes.count((lib.GaussianNoise, n)) for n in (int(SHARE * 320), 320))
    assert 9 <= part <= 4 * ROUNDS
    assert 1 <= whole <= SCREENED
    assert sum(record.evaluations for record in found.history) <= BUDGET
    for record in found.history:  # values of all rows, whatever was screened on
        np.testing.assert_allclose(objective.evaluate(record.end).value, record.value, rtol=1e-6)


def test_the_likeliest_shapes_are_searched_from(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(-4.0, 4.0, size=(150, 1))
    y = np.sin(X[:, 0]) + 0.5 * rng.uniform(-1.0, 1.0, size=150)  # far from Laplace's noise
    objective = EvidenceObjective(Gaussian() + Constant(), lib.SoftInsensitive(), Laplace(), Inputs(X), y)
    begun = []

    def climbed(maximizer, objective, starts, latent, budget):
        begun.extend(starts)
        return climb(maximizer, objective, starts, latent, budget)

    monkeypatch.setattr(companion, "climb", climbed)
    maximize_evidence(Maximizer(), objective, starts(objective))
    assert 1 <= len(begun) <= LIKELY
    assert max(theta[-2] + theta[-1] for theta in begun) > np.log(2.0)  # C epsilon, the shape
