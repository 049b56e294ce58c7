"""Hyperpriors: gradients, normalisation, names."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from bayesvm.hyper import ByName, Flat, Hyperprior, LogNormal, RelevanceGamma, RelevanceShares, thesis_prior
from bayesvm.kernels import Constant, Gaussian, Linear
from bayesvm.testing import five_point, relative_error

NAMES = ("gaussian.variance", "gaussian.lengthscale[0]", "gaussian.lengthscale[1]", "constant.variance", "likelihood.C")
PRIORS = [
    Flat(),
    LogNormal(),
    LogNormal(-3.0, 0.4),
    RelevanceGamma(),
    RelevanceGamma(0.1, 3.0),
    RelevanceShares(),
    RelevanceShares(0.25),
    ByName({"*lengthscale*": RelevanceGamma(2.0), "likelihood.*": LogNormal(1.0, 0.2)}),
    thesis_prior(),
    thesis_prior(0.1),
]


def subclasses(cls):
    for child in cls.__subclasses__():
        yield child
        yield from subclasses(child)


def test_no_prior_is_forgotten():
    library = {c for c in subclasses(Hyperprior) if c.__module__ == "bayesvm.hyper.priors"}
    assert library == {type(p) for p in PRIORS}


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
@pytest.mark.parametrize("seed", [0, 1])
def test_gradient(prior, seed):
    theta = np.random.default_rng(seed).normal(size=5)
    before = theta.copy()
    value, gradient = prior.log_density(theta, NAMES)
    assert isinstance(value, float)
    slopes = five_point(lambda t: prior.log_density(t, NAMES)[0], theta)
    assert relative_error(gradient, slopes) < 1e-9
    assert np.array_equal(theta, before)


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_nothing_to_learn(prior):
    value, gradient = prior.log_density(np.empty(0), ())
    assert value == 0.0
    assert gradient.shape == (0,)


@pytest.mark.parametrize(
    "prior", [p for p in PRIORS if isinstance(p, LogNormal | RelevanceGamma)] + [RelevanceGamma(6.0, 0.2)], ids=repr
)
def test_integrates_to_one_over_theta(prior):
    def density(t):
        return np.exp(prior.log_density(np.array([t]), ("x",))[0])

    total = sum(quad(density, a, a + 5.0, epsabs=1e-13)[0] for a in np.arange(-100.0, 400.0, 5.0))
    np.testing.assert_allclose(total, 1.0, rtol=1e-9)


def test_several_entries_are_independent_for_the_log_normal():
    theta = np.array([0.3, -2.0])
    value, _ = LogNormal(0.5, 1.5).log_density(theta, ("a", "b"))
    np.testing.assert_allclose(value, stats.norm(0.5, 1.5).logpdf(theta).sum(), rtol=1e-13)


@pytest.mark.parametrize("d", [1, 3])
def test_relevance_gamma_is_thesis_3_71(d):
    """The density of each ln kappa, kappa ~ Gamma(a/2, rate a/(2 mu d^(2/a))), with |d ln kappa / d ln l| = 2."""
    prior, theta = RelevanceGamma(1.7, 0.6), np.linspace(-0.7, 0.9, d)
    kappa = np.exp(-2.0 * theta)
    gamma = stats.gamma(0.85, scale=1.0 / (1.7 / (2.0 * 0.6 * d ** (2.0 / 1.7))))
    expected = np.sum(gamma.logpdf(kappa) + np.log(kappa) + np.log(2.0))
    np.testing.assert_allclose(prior.log_density(theta, ("l",) * d)[0], expected, rtol=1e-12)


def test_relevance_shares_are_a_dirichlet_distribution_up_to_the_common_scale():
    theta, shift = np.array([0.3, -0.4, 1.1]), 0.7
    shares = np.exp(-2.0 * theta) / np.sum(np.exp(-2.0 * theta))
    dirichlet, even = stats.dirichlet([0.6] * 3), np.full(3, 1.0 / 3.0)
    # the density of the logarithms of the shares has the Jacobian prod(shares)
    expected = dirichlet.logpdf(shares) + np.sum(np.log(shares)) - dirichlet.logpdf(even) - np.sum(np.log(even))
    prior = RelevanceShares(0.6)
    np.testing.assert_allclose(prior.log_density(theta, ("l",) * 3)[0], expected, rtol=1e-12)
    np.testing.assert_allclose(prior.log_density(theta + shift, ("l",) * 3)[0], expected, rtol=1e-12)
    value, gradient = prior.log_density(np.full(3, shift), ("l",) * 3)
    np.testing.assert_allclose([value, *gradient], 0.0, atol=1e-14)


def test_rules_by_name():
    theta = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    rules = {"gaussian.lengthscale[1]": LogNormal(1.0), "*lengthscale*": LogNormal(2.0), "constant.*": LogNormal(3.0)}
    value, gradient = ByName(rules).log_density(theta, NAMES)
    np.testing.assert_allclose(gradient, [0.0, 2.0 - 0.2, 1.0 - 0.3, 3.0 - 0.4, 0.0])
    expected = sum(LogNormal(m).log_density(theta[[i]], NAMES)[0] for m, i in ((2.0, 1), (1.0, 2), (3.0, 3)))
    np.testing.assert_allclose(value, expected)


def test_entries_of_one_rule_are_passed_together():
    theta = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    value, _ = ByName({"*lengthscale*": RelevanceGamma()}).log_density(theta, NAMES)
    np.testing.assert_allclose(value, RelevanceGamma().log_density(theta[1:3], NAMES[1:3])[0])


def test_patterns_are_case_sensitive_and_need_not_fit():
    value, gradient = ByName({"Gaussian.*": LogNormal()}).log_density(np.ones(5), NAMES)
    assert value == 0.0
    assert not gradient.any()


def test_thesis_prior_reaches_every_part_of_the_kernel():
    kernel = (Gaussian(ard=True) + Linear() + Constant()).bind(3)
    names = (*kernel.names, "likelihood.variance")
    theta = np.linspace(-1.0, 1.0, len(names))
    value, gradient = thesis_prior().log_density(theta, names)
    at = dict(zip(names, theta))
    lengths = np.array([t for name, t in at.items() if "lengthscale" in name])
    assert lengths.size == 3
    expected = (
        stats.norm(-1.0, 1.0).logpdf(at["gaussian.variance"])
        + stats.norm(-3.0, 3.0).logpdf(at["constant.variance"])
        + stats.norm(-3.0, 3.0).logpdf(at["linear.variance"])
        + RelevanceGamma().log_density(lengths, ())[0]
    )
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    assert gradient[-1] == 0.0  # the thesis states none for the noise


def test_thesis_prior_for_a_single_kernel():
    kernel = Gaussian(ard=True).bind(2)
    value, _ = thesis_prior().log_density(kernel.theta, kernel.names)
    expected = stats.norm(-1.0, 1.0).logpdf(0.0) + RelevanceGamma().log_density(np.zeros(2), ())[0]
    np.testing.assert_allclose(value, expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LogNormal(0.0, 0.0), "LogNormal: expected std > 0, found 0.0"),
        (lambda: LogNormal(0.0, np.nan), "LogNormal: expected std > 0, found nan"),
        (lambda: RelevanceGamma(-1.0), r"RelevanceGamma: expected shape > 0 and mean > 0, found -1.0 and 1.0"),
        (lambda: RelevanceShares(0.0), r"RelevanceShares: expected concentration > 0, found 0.0"),
        (lambda: RelevanceGamma(1.0, 0.0), r"RelevanceGamma: expected shape > 0 and mean > 0, found 1.0 and 0.0"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_which_densities_are_proper():
    names = ("gaussian.variance", "gaussian.lengthscale[0]", "likelihood.C")
    assert LogNormal().proper(names)
    assert RelevanceGamma().proper(names)
    assert not Flat().proper(names)
    assert not RelevanceShares().proper(names)
    assert not ByName({"*lengthscale*": LogNormal()}).proper(names)
    assert ByName({"*lengthscale*": LogNormal()}).proper(names[1:2])
    assert ByName({"*lengthscale*": RelevanceGamma(), "*": LogNormal()}).proper(names)
    assert not ByName({"*lengthscale*": RelevanceShares(), "*": LogNormal()}).proper(names)
    assert thesis_prior().proper(names[:2])
    assert not thesis_prior().proper(names)
