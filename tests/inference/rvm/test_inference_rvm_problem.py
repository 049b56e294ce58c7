"""Scores of additions, and the derivative in the basis functions."""

import numpy as np
import pytest
from rvm_problems import ACTIVE, LOGS, basis_of, data

from bayesvm.inference.rvm import GaussianRVM, LaplaceRVM, basis_cotangent
from bayesvm.likelihoods import GaussianNoise, Logistic
from bayesvm.testing import five_point, relative_error


@pytest.mark.parametrize("likelihood", [GaussianNoise(0.1), Logistic()], ids=["gaussian", "logistic"])
def test_gradient_in_the_basis_functions(likelihood):
    X, y, labels = data(15)
    targets = y if likelihood.traits.quadratic else labels
    make = GaussianRVM if likelihood.traits.quadratic else LaplaceRVM
    basis = basis_of(X)

    def value(column):
        changed = basis.copy()
        changed[:, 3] = column
        return make(changed, targets, likelihood).state(ACTIVE, LOGS, likelihood.theta).value

    problem = make(basis, targets, likelihood)
    cotangent = basis_cotangent(problem, problem.state(ACTIVE, LOGS, likelihood.theta))
    assert relative_error(cotangent[:, 1], five_point(value, basis[:, 3])) < 1e-6


def test_scores_give_the_exact_gain_of_an_addition():
    X, y, _ = data()
    likelihood = GaussianNoise(0.1)
    problem = GaussianRVM(basis_of(X), y, likelihood)
    state = problem.state(ACTIVE, LOGS, likelihood.theta)
    found, j = problem.scores(state), 20
    for log_precision in (-2.0, 0.0, 3.0):
        a, s, q = np.exp(log_precision), found.s[j], found.q[j]
        grown = problem.state(np.append(ACTIVE, j), np.append(LOGS, log_precision), likelihood.theta)
        gain = 0.5 * (np.log(a / (a + s)) + q * q / (a + s))
        assert grown.value - state.value == pytest.approx(gain, abs=1e-9)
