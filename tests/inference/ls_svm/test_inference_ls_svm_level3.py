"""The evidence of a kernel against the printed formula and differences."""

import numpy as np
import pytest
from ls_svm_problems import random_problem

from bayesvm.hyper.ls_svm import JointObjective, LevelsObjective
from bayesvm.inference.ls_svm import (
    Design,
    level3,
    log_evidence,
)
from bayesvm.kernels import Gaussian, Inputs, Linear, Polynomial
from bayesvm.testing.differences import five_point, relative_error


def test_level_three_is_the_printed_formula():
    _, K, y = random_problem(4)
    n = len(K)
    spectrum, found, evidence = level3(K, y, Design(n))
    M = np.eye(n) - 1.0 / n
    eigenvalues = np.sort(np.linalg.eigvalsh(M @ K @ M))[::-1][: n - 1]
    expected = 0.5 * (
        (n - 1) * np.log(found.mu)
        + (n - 1) * np.log(found.zeta)
        - np.log(found.gamma_eff - 1.0)
        - np.log(n - found.gamma_eff)
        - np.sum(np.log(found.mu + found.zeta * np.maximum(eigenvalues, 0.0)))
    )
    np.testing.assert_allclose(evidence.value, expected, rtol=1e-9)
    np.testing.assert_allclose(evidence.value, sum(evidence.terms.values()), rtol=1e-12)
    np.testing.assert_allclose(evidence.value, log_evidence(spectrum.design, spectrum.outputs, found), rtol=1e-12)


def test_evidence_ignores_the_scale_of_the_kernel():
    _, K, y = random_problem(7)
    design = Design(len(K))
    (_, a, one), (_, b, other) = level3(K, y, design), level3(250.0 * K, y, design)
    np.testing.assert_allclose(one.value, other.value, rtol=1e-10)
    np.testing.assert_allclose([a.zeta, a.gamma_eff], [b.zeta, b.gamma_eff], rtol=1e-8)
    np.testing.assert_allclose(np.sum(one.dK * K), 0.0, atol=1e-7)


KERNELS = {
    "gaussian": Gaussian(lengthscale=1.3),
    "ard": Gaussian(lengthscale=(0.9, 1.4, 2.0), ard=True),
    "linear": Linear(ard=True, variance=(0.5, 1.0, 2.0)),
    "sum": Gaussian(0.7, 1.1) + Linear(0.3),
    "polynomial": Polynomial(2),
}


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_gradient_of_level_three(kernel, bias, weighted, outputs):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3))
    y = np.sin(X @ rng.normal(size=(3, outputs))) + 0.3 * rng.normal(size=(40, outputs))
    design = Design(40, bias, rng.uniform(0.3, 1.5, size=40) if weighted else None)
    objective = LevelsObjective(kernel, Inputs(X), y, design)
    theta = objective.theta0
    slopes = five_point(lambda t: objective.evaluate(t).value, theta, step=1e-3)
    assert relative_error(objective.evaluate(theta).gradient, slopes) < 1e-6
    joint = JointObjective(objective)
    theta = np.append(theta, 1.2)
    slopes = five_point(lambda t: joint.evaluate(t).value, theta, step=1e-3)
    assert relative_error(joint.evaluate(theta).gradient, slopes) < 1e-6


@pytest.mark.parametrize("signal", [False, True])
def test_gradient_of_level_three_at_the_ends_of_the_range(signal):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = (np.sin(X[:, :1]) if signal else np.where(rng.random((30, 1)) < 0.5, 1.0, -1.0)) * 1.0
    objective = LevelsObjective(
        Gaussian(lengthscale=3.0 if signal else 8.0), Inputs(X), y, Design(30, least_noise=1e-3)
    )
    theta = objective.theta0
    assert not objective.evaluate(theta).found.inside
    slopes = five_point(lambda t: objective.evaluate(t).value, theta, step=1e-3)
    assert relative_error(objective.evaluate(theta).gradient, slopes) < 1e-6
