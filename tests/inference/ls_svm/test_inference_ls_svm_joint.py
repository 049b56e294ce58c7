"""Level 2 by one Cholesky factor against level 2 by eigenvalues."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ls_svm_problems import random_problem

from bayesvm.inference.ls_svm import (
    Design,
    Joint,
    complete_spectrum,
    level2_at,
    relative_range,
)
from bayesvm.testing import five_point, relative_error


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.integers(1, 2))
def test_joint_evidence_touches_level_two(seed, bias, outputs):
    _, K, y = random_problem(seed, n=20, outputs=outputs)
    design = Design(20, bias)
    spectrum = complete_spectrum(K, y, design)
    low, high = relative_range(design)
    relative = np.random.default_rng(seed).uniform(max(low, -4.0), min(high, 6.0))
    log_gamma = relative - np.log(spectrum.trace / design.freedom)
    at = level2_at(spectrum, log_gamma)
    joint = Joint.of(np.array(K), y, design, relative)
    found = joint.evidence()
    qF = outputs * design.freedom
    np.testing.assert_allclose(found.value, at.value + 0.5 * qF * np.log(qF), atol=1e-7)
    np.testing.assert_allclose(joint.value(), found.value, rtol=1e-12)
    np.testing.assert_allclose(found.dphi[0], at.slope, atol=1e-6)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("outputs", [1, 2])
def test_derivative_in_the_gram_matrix(bias, weighted, outputs):
    _, K, y = random_problem(3, n=15, outputs=outputs)
    rng = np.random.default_rng(0)
    design = Design(15, bias, rng.uniform(0.5, 2.0, 15) if weighted else None)
    B = rng.normal(size=(15, 15))
    direction = B + B.T
    found = Joint.of(np.array(K), y, design, 1.3).evidence()
    numeric = five_point(lambda t: Joint.of(K + t[0] * direction, y, design, 1.3).value(), np.zeros(1), 1e-4)
    assert relative_error(np.array([np.vdot(found.dK, direction)]), numeric) < 1e-6


def test_with_a_bias_a_constant_of_the_kernel_has_no_effect():
    _, K, y = random_problem(5, n=15)
    joint = [Joint.of(K + constant, y, Design(15), 0.5) for constant in (0.0, 1e3, -0.5)]  # the last is indefinite
    values = [one.value() for one in joint]
    np.testing.assert_allclose(values, values[0], rtol=1e-9)
    np.testing.assert_allclose(joint[1].evidence().dK, joint[0].evidence().dK, atol=1e-7)
