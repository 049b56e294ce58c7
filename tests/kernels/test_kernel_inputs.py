"""Inputs: distances are accurate, computed once, gathered for parts, and memory stays small."""

import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from kernel_instances import points

from bayesvm import kernels as bk
from bayesvm.kernels import inputs, laplacian
from bayesvm.kernels.inputs import Inputs, from_signed_logarithm, signed_logarithm


@pytest.fixture
def counted(monkeypatch):
    calls = []
    compute = Inputs._compute_distances
    monkeypatch.setattr(Inputs, "_compute_distances", lambda *a: calls.append(1) or compute(*a))
    return calls


def test_squared_distances_are_computed_once(counted):
    X = Inputs(points())
    kernel = bk.Gaussian() * bk.Matern32() + bk.RationalQuadratic()
    for shift in range(3):
        moved = kernel.with_theta(kernel.theta + 0.1 * shift)
        moved.pullback(X, moved.gram(X))
    assert len(counted) == 1
    bk.OrnsteinUhlenbeck().gram(X.take(np.arange(5)))
    assert len(counted) == 1


def test_columns_and_rescaled_inputs_keep_their_cache(counted):
    X = Inputs(points())
    kernel = bk.Rescaled(bk.Gaussian(), (0.0,) * 3, (2.0,) * 3) + bk.Gaussian().on([0, 1])
    for _ in range(3):
        kernel.pullback(X, kernel.gram(X))
    assert len(counted) == 2
    kernel.gram(X.take(np.arange(5)))
    assert len(counted) == 2


def test_parts():
    X = Inputs(points(10))
    distances = X.squared_distances()
    rows = np.array([7, 2, 5])
    part = X.take(rows)
    np.testing.assert_array_equal(part.squared_distances(), distances[np.ix_(rows, rows)])
    np.testing.assert_array_equal(part.take(np.array([2, 0])).rows, [5, 7])
    np.testing.assert_array_equal(X.take(np.arange(10) % 2 == 0).rows, [0, 2, 4, 6, 8])
    assert X.columns((1, 2)) is X.columns((1, 2))
    with pytest.raises(ValueError, match="read-only"):
        distances[0, 0] = 1.0
    copy = pickle.loads(pickle.dumps(part))
    np.testing.assert_array_equal(copy.rows, rows)
    assert copy._distances is None
    assert repr(X) == "Inputs(10 rows, 3 columns)"


def test_distances_far_from_the_origin_keep_their_digits():
    X = points()
    near = Inputs(X).squared_distances()
    far = Inputs(X + 1e6).squared_distances()
    np.testing.assert_allclose(far, near, rtol=1e-8, atol=1e-12)
    duplicated = np.vstack([X, X]) * [1.0, 1e3, 1e-3]
    found = Inputs(duplicated).squared_distances(weights=np.array([0.3, 2.0, 7.0]))
    np.testing.assert_array_equal(np.diagonal(found[16:, :16]), 0.0)
    np.testing.assert_array_equal(found, found.T)


def test_spread_and_quadratic_forms_against_loops():
    X = points(6)
    A = np.cos(np.add.outer(np.arange(6), np.arange(6)))
    difference = X[:, None, :] - X[None, :, :]
    np.testing.assert_allclose(Inputs(X).spread(A), np.einsum("ij,ijl->l", A, difference**2), rtol=1e-12)
    np.testing.assert_allclose(Inputs(X).quadratic(A), np.einsum("ij,il,jl->l", A, X, X), rtol=1e-12)


def test_memory_of_the_ard_gaussian():
    n, d = 2000, 50
    X = np.random.default_rng(0).normal(size=(n, d))
    kernel = bk.Gaussian(1.0, 7.0, ard=True).bind(d)
    tracemalloc.start()
    try:
        K = kernel.gram(X)
        Q = K.copy()
        gradient = kernel.pullback(X, Q)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert K.shape == Q.shape
    assert gradient.shape == (d + 1,)
    assert peak < 6 * n * n * 8


@pytest.mark.parametrize("kernel", [bk.BSpline(3, 1.0, 9.0, ard=True), bk.Dirichlet(3, 1.0, 3.0, ard=True)])
def test_memory_of_products_over_features(kernel):
    n, d = 600, 20
    X = np.random.default_rng(0).normal(size=(n, d))
    kernel = kernel.bind(d)
    Q = np.eye(n)
    tracemalloc.start()
    try:
        kernel.pullback(X, Q)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.3 * n * n * d * 8 + 16 * 2**21


def test_distances_to_the_last_other_rows_are_kept_while_these_live():
    X, Z, other = (Inputs(np.random.default_rng(seed).normal(size=(5 + seed, 2))) for seed in range(3))
    first = X.squared_distances(Z)
    assert X.squared_distances(Z) is first
    with pytest.raises(ValueError, match="read-only"):
        first[0, 0] = 1.0
    assert X.squared_distances(other) is not first
    again = X.squared_distances(Z)
    assert again is not first
    np.testing.assert_array_equal(again, first)
    del Z
    assert X.squared_distances(Inputs(other.X)).shape == (5, 7)


def test_distances_to_many_other_rows_are_not_kept(monkeypatch):
    monkeypatch.setattr(inputs, "BLOCK", 30)
    X, Z = (Inputs(np.random.default_rng(seed).normal(size=(6, 2))) for seed in range(2))
    assert X.squared_distances(Z) is not X.squared_distances(Z)
    few = Inputs(Z.X[:5])
    assert X.squared_distances(few) is X.squared_distances(few)


def test_blocks_of_rows_change_no_distance(monkeypatch):
    X = np.random.default_rng(0).normal(size=(23, 3))
    kernels = [bk.Gaussian(), bk.Laplacian(1.0, (0.5, 1.0, 2.0))]
    Q = np.random.default_rng(1).normal(size=(23, 7))
    whole = [(k.gram(X, X[:7]), k.cross_pullback(X, X[:7], Q)) for k in kernels]
    monkeypatch.setattr(inputs, "BLOCK", 20)
    monkeypatch.setattr(laplacian, "BLOCK", 20)
    for kernel, (gram, pullback) in zip(kernels, whole, strict=True):
        np.testing.assert_allclose(kernel.gram(X, X[:7]), gram, rtol=1e-14)
        np.testing.assert_allclose(kernel.cross_pullback(X, X[:7], Q), pullback, rtol=1e-12)


def test_signed_logarithms_have_an_inverse():
    X = np.random.default_rng(0).standard_cauchy(size=(50, 3)) * 100.0
    origin, unit = np.array([3.0, 0.0, -20.0]), np.array([0.5, 0.0, 40.0])
    T = signed_logarithm(X, origin, unit)
    expected = X.copy()
    for column in (0, 2):
        u = (X[:, column] - origin[column]) / unit[column]
        expected[:, column] = np.sign(u) * np.log(1.0 + np.abs(u))
    np.testing.assert_allclose(T, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(from_signed_logarithm(T, origin, unit), X, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(from_signed_logarithm(T, origin, unit)[:, 1], X[:, 1])


def test_sizes_and_descriptions_of_inputs():
    X = Inputs(np.zeros((4, 3)))
    sparse = Inputs(sp.csr_array(np.eye(3)))
    assert X.__sizeof__() >= 4 * 3 * 8
    assert sparse.__sizeof__() >= sparse.X.data.nbytes + sparse.X.indices.nbytes + sparse.X.indptr.nbytes
    assert repr(sparse) == "Inputs(3 rows, 3 columns, sparse)"
    with pytest.raises(ValueError, match=r"one row per sample, found 1 dimension"):
        Inputs(np.zeros(3))
