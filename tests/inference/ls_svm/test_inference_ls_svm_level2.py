"""Regularisation and noise against a search in one number, and Gaussian process regression."""

import numpy as np
import pytest
from ls_svm_problems import level2_by_search, level2_cost, random_problem

from bayesvm.inference import Exact
from bayesvm.inference.ls_svm import (
    Design,
    complete_spectrum,
    level2,
    level2_at,
    level2_terms,
    solve_spectral,
)
from bayesvm.inference.ls_svm.level2 import GRID, _root, gamma_range
from bayesvm.likelihoods import GaussianNoise


@pytest.mark.parametrize("seed", range(0, 20))
def test_level_two_finds_the_best_optimum(seed):
    _, K, y = random_problem(seed)
    found = level2(complete_spectrum(K, y, Design(len(K))))
    gamma, cost, inside = level2_by_search(K, y[:, 0])
    if inside:
        assert level2_cost(K, y[:, 0], found.gamma) <= cost + 1e-9
        if abs(np.log(found.gamma / gamma)) < 1.0:
            np.testing.assert_allclose(np.log(found.gamma), np.log(gamma), atol=1e-4)
    if found.inside:  # the relations of section 4.1
        n = len(K)
        np.testing.assert_allclose(2.0 * found.mu * found.E_W, found.gamma_eff - 1.0, rtol=1e-8)
        np.testing.assert_allclose(2.0 * found.zeta * found.E_D, n - found.gamma_eff, rtol=1e-8)
        ratio = (n - found.gamma_eff) / (found.gamma_eff - 1.0) * found.E_W / found.E_D
        np.testing.assert_allclose(found.gamma, ratio, rtol=1e-8)  # (4.10)
        assert found.curvature <= 0.0


def test_level_two_compares_several_optima():
    # Large eigenvalues that carry the targets at one scale, and small ones at another: two optima in gamma.
    counts = [
        level2(complete_spectrum(*random_problem(seed)[1:], Design(len(random_problem(seed)[1])))).starts
        for seed in range(30)
    ]
    assert min(counts) >= 1
    K = np.diag(np.concatenate([np.full(20, 100.0), np.full(20, 1e-3)]))
    y = np.concatenate([np.tile([1.0, -1.0], 10) * 0.3, np.tile([1.0, -1.0], 10) * 0.02])[:, None]
    spectrum = complete_spectrum(K, y, Design(40))
    found = level2(spectrum)
    grid = level2_terms(spectrum, np.linspace(-8.0, 14.0, 2000))[0]
    assert found.value >= np.max(grid) - 1e-9


def test_without_bias_level_two_is_gaussian_process_regression():
    _, K, y = random_problem(13)
    n = len(K)
    spectrum = complete_spectrum(K, y, Design(n, bias=False))
    values = []
    for log_gamma in (-1.0, 0.5, 2.0):
        at = level2_at(spectrum, log_gamma)
        _, evidence = Exact().infer(K / at.mu, y[:, 0], GaussianNoise(1.0 / at.zeta))
        values.append(evidence.value - at.value)
        first = solve_spectral(K.__matmul__, spectrum, y, at.gamma)
        np.testing.assert_allclose(first.latent[:, 0], evidence.latent, atol=1e-9)
    np.testing.assert_allclose(values, values[0], atol=1e-8)  # the same up to a constant


def test_a_slope_without_a_change_of_sign_leaves_the_lower_end():
    _, K, y = random_problem(3)
    spectrum = complete_spectrum(K, y, Design(len(K)))
    found = level2(spectrum)
    top = np.log(found.gamma)
    assert _root(spectrum, top + 0.5, top + 1.0) == top + 0.5
    assert _root(spectrum, top - 0.5, top + 0.5) == pytest.approx(top, abs=1e-9)


def test_every_local_maximum_is_counted_once():
    spectra = [complete_spectrum(K, y, Design(len(K))) for _, K, y in map(random_problem, range(20))]
    for spectrum in spectra:
        slopes = level2_terms(
            spectrum, np.linspace(*gamma_range(spectrum.design, spectrum.trace, spectrum.whole), GRID)
        )[1]
        falls = np.count_nonzero((slopes[:-1] > 0.0) & (slopes[1:] <= 0.0))
        assert level2(spectrum).starts == falls + (slopes[0] <= 0.0) + (slopes[-1] > 0.0)


def test_a_given_gamma_is_one_place_inside():
    _, K, y = random_problem(3)
    found = level2_at(complete_spectrum(K, y, Design(len(K))), 0.3)
    assert (found.inside, found.starts, found.gamma) == (True, 1, pytest.approx(np.exp(0.3)))
