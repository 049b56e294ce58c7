"""What a kernel is without arguments, and where its parameters are searched: promises to users, written out again."""

import dataclasses
import inspect

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from bayesvm import kernels as bk
from bayesvm.kernels.sklearn_adapter import SklearnKernel
from bayesvm.parameters import Parameterized

VARIANCE, OFFSET, LENGTHSCALE = (1e-6, 1e6), (1e-5, 1e5), (1e-3, 1e4)
RADIAL = {"variance": VARIANCE, "lengthscale": LENGTHSCALE}
BOUNDS = {
    bk.Constant: {"variance": VARIANCE},
    bk.Linear: {"variance": VARIANCE},
    bk.Polynomial: {"variance": VARIANCE, "offset": OFFSET},
    bk.MLP: {"variance": VARIANCE, "scale": OFFSET, "offset": OFFSET},
    bk.NeuralNetwork: {"variance": VARIANCE, "bias_variance": VARIANCE, "weight_variance": VARIANCE},
    bk.Gaussian: RADIAL,
    bk.OrnsteinUhlenbeck: RADIAL,
    bk.Matern32: RADIAL,
    bk.Matern52: RADIAL,
    bk.RationalQuadratic: {**RADIAL, "alpha": LENGTHSCALE},
    bk.Laplacian: RADIAL,
    bk.BSpline: RADIAL,
    bk.Dirichlet: RADIAL,
    bk.Precomputed: {"variance": VARIANCE},
}
#: Fields that are chosen, not learnt.
CHOSEN = {
    bk.Polynomial: {"degree": 3},
    bk.BSpline: {"order": 3},
    bk.Dirichlet: {"order": 3},
    bk.Laplacian: {"power": 1},
}


def test_every_kernel_of_one_part_is_here():
    own = {c for c in vars(bk).values() if inspect.isclass(c) and issubclass(c, Parameterized)}
    assert {c for c in own if not inspect.isabstract(c)} == set(BOUNDS)


@pytest.mark.parametrize("cls", BOUNDS, ids=lambda cls: cls.__name__)
def test_values_and_bounds(cls):
    kernel = cls()
    assert {name: getattr(kernel, name) for name in kernel.positive} == dict.fromkeys(BOUNDS[cls], 1.0)
    assert dict(kernel.positive) == BOUNDS[cls]
    np.testing.assert_allclose(kernel.bounds, np.log(list(BOUNDS[cls].values())), rtol=1e-15)
    shared = {"limits", "ard", "features", "diagonal", *BOUNDS[cls]}
    left = {f.name: f.default for f in dataclasses.fields(kernel) if f.name not in shared}
    assert left == CHOSEN.get(cls, {})
    assert getattr(kernel, "ard", False) is False
    assert getattr(kernel, "features", None) is None
    assert getattr(kernel, "diagonal", None) is None


@pytest.mark.parametrize(
    ("kernel", "relevances"),
    [
        (bk.Gaussian(1.0, (0.5, 2.0)), [4.0, 0.25]),
        (bk.Laplacian(1.0, (0.5, 2.0)), [4.0, 0.25]),
        (bk.BSpline(3, 1.0, (0.5, 2.0)), [4.0, 0.25]),
        (bk.Linear((0.5, 2.0)), [0.5, 2.0]),
        (bk.NeuralNetwork(1.0, 1.0, (0.5, 2.0)), [0.5, 2.0]),
    ],
)
def test_relevances_are_precisions_or_variances_of_weights(kernel, relevances):
    np.testing.assert_allclose(kernel.relevance(2), relevances)


def test_kernels_of_which_nothing_is_known_are_not_called_positive():
    adapted = SklearnKernel(RBF())
    assert not any(kernel.always_positive for kernel in (adapted, bk.Precomputed(), bk.MLP()))
    assert not (adapted * bk.Gaussian()).always_positive
    known = [cls() for cls in BOUNDS if cls not in (bk.Precomputed, bk.MLP)]
    assert all(kernel.always_positive for kernel in known)
