"""Sums, products, columns, rescaling: values, derivatives, names and repr."""

import numpy as np
import pytest
from kernel_instances import points

from bayesvm import kernels as bk
from bayesvm.kernels.combine import Product, Sum
from bayesvm.testing.differences import five_point
from bayesvm.testing.kernels import check_kernel

A, B, C, D = bk.Gaussian(1.2, 0.8), bk.Linear(0.4), bk.Matern32(0.7, 2.0), bk.Polynomial(2, 0.5, 0.9)


def symmetric(n, seed=1):
    Q = np.random.default_rng(seed).normal(size=(n, n))
    return Q + Q.T


def test_nested_algebra_by_hand():
    X, Z = points(9), points(4, seed=9)
    k = (A * B + C) * D
    a, b, c, d = (part.gram(X) for part in (A, B, C, D))
    np.testing.assert_allclose(k.gram(X), (a * b + c) * d, rtol=1e-14)
    cross = (A.gram(X, Z) * B.gram(X, Z) + C.gram(X, Z)) * D.gram(X, Z)
    np.testing.assert_allclose(k.gram(X, Z), cross, rtol=1e-14)
    np.testing.assert_allclose(k.diag(X), (A.diag(X) * B.diag(X) + C.diag(X)) * D.diag(X), rtol=1e-14)
    Q = symmetric(9)
    by_hand = [A.pullback(X, Q * d * b), B.pullback(X, Q * d * a), C.pullback(X, Q * d), D.pullback(X, Q * (a * b + c))]
    np.testing.assert_allclose(k.pullback(X, Q), np.concatenate(by_hand), rtol=1e-12)
    found = five_point(lambda t: np.sum(Q * k.with_theta(t).gram(X)), k.theta)
    np.testing.assert_allclose(k.pullback(X, Q), found, rtol=1e-6, atol=1e-8)
    check_kernel(k, X)


def test_nesting_is_kept():
    left, right = (A + B) + C, A + (B + C)
    assert left != right
    assert isinstance(left.left, Sum)
    assert isinstance(right.right, Sum)
    assert isinstance((A * B + C).left, Product)


def test_scalar_times_kernel_is_not_learnt():
    X = points()
    k = 2.0 * A
    np.testing.assert_allclose(k.gram(X), 2.0 * A.gram(X))
    assert k.names == ("gaussian.variance", "gaussian.lengthscale")
    np.testing.assert_allclose((A * 2).gram(X), 2.0 * A.gram(X))
    np.testing.assert_allclose((1 + A + np.float64(3)).gram(X), 4.0 + A.gram(X))
    with pytest.raises(TypeError, match="found str"):
        A + "one"
    with pytest.raises(ValueError, match="expected a positive number"):
        -1.0 * A
    with pytest.raises(TypeError, match="Sum: expected a kernel, found int"):
        Sum(A, 1)


def test_on_columns_by_position_and_by_name():
    X = points(d=4)
    names = ["age", "height", "weight", "income"]
    k = bk.Gaussian(ard=True).on([3, 1])
    named = bk.Gaussian(ard=True).on(["income", "height"]).bind(4, names)
    assert named == k.bind(4)
    assert named.names == ("variance", "lengthscale[income]", "lengthscale[height]")
    np.testing.assert_array_equal(k.gram(X), bk.Gaussian().gram(X[:, [3, 1]]))
    np.testing.assert_allclose(named.gram(X), k.gram(X), rtol=1e-14)
    np.testing.assert_array_equal(A.on("height").bind(4, names).gram(X), A.gram(X[:, [1]]))
    np.testing.assert_array_equal(A.on(np.int64(2)).gram(X), A.gram(X[:, [2]]))
    np.testing.assert_array_equal(A.on(range(2)).diag(X), A.diag(X))
    nested = A.on([2]).on(["income", "age", "height"]).bind(4, names)
    np.testing.assert_array_equal(nested.gram(X), A.gram(X[:, [1]]))
    check_kernel(bk.Gaussian(ard=True).on([0, 2]) * bk.Linear(ard=True).on([1]) + A, X)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("size", "no column 'size'; the columns are age, height"),
        (2, "expected columns between 0 and 1, found 2"),
        (-1, "expected columns between 0 and 1, found -1"),
        ([], "one or more different columns"),
        ([0, 0], "one or more different columns"),
        ([True], "expected column positions or names, found True"),
        ([0.5], "expected column positions or names, found 0.5"),
    ],
)
def test_bad_columns(columns, message):
    with pytest.raises(ValueError, match=message):
        A.on(columns).bind(2, ["age", "height"])


