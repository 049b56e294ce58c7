"""Maximising the smooth surrogate first: what is reported is the evidence itself."""

import dataclasses

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm.hyper import EvidenceObjective, Maximizer, SearchStatus, keep_best_on_interrupt, maximize_evidence
from bayesvm.inference import Laplace
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs

STARTS = [np.array(s) for s in ([2.3, 0.3, 4.6], [0.0, 0.0, 0.0], [4.6, 0.3, 4.6])]


def problem(likelihood, n=50, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    signal = X[:, 0] - 0.5 * X[:, 1] ** 2 + 0.4 * rng.normal(size=n) + 0.3
    y = signal if isinstance(likelihood, lib.Regression) else np.where(signal > 0.0, 1.0, -1.0)
    return EvidenceObjective(Gaussian() + Constant(), likelihood, Laplace(), Inputs(X), y)


def full(objective):
    return [np.concatenate([s, objective.likelihood.theta]) for s in STARTS]


@pytest.mark.parametrize("likelihood", [lib.Trigonometric(), lib.SoftInsensitive()], ids=lambda x: type(x).__name__)
def test_values_are_those_of_the_objective_itself(likelihood):
    objective = problem(likelihood)
    assert objective.likelihood.smoothed is not objective.likelihood
    found = maximize_evidence(Maximizer(), objective, full(objective))
    np.testing.assert_allclose(objective.evaluate(found.theta).value, found.value, rtol=1e-6)
    assert len(found.history) == 3
    for record, start in zip(found.history, full(objective)):
        np.testing.assert_array_equal(record.start, start)
        np.testing.assert_allclose(objective.evaluate(record.end).value, record.value, rtol=1e-6)
        assert record.value <= found.value
    assert found.value == max(r.value for r in found.history)


def test_not_below_the_best_end_of_the_surrogate():
    objective = problem(lib.Trigonometric())
    smooth = dataclasses.replace(objective, likelihood=objective.likelihood.smoothed)
    smooth_best = Maximizer().maximize(smooth, STARTS)
    found = maximize_evidence(Maximizer(), objective, STARTS)
    # both from a cold start: where the two thetas are one, a warm start would differ by rounding
    assert objective.evaluate(found.theta).value >= objective.evaluate(smooth_best.theta).value


def test_a_smooth_likelihood_is_maximised_directly():
    objective = problem(lib.Logistic())
    direct = Maximizer().maximize(objective, STARTS)
    found = maximize_evidence(Maximizer(), objective, STARTS)
    assert found.value == direct.value
    np.testing.assert_array_equal(found.theta, direct.theta)


def test_weights_keep_their_surrogate():
    objective = problem(lib.Weighted(lib.Trigonometric(), np.random.default_rng(0).uniform(0.5, 2.0, size=50)))
    found = maximize_evidence(Maximizer(), objective, STARTS)
    np.testing.assert_allclose(objective.evaluate(found.theta).value, found.value, rtol=1e-6)


def test_the_evaluations_of_both_stages_are_counted():
    calls = []
    objective = problem(lib.Trigonometric())
    found = maximize_evidence(Maximizer(callback=calls.append), objective, STARTS)
    assert sum(r.evaluations for r in found.history) == len(calls)


@pytest.mark.parametrize("when", [1, 3, 12])
def test_an_interrupt_on_the_surrogate_keeps_the_best_so_far(when):
    ticks = []

    def callback(tick):
        ticks.append(tick)
        if len(ticks) == when:
            raise KeyboardInterrupt

    objective = problem(lib.Trigonometric())
    with keep_best_on_interrupt():
        found = maximize_evidence(Maximizer(callback=callback), objective, STARTS)
    assert found.status is SearchStatus.INTERRUPTED
    assert len(ticks) <= when + len(STARTS)  # each end is evaluated once more, with the likelihood itself
    best = max(ticks[:when], key=lambda t: t.value)
    assert found.value >= objective.evaluate(best.theta).value - 1e-6


def test_an_interrupt_while_refining_is_reported():
    objective = problem(lib.Trigonometric())
    on_surrogate = []
    smooth = dataclasses.replace(objective, likelihood=objective.likelihood.smoothed)
    Maximizer(callback=on_surrogate.append).maximize(smooth, STARTS)
    ticks = []

    def callback(tick):
        ticks.append(tick)
        if len(ticks) == len(on_surrogate) + 2:
            raise KeyboardInterrupt

    with keep_best_on_interrupt():
        found = maximize_evidence(Maximizer(callback=callback), objective, STARTS)
    assert found.status is SearchStatus.INTERRUPTED
    assert found.value == max(t.value for t in ticks[len(on_surrogate) :])
