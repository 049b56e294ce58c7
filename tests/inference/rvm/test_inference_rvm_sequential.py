"""The sequential search: its end, coinciding functions, rounding, refusals."""

import numpy as np
import pytest
from rvm_problems import basis_of, data

from bayesvm.exceptions import IncompatibleError
from bayesvm.inference.rvm import GaussianRVM, LaplaceRVM, SequentialRVM
from bayesvm.likelihoods import GaussianNoise, Hinge, Logistic


@pytest.mark.parametrize("likelihood", [GaussianNoise(0.01), Logistic()], ids=["gaussian", "logistic"])
def test_search_ends_at_an_optimum(likelihood):
    X, y, labels = data(60)
    targets = y if likelihood.traits.quadratic else labels
    basis = basis_of(X)
    found = SequentialRVM().maximize(basis, targets, likelihood)
    assert found.status.ok
    assert 0 < found.active.size < 20
    problem = (GaussianRVM if likelihood.traits.quadratic else LaplaceRVM)(basis, targets, found.likelihood)
    state = problem.state(found.active, np.log(found.precision), found.likelihood.theta)
    assert np.max(np.abs(state.gradient)) < 1e-5
    assert state.value == pytest.approx(found.log_evidence, abs=1e-8)


def test_coinciding_functions_do_no_harm():
    X, y, labels = data(50)
    for likelihood, targets in ((GaussianNoise(0.01), y), (Logistic(), labels)):
        basis = basis_of(X)
        plain = SequentialRVM().maximize(basis, targets, likelihood)
        doubled = SequentialRVM().maximize(np.column_stack([basis, basis]), targets, likelihood)
        assert doubled.status.ok
        assert doubled.log_evidence == pytest.approx(plain.log_evidence, abs=1e-6)
        assert doubled.active.size == plain.active.size


def test_nearly_coinciding_functions_do_no_harm():
    X, y, _ = data(50)
    basis = basis_of(X)
    shaken = basis * (1.0 + 1e-9 * np.random.default_rng(0).normal(size=basis.shape))
    found = SequentialRVM().maximize(np.column_stack([basis, shaken]), y, GaussianNoise(0.01))
    assert found.status.ok
    assert np.all(np.isfinite(found.covariance))


@pytest.mark.parametrize("likelihood", [GaussianNoise(0.01), Logistic()], ids=["gaussian", "logistic"])
def test_rounding_errors_do_not_decide(likelihood):
    X, y, labels = data(60)
    targets = y if likelihood.traits.quadratic else labels
    basis = basis_of(X)
    shaken = basis * (1.0 + 1e-14 * np.random.default_rng(0).normal(size=basis.shape))
    a, b = (SequentialRVM().maximize(phi, targets, likelihood) for phi in (basis, shaken))
    np.testing.assert_array_equal(a.active, b.active)
    np.testing.assert_allclose(basis[:, a.active] @ a.weights, shaken[:, b.active] @ b.weights, atol=1e-8)


def test_targets_without_noise():
    X, _, _ = data(40)
    found = SequentialRVM().maximize(basis_of(X, 3.0), X[:, 0], GaussianNoise(0.01))
    assert found.log_evidence > 40.0
    assert np.all(np.isfinite(found.covariance))


def test_losses_with_kinks_are_refused():
    with pytest.raises(IncompatibleError, match="Hinge"):
        SequentialRVM().maximize(np.eye(3), np.array([1.0, -1.0, 1.0]), Hinge())
