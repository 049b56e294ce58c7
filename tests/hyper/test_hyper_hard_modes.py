"""Points whose mode takes longer than one run of the solver."""

import dataclasses

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm.hyper import EvidenceObjective, Maximizer
from bayesvm.hyper.multistart import evaluate_point
from bayesvm.inference import Laplace
from bayesvm.kernels import Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.solvers import Newton


def objective(max_iter):
    """Targets with hardly any noise under a narrow zone: each Newton step moves few rows into their zones."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.sin(2.0 * X[:, 0]) * X[:, 1] + 1e-3 * rng.normal(size=60)
    return EvidenceObjective(
        Gaussian(), lib.SmoothInsensitive(200.0, 1e-2, 0.3), Laplace(Newton(max_iter=max_iter)), Inputs(X), y
    )


def needed():
    full = objective(1000)
    return full, full.evaluate(full.theta0)


@pytest.mark.parametrize("warm", [False, True])
def test_the_solver_goes_on_where_it_stopped(warm):
    full, found = needed()
    n_iter = found.evidence.n_iter
    assert n_iter >= 10
    latent = np.zeros_like(full.y) if warm else None
    point = evaluate_point(objective(n_iter - 3), full.theta0, latent)
    assert point.value == pytest.approx(found.value, rel=1e-8)
    assert not point.problem


def test_a_value_far_from_the_mode_does_not_count():
    point = evaluate_point(objective(2), objective(2).theta0, None)
    assert point.value == -np.inf
    assert point.problem


def test_a_search_begins_at_a_hard_point_with_a_latent_of_another():
    full, found = needed()
    short = Maximizer(max_evaluations=1)
    there = dataclasses.replace(full, inference=Laplace(Newton(max_iter=found.evidence.n_iter - 3)))
    maximum = short.maximize(there, [full.theta0], latent=np.zeros_like(full.y))
    assert maximum.value == pytest.approx(found.value, rel=1e-8)