def test_names_without_named_data():
    with pytest.raises(ValueError, match="'age' is given by name but the data has no feature names"):
        A.on("age").bind(3)
    with pytest.raises(ValueError, match="'age' is given by name but the data has no feature names"):
        A.on("age").gram(points())


def test_names_are_short_and_unique():
    k = (bk.Gaussian(ard=True) + bk.Gaussian() * bk.Linear()).bind(2, ["age", "height"])
    assert k.names == (
        "gaussian.variance",
        "gaussian.lengthscale[age]",
        "gaussian.lengthscale[height]",
        "gaussian2.variance",
        "gaussian2.lengthscale",
        "linear.variance",
    )
    assert [type(leaf).__name__ for leaf in k.leaves()] == ["Gaussian", "Gaussian", "Linear"]
    assert bk.Linear(ard=True).bind(2).names == ("variance[0]", "variance[1]")
    assert bk.Linear(ard=True).bind(2, ["same", "same"]).names == ("variance[0]", "variance[1]")


def test_fix_and_free_of_composites():
    k = A + B * C
    assert k.fix().theta.size == 0
    assert k.fix().free() == k
    some = k.fix("gaussian.lengthscale", "linear.variance")
    assert some.names == ("gaussian.variance", "matern32.variance", "matern32.lengthscale")
    assert some.free("linear.variance").names[1] == "linear.variance"
    wrapped = bk.Rescaled(A.on([0]), (1.0,), (2.0,))
    assert wrapped.fix("variance").names == ("lengthscale",)
    with pytest.raises(
        ValueError, match=r"'gaussian3.variance': expected 'kernel.parameter' with a kernel of gaussian"
    ):
        k.fix("gaussian3.variance")
    with pytest.raises(ValueError, match="Linear has no parameter 'lengthscale'"):
        k.fix("linear.lengthscale")


def test_with_theta_of_wrong_length():
    with pytest.raises(ValueError, match=r"Sum.with_theta: expected 3 values, found shape \(2,\)"):
        (A + B).with_theta(np.zeros(2))


