"""Modes that are approached by splitting: the same evidence, with fewer factorisations, where that helps."""

import dataclasses

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm.hyper import EvidenceObjective
from bayesvm.hyper.approached import ApproachedObjective, far_from_modes
from bayesvm.hyper.low_rank import with_low_rank
from bayesvm.inference import EP, Laplace
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.solvers import SMO


def problem(likelihood, n=200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_t(3, size=n)
    return EvidenceObjective(Gaussian(2.0) + Constant(), likelihood, Laplace(), Inputs(X), y / y.std())


@pytest.mark.parametrize("likelihood", [lib.SoftInsensitive(), lib.SoftInsensitive(beta=1.0)], ids=repr)
def test_the_evidence_is_the_same_and_takes_fewer_factorisations(likelihood):
    plain = problem(likelihood)
    near = far_from_modes(plain)
    assert isinstance(near, ApproachedObjective)
    latent = plain.evaluate(plain.theta0).evidence.latent
    theta = plain.theta0 + 0.8 * np.random.default_rng(1).normal(size=plain.theta0.size)
    expected, found = (objective.evaluate(theta, latent) for objective in (plain, near))
    assert found.value == pytest.approx(expected.value, abs=1e-7)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-6, atol=1e-6)
    assert 1 < found.evidence.n_iter < expected.evidence.n_iter


def test_a_cold_start_is_that_of_newton():
    plain = problem(lib.SoftInsensitive())
    both = [objective.evaluate(plain.theta0).evidence.n_iter for objective in (plain, far_from_modes(plain))]
    assert both[0] == both[1]


def test_parts_of_the_rows_are_approached_too():
    assert isinstance(far_from_modes(problem(lib.SoftInsensitive())).part(np.arange(100)), ApproachedObjective)


@pytest.mark.parametrize(
    "objective",
    [
        problem(lib.GaussianNoise()),
        problem(lib.Weighted(lib.SoftInsensitive(), np.linspace(0.5, 2.0, 200))),
        dataclasses.replace(problem(lib.SoftInsensitive()), inference=EP()),
        dataclasses.replace(problem(lib.SoftInsensitive()), inference=Laplace(SMO())),
        dataclasses.replace(problem(lib.SoftInsensitive()), y=np.ones((200, 2))),
    ],
    ids=["Gaussian noise", "weights", "EP", "SMO", "two outputs"],
)
def test_where_it_is_not_known_to_help_nothing_changes(objective):
    assert far_from_modes(objective) is objective


def test_a_low_rank_stays():
    plain = problem(lib.SoftInsensitive(), 300)
    line = dataclasses.replace(plain, X=Inputs(np.linspace(-3.0, 3.0, 300)[:, None]))
    low = with_low_rank(line, [line.theta0])
    assert low is not line
    assert far_from_modes(low) is low
