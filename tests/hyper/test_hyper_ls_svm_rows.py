"""The search for the kernel of a least-squares machine on parts of the rows."""

import dataclasses

import numpy as np
import pytest

from bayesvm.datasets import make_ringnorm
from bayesvm.hyper import Maximizer, ls_svm_rows
from bayesvm.hyper.ls_svm import JointObjective, LevelsObjective, maximize_levels
from bayesvm.hyper.ls_svm_rows import maximize_on_parts
from bayesvm.hyper.multistart import StartRecord
from bayesvm.inference.ls_svm import Design
from bayesvm.kernels import Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.testing import five_point, relative_error

D = 3


def problem(n, noise=0.3, seed=0, weighted=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    y = np.sin(1.5 * X[:, 0]) + 0.3 * X[:, 1] + noise * rng.normal(size=n)
    weights = rng.uniform(0.5, 2.0, n) if weighted else None
    return LevelsObjective(Gaussian().fix("variance").bind(D), Inputs(X), y[:, None], Design(n, True, weights))


@pytest.mark.parametrize("noise", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_end_is_that_of_the_search_with_all_rows(noise, weighted, monkeypatch):
    monkeypatch.setattr(ls_svm_rows, "MANY", 100)
    objective = problem(260, noise, weighted=weighted)
    starts = [np.array([-1.0]), np.array([0.5]), np.array([2.0])]
    few, all_rows = (search(Maximizer(), objective, starts) for search in (maximize_on_parts, maximize_levels))
    exact = objective.evaluate(few.theta)
    assert exact.value > all_rows.value - 0.01
    np.testing.assert_allclose(few.value, exact.value, atol=0.01)
    np.testing.assert_allclose(few.latent, exact.evidence.latent, atol=0.1)
    assert few.status.ok
    assert all(record.end.shape == (1,) for record in few.history)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "whole"), [(1, 1847.795), (3, 1959.207)])
def test_the_end_that_is_lower_on_every_part_is_not_lost(seed, whole):
    """With 500 and 1000 rows the longer length scale leads by tens of nats, with 2000 the shorter one."""
    X, y, _ = make_ringnorm(2000, d=20, random_state=np.random.default_rng(seed))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    targets = np.where(y == y.max(), 1.0, -1.0)[:, None]
    kernel = Gaussian().fix("variance").bind(20)
    objective = LevelsObjective(kernel, Inputs(X), targets, Design(2000, least_noise=1e-2))
    starts = [np.log([share * np.sqrt(40.0)]) for share in (0.35, 0.15, 0.8, 2.0)]
    assert maximize_on_parts(Maximizer(), objective, starts).value > whole - 0.05


def test_few_rows_and_tied_features_are_searched_as_a_whole():
    objective = problem(50)
    starts = [np.array([0.0]), np.array([1.0])]
    parts, whole = (search(Maximizer(), objective, starts) for search in (maximize_on_parts, maximize_levels))
    assert parts.value == whole.value
    np.testing.assert_array_equal(parts.theta, whole.theta)


def test_gradient_and_value_of_a_tilted_objective():
    objective = JointObjective(problem(40), tilt=np.array([0.7]))
    point = np.array([0.2, 0.4])
    here = objective.evaluate(point)
    assert relative_error(here.gradient, five_point(lambda t: objective.evaluate(t).value, point, 1e-4)) < 1e-6
    np.testing.assert_allclose(objective.begin(point).value, here.value, rtol=1e-12)


def test_the_slope_of_the_occam_factor():
    objective = problem(60)
    theta = np.array([0.4])
    slope = ls_svm_rows._occam_slope(objective, np.append(theta, 0.0))
    numeric = five_point(lambda t: objective.evaluate(t).evidence.terms["occam"], theta, 1e-4)
    assert relative_error(slope, numeric) < 1e-5


def test_an_evaluation_goes_on_from_its_value():
    objective, point = JointObjective(problem(40)), np.array([0.2, 0.4])
    begun = objective.begin(point)
    known = dataclasses.replace(objective, begun=(begun,))
    fresh, found = objective.evaluate(point), known.evaluate(point)
    assert found.value == fresh.value == pytest.approx(begun.value, rel=1e-12)
    np.testing.assert_array_equal(found.gradient, fresh.gradient)
    elsewhere = known.evaluate(point + 0.1)
    assert elsewhere.value == objective.evaluate(point + 0.1).value != found.value


def test_an_end_moves_on_as_it_moved_before():
    def end(start, stop, **options):
        return ls_svm_rows.End(StartRecord(np.array(start), np.array(stop), 0.0, 1, None, 0.0), **options)

    bounds = np.array([[-5.0, 5.0], [-12.0, 4.6]])
    np.testing.assert_allclose(end([1.0, 0.0], [0.8, 0.5], continued=True).ahead(bounds), [0.6, 1.0])
    np.testing.assert_allclose(end([1.0, 2.0], [0.8, 4.5], continued=True).ahead(bounds), [0.6, 4.6])
    np.testing.assert_allclose(end([1.0, 2.0], [0.8, 4.5]).ahead(bounds), [0.8, 4.5])