def test_repr_reads_like_the_formula_and_evaluates():
    names = {name: getattr(bk, name) for name in bk.__all__}
    assert repr(bk.Gaussian() + bk.Constant()) == ("Gaussian(variance=1.0, lengthscale=1.0) + Constant(variance=1.0)")
    for k in [
        (A + B) * C,
        A * (B * C) + (A + (B + C)),
        (A + B).on([0, 1]) * C.on(2),
        2.0 * bk.Gaussian(1.0, (1.0, 2.0), ard=True).fix("variance"),
        bk.Linear().bounded(variance=(0.1, 2.0)) + bk.BSpline(5),
        bk.Rescaled(A + B, (0.0, 1.0), (1.0, 2.0)),
        bk.Precomputed(2.0, diagonal=1.0),
    ]:
        assert eval(repr(k), names) == k, repr(k)


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (bk.Gaussian(1 / 3, 12345.678), "Gaussian(variance=0.333, lengthscale=1.23e+04)"),
        (bk.Gaussian(ard=True), "Gaussian(variance=1, lengthscale=1, ard=True)"),
        (
            bk.Gaussian(1.0, (0.5, 2 / 3)).fix("variance").bind(2, ["age", "size"]),
            "Gaussian(variance=1 fixed, lengthscale=[age 0.5, size 0.667])",
        ),
        (bk.Linear(range(1, 31)), "Linear(variance=[1, 2, 3, 4, 5, 6, ... 30 values])"),
        (
            2.0 * (A + B) + C * 0.5,
            "2 * (Gaussian(variance=1.2, lengthscale=0.8) + Linear(variance=0.4)) + "
            "Matern32(variance=0.7, lengthscale=2) * 0.5",
        ),
        (bk.Constant(2.0).fix(), "Constant(variance=2 fixed)"),
        (
            (A + B).on(["size", "age"]).bind(2, ["age", "size"]),
            "(Gaussian(variance=1.2, lengthscale=0.8) + Linear(variance=0.4)).on(size, age)",
        ),
        (B.on([1, 0]).bind(2), "Linear(variance=0.4).on(1, 0)"),
        (
            bk.Rescaled(bk.BSpline() + B, (1 / 3, 2.0), (1.0, 1e-5)),
            "standardized(BSpline(order=3, variance=1, lengthscale=1) + Linear(variance=0.4))",
        ),
    ],
)
def test_print_is_short_and_names_features(kernel, text):
    assert str(kernel) == text


def test_always_positive_of_composites():
    assert (A * B + C).always_positive
    assert not (A + bk.MLP()).always_positive
    assert not bk.MLP().on([0]).always_positive


def test_rescaled():
    X, Z = points(8), points(3, seed=2)
    shift, scale = (1.0, -2.0, 0.5), (2.0, 0.5, 3.0)
    k = bk.Rescaled(bk.Gaussian(ard=True) + bk.Linear(), shift, scale).bind(3, ["a", "b", "c"])
    inner = k.kernel
    np.testing.assert_allclose(k.gram(X, Z), inner.gram((X - shift) / scale, (Z - shift) / scale), rtol=1e-12)
    assert k.names == inner.names
    check_kernel(k, X)
    with pytest.raises(ValueError, match="Rescaled: expected 3 features, found 2"):
        k.bind(2)
    with pytest.raises(ValueError, match="Rescaled: expected 3 features, found 2"):
        k.gram(X[:, :2])
    with pytest.raises(ValueError, match="positive finite scales"):
        bk.Rescaled(A, (0.0,), (0.0,))
    with pytest.raises(ValueError, match=r"found shapes \(1,\) and \(2,\)"):
        bk.Rescaled(A, (0.0,), (1.0, 1.0))


def test_logarithmic():
    X, Z = 10.0 * points(8), points(3, seed=2)
    origin, unit = (1.0, -2.0, 0.5), (2.0, 0.0, 1e-3)
    k = bk.Logarithmic(bk.Gaussian(ard=True) + bk.Linear(), origin, unit).bind(3, ["a", "b", "c"])

    def mapped(A):
        columns = [np.sign(a - o) * np.log1p(np.abs(a - o) / c) if c else a for a, o, c in zip(A.T, origin, unit)]
        return np.column_stack(columns)

    np.testing.assert_allclose(k.gram(X, Z), k.kernel.gram(mapped(X), mapped(Z)), rtol=1e-12)
    assert k.names == k.kernel.names
    assert str(k).startswith("logarithmic(Gaussian(")
    assert eval(repr(k), vars(bk)) == k
    check_kernel(k, X)
    with pytest.raises(ValueError, match="Logarithmic: expected 3 features, found 2"):
        k.gram(X[:, :2])
    with pytest.raises(ValueError, match="units that are not negative"):
        bk.Logarithmic(A, (0.0,), (-1.0,))
    with pytest.raises(ValueError, match=r"found shapes \(1,\) and \(2,\)"):
        bk.Logarithmic(A, (0.0,), (1.0, 1.0))
