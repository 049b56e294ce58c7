"""What is special about single kernels: limits, zeros, scikit-learn's kernels, precomputed Gram matrices."""

import pickle

import numpy as np
import pytest
from kernel_instances import b_spline, points
from scipy.interpolate import BSpline as ScipyBSpline
from sklearn.gaussian_process import kernels as skk
from sklearn.metrics.pairwise import laplacian_kernel

from bayesvm import kernels as bk
from bayesvm.kernels.feature_product import _products_of_the_others, _truncated_powers
from bayesvm.kernels.inputs import Inputs
from bayesvm.testing.differences import five_point
from bayesvm.testing.kernels import check_kernel


# -- products over features ------------------------------------------------------------------------------------------
def test_products_of_the_others_with_zeros():
    factors = np.random.default_rng(0).normal(size=(4, 5, 6))
    factors[0, :2] = factors[2, 1:4] = 0.0
    others, product = _products_of_the_others(factors)
    for l in range(4):
        np.testing.assert_allclose(others[l], np.prod(np.delete(factors, l, axis=0), axis=0), atol=1e-15)
    np.testing.assert_allclose(product, factors.prod(axis=0), atol=1e-15)


@pytest.mark.parametrize("order", [1, 3, 5, 11, 31])
def test_spline_against_scipy(order):
    half = (order + 1) / 2
    a = np.linspace(0.0, half, 101)
    basis = ScipyBSpline.basis_element(np.arange(order + 2) - half, extrapolate=False)
    found = _truncated_powers(a, order, order)
    np.testing.assert_allclose(found, np.nan_to_num(basis(a)), rtol=0, atol=1e-11)
    if order > 1:
        slope = _truncated_powers(a, order, order - 1)
        np.testing.assert_allclose(slope, -np.nan_to_num(basis.derivative()(a)), rtol=0, atol=1e-11)


def test_spline_is_zero_outside_its_support_and_its_gradient_sees_zeros():
    X = np.array([[0.0, 0.0], [5.0, 0.1], [0.3, 5.0], [5.0, 5.0], [0.2, 0.4]])
    k = bk.BSpline(3, 1.0, (1.0, 1.5), ard=True)
    assert k.gram(X)[0, 1] == 0.0
    assert b_spline(3, 2.5) == 0.0
    check_kernel(k, X)


def test_dirichlet_next_to_multiples_of_the_period():
    for multiple in (0.0, 2 * np.pi, -6 * np.pi, 2e3 * np.pi):
        for step in (0.0, 1e-12, 1e-7, -1e-4):
            x = np.array([[multiple + step]])
            value = bk.Dirichlet(4).gram(x, np.zeros((1, 1)))[0, 0]
            u = x[0, 0] - multiple
            expected = (1 + 2 * sum(np.cos(j * u) for j in range(1, 5))) / 9
            np.testing.assert_allclose(value, expected, rtol=1e-9)
    check_kernel(bk.Dirichlet(3), np.array([[0.0], [2 * np.pi + 1e-6], [1.0], [-4 * np.pi + 1e-9]]))


# -- distances and inner products ------------------------------------------------------------------------------------
def test_ornstein_uhlenbeck_has_no_nan_at_zero_distance():
    X = np.zeros((4, 2))
    for k in (bk.OrnsteinUhlenbeck(), bk.OrnsteinUhlenbeck(1.0, (1.0, 2.0), ard=True)):
        np.testing.assert_array_equal(k.gram(X), 1.0)
        np.testing.assert_array_equal(k.pullback(X, np.ones((4, 4)))[1:], 0.0)


@pytest.mark.parametrize("power", [1.0, 0.5])
def test_laplacian_has_no_nan_at_zero_distance(power):
    X = np.zeros((4, 2))
    X[1] = 1e-320  # a distance whose root has an infinite reciprocal
    for k in (bk.Laplacian(power=power), bk.Laplacian(1.0, (1.0, 2.0), power=power)):
        np.testing.assert_allclose(k.gram(X), 1.0, rtol=1e-15)
        np.testing.assert_allclose(k.pullback(X, np.ones((4, 4)))[1:], 0.0, atol=1e-150)


def test_laplacian_is_a_product_of_ornstein_uhlenbeck_kernels_of_one_feature_each():
    X, Z = points(12), points(7, seed=4)
    product = np.prod(
        [bk.OrnsteinUhlenbeck(1.0, l).gram(X[:, [j]], Z[:, [j]]) for j, l in enumerate((0.7, 1.5, 4.0))], 0
    )
    np.testing.assert_allclose(bk.Laplacian(1.3, (0.7, 1.5, 4.0)).gram(X, Z), 1.3 * product, rtol=1e-12)


def test_laplacian_agrees_with_scikit_learn():
    X, Z = points(12), points(7, seed=4)
    np.testing.assert_allclose(bk.Laplacian(1.0, 1.6).gram(X, Z), laplacian_kernel(X, Z, gamma=1.0 / 1.6), rtol=1e-12)


@pytest.mark.parametrize("power", [1.0, 0.5, 0.1])
def test_laplacian_is_positive_definite_on_a_lattice(power):
    X = np.stack(np.meshgrid(*[np.arange(5.0)] * 3), axis=-1).reshape(-1, 3)
    assert np.linalg.eigvalsh(bk.Laplacian(1.0, 4.0, power=power).gram(X)).min() > 1e-6


def test_polynomial_of_degree_one_is_linear_plus_constant():
    X = points()
    np.testing.assert_allclose(bk.Polynomial(1, 0.7, 1.5).gram(X), (bk.Linear(0.7) + bk.Constant(0.7 * 1.5)).gram(X))


