"""Every native function against its NumPy statement."""

import inspect

import numpy as np
import pytest

from bayesvm._core import gram
from bayesvm._core.gram import _gram, reference

SIZES = (0, 1, 2, 63, 64, 65, 200)
sizes = pytest.mark.parametrize("n", SIZES)


def points(n, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def distances(n, m=None):
    X, Z = points(n), points(n if m is None else m, seed=0 if m is None else 1)
    return ((X[:, None] - Z[None]) ** 2).sum(axis=2)


def symmetric(n, seed=2):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A + A.T


def some_rows(n, seed=3):
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(n, size=(2 * n) // 3 + min(n, 1), replace=False)).astype(np.int64)


def test_every_native_function_has_a_reference_and_is_exported():
    native = {name for name in dir(_gram) if not name.startswith("_")}
    stated = {
        name for name, f in inspect.getmembers(reference, inspect.isfunction) if f.__module__ == reference.__name__
    }
    assert native == stated == set(gram.__all__)


@sizes
@pytest.mark.parametrize("variance", [1e-300, 0.7, 3.0])
def test_gaussian_from_inner(n, variance):
    X = points(n)
    found, expected = X @ X.T, X @ X.T
    assert _gram.gaussian_from_inner(found, variance) is None
    reference.gaussian_from_inner(expected, variance)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=0.0)
    assert np.array_equal(found, found.T)
    assert np.all(np.diagonal(found) == variance)


def test_gaussian_from_inner_reads_the_upper_triangle_only():
    G = points(70) @ points(70).T
    half = np.triu(G)
    _gram.gaussian_from_inner(G, 1.3)
    _gram.gaussian_from_inner(half, 1.3)
    assert np.array_equal(G, half)


def test_gaussian_from_inner_never_exceeds_the_variance():
    X = np.repeat(1e8 + points(3), 30, axis=0)  # rounding makes some squared distances negative
    G = X @ X.T
    _gram.gaussian_from_inner(G, 2.0)
    assert G.max() == 2.0


@sizes
def test_gaussian_of_distances_symmetric(n):
    D = distances(n)
    before = D.copy()
    found = _gram.gaussian_of_distances(D, 0.3, 1.7, True)
    np.testing.assert_allclose(found, reference.gaussian_of_distances(before, 0.3, 1.7, True), rtol=1e-14, atol=0.0)
    assert np.array_equal(found, found.T)
    assert np.array_equal(D, before)


@pytest.mark.parametrize(("n", "m"), [(0, 5), (5, 0), (1, 1), (1, 64), (65, 63), (200, 3)])
def test_gaussian_of_distances_rectangular(n, m):
    D = distances(n, m)
    found = _gram.gaussian_of_distances(D, 0.3, 1.7, False)
    assert found.shape == (n, m)
    np.testing.assert_allclose(found, reference.gaussian_of_distances(D, 0.3, 1.7, False), rtol=1e-14, atol=0.0)


def test_gaussian_of_distances_takes_a_read_only_matrix_and_huge_distances():
    D = np.array([[0.0, 1e3, 1e300], [1e3, 0.0, 2.0], [1e300, 2.0, 0.0]])
    D.flags.writeable = False
    found = _gram.gaussian_of_distances(D, 1.0, 2.0, True)
    np.testing.assert_allclose(found, 2.0 * np.exp(-D), rtol=1e-14, atol=1e-300)
    assert found[0, 2] == 0.0
    assert np.all(np.isfinite(found))


@sizes
def test_rows_times(n):
    K, rows = symmetric(n), some_rows(n)
    x = np.random.default_rng(4).normal(size=rows.size)
    before = K.copy(), rows.copy(), x.copy()
    found = _gram.rows_times(K, rows, x)
    scale = np.abs(x) @ np.abs(K[rows])
    assert found.shape == (n,)
    assert np.all(np.abs(found - reference.rows_times(K, rows, x)) <= 1e-14 * n * scale)
    for old, new in zip(before, (K, rows, x)):
        assert np.array_equal(old, new)


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_rows_times_with_few_rows(count):
    K, rows, x = symmetric(10), np.arange(count) * 3, np.arange(1.0, count + 1.0)
    np.testing.assert_allclose(_gram.rows_times(K, rows, x), x @ K[rows], rtol=1e-14, atol=1e-14)


@sizes
def test_scaled_block(n):
    K, rows = symmetric(n), some_rows(n)
    root = np.random.default_rng(5).uniform(size=rows.size)
    before = K.copy(), rows.copy(), root.copy()
    found = _gram.scaled_block(K, rows, root)
    np.testing.assert_allclose(np.triu(found), np.triu(reference.scaled_block(K, rows, root)), rtol=1e-14, atol=1e-15)
    for old, new in zip(before, (K, rows, root)):
        assert np.array_equal(old, new)


def test_scaled_block_is_positive_definite_for_a_gram_matrix():
    K, rows = np.exp(-0.5 * distances(65)), some_rows(65)
    upper = np.triu(_gram.scaled_block(K, rows, np.full(rows.size, 10.0)))
    eigenvalues = np.linalg.eigvalsh(upper, UPLO="U")
    assert eigenvalues.min() >= 1.0 - 1e-12


@pytest.mark.parametrize(
    "call",
    [
        lambda: _gram.gaussian_from_inner(np.zeros((2, 3)), 1.0),
        lambda: _gram.gaussian_of_distances(np.zeros((2, 3)), 1.0, 1.0, True),
        lambda: _gram.scaled_block(np.zeros((2, 3)), np.arange(2), np.ones(2)),
    ],
    ids=["gaussian_from_inner", "gaussian_of_distances", "scaled_block"],
)
def test_a_matrix_that_is_not_square_is_named(call):
    with pytest.raises(ValueError, match="expected a square matrix, found 2 x 3"):
        call()


@pytest.mark.parametrize("function", [_gram.rows_times, _gram.scaled_block], ids=["rows_times", "scaled_block"])
def test_row_numbers_and_lengths_are_checked(function):
    K = np.eye(3)
    with pytest.raises(IndexError, match=r"row number 3 is outside 0\.\.3 \(exclusive\)"):
        function(K, np.array([0, 3]), np.ones(2))
    with pytest.raises(IndexError, match=r"row number -1 is outside 0\.\.3 \(exclusive\)"):
        function(K, np.array([-1]), np.ones(1))
    with pytest.raises(ValueError, match="expected one value per row number, found 3 and 2"):
        function(K, np.array([0, 1]), np.ones(3))


def test_an_in_place_function_refuses_what_it_would_have_to_copy():
    G = np.eye(4)
    for wrong in (np.eye(4, dtype=np.float32), np.asfortranarray(points(4) @ points(4).T), np.eye(8)[::2, ::2], G[0]):
        with pytest.raises(TypeError):
            _gram.gaussian_from_inner(wrong, 1.0)
    G.flags.writeable = False
    with pytest.raises(TypeError):
        _gram.gaussian_from_inner(G, 1.0)
