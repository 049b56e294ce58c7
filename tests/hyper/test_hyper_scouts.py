"""First steps on some of the rows: the same optimum, at a lower cost; and when there are none."""

import dataclasses

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm.hyper import EvidenceObjective, Maximizer, scouts
from bayesvm.hyper.scouts import maximize_from_scouts
from bayesvm.hyper.surrogate import maximize_through_surrogates
from bayesvm.inference import Laplace
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs

N, D = 240, 10


@pytest.fixture(autouse=True)
def enough(monkeypatch):
    """Few rows are enough here, to save time."""
    monkeypatch.setattr(scouts, "ENOUGH", N)


class Counting(EvidenceObjective):
    """Notes the number of rows of every evaluation."""

    seen: list = []  # noqa: RUF012

    def evaluate(self, theta, warm_start=None):
        """Return the evaluation."""
        Counting.seen.append((self.n_rows, warm_start is not None))
        return super().evaluate(theta, warm_start)


def objective(likelihood=None):
    rng = np.random.default_rng(0)
    y = np.where(rng.uniform(size=N) < 0.5, 1.0, -1.0)
    X = rng.normal(size=(N, D)) * np.where(y > 0.0, 2.0, 1.0)[:, None]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    kernel = (Gaussian() + Constant()).bind(D)
    Counting.seen = []
    return Counting(kernel, likelihood or lib.RaisedCosine(), Laplace(), Inputs(X), y)


def test_the_optimum_is_that_without_scouts_and_fewer_evaluations_see_all_rows():
    made = objective()
    start = made.theta0 - np.array([0.0, 0.5, 0.0])  # no two rows have anything to do with each other
    plain = maximize_through_surrogates(Maximizer(), made, [start])
    all_rows, Counting.seen = len(Counting.seen), []
    found = maximize_from_scouts(Maximizer(), made, [start])
    assert found.status.ok
    assert found.value == pytest.approx(plain.value, abs=0.05)
    on_all = [warm for n, warm in Counting.seen if n == N]
    assert 0 < len(on_all) < all_rows
    assert all(on_all)  # the first of them begins from what the scout predicts
    (record,) = found.history
    np.testing.assert_array_equal(record.start, start)
    assert record.evaluations > len(on_all)


def test_a_start_with_few_rows_in_its_support_needs_no_scout(monkeypatch):
    made = objective()
    monkeypatch.setattr(scouts, "DENSE", 1.01)  # of the rows: never
    maximize_from_scouts(Maximizer(max_evaluations=2), made, [made.theta0])
    assert [n for n, _ in Counting.seen if n < N] == [int(scouts.SHARE * N)]


def test_few_rows_or_many_hyperparameters_send_none(monkeypatch):
    made = objective()
    maximize_from_scouts(Maximizer(max_evaluations=1), dataclasses.replace(made, kernel=made.kernel), [made.theta0])
    assert min(n for n, _ in Counting.seen) < N
    for change in ({"ENOUGH": N + 1}, {"FEW": 1}):
        Counting.seen = []
        with monkeypatch.context() as patch:
            for name, value in change.items():
                patch.setattr(scouts, name, value)
            maximize_from_scouts(Maximizer(max_evaluations=1), made, [made.theta0])
        assert {n for n, _ in Counting.seen} == {N}


def test_curvature_grows_with_the_rows_where_they_have_added_any():
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    H = rotation @ np.diag([1.0, 0.1, 3.0]) @ rotation.T
    grown = rotation.T @ scouts._with_more_rows(H, 0.25) @ rotation
    np.testing.assert_allclose(grown, np.diag([1.0, 1.0 / (1.0 + 4.0 * 9.0), 3.0]), atol=1e-12)
