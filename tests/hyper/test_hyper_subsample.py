"""Searching on some of the rows first: the optimum of all rows, at a lower cost."""

from typing import ClassVar

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm.hyper import (
    EvidenceObjective,
    Maximizer,
    SearchStatus,
    keep_best_on_interrupt,
    maximize_evidence,
    subsample,
)
from bayesvm.hyper.subsample import SHARE, drawn_rows
from bayesvm.hyper.surrogate import maximize_through_surrogates
from bayesvm.inference import Exact, Laplace
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs

N = 600


@pytest.fixture(autouse=True)
def many(monkeypatch):
    """Few rows are many here, to save time."""
    monkeypatch.setattr(subsample, "MANY", N)


def regression(n=N, likelihood=None):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=n)
    return EvidenceObjective(
        (Gaussian() + Constant()).bind(2), likelihood or lib.GaussianNoise(), Exact(), Inputs(X), y
    )


def classes(n=N, rare=0.5):
    rng = np.random.default_rng(1)
    y = np.where(rng.uniform(size=n) < rare, 1.0, -1.0)
    X = rng.normal(size=(n, 2)) + 1.2 * y[:, None]
    return EvidenceObjective((Gaussian() + Constant()).bind(2), lib.Trigonometric(), Laplace(), Inputs(X), y)


class Counting(EvidenceObjective):
    """Counts evaluations by the number of rows."""

    seen: ClassVar[dict[int, int]] = {}

    def evaluate(self, theta, warm_start=None):
        self.seen[len(self.X)] = self.seen.get(len(self.X), 0) + 1
        return super().evaluate(theta, warm_start)


@pytest.mark.parametrize("problem", [regression, classes])
def test_the_same_optimum_with_fewer_evaluations_of_all_rows(problem):
    objective = problem()
    starts = [objective.theta0 + 0.5, objective.theta0 - 1.0]
    plain = maximize_evidence(Maximizer(), objective, starts, subsample=False)
    Counting.seen.clear()
    counting = Counting(objective.kernel, objective.likelihood, objective.inference, objective.X, objective.y)
    found = maximize_evidence(Maximizer(), counting, starts)
    assert found.value > plain.value - 0.5  # the size of the jumps
    assert found.status.ok
    assert Counting.seen[N] < sum(record.evaluations for record in plain.history)
    assert set(Counting.seen) == {N, int(SHARE * N)}


def test_history_holds_evidences_of_all_rows():
    objective = regression()
    far = objective.theta0 + np.array([0.0, -6.0, 0.0, 3.0])
    found = maximize_evidence(Maximizer(), objective, [objective.theta0, far])
    assert len(found.history) == 2
    assert found.value == max(record.value for record in found.history)
    for record in found.history:
        np.testing.assert_allclose(objective.evaluate(record.end).value, record.value, rtol=1e-7)


def test_the_curvature_of_the_part_serves_all_rows(monkeypatch):
    """What is handed on is, along the noise, the inverse curvature of all rows within a third, not half or twice."""
    objective, given = regression(), {}

    def spy(maximizer, stage, starts, *, metrics=None):
        if metrics is not None:
            given.update(H=metrics[0], theta=starts[0])
        return maximize_through_surrogates(maximizer, stage, starts, metrics=metrics)

    monkeypatch.setattr(subsample, "maximize_through_surrogates", spy)
    maximize_evidence(Maximizer(), objective, [objective.theta0 + 0.5])
    step = np.eye(given["theta"].size)[-1] * 1e-3  # the last entry is the noise
    up, down = (objective.evaluate(given["theta"] + s * step).gradient[-1] for s in (1.0, -1.0))
    curvature = (down - up) / 2e-3
    assert 0.67 < given["H"][-1, -1] * curvature < 1.5


def test_few_rows_are_searched_at_once():
    objective = regression(n=60)
    starts = [objective.theta0]
    plain, found = (maximize_evidence(Maximizer(), objective, starts, subsample=s) for s in (False, True))
    np.testing.assert_array_equal(plain.theta, found.theta)


def test_an_interrupt_on_the_part_is_final():
    objective = regression()

    def stop(tick):
        if tick.evaluation == 3:
            raise KeyboardInterrupt

    with keep_best_on_interrupt():
        found = maximize_evidence(Maximizer(callback=stop), objective, [objective.theta0])
    assert found.interrupted
    assert found.history[0].status is SearchStatus.INTERRUPTED
    np.testing.assert_allclose(objective.evaluate(found.theta).value, found.value, rtol=1e-7)


def test_rare_classes_are_all_in_the_part():
    y = np.where(np.arange(N) < 30, 1.0, -1.0)
    rows = drawn_rows(y, 150)
    assert rows.size == np.unique(rows).size == 150
    assert np.sum(y[rows] == 1.0) == 30
    balanced = drawn_rows(np.where(np.arange(N) % 2, 1.0, -1.0), 150)
    assert np.sum(balanced % 2) == 75


def test_weights_go_with_their_rows():
    weights = np.random.default_rng(2).integers(1, 4, N).astype(float)
    objective = regression(likelihood=lib.Weighted(lib.GaussianNoise(), tuple(weights)))
    rows = np.array([3, 7, 599])
    part = objective.part(rows)
    np.testing.assert_array_equal(part.likelihood.weights, weights[rows])
    np.testing.assert_array_equal(part.y, objective.y[rows])
    assert np.isfinite(part.evaluate(part.theta0).value)
