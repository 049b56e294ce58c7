"""The default hyperprior: normalisation, gradients, the formula of the common level, which parameter gets what."""

import numpy as np
import pytest
from scipy import stats

from bayesvm.hyper.default_prior import CommonLevel, default_hyperprior
from bayesvm.kernels import Constant, Gaussian, Linear, Matern52, RationalQuadratic
from bayesvm.likelihoods import GaussianNoise, Huber, Laplace, SoftInsensitive
from bayesvm.testing import five_point, relative_error


@pytest.mark.parametrize("k", [1, 2, 5])
def test_common_level_is_the_joint_gaussian(k):
    prior = CommonLevel(0.7, 1.5, 0.4)
    theta = np.random.default_rng(k).normal(size=k)
    covariance = 1.5**2 * np.ones((k, k)) + (0.4**2 * np.eye(k) if k > 1 else 0.0)
    value, gradient = prior.log_density(theta, ["x"] * k)
    expected = stats.multivariate_normal(np.full(k, 0.7), covariance).logpdf(theta)
    assert value == pytest.approx(expected, rel=1e-12)
    slopes = five_point(lambda t: prior.log_density(t, ["x"] * k)[0], theta)
    assert relative_error(gradient, slopes) < 1e-9


def test_a_common_shift_costs_less_than_differences():
    prior = CommonLevel(0.0, 1.5, 0.5)
    shifted = prior.log_density(np.full(6, 1.0), [""] * 6)[0]
    spread = prior.log_density(np.array([1.0, -1.0] * 3), [""] * 6)[0]
    assert shifted > spread + 5.0


def test_nothing_to_learn():
    value, gradient = CommonLevel().log_density(np.empty(0), ())
    assert value == 0.0
    assert gradient.shape == (0,)


@pytest.mark.parametrize(("common", "own"), [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0)])
def test_refuses_what_is_no_deviation(common, own):
    with pytest.raises(ValueError, match="common > 0 and own > 0"):
        CommonLevel(0.0, common, own)


KERNELS = [
    Gaussian() + Constant(),
    Gaussian(ard=True) + Linear() + Constant(),
    Gaussian(ard=True) + Linear(ard=True) + Constant(),
    Matern52(ard=True) * RationalQuadratic() + Constant(),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("likelihood", [None, GaussianNoise(), Laplace(), Huber(), SoftInsensitive()], ids=repr)
def test_every_parameter_has_a_proper_gaussian(kernel, likelihood):
    bound = kernel.bind(3)
    extra = () if likelihood is None else tuple(f"likelihood.{name}" for name in likelihood.names)
    names = (*bound.names, *extra)
    prior = default_hyperprior(np.sqrt(6.0), spread=None if likelihood is None else 1.0, strength=0.5)
    assert prior.proper(names)
    k = len(names)
    origin = prior.log_density(np.zeros(k), names)[1]
    precision = np.array([origin - prior.log_density(e, names)[1] for e in np.eye(k)])
    assert np.linalg.eigvalsh(precision).min() > 0.05
    mean = np.linalg.solve(precision, origin)
    peak = prior.log_density(mean, names)[0]
    normaliser = 0.5 * np.linalg.slogdet(precision)[1] - 0.5 * k * np.log(2.0 * np.pi)
    assert peak == pytest.approx(normaliser, abs=1e-9)


def test_means_follow_the_number_of_inputs():
    names = ("gaussian.variance", "gaussian.lengthscale", "linear.variance", "constant.variance")

    def mean(d):
        prior = default_hyperprior(np.sqrt(2.0 * d))
        origin = prior.log_density(np.zeros(4), names)[1]
        precision = np.array([origin - prior.log_density(e, names)[1] for e in np.eye(4)])
        return np.linalg.solve(precision, origin)

    assert mean(1) == pytest.approx([1.0, 0.0, 1.0, -2.0])
    assert mean(100) == pytest.approx([1.0, 0.5 * np.log(100), 1.0 - np.log(100), -2.0])
