"""Noise models as distributions: against quadrature, identities and simulation."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import bayesvm.likelihoods as lib
from bayesvm.likelihoods.convolution import half_width, log_tail
from bayesvm.likelihoods.mixture import efficiency, mean_density, mixture_density, rayleigh_density

MODELS = [
    lib.SoftInsensitive(10.0, 0.1, 0.3),
    lib.SoftInsensitive(3.0, 0.5, 1.0),
    lib.SoftInsensitive(200.0, 0.5, 0.05),
    lib.SmoothInsensitive(10.0, 0.1, 0.3),
    lib.SmoothInsensitive(2e3, 0.5, 0.9),
    lib.Huber(4.0, 0.3),
    lib.Laplace(3.0),
    lib.EpsilonInsensitive(5.0, 0.4),
    lib.GaussianNoise(0.3),
]
IDS = [f"{type(m).__name__}-{i}" for i, m in enumerate(MODELS)]
every_model = pytest.mark.parametrize("model", MODELS, ids=IDS)


NODES, WEIGHTS = np.polynomial.legendre.leggauss(30)


def integral(function, knots, low, high):
    """Integrate piece by piece, each piece in ten parts, by Gauss-Legendre rules."""
    ends = sorted({low, high, *(k for k in knots if low < k < high)})
    ends = np.concatenate([np.linspace(a, b, 11)[:-1] for a, b in itertools.pairwise(ends)] + [[high]])
    half, middle = 0.5 * np.diff(ends), 0.5 * (ends[1:] + ends[:-1])
    x = middle[:, None] + half[:, None] * NODES
    return float(np.sum(half[:, None] * WEIGHTS * function(x)))


@every_model
def test_distribution_function_is_the_integral_of_the_density(model):
    noise = model.distribution()
    for x in np.array([-3.0, -0.9, -0.3, 0.05, 0.4, 1.1, 2.5]) * noise.std():
        expected = 0.5 + np.sign(x) * integral(lambda t: noise.pdf(t), model.knots, min(0.0, x), max(0.0, x))
        assert noise.cdf(x) == pytest.approx(expected, abs=1e-11)
        assert noise.cdf(x) + noise.sf(x) == pytest.approx(1.0, abs=1e-15)


@every_model
def test_moments_and_entropy(model):
    noise = model.distribution()
    far, knots = 60.0 * noise.std(), [*model.knots, *(noise.std() * np.array([0.5, 1.0, 2.0, 4.0, 8.0, 16.0]))]
    second = 2.0 * integral(lambda t: t * t * noise.pdf(t), knots, 0.0, far)
    entropy = 2.0 * integral(lambda t: -noise.logpdf(t) * noise.pdf(t), knots, 0.0, far)
    assert noise.var() == pytest.approx(second, rel=1e-9)
    assert noise.std() == pytest.approx(np.sqrt(second), rel=1e-9)
    assert noise.entropy() == pytest.approx(entropy, rel=1e-9, abs=1e-10)
    assert (noise.mean(), noise.median()) == (0.0, 0.0)
    assert noise.support() == (-np.inf, np.inf)


@every_model
def test_what_a_likelihood_without_closed_forms_would_get(model):
    far = model.distribution().std() * np.array([0.0, 0.01, 0.3, 1.0, 3.0, 30.0])
    assert lib.Regression.noise_variance.fget(model) == pytest.approx(model.noise_variance, rel=1e-11)
    np.testing.assert_allclose(lib.Regression.log_survival(model, far), model.log_survival(far), rtol=1e-12)


@every_model
@settings(max_examples=30, deadline=None)
@given(q=st.floats(1e-12, 1.0 - 1e-12))
def test_quantiles_invert_the_distribution_function(model, q):
    noise = model.distribution()
    assert noise.cdf(noise.ppf(q)) == pytest.approx(q, rel=1e-9)
    assert noise.sf(noise.isf(q)) == pytest.approx(q, rel=1e-9)


@every_model
def test_quantiles_at_the_ends(model):
    noise = model.distribution()
    assert noise.ppf([0.0, 0.5, 1.0]).tolist() == [-np.inf, 0.0, np.inf]
    assert np.all(np.isnan(noise.ppf([-0.1, 1.1, np.nan])))
    assert noise.logsf(noise.isf(1e-250)) == pytest.approx(np.log(1e-250), rel=1e-9)
    low, high = noise.interval(0.9)
    assert low == -high
    assert noise.cdf(high) - noise.cdf(low) == pytest.approx(0.9)


@every_model
def test_random_numbers(model):
    noise = model.distribution()
    draws = noise.rvs((60, 50), random_state=3)
    assert draws.shape == (60, 50)
    assert np.array_equal(draws, noise.rvs((60, 50), random_state=3))
    assert stats.kstest(draws.ravel(), noise.cdf).pvalue > 1e-3
    assert np.isscalar(float(noise.rvs(random_state=0)))


@every_model
@pytest.mark.parametrize("scale", [1e-3, 1.0, 7.0])
def test_scale(model, scale):
    plain, scaled = model.distribution(), model.distribution(scale)
    x = np.linspace(-3.0, 3.0, 7) * plain.std()
    np.testing.assert_allclose(scaled.pdf(scale * x) * scale, plain.pdf(x), rtol=1e-12)
    np.testing.assert_allclose(scaled.cdf(scale * x), plain.cdf(x), rtol=1e-12)
    assert scaled.var() == pytest.approx(scale**2 * plain.var(), rel=1e-12)
    assert scaled.entropy() == pytest.approx(plain.entropy() + np.log(scale), rel=1e-9)


@pytest.mark.parametrize(
    "model", [lib.Laplace(2.0), lib.EpsilonInsensitive(2.0, 0.3), lib.Huber(), lib.GaussianNoise(0.4)]
)
def test_a_rescaled_model_is_that_of_rescaled_targets(model):
    np.testing.assert_allclose(model.rescaled(3.0).noise_variance, 9.0 * model.noise_variance, rtol=1e-12)
    loss, wider = (
        m.derivatives(np.array([0.7 * k]), np.zeros(1)).loss for m, k in ((model, 1.0), (model.rescaled(3.0), 3.0))
    )
    np.testing.assert_allclose(wider, loss + np.log(3.0), rtol=1e-12)


def test_rescaled_moves_bounds_that_were_set_and_keeps_what_is_fixed():
    model = lib.SoftInsensitive(10.0, 0.1).bounded(C=(1.0, 100.0)).fix("epsilon").rescaled(2.0)
    assert model.limits == {"C": (0.5, 50.0), "epsilon": None}
    assert (model.C, model.epsilon, model.beta) == (5.0, 0.2, 0.3)
    with pytest.raises(ValueError, match="positive scale"):
        model.rescaled(-1.0)


def test_soft_insensitive_noise_of_table_4_3():
    assert lib.SoftInsensitive(10.0, 0.1, 0.3).distribution().var() == pytest.approx(0.026785, abs=5e-7)


def test_gaussian_model_is_scipys():
    noise, reference = lib.GaussianNoise(0.25).distribution(), stats.norm(0.0, 0.5)
    x = np.linspace(-3.0, 3.0, 9)
    for name in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"):
        np.testing.assert_allclose(getattr(noise, name)(x), getattr(reference, name)(x), rtol=1e-12)
    np.testing.assert_allclose(noise.ppf([0.01, 0.3, 0.9]), reference.ppf([0.01, 0.3, 0.9]), rtol=1e-12)
    assert noise.entropy() == pytest.approx(reference.entropy())


# -- convolution with a Gaussian --------------------------------------------------------------------------------------


@every_model
@pytest.mark.parametrize("ratio", [1e-3, 0.3, 1.0, 30.0])
def test_tail_of_noise_plus_gaussian(model, ratio):
    noise = model.distribution()
    s = ratio * noise.std()
    for t in (0.0, 0.5 * s, 2.0 * noise.std(), 3.0 * s):
        knots = [*model.knots, *(t + s * k for k in range(-8, 9)), *(noise.std() * k for k in range(-6, 7))]
        expected = integral(lambda u, t=t: noise.sf(u) * stats.norm.pdf(u, t, s), knots, t - 9 * s, t + 9 * s)
        assert np.exp(log_tail(model, np.array([t]), np.array([s**2])))[0] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("var", [0.0, 1e-8, 0.3, 1e4])
def test_width_of_gaussian_noise_is_the_normal_quantile(var):
    found = half_width(lib.GaussianNoise(0.3), np.array([var]), 0.9)[0]
    assert found == pytest.approx(np.sqrt(0.3 + var) * stats.norm.ppf(0.95), rel=1e-10)


@every_model
def test_width_between_its_limits(model):
    noise = model.distribution()
    var = noise.var() * np.array([0.0, 1e-6, 1.0, 1e8])
    width = half_width(model, var, 0.95)
    assert width[0] == pytest.approx(noise.interval(0.95)[1], rel=1e-9)
    assert width[1] == pytest.approx(width[0], rel=1e-3)
    assert width[3] == pytest.approx(np.sqrt(var[3]) * stats.norm.ppf(0.975), rel=1e-6)
    np.testing.assert_allclose(np.exp(log_tail(model, width, var)), 0.025, rtol=1e-8)


# -- mixture and efficiency -------------------------------------------------------------------------------------------

MIXED = [lib.SoftInsensitive(10.0, 0.1, 0.3), lib.SoftInsensitive(3.0, 0.5, 0.05), lib.Huber(2.0, 0.5)]


def test_rayleigh_mixture_of_gaussians_is_laplacian():
    C = 3.0
    for delta in (0.05, 0.4, 2.0):
        mixed = integral(
            lambda s, d=delta: rayleigh_density(s, C) * stats.norm.pdf(d, 0.0, s), [0.05, 0.2, 1.0], 1e-6, 12.0
        )
        assert mixed == pytest.approx(float(lib.Laplace(C).distribution().pdf(delta)), rel=1e-6)
    assert float(rayleigh_density(-1.0, C)) == 0.0


@pytest.mark.parametrize("model", MIXED, ids=repr)
def test_mean_density_is_a_density(model):
    total = integral(lambda t: mean_density(t, model), model.knots, model.knots[0], model.knots[-1])
    assert total == pytest.approx(1.0, rel=1e-9)
    assert np.all(mean_density(np.linspace(-1.0, 1.0, 201) * 2.0 * model.knots[-1], model) >= 0.0)


@pytest.mark.parametrize("model", MIXED, ids=repr)
def test_mixture_is_the_noise(model):
    x = np.concatenate([np.linspace(-4.0, 4.0, 41) * model.epsilon, [-3.0, 5.0]])
    np.testing.assert_allclose(mixture_density(x, model), model.distribution().pdf(x), rtol=1e-11)


def test_efficiency_of_appendix_a():
    assert efficiency(lib.SoftInsensitive(1.0, 0.05, 0.3), lib.GaussianNoise(0.0025)) == pytest.approx(0.848, abs=5e-4)


@pytest.mark.parametrize("C", [0.1, 10.0, 500.0])
def test_efficiency_does_not_depend_on_c(C):
    reference = efficiency(lib.SoftInsensitive(1.0, 0.05, 0.3), lib.GaussianNoise(0.0025))
    assert efficiency(lib.SoftInsensitive(C, 0.05, 0.3), lib.GaussianNoise(0.0025)) == pytest.approx(reference)


def test_efficiency_of_known_pairs():
    assert efficiency(lib.Laplace(4.0), lib.GaussianNoise(1.0)) == pytest.approx(2.0 / np.pi)  # the median
    assert efficiency(lib.GaussianNoise(1.0), lib.GaussianNoise(4.0)) == pytest.approx(1.0)
    assert efficiency(lib.GaussianNoise(1.0), lib.Laplace(5.0)) == pytest.approx(0.5)  # the mean
    for model in (lib.SoftInsensitive(), lib.Huber(3.0, 0.2), lib.Laplace(2.0)):
        assert efficiency(model, model) == pytest.approx(1.0)
    soft = efficiency(lib.SoftInsensitive(1.0, 0.3, 1e-4), lib.Laplace(5.0))
    assert efficiency(lib.EpsilonInsensitive(1.0, 0.3), lib.Laplace(5.0)) == pytest.approx(soft, rel=1e-3)


def test_efficiency_by_simulation():
    rng = np.random.default_rng(0)
    loss = lib.SoftInsensitive(1.0, 0.05, 0.3)
    y = 0.05 * rng.standard_normal((2000, 200))
    mu = np.zeros(2000)
    for _ in range(25):  # gradient steps on the convex loss
        p = loss.profile(y - mu[:, None])
        mu = mu + np.clip(p.gradient.sum(axis=1) / np.maximum(p.curvature.sum(axis=1), 1e-12), -0.01, 0.01)
    assert 0.0025 / 200 / np.var(mu) == pytest.approx(0.848, abs=0.06)
