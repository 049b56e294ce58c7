"""What a likelihood is without arguments, where it is searched, and what it claims: promises to users, written out."""

import dataclasses

import numpy as np
import pytest
from likelihood_instances import concrete_subclasses

import bayesvm.likelihoods as lib
from bayesvm.likelihoods.normal_tails import hazard, log_exponential_tail, log_interval, log_ndtr

WIDE = {"C": (10.0, 1e-2, 1e5), "epsilon": (0.1, 1e-4, 1e1)}
#: Value, least and largest value of each parameter that is learnt.
PARAMETERS = {
    lib.Trigonometric: {},
    lib.RaisedCosine: {},
    lib.Logistic: {},
    lib.Probit: {},
    lib.Hinge: {"C": (1.0, 1e-3, 1e6)},
    lib.NormalizedHinge: {"C": (1.0, 1e-2, 1e3)},
    lib.SoftInsensitive: WIDE,
    lib.SmoothInsensitive: WIDE,
    lib.Huber: WIDE,
    lib.EpsilonInsensitive: WIDE,
    lib.Laplace: {"C": (10.0, 1e-2, 1e5)},
    lib.GaussianNoise: {"variance": (0.1, 1e-8, 1e4)},
}
#: smoothness, convex, normalized, sparse, quadratic, levels_off
TRAITS = {
    lib.Trigonometric: (1, True, True, True, False, True),
    lib.RaisedCosine: (2, True, True, True, False, True),
    lib.Logistic: (3, True, True, False, False, True),
    lib.Probit: (3, True, True, False, False, True),
    lib.Hinge: (0, True, False, True, False, False),
    lib.NormalizedHinge: (0, False, True, False, False, False),
    lib.SoftInsensitive: (1, True, True, True, False, False),
    lib.SmoothInsensitive: (2, True, True, True, False, False),
    lib.Huber: (1, True, True, False, False, False),
    lib.EpsilonInsensitive: (0, True, True, True, False, False),
    lib.Laplace: (0, True, True, False, False, False),
    lib.GaussianNoise: (3, True, True, False, True, False),
}
each = pytest.mark.parametrize("cls", PARAMETERS, ids=lambda cls: cls.__name__)


def test_every_likelihood_is_here():
    assert concrete_subclasses(lib.Likelihood) - {lib.Weighted} == set(PARAMETERS) == set(TRAITS)


@each
def test_values_and_bounds(cls):
    likelihood = cls()
    found = {name: (getattr(likelihood, name), *bounds) for name, bounds in likelihood.positive.items()}
    assert found == PARAMETERS[cls]
    assert getattr(likelihood, "beta", None) in (None, 1.0 if cls is lib.Huber else 0.3)
    assert getattr(likelihood, "epsilon", 0.1) == (0.0 if cls is lib.Laplace else 0.1)


@each
def test_traits(cls):
    likelihood = cls()
    assert dataclasses.astuple(likelihood.traits) == TRAITS[cls]
    grid = np.linspace(-3.0, 3.0, 601)
    grid = grid[(grid > likelihood.domain[0]) & (np.abs(grid[:, None] - np.array(likelihood.knots)).min(axis=1) > 1e-6)]
    profile = likelihood.profile(grid)
    bent = np.abs(profile.curvature) > 0.0
    assert likelihood.traits.quadratic == (bent.all() and np.ptp(profile.curvature) == 0.0)
    assert likelihood.traits.sparse == np.any((profile.gradient == 0.0) & ~bent)


@pytest.mark.parametrize(
    "likelihood", [lib.Trigonometric(), lib.RaisedCosine(), lib.Logistic(), lib.Probit(), lib.NormalizedHinge()]
)
def test_the_bound_of_the_odds_holds_for_all_smaller_variances(likelihood):
    mean, var = np.meshgrid(np.linspace(-6.0, 6.0, 41), np.geomspace(1e-3, 1e3, 25))
    mean, var = mean.ravel(), var.ravel()
    bound = likelihood.least_log_odds(mean, var)
    assert np.any(bound > 0.5) == likelihood.traits.levels_off
    assert np.all(bound >= 0.0)
    for share in (1.0, 0.3, 0.01):
        assert np.all(bound <= np.abs(likelihood.log_odds(mean, share * var)) + 1e-9)


@pytest.mark.parametrize(("mean", "level"), [(1.5, 1.0), (-1.5, 1.0), (5.0, 2.0), (-0.7, 0.5), (0.4, 0.0), (0.0, 0.0)])
def test_without_variance_the_bound_is_the_odds_at_the_next_level_below(mean, level):
    found = lib.Logistic().least_log_odds(np.array([mean]), np.array([1e-6]))
    np.testing.assert_allclose(found, level, atol=1e-12)


# -- tails of the normal distribution ---------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [(6, 1), (2, 3), (1, 2, 3), ()])
def test_functions_of_normal_tails_take_arrays_of_any_shape(shape):
    size = int(np.prod(shape))
    a = np.linspace(-0.2, 9.0, size).reshape(shape)
    half = np.linspace(0.3, 0.01, size).reshape(shape)
    for function in (lambda x, h: log_interval(x, h), lambda x, h: log_exponential_tail(x, h)):
        found = function(a, half)
        alone = [function(x[None], h[None])[0] for x, h in zip(a.ravel(), half.ravel(), strict=True)]
        assert found.shape == shape
        np.testing.assert_array_equal(found.ravel(), alone)
    for function in (hazard, log_ndtr):
        assert function(a).shape == shape
