"""The normalised evidence of the hinge model: gradients, the fixed product of C and the kernel, the curve against C."""

import dataclasses

import numpy as np
import pytest

from bayesvm.hyper import Maximizer
from bayesvm.hyper.hinge_evidence import (
    BELOW_NOISE,
    EvidenceCurve,
    FixedProductObjective,
    HingeObjective,
    _as_fine,
    evidence_curve,
    evidence_fall,
    maximize_normalized,
    maximize_over_C,
    maximize_through_part,
)
from bayesvm.inference.hinge import HingeExactOrEP, Normalizer
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import Hinge
from bayesvm.testing import five_point, relative_error


def problem(kind=HingeObjective, *, normalized=False, n=24, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 1))
    y = np.where(np.sin(6.0 * X[:, 0]) + 0.4 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    nodes = Inputs(np.linspace(0.05, 0.95, 8)[:, None]) if normalized else None
    normalizer = Normalizer(np.full(8, 1.0 / 8.0), float(n), seed=1) if normalized else None
    likelihood = Hinge(2.0).bounded(C=(0.05, 20.0))
    kernel = Gaussian(1.5, 0.3) + Constant(0.3)
    return kind(kernel, likelihood, HingeExactOrEP(), Inputs(X), y, normalizer=normalizer, nodes=nodes)


@pytest.mark.parametrize("kind", [HingeObjective, FixedProductObjective])
@pytest.mark.parametrize("normalized", [False, True])
def test_gradient(kind, normalized):
    objective = problem(kind, normalized=normalized)
    theta = objective.theta0 + 0.05
    here = objective.evaluate(theta)
    step = 1e-6 if normalized else 1e-4  # short steps: single draws of the normaliser have kinks
    numeric = five_point(lambda t: objective.evaluate(t).value, theta, step)
    assert relative_error(here.gradient, numeric) < 1e-5
    assert ("normalizer" in here.evidence.terms) == normalized


def test_the_product_of_c_and_the_kernel_is_kept():
    objective = problem(FixedProductObjective)
    X = objective.X
    for C in (0.5, 2.0, 8.0):
        kernel, likelihood = objective.model(np.log([C]))
        assert pytest.approx(C) == likelihood.C
        np.testing.assert_allclose(C * kernel.gram(X), 2.0 * objective.kernel.gram(X), rtol=1e-12)
    assert objective.names == ("likelihood.C",)
    with pytest.raises(ValueError, match="expected 1 logarithm"):
        objective.model(np.zeros(2))


def test_curve_and_maximum_over_c_agree():
    objective = problem(FixedProductObjective)
    grid = np.geomspace(0.1, 10.0, 12)
    curve = evidence_curve(objective, grid)
    direct = [objective.evaluate(np.log([C])).value for C in grid]
    np.testing.assert_allclose(curve.log_evidence, direct, atol=1e-6)
    found = maximize_over_C(objective)
    assert found.value >= np.max(curve.log_evidence) - 0.05
    assert np.exp(found.theta[0]) == pytest.approx(curve.peak(), rel=0.2)


def test_the_peak_of_a_parabola_is_its_vertex():
    C = np.exp(np.linspace(-1.0, 1.0, 9))
    curve = EvidenceCurve(C, -((np.log(C) - 0.13) ** 2), np.zeros(9), np.zeros(9))
    assert curve.peak() == pytest.approx(np.exp(0.13))
    assert curve.interior
    assert curve.naive_best == curve.best


def test_the_search_carries_its_objective_along():
    objective = problem()
    found = maximize_normalized(Maximizer(max_evaluations=15), objective, [objective.theta0], 0.5)
    assert found.objective.evaluate(found.theta).value == pytest.approx(found.value, abs=1e-6)
    assert found.plain.theta is found.theta
    assert found.value >= objective.evaluate(objective.theta0).value


def test_a_maximum_at_an_end_of_the_range_is_its_peak():
    C = np.exp(np.linspace(-1.0, 1.0, 9))
    curve = EvidenceCurve(C, np.log(C), np.zeros(9), np.zeros(9))
    assert not curve.interior
    assert curve.peak() == curve.best == C[-1]


def test_curve_and_fall_with_a_normaliser_are_those_of_the_evidence():
    objective = problem(FixedProductObjective, normalized=True)
    grid = np.array([1.0, 1.5, 2.0])
    curve = evidence_curve(objective, grid)
    assert curve.error[-1] > 0.0
    direct = [objective.evaluate(np.log([C])).value for C in grid]
    # the evaluations have a Monte Carlo error as well, of some hundredths
    np.testing.assert_allclose(curve.log_evidence, direct, atol=4.0 * curve.error.max() + 0.1)
    fall, error = evidence_fall(objective, grid)
    assert fall == pytest.approx(curve.log_evidence[0] - curve.log_evidence[-1], abs=1e-6)
    assert error == curve.error[-1]


@pytest.mark.parametrize("normalized", [False, True])
def test_a_part_is_the_objective_of_its_rows_alone(normalized):
    objective = problem(normalized=normalized)
    rows = np.arange(0, 24, 3)
    part = objective.part(rows)
    assert part.n_rows == 8
    assert part.y.tolist() == objective.y[rows].tolist()
    assert (part.normalizer is not None) == normalized
    if part.normalizer is not None:
        assert (part.normalizer.count, part.normalizer.seed) == (8.0, objective.normalizer.seed)
        np.testing.assert_array_equal(part.normalizer.weights, objective.normalizer.weights)


def test_with_a_fixed_product_only_c_is_searched():
    objective = dataclasses.replace(problem(FixedProductObjective, n=8), likelihood=Hinge(2.0).bounded(C=(1.0, 4.0)))
    found = maximize_normalized(Maximizer(), objective, [objective.theta0], 0.5)
    alone = maximize_over_C(objective)
    assert found.value == alone.value
    np.testing.assert_array_equal(found.theta, alone.theta)


def test_a_search_with_a_normaliser_takes_as_many_draws_as_its_end_asks_for():
    objective, start = problem(normalized=True), np.log([0.1, 0.3, 0.1, 0.2])
    first = objective.planned(start, 0.02)
    found = maximize_normalized(Maximizer(max_evaluations=8), objective, [start], 0.02)
    assert first.cost < found.objective.cost
    assert len(found.history) == 2  # with few draws, and with more from its end
    assert found.value > first.evaluate(start).value + 0.5
    assert found.objective.evaluate(found.theta).value == pytest.approx(found.value, abs=0.1)


def test_steps_below_the_noise_of_guided_paths_are_not_taken():
    objective = problem(normalized=True)
    plan = objective.planned(objective.theta0, 0.02)
    assert plan.normalizer.annealing.resample > 0.0  # not a smooth function of theta
    fine, rough = (_as_fine(Maximizer(tol=1e-6), o, 0.02).tol for o in (objective, plan))
    assert (fine, rough) == (1e-6, BELOW_NOISE * 0.02)


def test_a_search_through_some_rows_ends_on_all_of_them():
    objective = problem()
    found = maximize_through_part(Maximizer(max_evaluations=15), objective, [objective.theta0], np.arange(12), 0.5)
    assert found.objective.n_rows == 24
    assert objective.evaluate(found.theta).value == pytest.approx(found.value, abs=1e-6)
    assert found.value > objective.evaluate(objective.theta0).value
    assert len(found.history) == 3


def test_rows_of_one_class_are_no_part_to_search_on():
    objective = problem()
    one = np.flatnonzero(objective.y > 0.0)
    search = Maximizer(max_evaluations=6)
    found = maximize_through_part(search, objective, [objective.theta0], one, 0.5)
    plain = maximize_normalized(search, objective, [objective.theta0], 0.5)
    np.testing.assert_array_equal(found.theta, plain.theta)
    assert len(found.history) == 1
