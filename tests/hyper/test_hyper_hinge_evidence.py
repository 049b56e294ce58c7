"""The normalised evidence of the hinge model: gradients, the fixed product of C and the kernel, the curve against C."""

import numpy as np
import pytest

from bayesvm.hyper import Maximizer
from bayesvm.hyper.hinge_evidence import (
    EvidenceCurve,
    FixedProductObjective,
    HingeObjective,
    evidence_curve,
    maximize_normalized,
    maximize_over_C,
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
