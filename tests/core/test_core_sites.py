"""The native posterior under Gaussian sites against NumPy."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from bayesvm._core import sites
from bayesvm._core.sites import reference

SIZES = [1, 2, 31, 32, 33, 64, 65, 100, 257]


def lower(n):
    """Return a well-conditioned lower triangular matrix in Fortran order, with rubbish above the diagonal."""
    rng = np.random.default_rng(n)
    return np.asfortranarray(np.eye(n) * 2.0 + rng.normal(size=(n, n)) / np.sqrt(n))


def problem(n, seed=0):
    """Return a Gram matrix and sites: some without precision, some with next to none."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2)) + 0.3
    tau = np.maximum(rng.normal(size=n) + 0.5, 0.0)
    tau[::5], tau[::7] = 1e-9, 0.0
    return K, tau, rng.normal(size=n)


def compare(found, expected):
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected):
        mine = np.tril(mine) if np.ndim(mine) == 2 else mine
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n", SIZES)
def test_inverses_of_triangular_matrices(n):
    L = lower(n)
    before = L.copy()
    np.testing.assert_allclose(sites.inverse(L), reference.inverse(L), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(sites.inverse_diagonal(L), reference.inverse_diagonal(L), rtol=1e-10)
    np.testing.assert_allclose(sites.lower_square(L), reference.lower_square(L), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(L, before)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("forward", "backward"), [(True, False), (False, True), (True, True), (False, False)])
def test_solutions_with_triangular_matrices(n, forward, backward):
    L, B = lower(n), np.asfortranarray(np.random.default_rng(0).normal(size=(n, 7)))
    before, right = L.copy(), B.copy()
    found = sites.lower_solve(L, B, forward, backward)
    np.testing.assert_allclose(found, reference.lower_solve(L, B, forward, backward), rtol=1e-10, atol=1e-10)
    assert found.flags.f_contiguous
    assert found.flags.writeable
    np.testing.assert_array_equal(L, before)
    np.testing.assert_array_equal(B, right)


def test_solutions_of_nothing_and_of_the_wrong_size():
    assert sites.lower_solve(lower(3), np.empty((3, 0), order="F"), True, True).shape == (3, 0)
    assert sites.lower_solve(np.empty((0, 0), order="F"), np.empty((0, 4), order="F"), True, True).shape == (0, 4)
    with pytest.raises(ValueError, match="expected 3 rows, found 2"):
        sites.lower_solve(lower(3), np.ones((2, 4), order="F"), True, False)


def test_results_are_symmetric_to_the_last_bit():
    for found in (sites.inverse(lower(150)), sites.lower_square(lower(150))):
        np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("n", SIZES)
def test_posterior(n):
    compare(sites.site_posterior(*problem(n)), reference.site_posterior(*problem(n)))


def test_posterior_without_any_precision_is_the_prior():
    K, _, nu = problem(20)
    info, support, root, L, inverse, log_det, alpha, mean, var, rest = sites.site_posterior(K, np.zeros(20), nu)
    assert info == support.size == root.size == L.size == inverse.size == log_det == 0
    np.testing.assert_array_equal(alpha, nu)
    np.testing.assert_allclose(mean, K @ nu)
    np.testing.assert_array_equal(var, np.diagonal(K))
    np.testing.assert_array_equal(rest, 1.0)


def test_what_is_not_positive_definite_is_named():
    K = np.diag([1.0, 1.0, -5.0, 1.0])
    assert sites.site_posterior(K, np.ones(4), np.zeros(4))[0] == 3


@pytest.mark.parametrize("n", [1, 40, 129])
def test_response(n):
    rng = np.random.default_rng(0)
    K, tau, _ = problem(n)
    root = np.sqrt(tau + 0.1)
    B_inverse = np.asfortranarray(np.linalg.inv(np.eye(n) + root[:, None] * K * root))
    dtau, pull = rng.normal(size=(2, n))
    for mine, theirs in zip(
        sites.response(B_inverse, root, dtau, pull), reference.response(B_inverse, root, dtau, pull)
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-11)


def test_results_keep_their_memory_while_others_are_computed():
    K, tau, nu = problem(90)
    first = sites.site_posterior(K, tau, nu)
    copies = [np.copy(part) for part in first]
    for seed in range(20):
        sites.site_posterior(*problem(90, seed))
        sites.inverse(lower(85))
    for part, copy in zip(first, copies):
        np.testing.assert_array_equal(part, copy)


def test_threads_do_not_share_memory():
    expected = [reference.site_posterior(*problem(70, seed)) for seed in range(4)]
    wrong = []

    def work(seed):
        for _ in range(50):
            found = sites.site_posterior(*problem(70, seed))
            if not np.allclose(found[6], expected[seed][6], rtol=1e-9, atol=1e-10):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_shapes_are_checked():
    K, tau, nu = problem(5)
    with pytest.raises(ValueError, match="square"):
        sites.inverse(np.zeros((2, 3), order="F"))
    with pytest.raises(ValueError, match="square"):
        sites.site_posterior(np.zeros((2, 3)), np.zeros(2), np.zeros(2))
    with pytest.raises(ValueError, match="one tau and one nu per row"):
        sites.site_posterior(K, tau[:3], nu)
    with pytest.raises(ValueError, match="length 5"):
        sites.response(np.asfortranarray(K), tau, nu, nu[:2])
