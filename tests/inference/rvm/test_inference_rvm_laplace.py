"""Laplace's evidence of the weights: first and second derivatives, labels that can be separated."""

import numpy as np
import pytest
from rvm_problems import ACTIVE, LOGS, basis_of, data

from bayesvm.inference.rvm import GaussianRVM, LaplaceRVM, SequentialRVM
from bayesvm.inference.rvm.laplace import SPREAD
from bayesvm.likelihoods import GaussianNoise, Logistic, Probit, RaisedCosine
from bayesvm.solvers import Status
from bayesvm.testing import five_point, relative_error


@pytest.mark.parametrize(
    "likelihood", [GaussianNoise(0.1), Logistic(), Probit()], ids=["gaussian", "logistic", "probit"]
)
def test_gradient_in_precisions_and_noise(likelihood):
    X, y, labels = data()
    targets = y if likelihood.traits.quadratic else labels
    make = GaussianRVM if likelihood.traits.quadratic else LaplaceRVM
    problem = make(basis_of(X), targets, likelihood)
    x = np.concatenate([LOGS, likelihood.theta])
    found = problem.state(ACTIVE, LOGS, likelihood.theta).gradient
    expected = five_point(lambda x: problem.state(ACTIVE, x[:4], x[4:]).value, x)
    assert relative_error(found, expected) < 1e-6
    state = problem.state(ACTIVE, LOGS, likelihood.theta)
    second = five_point(lambda x: problem.state(ACTIVE, x[:4], x[4:]).gradient, x, step=1e-3)
    assert relative_error(problem.hessian(state), second) < 1e-6


def test_labels_that_can_be_separated_leave_the_precisions_finite():
    X, _, _ = data(60)
    labels = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    basis = basis_of(X)
    found = SequentialRVM().maximize(basis, labels, Logistic())
    assert found.status.ok
    assert np.all(found.precision * SPREAD**2 >= np.max(basis[:, found.active] ** 2, axis=0) * (1.0 - 1e-9))
    assert np.all(np.sign(basis[:, found.active] @ found.weights) == labels)


@pytest.mark.parametrize("size", [1e3, -1e3])
@pytest.mark.parametrize("likelihood", [RaisedCosine(), Logistic()], ids=["infinite there", "finite there"])
def test_where_newton_begins_does_not_matter(likelihood, size):
    X, _, labels = data()
    problem = LaplaceRVM(basis_of(X), labels, likelihood)
    cold = problem.state(ACTIVE, LOGS, likelihood.theta)
    warm = problem.state(ACTIVE, LOGS, likelihood.theta, size * cold.weights)
    assert cold.status is warm.status is Status.CONVERGED
    np.testing.assert_allclose(warm.v, cold.v, atol=1e-10)


def test_how_newton_ends_is_in_the_state():
    X, _, labels = data()
    endings = [
        LaplaceRVM(basis_of(X), labels, Logistic(), **options).state(ACTIVE, LOGS, np.empty(0)).status
        for options in ({}, {"max_iter": 2})
    ]
    assert endings == [Status.CONVERGED, Status.MAX_ITER]
