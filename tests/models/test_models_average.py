"""Averages of predictors against the same computed directly from the members."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.special import expit, logit, logsumexp

from bayesvm import BayesianSVC, GPRegressor
from bayesvm.kernels.inputs import Inputs
from bayesvm.models.average import AveragedLabels, AveragedTargets, averaged_log_odds


@pytest.fixture(scope="module")
def labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0.0, 1, -1)
    model = BayesianSVC().fit(X, y).models_[0]
    assert isinstance(model, AveragedLabels)
    return model


@pytest.fixture(scope="module")
def targets():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(40, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=40)
    model = GPRegressor(theta="integrate").fit(X, y).models_[0]
    assert isinstance(model, AveragedTargets)
    assert len(model.members) > 1
    return model


@pytest.fixture
def rows():
    return Inputs(np.random.default_rng(9).normal(size=(8, 2)))


# -- log odds of averages ----------------------------------------------------------------------------------------------
def test_log_odds_of_an_average_of_probabilities():
    rng = np.random.default_rng(0)
    parts = [3.0 * rng.normal(size=(6, 2)) for _ in range(3)]
    weights = np.array([0.5, 0.3, 0.2])
    expected = logit(sum(w * expit(o) for w, o in zip(weights, parts, strict=True)))
    assert averaged_log_odds(parts, weights) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_far_tails_keep_their_digits(sign):
    weights = np.array([0.75, 0.25])
    alike = averaged_log_odds([np.full((1, 1), sign * 800.0)] * 2, weights)
    assert alike == pytest.approx(sign * 800.0, rel=1e-14)
    apart = averaged_log_odds([np.full((1, 1), sign * 800.0), np.full((1, 1), sign * 500.0)], weights)
    assert apart == pytest.approx(sign * (500.0 - np.log(0.25)), rel=1e-14)  # the less certain one decides
    opposite = averaged_log_odds([np.full((1, 1), sign * 800.0), np.full((1, 1), -sign * 800.0)], weights)
    assert opposite == pytest.approx(sign * np.log(3.0), rel=1e-12)


def test_one_member_is_returned_as_it_is():
    odds = np.array([[1.0], [-3.0]])
    assert averaged_log_odds([odds], np.ones(1)) is odds


# -- labels ------------------------------------------------------------------------------------------------------------
def test_probabilities_are_the_weighted_average_of_the_members(labels, rows):
    expected = sum(w * expit(m.log_odds(rows)) for w, m in zip(labels.weights, labels.members, strict=True))
    assert expit(labels.log_odds(rows)) == pytest.approx(expected, abs=1e-12)
    left_out = sum(w * expit(m.loo_log_odds()) for w, m in zip(labels.weights, labels.members, strict=True))
    assert expit(labels.loo_log_odds()) == pytest.approx(left_out, abs=1e-12)


def test_an_average_of_one_label_model_is_that_model(labels, rows):
    alone = dataclasses.replace(labels, members=labels.members[:1], weights=np.ones(1))
    assert np.array_equal(alone.log_odds(rows), labels.members[0].log_odds(rows))
    assert np.array_equal(alone.loo_log_odds(), labels.members[0].loo_log_odds())


def test_what_is_reported_is_of_the_chosen_candidate(labels, rows):
    chosen = labels.chosen
    for ours, theirs in zip(labels.latent(rows), chosen.latent(rows), strict=True):
        assert np.array_equal(ours, theirs)
    assert np.array_equal(labels.mean(rows), chosen.mean(rows))
    same = [np.random.default_rng(4) for _ in range(2)]
    assert np.array_equal(labels.sample(rows, 3, same[0]), chosen.sample(rows, 3, same[1]))
    for name in ("kernel", "likelihood", "log_evidence", "maximum", "objective", "problems", "marginals"):
        assert getattr(labels, name) is getattr(chosen, name) or getattr(labels, name) == getattr(chosen, name)
    assert np.array_equal(labels.support, chosen.support)
    assert np.array_equal(labels.coefficients, chosen.coefficients)
    assert np.all(np.diff(labels.weights) <= 0.0)


def test_other_hyperparameters_are_those_of_the_chosen_candidate(labels, rows):
    moved = labels.at(labels.theta + 0.1)
    assert moved.theta == pytest.approx(labels.theta + 0.1)
    assert moved.calibrations == labels.chosen.calibrations


# -- targets -----------------------------------------------------------------------------------------------------------
def test_moments_of_the_mixture_of_latent_functions(targets, rows):
    parts = [member.latent(rows) for member in targets.members]
    mean = sum(w * m for w, (m, _) in zip(targets.weights, parts, strict=True))
    second = sum(w * (v + m**2) for w, (m, v) in zip(targets.weights, parts, strict=True))
    found = targets.latent(rows)
    assert found[0] == pytest.approx(mean, abs=1e-12)
    assert found[1] == pytest.approx(second - mean**2, abs=1e-12)
    assert targets.mean(rows) == pytest.approx(mean, abs=1e-12)


def test_draws_have_the_moments_of_the_mixture(targets, rows):
    mean, var = targets.latent(rows)
    noise = sum(w * m.likelihood.plain.noise_variance for w, m in zip(targets.weights, targets.members, strict=True))
    for with_noise, expected in ((False, var), (True, var + noise)):
        draws = targets.sample(rows, 20_000, np.random.default_rng(0), noise=with_noise)
        assert draws.shape == (8, 20_000, 1)
        error = np.sqrt(expected / 20_000)
        assert np.all(np.abs(draws.mean(axis=1) - mean) < 5.0 * error)
        assert draws.var(axis=1) == pytest.approx(expected, rel=0.1)
    halves = np.split(targets.sample(rows, 2000, np.random.default_rng(1)), 2, axis=1)
    assert np.all(np.abs(halves[0].mean(axis=1) - halves[1].mean(axis=1)) < 7.0 * np.sqrt(var / 1000.0))


def test_the_leave_one_out_density_is_mixed_row_by_row(targets):
    outputs = targets.objective.outputs
    parts = np.stack([member.loo_log_densities(outputs)[:, 0] for member in targets.members])
    mixed = logsumexp(parts + np.log(targets.weights)[:, None], axis=0)
    weights = np.linspace(0.5, 2.0, mixed.size)
    assert targets.loo_log_density(weights) == pytest.approx(float(weights @ mixed), abs=1e-10)
    best = max(float(weights @ part) for part in parts)
    assert targets.loo_log_density(weights) > best - np.log(len(parts)) * weights.sum()
