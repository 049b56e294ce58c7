"""Bad arguments are refused with a message; automatic relevance determination binds to the data."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from kernel_instances import points

from bayesvm import kernels as bk
from bayesvm.testing.kernels import check_kernel

PER_FEATURE = [
    (bk.Gaussian, "lengthscale"),
    (bk.OrnsteinUhlenbeck, "lengthscale"),
    (bk.Matern32, "lengthscale"),
    (bk.Matern52, "lengthscale"),
    (bk.RationalQuadratic, "lengthscale"),
    (bk.Laplacian, "lengthscale"),
    (bk.BSpline, "lengthscale"),
    (bk.Dirichlet, "lengthscale"),
    (bk.Linear, "variance"),
    (bk.NeuralNetwork, "weight_variance"),
]
IDS = [cls.__name__ for cls, _ in PER_FEATURE]


@pytest.mark.parametrize(("cls", "field"), PER_FEATURE, ids=IDS)
def test_ard(cls, field):
    k = cls(**{field: 2.5}, ard=True)
    bound = k.bind(3)
    assert getattr(bound, field) == (2.5, 2.5, 2.5)
    assert bound.bind(3) == bound
    assert bound.theta.size == k.theta.size + 2
    assert cls(**{field: 2.5}).bind(3) == cls(**{field: 2.5})
    np.testing.assert_allclose(bound.gram(points()), k.gram(points()), rtol=1e-12, atol=1e-14)
    check_kernel(k, points())
    with pytest.raises(ValueError, match="expected one value for each of the 4 features of the data, found 3 values"):
        bound.bind(4)
    with pytest.raises(ValueError, match="expected one value for each of the 2 features of the data, found 3 values"):
        bound.gram(points()[:, :2])


@pytest.mark.parametrize(("cls", "field"), PER_FEATURE, ids=IDS)
def test_a_list_means_one_value_per_feature(cls, field):
    k = cls(**{field: [1.0, 2.0, 3.0]})
    assert k == cls(**{field: (1.0, 2.0, 3.0)}, ard=True)
    assert k == cls(**{field: np.array([1.0, 2.0, 3.0])})
    assert k.ard
    assert k.bind(3) == k
    assert {f"{field}[{i}]" for i in range(3)} <= set(k.names)
    check_kernel(k, points())
    message = rf"{cls.__name__}.{field}: expected one value for each of the 2 features of the data, found 3 values"
    with pytest.raises(ValueError, match=message):
        k.bind(2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bk.Gaussian(lengthscale=-1.0), "Gaussian.lengthscale: expected a positive number"),
        (lambda: bk.Gaussian(variance=0.0), "Gaussian.variance: expected a positive number"),
        (lambda: bk.Gaussian(variance=np.nan), "Gaussian.variance: expected a positive number"),
        (
            lambda: bk.Gaussian(variance=(1.0, 2.0), ard=True),
            "Gaussian.variance: expected one positive number, found a",
        ),
        (lambda: bk.Gaussian().bounded(variance=(-1.0, 2.0)), "bounds of Gaussian.variance: expected 0 < low"),
        (lambda: bk.Gaussian().bounded(variance=(2.0, 1.0)), "bounds of Gaussian.variance: expected 0 < low"),
        (lambda: bk.Gaussian().bounded(width=(1.0, 2.0)), "Gaussian has no parameter 'width'"),
        (lambda: bk.Laplacian(power=1.5), "Laplacian.power: expected a number above zero and at most one, found 1.5"),
        (lambda: bk.Laplacian(power=0.0), "Laplacian.power: expected a positive number"),
        (lambda: bk.BSpline(2), "odd number, found 2; the Fourier transform of a B-spline of even order has negative"),
        (lambda: bk.BSpline(0), "BSpline.order: expected a positive integer, found 0"),
        (lambda: bk.BSpline(33), "BSpline.order: expected at most 31, found 33"),
        (lambda: bk.Dirichlet(1.5), "Dirichlet.order: expected a positive integer, found 1.5"),
        (lambda: bk.Polynomial(0), "Polynomial.degree: expected a positive integer, found 0"),
        (lambda: bk.Polynomial(True), "Polynomial.degree: expected a positive integer, found True"),
        (lambda: bk.Gaussian().gram([1.0, 2.0]), "expected a matrix, one row per sample, found 1 dimension"),
        (lambda: bk.Gaussian().with_theta(np.zeros(3)), "expected 2 values, found shape"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_kernels_are_frozen_and_hashable():
    k = bk.Gaussian(1.0, [1.0, 2.0], ard=True)
    assert hash(k) == hash(bk.Gaussian(1.0, (1.0, 2.0), ard=True))
    with pytest.raises(dataclasses.FrozenInstanceError):
        k.variance = 2.0


def test_bounds_and_fix():
    k = bk.Gaussian(ard=True).bounded(lengthscale=(0.1, 10.0)).fix("variance").bind(2)
    np.testing.assert_allclose(k.bounds, np.log([[0.1, 10.0], [0.1, 10.0]]))
    assert k.names == ("lengthscale[0]", "lengthscale[1]")
    assert k.free().names == ("variance", "lengthscale[0]", "lengthscale[1]")
    np.testing.assert_allclose(bk.Gaussian().bounds, np.log([[1e-6, 1e6], [1e-3, 1e4]]))


coordinates = st.integers(-30, 30).map(lambda i: i / 10)
matrices = arrays(float, st.tuples(st.integers(2, 8), st.just(2)), elements=coordinates)
log_values = st.floats(-1.5, 1.5)
COMPOSED = bk.Gaussian() * bk.Linear(ard=True) + 0.5 * bk.NeuralNetwork().on([1])
POSITIVE = [cls() for cls, _ in PER_FEATURE] + [bk.Polynomial(), bk.Constant(), COMPOSED]


@pytest.mark.parametrize("kernel", POSITIVE, ids=lambda k: repr(k)[:24])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_positive_semidefinite_for_any_points_and_parameters(kernel, data):
    X = data.draw(matrices)
    kernel = kernel.bind(2)
    theta = data.draw(arrays(float, kernel.theta.size, elements=log_values))
    K = kernel.with_theta(theta).gram(X)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K)[0] >= -1e-10 * len(X) * np.abs(K).max()


@pytest.mark.parametrize("kernel", [*POSITIVE, bk.MLP(), bk.Precomputed()], ids=lambda k: repr(k)[:24])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_with_theta_round_trip(kernel, data):
    kernel = kernel.bind(2)
    theta = data.draw(arrays(float, kernel.theta.size, elements=st.floats(-20.0, 20.0)))
    assert kernel.n_free == theta.size
    moved = kernel.with_theta(theta)
    np.testing.assert_allclose(moved.theta, theta, rtol=1e-14, atol=1e-14)
    assert type(moved) is type(kernel)
    assert moved.names == kernel.names
    np.testing.assert_array_equal(moved.bounds, kernel.bounds)
