"""Level 2 by Cholesky factors against level 2 by eigenpairs."""

import numpy as np
import pytest

from bayesvm.inference.ls_svm import Design, complete_spectrum, factored, level2, level2_at
from bayesvm.kernels import Gaussian
from bayesvm.kernels.inputs import Inputs


def problem(bias, weighted, n=60, q=2):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 2))
    y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2]) + 0.3 * rng.normal(size=(n, q))
    design = Design(n, bias, rng.uniform(0.5, 2.0, n) if weighted else None)
    return Gaussian(1.0, 1.2).bind(2).gram(Inputs(X)), y, design


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_newtons_steps_lead_to_the_maximum_of_the_spectrum(bias, weighted):
    K, y, design = problem(bias, weighted)
    spectrum = complete_spectrum(K, y, design)
    exact = level2(spectrum)
    level = factored(K, y, design, np.log(exact.gamma) + 0.4)
    np.testing.assert_allclose(np.log(level.found.gamma), np.log(exact.gamma), atol=1e-3)
    at = level2_at(spectrum, float(np.log(level.found.gamma)))
    for name in ("mu", "zeta", "gamma_eff", "E_W", "E_D", "value"):
        np.testing.assert_allclose(getattr(level.found, name), getattr(at, name), rtol=1e-9, err_msg=name)
    np.testing.assert_allclose(level.found.slope, at.slope, atol=1e-7)
    np.testing.assert_allclose(level.found.curvature, at.curvature, rtol=0.2)  # an estimate
    assert level.found.inside
    inverse = (spectrum.basis / (spectrum.values + 1.0 / at.gamma)) @ spectrum.basis.T
    np.testing.assert_allclose(level.basis @ level.basis.T, inverse, atol=1e-8)
    np.testing.assert_allclose(level.solution, inverse @ design.scaled(y), atol=1e-7)


def test_without_noise_gamma_stays_at_the_end_of_its_range():
    K, _, design = problem(True, False)
    design = Design(design.n, least_noise=0.05)
    y = (K @ np.ones((design.n, 1))) * 3.0
    exact = level2(complete_spectrum(K, y, design))
    assert not exact.inside
    level = factored(K, y, design, np.log(exact.gamma))
    assert not level.found.inside
    np.testing.assert_allclose(level.found.gamma, exact.gamma, rtol=1e-9)
