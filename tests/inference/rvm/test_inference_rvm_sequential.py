"""The sequential search: its end, coinciding functions, rounding, refusals."""

import numpy as np
import pytest
from rvm_problems import ACTIVE, LOGS, basis_of, data
from scipy.stats import multivariate_normal

from bayesvm.exceptions import IncompatibleError, NotPositiveDefiniteError
from bayesvm.inference.rvm import GaussianRVM, LaplaceRVM, RVMStart, SequentialRVM
from bayesvm.inference.rvm import sequential as module
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


class OnePlace(GaussianRVM):
    """A problem of which a single state can be computed, as with priors wider than the digits of the inner products."""

    place = None

    def state(self, active, log_precision, phi, weights=None):
        here = (*active, *log_precision, *phi)
        if self.place not in (None, here):
            raise NotPositiveDefiniteError("elsewhere")
        self.place = here
        return super().state(active, log_precision, phi, weights)


def test_a_search_stays_where_nothing_else_can_be_computed():
    X, y, _ = data()
    noise = GaussianNoise(0.05).fix("variance")
    problem = OnePlace(basis_of(X), y, noise)
    begin = problem.state(ACTIVE, LOGS, noise.theta)
    state, status, rounds = SequentialRVM()._search(problem, begin)
    assert state is begin
    assert status is Status.CONVERGED
    assert rounds > 0  # additions were tried


def test_the_result_is_the_posterior_of_the_weights():
    X, y, _ = data()
    basis, start = basis_of(X), RVMStart(np.array([7, 0, 3]), np.zeros(3), np.log([0.04]))
    found = SequentialRVM().maximize(basis, y, GaussianNoise(0.01), start)
    assert np.all(np.diff(found.active) > 0)
    phi, noise = basis[:, found.active], found.likelihood.variance
    inverse = np.diag(found.precision) + phi.T @ phi / noise
    np.testing.assert_allclose(found.covariance, np.linalg.inv(inverse), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found.weights, np.linalg.solve(inverse, phi.T @ y) / noise, rtol=1e-8)
    C = noise * np.eye(40) + phi / found.precision @ phi.T
    assert found.log_evidence == pytest.approx(multivariate_normal(np.zeros(40), C).logpdf(y), abs=1e-8)
    # Tipping's fixed points: precisions from what is determined, the noise from what is left
    determined = 1.0 - found.precision * np.diagonal(found.covariance)
    np.testing.assert_allclose(found.precision, determined / found.weights**2, rtol=1e-6)
    assert noise == pytest.approx(np.sum((y - phi @ found.weights) ** 2) / (40.0 - determined.sum()), rel=1e-6)


def four_functions():
    """Return a problem, and its state with four functions."""
    X, y, _ = data()
    problem = GaussianRVM(basis_of(X), y, GaussianNoise(0.1))
    return problem, problem.state(ACTIVE, LOGS, np.log([0.1]))


def test_an_addition_is_promised_what_it_gains_at_the_best_precision():
    problem, state = four_functions()
    gain, precision = module._additions(problem, state)
    assert not np.any(gain[ACTIVE])
    assert np.all(np.isinf(precision[gain == 0.0]))
    assert np.count_nonzero(gain) > 5
    for j in np.flatnonzero(gain):
        near = np.log(precision[j]) + np.array([-0.1, 0.0, 0.1])
        values = [problem.state(np.append(ACTIVE, j), np.append(LOGS, z), state.phi).value for z in near]
        assert values[1] - state.value == pytest.approx(gain[j], abs=1e-9)
        assert values[1] > max(values[0], values[2])


def test_of_the_functions_that_promise_nothing_none_gains():
    problem, state = four_functions()
    gain, _ = module._additions(problem, state)
    for j in np.setdiff1d(np.flatnonzero(gain == 0.0), ACTIVE):
        for z in (-2.0, 0.0, 2.0, 4.0):
            assert problem.state(np.append(ACTIVE, j), np.append(LOGS, z), state.phi).value <= state.value + 1e-9


@pytest.mark.parametrize("noise", [False, True])
def test_one_re_estimation_is_a_step_of_the_fixed_point_iteration(noise):
    problem, state = four_functions()
    new = module._reestimated(problem, state, noise=noise)
    assert new.value > state.value
    phi = problem.basis[:, ACTIVE]
    covariance = np.linalg.inv(np.diag(np.exp(LOGS)) + phi.T @ phi / 0.1)
    mean = covariance @ phi.T @ problem.y / 0.1
    aim = np.log((1.0 - np.exp(LOGS) * np.diagonal(covariance)) / mean**2)
    np.testing.assert_allclose(new.log_precision, LOGS + np.clip(aim - LOGS, -module.LEAP, module.LEAP), rtol=1e-8)
    slope = state.gradient[-1] / 20.0
    np.testing.assert_allclose(new.phi, state.phi + (slope if noise else 0.0), rtol=1e-12)
    assert module._reestimated(problem, new, noise=noise).value >= new.value


def test_functions_without_use_are_deleted_where_that_costs_nothing():
    X, y, _ = data()
    likelihood = GaussianNoise(0.1)
    basis = np.column_stack([basis_of(X), np.where(np.arange(40) % 2, 1e-3, -1e-3)])
    problem = GaussianRVM(basis, y, likelihood)
    active = np.append(ACTIVE, 41)
    state = problem.state(active, np.append(LOGS, 0.0), likelihood.theta)
    smaller = module._pruned(problem, state)
    assert smaller.value >= state.value
    assert set(smaller.active) <= set(active.tolist())
    surplus = smaller.v**2 - np.diagonal(smaller.covariance) * (1.0 - np.diagonal(smaller.covariance))
    for k in range(smaller.active.size):
        keep = np.arange(smaller.active.size) != k
        fewer = problem.state(smaller.active[keep], smaller.log_precision[keep], smaller.phi)
        assert surplus[k] > 0.0 or fewer.value < smaller.value


@pytest.mark.parametrize(
    ("likelihood", "most"), [(GaussianNoise(0.01), 52), (Logistic(), 32)], ids=["gaussian", "logistic"]
)
def test_few_states_are_enough(likelihood, most, monkeypatch):
    X, y, labels = data(60)
    counted, state = [], module._state
    monkeypatch.setattr(module, "_state", lambda *args: counted.append(1) or state(*args))
    SequentialRVM().maximize(basis_of(X), y if likelihood.traits.quadratic else labels, likelihood)
    assert len(counted) <= most
