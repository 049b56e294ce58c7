"""The evidence of the softmax model as a function of theta: gradient, two classes, search, parts."""

from __future__ import annotations

import numpy as np
import pytest

from bayesvm.hyper import EvidenceObjective, LogNormal, Maximizer, maximize_evidence, subsample
from bayesvm.hyper.softmax import SoftmaxObjective
from bayesvm.inference import Laplace
from bayesvm.kernels import Constant, Gaussian, Linear, Matern32
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import Logistic, Weighted
from bayesvm.solvers import Newton
from bayesvm.testing import five_point, relative_error

KERNELS = [
    Gaussian(3.0, 1.2),
    Gaussian(3.0, 1.2) + Constant(2.0),
    Gaussian(3.0, (0.8, 1.5, 3.0)) + Constant(2.0),
    Matern32(2.0, 1.0) + Linear(0.3),
]


def rows(n=36, C=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = np.column_stack([np.sin((k + 1) * X[:, 0]) + 0.5 * k * X[:, 1] for k in range(C)])
    codes = np.argmax(score + 0.8 * rng.gumbel(size=score.shape), axis=1)
    codes[:C] = np.arange(C)
    return X, codes, rng.uniform(0.3, 3.0, n)


def objective(kernel, *, weights=False, C=4, **options):
    X, codes, w = rows(C=C)
    likelihood = Weighted(Logistic(), tuple(w)) if weights else Logistic()
    bound = kernel.bind(3)
    return SoftmaxObjective(bound, likelihood, Laplace(), Inputs(X), np.eye(C)[codes], **options)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("C", [3, 7])
def test_gradient(kernel, weights, C):
    f = objective(kernel, weights=weights, C=C, tol=1e-13, prior=LogNormal(0.3, 2.0))
    found = f.evaluate(f.theta0)
    numeric = five_point(lambda theta: f.evaluate(theta).value, f.theta0, 1e-3)
    assert relative_error(found.gradient, numeric) < 1e-7
    default = objective(kernel, weights=weights, C=C, prior=LogNormal(0.3, 2.0)).evaluate(f.theta0)
    assert relative_error(default.gradient, found.gradient) < 1e-6


@pytest.mark.parametrize("weights", [False, True])
def test_two_classes_are_the_logistic_model_with_twice_the_kernel(weights):
    f = objective(Gaussian(3.0, 1.2) + Constant(2.0), weights=weights, C=2, tol=1e-12)
    y = f.y[:, 1] - f.y[:, 0]
    twice = Gaussian(6.0, 1.2) + Constant(4.0)
    binary = EvidenceObjective(twice.bind(3), f.likelihood, Laplace(Newton(tol=1e-12)), f.X, y)
    here, there = f.evaluate(f.theta0), binary.evaluate(binary.theta0)
    assert here.value == pytest.approx(there.value, abs=1e-8)
    np.testing.assert_allclose(here.gradient, there.gradient, atol=1e-8)


def test_names_and_bounds_are_those_of_the_kernel():
    f = objective(KERNELS[1])
    assert f.names == KERNELS[1].bind(3).names
    assert f.bounds.shape == (3, 2)


def test_a_part_of_the_rows_keeps_its_weights_and_all_classes():
    f = objective(KERNELS[1], weights=True)
    part = f.part(np.arange(0, 36, 3))
    assert part.n_rows == 12
    assert part.y.shape == (12, 4)
    assert part.likelihood.weights == tuple(np.asarray(f.likelihood.weights)[::3])
    assert part.evaluate(part.theta0).evidence.latent.shape == (12, 4)


def test_the_search_begins_with_a_subsample_where_evaluations_cost_as_much_as_with_many_rows(monkeypatch):
    f = objective(KERNELS[1], C=7)
    monkeypatch.setattr(subsample, "MANY", 60)
    assert [part.n_rows for part in subsample.subsamples(f)] == [9, 36]  # 36 rows, 7 classes: beyond 60 / 7^(1/3)
    monkeypatch.setattr(subsample, "MANY", 80)
    assert [part.n_rows for part in subsample.subsamples(f)] == [36]


def test_first_order_gains():
    f = objective(KERNELS[1])
    here, step = f.evaluate(f.theta0), np.array([1e-4, 0.0, -1e-4])
    (gain,) = f.gains(here, [f.theta0 + step])
    assert gain == pytest.approx(f.evaluate(f.theta0 + step).value - here.value, abs=1e-6)


def test_the_search_finds_a_maximum():
    f = objective(Gaussian(1.0, 1.0) + Constant(1.0), prior=LogNormal(0.0, 2.0))
    starts = [f.theta0, f.theta0 + np.array([2.0, 1.0, 0.0])]
    found = maximize_evidence(Maximizer(tol=1e-6), f, starts)
    assert found.value == max(record.value for record in found.history)
    assert np.max(np.abs(f.evaluate(found.theta).gradient)) < 0.02


def test_the_search_with_one_length_scale_per_feature_finds_the_features_that_matter():
    X = np.random.default_rng(0).normal(size=(120, 3))
    codes = 2 * (X[:, 0] > 0.0) + (np.sin(2.0 * X[:, 1]) > 0.0)  # the third has nothing to do with the classes
    kernel = (Gaussian(3.0, (1.0, 1.0, 1.0)) + Constant(2.0)).bind(3)
    f = SoftmaxObjective(kernel, Logistic(), Laplace(), Inputs(X), np.eye(4)[codes], LogNormal(0.0, 2.0))
    common = kernel.tied().theta
    found = maximize_evidence(Maximizer(), f, [common, common + 0.5])
    relevance = f.model(found.theta)[0].relevance(3)
    assert relevance[2] < 0.1 * relevance[0]
    assert relevance[2] < 0.1 * relevance[1]