def test_mlp_can_be_indefinite():
    X = points(10)
    assert not bk.MLP().always_positive
    assert np.linalg.eigvalsh(bk.MLP(1.0, 1.0, 0.001).gram(3 * X)).min() < -0.01


def test_neural_network_is_bounded_by_its_variance():
    X = 1e12 * points()
    k = bk.NeuralNetwork(2.0)
    assert np.all(np.abs(k.gram(X)) <= 2.0)
    assert np.all(np.isfinite(k.pullback(X, np.ones((16, 16)))))


# -- precomputed -----------------------------------------------------------------------------------------------------
def test_precomputed_contract():
    G = bk.Gaussian().gram(points(10))
    check_kernel(bk.Precomputed(1.4), G)
    check_kernel(bk.Precomputed(1.4) + bk.Constant(), G)


def test_precomputed_training_support_and_prediction():
    X, new = points(10), points(4, seed=7)
    G, G_new = bk.Gaussian().gram(X), bk.Gaussian().gram(new, X)
    k = bk.Precomputed(2.0, diagonal=1.0)
    train = Inputs(G)
    rows = np.array([8, 1, 4])
    support = train.take(rows)
    np.testing.assert_allclose(k.gram(train), 2 * G)
    np.testing.assert_allclose(k.gram(support), 2 * G[np.ix_(rows, rows)])
    np.testing.assert_allclose(k.gram(G_new, support), 2 * G_new[:, rows])
    np.testing.assert_allclose(k.gram(G_new, pickle.loads(pickle.dumps(support))), 2 * G_new[:, rows])
    np.testing.assert_allclose(k.gram(G_new, train), 2 * G_new)
    np.testing.assert_allclose(k.diag(support), 2.0)
    np.testing.assert_allclose(k.diag(G_new), 2.0)
    square = np.vstack([G_new, G_new, G_new[:2]])  # as many new samples as training samples
    np.testing.assert_allclose(k.diag(square), 2.0)


def test_precomputed_refuses_what_it_cannot_know():
    G, G_new = bk.Gaussian().gram(points(6)), bk.Gaussian().gram(points(4, seed=7), points(6))
    k = bk.Precomputed()
    with pytest.raises(ValueError, match=r"give it as Precomputed\(diagonal=...\)"):
        k.diag(G_new)
    with pytest.raises(ValueError, match=r"expected a symmetric square Gram matrix .* shape \(4, 6\)"):
        k.gram(G_new)
    with pytest.raises(ValueError, match="is not symmetric"):
        k.gram(np.triu(G))
    with pytest.raises(ValueError, match=r"expected one column per training sample, 2, found 6; .* Inputs.take"):
        k.gram(G_new, G[:2])
    with pytest.raises(ValueError, match="expected a column for every training sample, at least 6, found 3"):
        k.gram(G_new[:, :3], Inputs(G).take(np.array([5])))
    with pytest.raises(ValueError, match=r"Precomputed.diagonal: expected"):
        bk.Precomputed(diagonal=(1.0, 2.0))
    assert not k.always_positive


# -- scikit-learn ----------------------------------------------------------------------------------------------------
def test_sklearn_kernel_keeps_its_parameters():
    theirs = skk.ConstantKernel(2.0) * skk.RBF([1.0, 2.0, 3.0], (1e-2, 1e2)) + skk.Matern(1.5, "fixed", nu=1.5)
    k = bk.from_sklearn(theirs)
    np.testing.assert_array_equal(k.theta, theirs.theta)
    np.testing.assert_array_equal(k.bounds, theirs.bounds)
    assert k.names == ("k1__k1__constant_value", *(f"k1__k2__length_scale[{i}]" for i in range(3)))
    assert k.fix("k1__k1__constant_value").names == k.names[1:]
    assert k.fix().free() == k
    assert (k + bk.Constant()).names[0] == "sklearnkernel.k1__k1__constant_value"
    check_kernel(k.fix("k1__k1__constant_value"), points())
    check_kernel((2.0 * k + bk.Gaussian()).on([0, 2, 1]), points())
    with pytest.raises(ValueError, match="has no parameter 'k2__length_scale'; its parameters are k1__k1"):
        k.fix("k2__length_scale")
    with pytest.raises(ValueError, match="expected 4 values"):
        k.with_theta(np.zeros(2))


def test_sklearn_gradient_by_differences():
    k = bk.from_sklearn(skk.RationalQuadratic(0.7, 1.3) + skk.ExpSineSquared())
    X = points(8)
    Q = np.cos(np.add.outer(np.arange(8), np.arange(8)))
    expected = five_point(lambda t: np.sum(Q * k.with_theta(t).gram(X)), k.theta)
    np.testing.assert_allclose(k.pullback(X, Q), expected, rtol=1e-7, atol=1e-9)


def test_white_kernel_keeps_its_meaning():
    k = bk.from_sklearn(skk.RBF() + skk.WhiteKernel(0.5))
    X = points()
    np.testing.assert_allclose(k.gram(X), bk.Gaussian().gram(X) + 0.5 * np.eye(16))
    np.testing.assert_allclose(k.gram(X, X), bk.Gaussian().gram(X))
    np.testing.assert_allclose(k.diag(X), 1.5)
    check_kernel(k, X, cross=False)
    with pytest.raises(AssertionError, match="columns of gram"):
        check_kernel(k, X)


@pytest.mark.parametrize("wrong", [skk.RBF, "rbf", None, bk.Gaussian()])
def test_from_sklearn_refuses_other_objects(wrong):
    with pytest.raises(TypeError, match=r"expected a kernel object of sklearn.gaussian_process.kernels"):
        bk.from_sklearn(wrong)
