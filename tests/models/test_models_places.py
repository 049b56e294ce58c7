"""The predictive finish: the lattice, its weights, and what predicts in the end."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from bayesvm import BayesianSVC, GPClassifier
from bayesvm.models import places
from bayesvm.models.base import TrainingData
from bayesvm.models.lattice import (
    FARTHEST,
    LENGTHSCALE_SPREAD,
    LENGTHSCALE_STEP,
    VARIANCE_SPREAD,
    VARIANCE_STEP,
    shifted,
)
from bayesvm.models.places import SHARE, finished, weighted_places


def odds(n=200, seed=0):
    rng = np.random.default_rng(seed)
    o = 2.0 * rng.normal(size=n)
    return o[:, None], np.where(rng.random(n) < expit(o), 1.0, -1.0)[:, None]


def watched(function):
    """Return a function that remembers its calls."""

    def called(a, length):
        called.calls.append((a, length))
        return function(a, length)

    called.calls = []
    return called


def test_places_that_predict_alike_are_weighted_by_the_prior():
    o, y = odds()
    look = watched(lambda a, length: o)
    found = weighted_places(look, y, np.ones(len(y)), determined=1.0)
    assert look.calls[0] == (0.0, 0.0)
    assert len(set(look.calls)) == len(look.calls) == 5
    assert (found[0].variance, found[0].lengthscale) == (0.0, 0.0)
    steps = np.array([[p.variance / VARIANCE_SPREAD, p.lengthscale / LENGTHSCALE_SPREAD] for p in found])
    prior = np.exp(-0.5 * np.sum(steps**2, axis=1))
    assert [p.weight for p in found] == pytest.approx(prior / np.sum(prior))
    assert sum(p.weight for p in found) == pytest.approx(1.0)


def test_a_smaller_variance_that_shrinks_all_odds_alike_is_no_correction():
    o, y = odds()
    found = weighted_places(lambda a, length: np.exp(0.3 * a) * o, y, np.ones(len(y)), determined=1.0)
    weights = {(p.variance, p.lengthscale): p.weight for p in found}
    expected = np.exp(-0.5 * (VARIANCE_STEP / VARIANCE_SPREAD) ** 2)
    assert weights[-VARIANCE_STEP, 0.0] / weights[0.0, 0.0] == pytest.approx(expected, abs=1e-3)


def test_the_search_walks_to_better_places_and_stops_at_the_edge():
    o, y = odds()
    noise = np.random.default_rng(1).normal(size=o.shape)
    look = watched(lambda a, length: o + 2.0 * noise * np.exp(-0.2 * a))  # the larger the variance the better
    found = weighted_places(look, y, np.ones(len(y)), determined=1.0)
    assert found[0].variance == FARTHEST * VARIANCE_STEP
    assert max(abs(a) for a, _ in look.calls) == FARTHEST * VARIANCE_STEP
    assert [p.weight for p in found] == sorted((p.weight for p in found), reverse=True)
    assert min(p.weight for p in found) >= SHARE * found[0].weight * (1.0 - 1e-12)


def test_rows_that_stand_for_many_sharpen_the_weights():
    o, y = odds()
    noise = np.random.default_rng(1).normal(size=o.shape)

    def look(a, length):
        return o + 0.2 * noise * abs(length)

    once = weighted_places(look, y, np.ones(len(y)), determined=1.0)
    many = weighted_places(look, y, np.ones(len(y)), determined=1.0, count=50.0)
    assert len(many) < len(once)


def test_places_without_a_posterior_are_left_out_but_not_the_origin():
    o, y = odds()
    found = weighted_places(lambda a, length: o if a == 0.0 else None, y, np.ones(len(y)), determined=1.0)
    assert {p.variance for p in found} == {0.0}
    with pytest.raises(ValueError, match="expected log odds at the model that the evidence chose"):
        weighted_places(lambda a, length: None, y, np.ones(len(y)), determined=1.0)


def test_outputs_are_corrected_one_by_one_and_judged_together():
    o, y = odds()
    both, labels = np.hstack([o, 0.5 * o]), np.hstack([y, y])
    found = weighted_places(lambda a, length: both, labels, np.ones(len(y)), determined=2.0)
    assert all(len(p.calibrations) == 2 for p in found)
    first, second = found[0].calibrations
    assert second.scale > first.scale


def test_only_variances_and_length_scales_of_the_kernel_move_and_stay_within_bounds():
    names = ["gaussian.variance", "gaussian.lengthscale[0]", "gaussian.lengthscale[1]", "period", "likelihood.variance"]
    bounds = np.array([[-9.0, 9.0], [-9.0, 9.0], [-9.0, 0.5], [-9.0, 9.0], [-9.0, 9.0]])
    moved = shifted(np.zeros(5), names, bounds, 2.0, 0.7)
    assert moved.tolist() == [2.0, 0.7, 0.5, 0.0, 0.0]


# -- of fitted models --------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 2))
    y = np.where(X[:, 0] + 0.6 * rng.normal(size=70) > 0.0, 1, -1)
    machine = BayesianSVC().fit(X, y)
    model = machine.models_[0].chosen
    return model, TrainingData(model.objective.X, y[:, None].astype(float))


def test_the_predictors_are_those_of_the_places(fitted):
    model, data = fitted
    members = finished(model, data)
    assert sum(weight for weight, _ in members) == pytest.approx(1.0)
    X = data.X.take(np.arange(7))
    low, high = model.objective.bounds.T
    unit = np.where(["lengthscale" in name for name in model.objective.names], LENGTHSCALE_STEP, VARIANCE_STEP)
    for _, member in members:
        theta = member.kernel.theta
        steps = ((theta - model.theta) / unit)[(theta > low) & (theta < high)]
        assert steps == pytest.approx(np.round(steps), abs=1e-9)
        again = model.moved(theta)
        odds = np.column_stack([c.apply(o) for c, o in zip(member.calibrations, again.log_odds(X).T, strict=True)])
        assert expit(member.log_odds(X)) == pytest.approx(expit(odds), abs=2e-3)


def test_many_rows_are_searched_on_a_part(fitted, monkeypatch):
    model, data = fitted
    plain = finished(model, data)
    monkeypatch.setattr(places, "MANY", 40)
    monkeypatch.setattr(places, "PART", 50)
    parted = finished(model, data)
    assert sum(weight for weight, _ in parted) == pytest.approx(1.0)
    X = data.X
    for _, member in parted:
        assert member.marginals[0].cavity_mean.size == len(X)

    def averaged(members):
        return sum(weight * expit(member.log_odds(X)) for weight, member in members)

    assert np.max(np.abs(averaged(plain) - averaged(parted))) < 0.1


def test_several_classes_are_finished_one_by_one():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=60), [-0.5, 0.5])
    machine = GPClassifier().fit(X, y)
    for model in machine.models_:
        assert model.weights.sum() == pytest.approx(1.0)
        assert all(len(member.calibrations) == model.n_outputs for member in model.members)
    assert machine.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(60))
