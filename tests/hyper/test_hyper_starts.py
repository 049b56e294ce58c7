"""Starts: the papers' among them, within bounds, deterministic."""

import numpy as np
import pytest
import scipy.sparse as sp
from kernel_instances import CASES, IDS

from bayesvm.hyper import starting_points
from bayesvm.hyper.starts import n_varying, scales
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs


def inputs(d=3, n=20):
    return Inputs(np.random.default_rng(0).normal(size=(n, d)))


def starts(kernel, n, d=3, seed=0):
    return starting_points(kernel, inputs(d), n, np.random.default_rng(seed), distance=np.sqrt(2.0 * d))


@pytest.mark.parametrize("d", [1, 3, 20])
def test_the_starts_of_the_paper_are_among_them(d):
    """Chu2003 section 5: kappa = 1/d, kappa_b = 100, kappa_0 in {0.1, 1, 10, 100}; kappa = 1/lengthscale^2."""
    found = starts((Gaussian() + Constant()).bind(d), 6, d)
    for variance in (0.1, 1.0, 10.0, 100.0):
        paper = np.log([variance, np.sqrt(d), 100.0])
        assert any(np.allclose(start, paper) for start in found)


def test_others_are_at_the_scale_of_the_data():
    found = [scale.lengthscale for scale in scales(inputs(), 7.0)]
    assert 3.5 in found
    assert 14.0 in found


def test_ard_starts_have_equal_length_scales():
    found = starts(Gaussian(ard=True).bind(3), 8)
    for start in found:
        assert start.shape == (4,)
        assert np.ptp(start[1:]) == 0.0


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_every_kernel_within_its_bounds(case):
    found = starts(case.kernel, 12)
    assert len(found) == 12
    low, high = case.kernel.bounds.T
    for start in found:
        assert start.shape == case.kernel.theta.shape
        assert np.all((start >= low - 1e-12) & (start <= high + 1e-12))


def test_narrow_bounds_and_fixed_parameters_are_respected():
    kernel = Gaussian(5.0, 0.3).bounded(lengthscale=(0.2, 0.4)).fix("variance")
    for start in starts(kernel, 10):
        assert start.shape == (1,)
        assert np.log(0.2) - 1e-12 <= start[0] <= np.log(0.4) + 1e-12


@pytest.mark.parametrize("n", [1, 2, 4, 6, 9])
def test_number_and_determinism(n):
    kernel = Gaussian() + Constant()
    first, again, other = starts(kernel, n), starts(kernel, n), starts(kernel, n, seed=1)
    assert len(first) == n
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first[:6], other[:6])  # the first six are not drawn
    if n > 6:
        assert not np.array_equal(first[6:], other[6:])
    np.testing.assert_array_equal(starts(kernel, 12)[:n], first)  # more starts only add to them


def test_all_columns_count_where_rows_are_not_at_hand():
    X = np.zeros((5, 3))
    X[:, 0] = np.arange(5.0)
    assert n_varying(Inputs(X)) == 1
    assert n_varying(Inputs(sp.csr_array(X))) == 3
    assert n_varying(Inputs(X[:0])) == 3
