"""Level 3 of the least-squares machines as an objective, and its search through level 2."""

import dataclasses

import numpy as np
import pytest

from bayesvm.hyper import LogNormal, Maximizer
from bayesvm.hyper.ls_svm import JointObjective, LevelsObjective, maximize_levels
from bayesvm.inference.ls_svm import Design
from bayesvm.kernels import Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.testing import five_point, relative_error

D = 3


def problem(ard=False, n=40, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    y = np.sin(1.5 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=n)
    kernel = Gaussian(1.0, 2.0, ard=ard).fix("variance").bind(D)
    return LevelsObjective(kernel, Inputs(X), y[:, None], Design(n), **options)


@pytest.mark.parametrize("prior", [{}, {"prior": LogNormal(0.0, 0.5)}], ids=["flat", "log-normal"])
def test_gradients_of_both_objectives(prior):
    objective = problem(ard=True, **prior)
    theta = objective.theta0 + np.array([0.1, -0.2, 0.3])
    here = objective.evaluate(theta)
    assert relative_error(here.gradient, five_point(lambda t: objective.evaluate(t).value, theta, 1e-4)) < 1e-6
    joint = JointObjective(objective)
    point = np.append(theta, 0.4)
    there = joint.evaluate(point)
    assert relative_error(there.gradient, five_point(lambda t: joint.evaluate(t).value, point, 1e-4)) < 1e-6
    assert joint.bounds.shape == (D + 1, 2)


def test_the_search_is_never_below_its_starts_and_keeps_their_history():
    objective = problem(ard=True)
    tied = objective.kernel.tied().theta
    starts = [tied, tied + 1.0]
    found = maximize_levels(Maximizer(), objective, starts)
    common = dataclasses.replace(objective, kernel=objective.kernel.tied())
    assert found.value >= max(common.evaluate(start).value for start in starts)
    assert found.status.ok
    assert len(found.history) > len(starts)
    assert all(record.end.shape == objective.theta0.shape for record in found.history)
    np.testing.assert_allclose(objective.evaluate(found.theta).value, found.value, rtol=1e-8)


def test_a_single_start_searches_level_3_alone():
    objective = problem()
    found = maximize_levels(Maximizer(), objective, [objective.theta0])
    assert len(found.history) == 1
    assert np.max(np.abs(objective.evaluate(found.theta).gradient)) < 0.5


def test_several_starts_without_ties_are_all_searched():
    objective = problem()
    starts = [objective.theta0, objective.theta0 + 1.0]
    found = maximize_levels(Maximizer(), objective, starts)
    assert found.status.ok
    assert found.value >= max(objective.evaluate(start).value for start in starts)
    np.testing.assert_allclose(objective.evaluate(found.theta).value, found.value, rtol=1e-8)
