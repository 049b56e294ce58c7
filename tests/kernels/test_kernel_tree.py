"""What follows from the parts of a kernel: leaves, ARD, ties, matching values, starts and relevances."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as skk

from bayesvm import kernels as bk
from bayesvm.kernels import tree
from bayesvm.kernels.scale import Scale

SCALE = Scale(variance=2.0, lengthscale=3.0, constant=0.5, n_features=4)
THEIRS = bk.from_sklearn(skk.RBF(0.7))


def test_leaves_from_left_to_right():
    k = bk.Rescaled((bk.Gaussian() + bk.Linear().on([0])) * (2.0 * THEIRS), (0.0,), (1.0,))
    assert k.leaves() == (bk.Gaussian(), bk.Linear(), bk.Constant(2.0).fix(), THEIRS)
    assert bk.Gaussian().leaves() == (bk.Gaussian(),)
    assert [label for label, _ in tree.labelled(bk.Gaussian() + bk.Linear() * bk.Gaussian())] == [
        "gaussian",
        "linear",
        "gaussian2",
    ]


def test_ard_in_every_part_that_can_have_it():
    k = (bk.Gaussian() + bk.Linear().on([0]) * bk.Polynomial() + THEIRS).with_ard()
    assert k == bk.Gaussian(ard=True) + bk.Linear(ard=True).on([0]) * bk.Polynomial() + THEIRS


def test_tied_takes_the_geometric_mean_of_what_is_learnt():
    k = bk.Gaussian(1.0, (1.0, 4.0)) + bk.Linear((2.0, 8.0)).fix() + bk.Constant() + THEIRS
    tied = k.tied()
    assert tied == bk.Gaussian(1.0, 2.0) + bk.Linear((2.0, 8.0)).fix() + bk.Constant() + THEIRS
    assert tied.theta.size == k.theta.size - 1
    bound = (bk.Gaussian(ard=True) + bk.Linear(ard=True)).bind(3, ["a", "b", "c"])
    assert bound.tied() == bk.Gaussian() + bk.Linear()


def test_matching_fills_vectors_from_numbers():
    k = (bk.Gaussian(ard=True) * bk.Linear().on([0]) + THEIRS).bind(3)
    values = k.tied().with_theta(np.log([2.0, 3.0, 4.0, 5.0]))
    found = k.matching(values)
    np.testing.assert_allclose(np.exp(found.theta), [2.0, 3.0, 3.0, 3.0, 4.0, 5.0], rtol=1e-14)
    assert found.tied().theta == pytest.approx(values.theta)
    assert found.names == k.names
    with pytest.raises(TypeError, match="matching: expected a Sum, found a Gaussian"):
        k.matching(bk.Gaussian())
    with pytest.raises(TypeError, match="matching: expected a Linear, found a Constant"):
        (bk.Gaussian() + bk.Linear()).matching(bk.Gaussian() + bk.Constant())


@pytest.mark.parametrize(
    ("kernel", "placed"),
    [
        (bk.Gaussian(), bk.Gaussian(2.0, 3.0)),
        (bk.Gaussian(1.0, (1.0, 5.0)), bk.Gaussian(2.0, (3.0, 3.0))),
        (bk.Gaussian().fix("variance"), bk.Gaussian(1.0, 3.0).fix("variance")),
        (bk.Matern32().bounded(lengthscale=(0.1, 1.5)), bk.Matern32(2.0, 1.5).bounded(lengthscale=(0.1, 1.5))),
        (bk.RationalQuadratic(alpha=7.0), bk.RationalQuadratic(2.0, 3.0, 7.0)),
        (bk.Dirichlet(2), bk.Dirichlet(2, 2.0, 3.0)),
        (bk.Linear(), bk.Linear(0.5)),
        (bk.Polynomial(2, offset=3.0), bk.Polynomial(2, 0.08, 1.0)),
        (bk.MLP(offset=3.0), bk.MLP(2.0, 0.25, 3.0)),
        (bk.NeuralNetwork(bias_variance=3.0), bk.NeuralNetwork(2.0, 3.0, 1 / 9)),
        (bk.Constant(), bk.Constant(0.5)),
        (bk.Precomputed(), bk.Precomputed(2.0)),
        (3.0 * bk.Gaussian() + THEIRS, 3.0 * bk.Gaussian(2.0, 3.0) + THEIRS),
    ],
    ids=lambda k: type(k).__name__,
)
def test_a_start_at_a_scale(kernel, placed):
    found = kernel.at_scale(SCALE)
    assert found.names == placed.names
    np.testing.assert_allclose(found.free().theta, placed.free().theta, rtol=1e-14)
    np.testing.assert_array_equal(found.bounds, placed.bounds)


def test_relevance_is_summed_over_parts():
    k = bk.Gaussian(1.0, (0.5, 1.0, 2.0)) + bk.Linear((2.0, 3.0)).on([2, 0]) * bk.Constant()
    np.testing.assert_allclose(k.relevance(3), [4.0 + 3.0, 1.0, 0.25 + 2.0])
    assert (bk.Gaussian() + bk.Constant()).relevance(3) is None
    assert (bk.Gaussian().on([0]) + THEIRS).relevance(3) is None


def test_with_relevance_sets_what_is_free():
    k = bk.Gaussian(1.0, (0.5, 1.0, 2.0)) + bk.Linear((2.0, 3.0)).on([2, 0]) + bk.Matern32() + THEIRS
    set_to = k.with_relevance(0, 0.04)
    assert set_to.left.left.left.lengthscale == pytest.approx((5.0, 1.0, 2.0))
    assert set_to.left.left.right.kernel.variance == pytest.approx((2.0, 0.04))
    assert set_to.left.right == bk.Matern32()
    assert k.with_relevance(1, 0.04).left.left.right == k.left.left.right
    assert k.fix().with_relevance(0, 0.04) == k.fix()
