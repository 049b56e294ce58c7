"""Every kernel keeps the contract, agrees with a loop over pairs, and none is forgotten."""

import importlib
import inspect
import pkgutil

import numpy as np
import pytest
import scipy.sparse as sp
from kernel_instances import CASES, IDS, points, slow_gram
from sklearn.gaussian_process import kernels as skk

import bayesvm.kernels
from bayesvm import kernels as bk
from bayesvm.kernels.base import Kernel
from bayesvm.testing.kernels import check_kernel

every = pytest.mark.parametrize("case", CASES, ids=IDS)


def subclasses(cls):
    for child in cls.__subclasses__():
        yield child
        yield from subclasses(child)


def test_no_kernel_is_missing_from_the_list():
    for module in pkgutil.iter_modules(bayesvm.kernels.__path__):
        importlib.import_module(f"bayesvm.kernels.{module.name}")
    concrete = {
        c for c in subclasses(Kernel) if c.__module__.startswith("bayesvm.kernels") and not inspect.isabstract(c)
    }
    tested = {type(case.kernel) for case in CASES} | {bk.Precomputed}  # tested in test_kernel_details.py
    assert concrete - tested == set()


def test_public_names():
    from_api = (
        "Gaussian Linear Polynomial OrnsteinUhlenbeck Matern32 Matern52 RationalQuadratic Laplacian BSpline Dirichlet "
        "MLP NeuralNetwork Constant Precomputed"
    )
    others = "Kernel Stationary DotProduct Inputs Logarithmic Rescaled as_kernel from_sklearn"
    assert set(bk.__all__) == {*from_api.split(), *others.split()}


@every
def test_contract(case):
    check_kernel(case.kernel, points())


@every
def test_against_pairs(case):
    X, Z = points(12), points(7, seed=4)
    np.testing.assert_allclose(case.kernel.gram(X), slow_gram(case.pair, X, X), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(case.kernel.gram(X, Z), slow_gram(case.pair, X, Z), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(case.kernel.diag(X), [case.pair(x, x) for x in X], rtol=1e-12)


@every
def test_coincident_points(case):
    X = points(8)
    X = np.vstack([X, X[:5], X[:2]])
    check_kernel(case.kernel, X)
    K = case.kernel.gram(X)
    np.testing.assert_allclose(K[8:13], K[:5], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(np.diagonal(case.kernel.gram(X, X.copy())), case.kernel.diag(X), rtol=1e-12)


@every
def test_far_apart_points(case):
    X = points(6)
    X[1] *= 1e6
    X[2] *= -1e8
    K, gradient = case.kernel.gram(X), case.kernel.pullback(X, np.ones((6, 6)))
    assert np.all(np.isfinite(K))
    assert np.all(np.isfinite(gradient))
    np.testing.assert_allclose(K, slow_gram(case.pair, X, X), rtol=1e-5, atol=1e-6 * np.abs(K).max())


@every
def test_one_row_and_no_row(case):
    X = points(4)
    assert case.kernel.gram(X[:1]).shape == (1, 1)
    assert case.kernel.gram(X, X[:0]).shape == (4, 0)
    assert case.kernel.gram(X[:0], X).shape == (0, 4)


@every
def test_sparse_equals_dense(case):
    X, Z = points(10), points(5, seed=5)
    X[np.abs(X) < 0.5] = 0.0
    Z[np.abs(Z) < 0.5] = 0.0
    S, T = sp.csr_matrix(X), sp.csc_array(Z)
    if not case.sparse:
        with pytest.raises((TypeError, ValueError), match="sparse"):
            case.kernel.gram(S)
        with pytest.raises((TypeError, ValueError), match="sparse"):
            case.kernel.diag(S)
        return
    Q = np.cos(np.add.outer(np.arange(10), np.arange(10)))
    k = case.kernel
    np.testing.assert_allclose(k.gram(S), k.gram(X), rtol=1e-10, atol=1e-12)
    for left, right in [(S, T), (X, T), (S, Z)]:
        np.testing.assert_allclose(k.gram(left, right), k.gram(X, Z), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(k.diag(S), k.diag(X), rtol=1e-12)
    np.testing.assert_allclose(k.pullback(S, Q), k.pullback(X, Q), rtol=1e-9, atol=1e-11)
    check_kernel(k, S)


@every
def test_bounds_of_a_fresh_kernel_hold_its_defaults(case):
    if type(case.kernel).__name__ in bk.__all__ and not isinstance(case.kernel, bk.Logarithmic | bk.Rescaled):
        fresh = type(case.kernel)()
        assert np.all(fresh.bounds[:, 0] < fresh.theta)
        assert np.all(fresh.theta < fresh.bounds[:, 1])


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (bk.Gaussian(1.0, 0.7), skk.RBF(0.7)),
        (bk.Gaussian(1.0, (0.7, 1.0, 3.0), ard=True), skk.RBF([0.7, 1.0, 3.0])),
        (bk.OrnsteinUhlenbeck(1.0, 0.7), skk.Matern(0.7, nu=0.5)),
        (bk.Matern32(1.0, 0.7), skk.Matern(0.7, nu=1.5)),
        (bk.Matern52(1.0, (0.7, 1.0, 3.0), ard=True), skk.Matern([0.7, 1.0, 3.0], nu=2.5)),
        (bk.RationalQuadratic(1.0, 0.7, alpha=1.9), skk.RationalQuadratic(0.7, 1.9)),
        (bk.Linear(1.0) + bk.Constant(0.49), skk.DotProduct(0.7)),
        (bk.Polynomial(1, 1.0, 0.49), skk.DotProduct(0.7)),
    ],
    ids=lambda k: type(k).__name__,
)
def test_agrees_with_scikit_learn(ours, theirs):
    X, Z = points(10), points(4, seed=8)
    np.testing.assert_allclose(ours.gram(X), theirs(X), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(ours.gram(X, Z), theirs(X, Z), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(ours.diag(X), theirs.diag(X), rtol=1e-12)


def test_rational_quadratic_tends_to_the_gaussian():
    X = points()
    near = bk.RationalQuadratic(1.3, 0.9, alpha=1e9).gram(X)
    np.testing.assert_allclose(near, bk.Gaussian(1.3, 0.9).gram(X), rtol=1e-6)


def test_check_kernel_reports_a_wrong_gradient():
    class Wrong(bk.Constant):
        def _gradients(self, X, Q):
            return {"variance": 2.0}

    with pytest.raises(AssertionError, match=r"Wrong\(variance=1.0\).*pullback .* differs from differences"):
        check_kernel(Wrong(), points())


def test_check_kernel_reports_an_asymmetric_gram():
    class Wrong(bk.Constant):
        def _gram(self, X, Z):
            return np.arange(float(len(X) ** 2)).reshape(len(X), -1)

    with pytest.raises(AssertionError, match="transpose"):
        check_kernel(Wrong(), points())


def test_check_kernel_reports_a_negative_eigenvalue():
    class Wrong(bk.Constant):
        def _gram(self, X, Z):
            return -super()._gram(X, Z)

        def _diag(self, X):
            return -super()._diag(X)

    with pytest.raises(AssertionError, match="negative eigenvalue"):
        check_kernel(Wrong(), points())
