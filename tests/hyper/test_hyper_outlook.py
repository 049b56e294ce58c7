"""What an evaluation predicts of its surroundings: modes, jumps of the evidence, and climbs by these predictions."""

import dataclasses

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper import EvidenceObjective, Maximizer, SearchStatus
from bayesvm.hyper.jumps import climb
from bayesvm.hyper.outlook import Outlook
from bayesvm.inference import Laplace
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.linalg.determinant_update import log_det_change

THETA = np.array([0.2, 0.1, -0.5, 1.6, -1.4])


def problem(n=60, outputs=1, likelihood=None):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, size=(n, 1))
    y = np.sin(X) + 0.3 * rng.standard_t(3, size=(n, outputs))
    noise = likelihood or lib.SoftInsensitive()
    return EvidenceObjective(Gaussian() + Constant(), noise, Laplace(), Inputs(X), y[:, 0] if outputs == 1 else y)


@pytest.mark.parametrize("outputs", [1, 2])
def test_the_mode_moves_along_theta_as_predicted(outputs):
    objective = problem(outputs=outputs)
    here = objective.evaluate(THETA)
    outlook, h = Outlook.of(objective, here), 1e-5
    for j in range(THETA.size):
        step = np.zeros(THETA.size)
        step[j] = h
        there, back = (objective.evaluate(THETA + s, here.evidence.latent).evidence.latent for s in (step, -step))
        slope = (outlook.latent(step) - outlook.latent(-step)) / (2.0 * h)
        np.testing.assert_allclose(slope, (there - back) / (2.0 * h), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("outputs", [1, 2])
def test_gains_of_short_steps_are_those_of_the_evidence_where_rows_change_their_zone(outputs):
    objective = problem(outputs=outputs)
    here = objective.evaluate(THETA)
    steps = 0.004 * np.random.default_rng(1).normal(size=(200, THETA.size))
    gains, rows = Outlook.of(objective, here).gains(steps, 1.0, 3.0)
    some = np.flatnonzero(np.isfinite(gains))
    assert some.size
    assert np.all((rows[some] >= 1.0) & (rows[some] <= 3.0))
    exact = [objective.evaluate(THETA + steps[k], here.evidence.latent).value - here.value for k in some]
    np.testing.assert_allclose(np.median(np.abs(gains[some] - exact)), 0.0, atol=0.01)
    assert np.ptp(exact) > 0.05


def test_weighted_rows_are_predicted_as_repeated_ones():
    objective = problem(30)
    counts = np.where(np.arange(30) % 5 == 0, 2, 1)
    repeated = dataclasses.replace(
        objective, X=Inputs(np.repeat(objective.X.X, counts, axis=0)), y=np.repeat(objective.y, counts)
    )
    weighted = dataclasses.replace(objective, likelihood=lib.Weighted(lib.SoftInsensitive(), tuple(counts)))
    steps = 0.02 * np.random.default_rng(0).normal(size=(20, THETA.size))
    found = [Outlook.of(o, o.evaluate(THETA)).gains(steps, 0.0, 60.0) for o in (repeated, weighted)]
    np.testing.assert_allclose(found[0][1], found[1][1])
    both = np.isfinite(found[0][0]) & np.isfinite(found[1][0])
    assert both.sum() > 5
    np.testing.assert_allclose(found[0][0][both], found[1][0][both], rtol=1e-4, atol=1e-4)


def test_the_change_of_a_determinant_is_exact():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    K, W, D = A @ A.T, rng.uniform(0.5, 2.0, size=6), np.array([0.7, 0.0, -0.4, 0.0, 0.0, 1.1])
    S = np.linalg.inv(np.linalg.inv(K) + np.diag(W))
    expected = np.linalg.slogdet(np.eye(6) + K * (W + D))[1] - np.linalg.slogdet(np.eye(6) + K * W)[1]
    np.testing.assert_allclose(log_det_change(S, D), expected, rtol=1e-10)
    assert log_det_change(np.eye(1), np.array([-2.0])) == np.inf


def test_a_climb_spends_its_budget_at_most_and_returns_an_evaluated_point_above_its_start():
    objective, calls = problem(), []
    found = climb(Maximizer(callback=calls.append), objective, [THETA, THETA + 0.3], None, 20)
    assert len(calls) == found.history[0].evaluations <= 20
    assert found.value > objective.evaluate(THETA).value
    np.testing.assert_allclose(objective.evaluate(found.theta).value, found.value, rtol=1e-8)
    assert found.value == max(call.value for call in calls)


def test_a_climb_is_repeatable():
    ends = [climb(Maximizer(), problem(), [THETA], None, 15).theta for _ in range(2)]
    np.testing.assert_array_equal(*ends)


def test_a_climb_that_has_not_ended_says_so():
    assert climb(Maximizer(max_evaluations=2), problem(), [THETA], None, 20).status is SearchStatus.LIMIT


def test_a_climb_stays_within_bounds():
    limits = {"C": (3.0, 5.0), "epsilon": (0.2, 0.3)}
    objective = problem(likelihood=lib.SoftInsensitive(limits=limits))
    calls = []
    climb(Maximizer(callback=calls.append), objective, [THETA], None, 15)
    low, high = objective.bounds.T
    assert all(np.all((call.theta >= low) & (call.theta <= high)) for call in calls)


def test_an_evidence_that_cannot_be_computed_is_an_error():
    objective = problem(10)
    bad = dataclasses.replace(objective, X=Inputs(np.full((10, 1), np.nan)))
    with pytest.raises(NotPositiveDefiniteError):
        climb(Maximizer(), bad, [THETA], None, 5)


def test_a_climb_begins_where_the_evidence_can_be_computed():
    objective, calls = problem(), []

    class Holes(EvidenceObjective):
        def evaluate(self, theta, warm_start=None):
            if theta[0] > 3.0:
                raise NotPositiveDefiniteError("a hole")
            return super().evaluate(theta, warm_start)

    holes = Holes(*(getattr(objective, field.name) for field in dataclasses.fields(objective)))
    far = THETA + np.array([4.0, 0.0, 0.0, 0.0, 0.0])
    found = climb(Maximizer(callback=calls.append), holes, [far, THETA], None, 12)
    assert calls[0].theta[0] > 3.0
    assert found.theta[0] <= 3.0
    assert found.value > objective.evaluate(THETA).value
    with pytest.raises(NotPositiveDefiniteError, match="a hole"):
        climb(Maximizer(), holes, [far], None, 5)


def test_steps_that_move_too_many_rows_promise_nothing():
    objective = problem()
    outlook = Outlook.of(objective, objective.evaluate(THETA))
    steps = 0.01 * np.random.default_rng(1).normal(size=(20, THETA.size))
    gains, rows = outlook.gains(steps, 1000.0, 2000.0)
    assert np.all(np.isneginf(gains))
    assert np.all(rows < 1000.0)


@pytest.mark.parametrize("beta", [0.3, 1.0], ids=["four knots", "three knots"])
def test_rows_change_their_zone_as_their_predicted_arguments_say(beta):
    objective = problem(200, likelihood=lib.SoftInsensitive(beta=beta))
    outlook = Outlook.of(objective, objective.evaluate(THETA))
    steps = np.random.default_rng(2).normal(size=(60, THETA.size)) * np.geomspace(1e-3, 0.3, 60)[:, None]
    (output,) = outlook.outputs

    def zones(step):
        knots = np.array(outlook.likelihood.knots)
        moved = knots * (1.0 + step[-1])  # they are multiples of epsilon
        return np.sum(objective.y - outlook.latent(step) > moved[:, None], axis=0)

    expected = np.array([zones(step) != zones(np.zeros(THETA.size)) for step in steps])
    rows, changed = output.crossings(outlook.likelihood, outlook._basis, steps, outlook._knots)
    found = np.zeros_like(expected)
    found[:, rows] = changed.T
    np.testing.assert_array_equal(found, expected)
    assert 0.3 < expected.any(axis=1).mean() < 0.9
    assert not expected.all(axis=0).any()
    np.testing.assert_array_equal(outlook.gains(steps, 0.0, np.inf)[1], expected.sum(axis=1))


def test_determinants_of_several_sizes_are_found_together():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 5, 5))
    S, D = A @ A.transpose(0, 2, 1), rng.uniform(0.1, 1.0, size=(3, 5))
    D[0, 2:], D[1, 3:], D[2] = 0.0, 0.0, -50.0
    found = log_det_change(S, D)
    for k, m in enumerate((2, 3)):
        sign, expected = np.linalg.slogdet(np.eye(m) + S[k, :m, :m] * D[k, :m])
        assert sign > 0.0
        assert found[k] == pytest.approx(expected, rel=1e-12)
    assert found[2] == log_det_change(S[2], D[2])
