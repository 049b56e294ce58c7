"""Level 2 by one Cholesky factor against level 2 by eigenvalues."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from ls_svm_problems import random_problem

from bayesvm.inference.ls_svm import (
    Design,
    complete_spectrum,
    joint_evidence,
    level2_at,
    relative_range,
)


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
    found = joint_evidence(K, y, design, relative)
    qF = outputs * design.freedom
    np.testing.assert_allclose(found.value, at.value + 0.5 * qF * np.log(qF), atol=1e-7)
    np.testing.assert_allclose(found.dphi[0], at.slope, atol=1e-6)
