"""Evidence of a relevance vector machine, its derivatives, and the sequential search."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from bayesvm.exceptions import IncompatibleError
from bayesvm.hyper.rvm import RelevanceObjective, occam
from bayesvm.inference.rvm import GaussianRVM, LaplaceRVM, SequentialRVM, basis_cotangent
from bayesvm.inference.rvm.laplace import SPREAD
from bayesvm.kernels import Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import GaussianNoise, Hinge, Logistic, Probit, Weighted
from bayesvm.testing import five_point, relative_error


def data(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, size=(n, 2))
    f = np.sin(X[:, 0]) + 0.3 * X[:, 1]
    return X, f + 0.2 * rng.normal(size=n), np.where(f + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)


def basis_of(X, lengthscale=1.2):
    return np.column_stack([np.ones(len(X)), Gaussian(1.0, lengthscale).gram(X)])


ACTIVE = np.array([0, 3, 7, 12])
LOGS = np.array([0.3, -1.0, 0.5, 1.2])


def test_quadratic_evidence_is_the_density_of_the_targets():
    X, y, _ = data()
    basis, likelihood = basis_of(X), GaussianNoise(0.05)
    state = GaussianRVM(basis, y, likelihood).state(ACTIVE, LOGS, likelihood.theta)
    phi = basis[:, ACTIVE]
    C = phi @ np.diag(np.exp(-LOGS)) @ phi.T + 0.05 * np.eye(len(y))
    assert state.value == pytest.approx(multivariate_normal(np.zeros(len(y)), C).logpdf(y), abs=1e-9)


def test_quadratic_problem_is_the_general_one_for_gaussian_noise():
    X, y, _ = data()
    basis = basis_of(X)
    likelihood = Weighted(GaussianNoise(0.05), np.linspace(0.5, 2.0, len(y)))
    fast, slow = GaussianRVM(basis, y, likelihood), LaplaceRVM(basis, y, likelihood)
    a, b = (problem.state(ACTIVE, LOGS, likelihood.theta) for problem in (fast, slow))
    assert a.value == pytest.approx(b.value, abs=1e-9)
    np.testing.assert_allclose(a.v, b.v, atol=1e-9)
    np.testing.assert_allclose(a.gradient, b.gradient, atol=1e-8)
    for name in ("norm", "s", "q", "alignment"):
        np.testing.assert_allclose(getattr(fast.scores(a), name), getattr(slow.scores(b), name), rtol=1e-7, atol=1e-8)


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


def test_labels_that_can_be_separated_leave_the_precisions_finite():
    X, _, _ = data(60)
    labels = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    basis = basis_of(X)
    found = SequentialRVM().maximize(basis, labels, Logistic())
    assert found.status.ok
    assert np.all(found.precision * SPREAD**2 >= np.max(basis[:, found.active] ** 2, axis=0) * (1.0 - 1e-9))
    assert np.all(np.sign(basis[:, found.active] @ found.weights) == labels)


def test_evidence_of_the_kernel_has_the_right_gradient():
    X, y, labels = data(40)
    for likelihood, targets in ((GaussianNoise(0.01), y), (Logistic(), labels)):
        kernel = Gaussian(1.0, 1.3, ard=True).bind(2).fix("variance")
        objective = RelevanceObjective(kernel, likelihood, SequentialRVM(), Inputs(X), targets, True, 40)
        here = objective.evaluate(kernel.theta)

        def value(theta, objective=objective, latent=here.evidence.latent):
            return objective.evaluate(theta, latent).value

        assert relative_error(here.gradient, five_point(value, kernel.theta, step=1e-4)) < 1e-4


def test_occam_factors_count_subsets():
    assert occam(5, 0) == pytest.approx(np.log(6.0))
    assert occam(5, 2) - occam(5, 3) == pytest.approx(-(occam(5, 1) - occam(5, 0) - np.log(5.0)))


def test_losses_with_kinks_are_refused():
    with pytest.raises(IncompatibleError, match="Hinge"):
        SequentialRVM().maximize(np.eye(3), np.array([1.0, -1.0, 1.0]), Hinge())
