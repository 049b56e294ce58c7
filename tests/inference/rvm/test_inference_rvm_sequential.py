"""The sequential search: its end, coinciding functions, rounding, refusals."""

import numpy as np
import pytest
from rvm_problems import basis_of, data

from bayesvm.exceptions import IncompatibleError
from bayesvm.inference.rvm import GaussianRVM, LaplaceRVM, RVMStart, SequentialRVM
from bayesvm.likelihoods import GaussianNoise, Hinge, Logistic
from bayesvm.solvers import Status


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


@pytest.mark.parametrize("likelihood", [GaussianNoise(0.01), Logistic()], ids=["gaussian", "logistic"])
def test_a_search_from_an_optimum_stays_there(likelihood):
    X, y, labels = data()
    basis, targets = basis_of(X), y if likelihood.traits.quadratic else labels
    found = SequentialRVM().maximize(basis, targets, likelihood)
    again = SequentialRVM().maximize(basis, targets, likelihood, found.start)
    assert found.n_iter > again.n_iter == 0
    assert again.status is Status.CONVERGED
    np.testing.assert_array_equal(again.active, found.active)
    assert again.log_evidence == pytest.approx(found.log_evidence, abs=1e-9)


def test_running_out_of_additions_is_reported():
    X, y, _ = data()
    found = SequentialRVM(max_iter=2).maximize(basis_of(X), y, GaussianNoise(0.01))
    assert (found.status, found.n_iter, found.active.size) == (Status.MAX_ITER, 2, 2)


@pytest.mark.parametrize("likelihood", [GaussianNoise(1.0), Logistic()], ids=["gaussian", "logistic"])
def test_functions_that_explain_nothing_are_all_deleted(likelihood):
    targets = np.tile([1.0, -1.0], 20)
    useless = np.column_stack([np.ones(40), np.repeat([1.0, -1.0], 20)])  # orthogonal to the targets
    start = RVMStart(np.array([0, 1]), np.array([-2.0, 0.0]), likelihood.theta)
    found = SequentialRVM().maximize(useless, targets, likelihood, start)
    assert found.status is Status.CONVERGED
    assert found.active.size == 0
    without = likelihood.with_theta(found.likelihood.theta).derivatives(targets, np.zeros(40)).loss.sum()
    assert found.log_evidence == pytest.approx(-without, rel=1e-12)
