"""Switching features on and off: never at the expense of the evidence."""

import dataclasses

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm.hyper import EvidenceObjective, Maximizer, Maximum, SearchStatus, StartRecord, keep_best_on_interrupt
from bayesvm.hyper.ard_search import switch_off, switch_on
from bayesvm.inference import Laplace
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs

D = 5
KERNEL = Gaussian(ard=True) + Constant()


def machine(likelihood, kernel=KERNEL, n=80, seed=0):
    """Two relevant features and three that are noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    f = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=n)
    y = f if isinstance(likelihood, lib.Regression) else np.where(f > 0.0, 1.0, -1.0)
    return EvidenceObjective(kernel.bind(D), likelihood, Laplace(), Inputs(X), y)


def maximum_at(objective, relevance):
    """Return a maximum in name only, with the given relevances and all else as in the objective."""
    kernel, likelihood = objective.model(objective.theta0)
    for feature, value in enumerate(relevance):
        kernel = kernel.with_relevance(feature, value)
    theta = np.concatenate([kernel.theta, likelihood.theta])
    found = objective.evaluate(theta)
    record = StartRecord(theta, theta, found.value, 1, SearchStatus.CONVERGED, 0.0)
    return Maximum(theta, found.value, found.evidence.latent, SearchStatus.CONVERGED, (record,))


def relevances(objective, maximum):
    return objective.model(maximum.theta)[0].relevance(D)


@pytest.mark.parametrize(
    "likelihood",
    [lib.Logistic(), lib.Trigonometric(), lib.SoftInsensitive(8.0, 0.1, 0.3)],
    ids=lambda x: type(x).__name__,
)
def test_weak_features_go_and_the_evidence_does_not_fall(likelihood):
    objective = machine(likelihood)
    before = maximum_at(objective, [1.0, 0.3, 1e-4, 1e-5, 1e-5])
    after = switch_off(Maximizer(), objective, before)
    assert after.value >= before.value
    assert after.status is SearchStatus.CONVERGED
    assert after.history[:1] == before.history
    np.testing.assert_allclose(objective.evaluate(after.theta).value, after.value, rtol=1e-6)
    found = relevances(objective, after)
    assert np.all(found[2:] <= 1e-7)
    assert np.all(found[:2] > 1e-3)


def test_a_weak_feature_that_matters_stays():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, D))
    y = np.sin(12.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.05 * rng.normal(size=120)
    kernel = (Gaussian(4.0, ard=True) + Constant()).bind(D)
    objective = EvidenceObjective(kernel, lib.GaussianNoise(0.05), Laplace(), Inputs(X), y)
    before = maximum_at(objective, [60.0, 0.05, 1e-8, 1e-8, 1e-8])
    after = switch_off(Maximizer(), objective, before)
    assert after is before  # the second is weak beside the first, but the evidence needs it; the others are off already


def test_a_lower_end_is_not_taken():
    objective = machine(lib.Logistic())
    before = maximum_at(objective, [1.0, 0.3, 1e-4, 1e-5, 1e-5])
    high = dataclasses.replace(before, value=before.value + 1e3)
    after = switch_off(Maximizer(), objective, high)
    np.testing.assert_array_equal(after.theta, high.theta)
    assert after.value == high.value
    assert len(after.history) == 2


def test_without_relevances_there_is_nothing_to_do():
    objective = machine(lib.Logistic(), kernel=Gaussian() + Constant())
    before = maximum_at(objective, [])
    assert switch_off(Maximizer(), objective, before) is before


def test_an_interrupt_keeps_the_best_so_far():
    objective = machine(lib.Logistic())
    before = maximum_at(objective, [1.0, 0.3, 1e-4, 1e-5, 1e-5])

    def interrupt(tick):
        raise KeyboardInterrupt

    with keep_best_on_interrupt():
        after = switch_off(Maximizer(callback=interrupt), objective, before)
    assert after.interrupted
    assert after.value >= before.value


# -- switching on ------------------------------------------------------------------------------------------------------
def test_a_feature_whose_gradient_has_vanished_is_switched_on():
    objective = machine(lib.Logistic(), n=120)
    off = maximum_at(objective, [1e-12, 0.3, 1e-12, 1e-12, 1e-12])
    assert abs(objective.evaluate(off.theta).gradient[1]) < 1e-4  # a search by gradients cannot bring it back
    after = switch_on(Maximizer(), objective, off)
    assert after.value > off.value + 5.0
    assert relevances(objective, after)[0] > 1e-2
    assert after.history[:1] == off.history
    np.testing.assert_allclose(objective.evaluate(after.theta).value, after.value, rtol=1e-6)


def test_irrelevant_features_stay_off():
    objective = machine(lib.Logistic(), n=120)
    start = maximum_at(objective, [1.0, 0.3, 1e-12, 1e-12, 1e-12])
    best = Maximizer().maximize(objective, [start.theta])
    assert np.all(relevances(objective, best)[2:] < 1e-3)
    assert switch_on(Maximizer(), objective, best) is best


def test_first_order_gains_are_those_of_small_changes():
    objective = machine(lib.RaisedCosine())
    here = objective.evaluate(objective.theta0)
    for k in range(D + 1):
        step = np.eye(objective.theta0.size)[k] * 1e-4
        there = objective.evaluate(objective.theta0 + step)
        (gain,) = objective.gains(here, [there.theta])
        assert gain == pytest.approx(there.value - here.value, rel=1e-2, abs=1e-7)


def test_an_interrupt_while_switching_on_is_reported():
    objective = machine(lib.Logistic(), n=120)
    before = maximum_at(objective, [1e-12, 0.3, 1e-12, 1e-12, 1e-12])

    def interrupt(progress):
        if progress.evaluation == 2:
            raise KeyboardInterrupt

    with keep_best_on_interrupt():
        after = switch_on(Maximizer(callback=interrupt), objective, before)
    assert after.interrupted
    assert after.value >= before.value


def test_there_is_nothing_to_switch_on_where_nothing_is_off_or_has_a_relevance():
    for kernel, relevance in ((KERNEL, np.ones(D)), (Constant(), ())):
        objective = machine(lib.Logistic(), kernel)
        before = maximum_at(objective, relevance)
        assert switch_on(Maximizer(), objective, before) is before
