"""The free energy of Gaussians: dense formulas, stationary points, Newton steps."""

import numpy as np
import pytest
from likelihood_instances import IDS, INSTANCES

from bayesvm.inference import free_energy
from bayesvm.inference.free_energy import VariationalGaussian
from bayesvm.likelihoods import Logistic, NormalizedHinge
from bayesvm.linalg.krylov import minimal_residual
from bayesvm.testing import five_point, relative_error
from bayesvm.testing.solvers import problem

FINITE = [(i, x) for i, x in zip(IDS, INSTANCES) if not np.isfinite(x.domain[0])]
ONE_EACH = list({type(x): x for _, x in reversed(FINITE)}.values())
each = pytest.mark.parametrize("likelihood", ONE_EACH, ids=lambda x: type(x).__name__)


@each
def test_moved_expectations_are_those_of_the_new_marginals(likelihood):
    rng = np.random.default_rng(0)
    mean, var = 3.0 * rng.normal(size=50), np.exp(rng.normal(size=50))
    y = np.where(rng.normal(size=50) > 0.0, 1.0, -1.0)
    before = likelihood.expected(y, mean, var)
    errors = []
    for h in (1e-2, 1e-3):
        shift, change = h * np.sqrt(var) * rng.uniform(-1.0, 1.0, 50), h * var * rng.uniform(-1.0, 1.0, 50)
        moved, exact = before.moved(shift, change), likelihood.expected(y, mean + shift, var + change)
        names = ("loss", "gradient", "curvature")
        errors.append([np.max(np.abs(getattr(moved, name) - getattr(exact, name))) for name in names])
    assert np.all(np.array(errors[1]) <= np.maximum(0.05 * np.array(errors[0]), 1e-9))


def some_gaussian(likelihood, n=12, negative=False, seed=2):
    """Return a well conditioned problem and natural parameters that are far from the optimum."""
    K, y = problem(likelihood, n=n)
    rng = np.random.default_rng(seed)
    D, nu = rng.uniform(0.05, 1.0, size=n), rng.normal(size=n)
    if negative:
        D[::4] = -0.03
    else:
        D[::5] = 0.0
    return K + 0.3 * np.eye(n), y, np.stack([D, nu])


@pytest.mark.parametrize("negative", [False, True])
def test_energy_is_the_expected_loss_plus_the_divergence(negative):
    likelihood = NormalizedHinge(1.5)
    K, y, natural = some_gaussian(likelihood, negative=negative)
    q = VariationalGaussian.of(K, y, likelihood, natural)
    V = np.linalg.inv(np.linalg.inv(K) + np.diag(natural[0]))
    m = V @ natural[1]
    divergence = np.trace(np.linalg.solve(K, V)) + m @ np.linalg.solve(K, m) - 12.0
    divergence += np.linalg.slogdet(K)[1] - np.linalg.slogdet(V)[1]
    expected = likelihood.expected(y, m, np.diagonal(V))
    np.testing.assert_allclose(q.mean, m, atol=1e-9)
    np.testing.assert_allclose(q.var, np.diagonal(V), rtol=1e-9)
    assert q.energy == pytest.approx(float(np.sum(expected.loss)) + 0.5 * divergence, abs=1e-8)


def test_expected_loss_against_sampling():
    likelihood = Logistic()
    K, y, natural = some_gaussian(likelihood, n=4)
    q = VariationalGaussian.of(K, y, likelihood, natural)
    V = np.linalg.inv(np.linalg.inv(K) + np.diag(natural[0]))
    f = q.mean[:, None] + np.linalg.cholesky(V) @ np.random.default_rng(0).standard_normal((4, 400_000))
    losses = np.sum(np.logaddexp(0.0, -y[:, None] * f), axis=0)
    assert abs(-q.terms["loss"] - losses.mean()) < 4.0 * losses.std() / np.sqrt(losses.size)


@pytest.mark.parametrize("likelihood", [Logistic(), NormalizedHinge(1.5)], ids=lambda x: type(x).__name__)
def test_the_residual_is_that_of_the_slope_of_the_energy(likelihood):
    """In the mean and the precisions the energy has the slopes alpha + E loss' and (E loss'' - D)/2 times dv."""
    K, y, natural = some_gaussian(likelihood, negative=not likelihood.traits.convex)
    q = VariationalGaussian.of(K, y, likelihood, natural)
    V = np.linalg.inv(np.linalg.inv(K) + np.diag(natural[0]))

    def energy(natural):
        return VariationalGaussian.of(K, y, likelihood, natural.reshape(2, -1)).energy

    slope = five_point(energy, natural.ravel(), 1e-3).reshape(2, -1)
    by_mean, by_var = q.alpha + q.expected.gradient, 0.5 * (q.expected.curvature - natural[0])
    assert relative_error(slope[1], V @ by_mean) < 1e-7
    assert relative_error(slope[0], -(V**2) @ by_var - (V @ by_mean) * q.mean) < 1e-7


def to_the_last_digit(product, b, *, tol, max_iter):
    return minimal_residual(product, b, tol=1e-13, max_iter=100)


@pytest.mark.parametrize("likelihood", [Logistic(), NormalizedHinge(1.5)], ids=lambda x: type(x).__name__)
def test_a_newton_step_solves_the_linearised_conditions(likelihood, monkeypatch):
    monkeypatch.setattr(free_energy, "minimal_residual", to_the_last_digit)
    K, y, natural = some_gaussian(likelihood)
    natural[0] = np.maximum(natural[0], 0.1)  # every point takes part
    q = VariationalGaussian.of(K, y, likelihood, natural)
    for _ in range(3):  # towards the optimum, where the step is short
        q = VariationalGaussian.of(K, y, likelihood, q.natural + 0.5 * (q.image - q.natural))
    V = np.linalg.inv(np.linalg.inv(K) + np.diag(q.natural[0]))
    S, e = V**2, q.expected
    r1, r2 = q.alpha + e.gradient, q.natural[0] - e.curvature
    system = np.eye(12) + 0.5 * (np.diag(e.fourth) - e.third[:, None] * V * e.third) @ S

    def solved(r1, r2):
        change = np.linalg.solve(system, -r2 - e.third * (V @ r1))
        push = -r1 + 0.5 * e.third * (S @ change)
        return change, push, V @ push

    def natural_of(change, push, move):
        D = q.natural[0] + change
        return np.stack([D, q.alpha + push - q.natural[0] * move + D * (q.mean + move)])

    first = solved(r1, r2)
    with monkeypatch.context() as bare:
        bare.setattr(free_energy, "SHRINKING", -1.0)
        np.testing.assert_allclose(q.newton(K, convex=False, tol=1e-9), natural_of(*first), atol=1e-9)
    # the correction: losses expanded to second order, precisions of the marginals linear in D
    change, push, move = first
    var = 1.0 / (1.0 / q.var + (S @ change) / q.var**2)
    ahead = e.moved(move, var - q.var)
    second = solved(q.alpha + push - q.natural[0] * move + ahead.gradient, q.natural[0] + change - ahead.curvature)
    corrected = natural_of(*(one + two for one, two in zip(first, second)))
    assert np.max(np.abs(corrected - natural_of(*first))) > 1e-6
    np.testing.assert_allclose(q.newton(K, convex=False, tol=1e-9), corrected, atol=1e-9)
    left = [VariationalGaussian.of(K, y, likelihood, x).residual for x in (natural_of(*first), corrected)]
    assert left[1] < left[0]


def test_newton_steps_converge_quadratically():
    likelihood = Logistic()
    K, y, natural = some_gaussian(likelihood)
    q = VariationalGaussian.of(K, y, likelihood, natural)
    for _ in range(4):
        q = VariationalGaussian.of(K, y, likelihood, q.image)
    residuals = [q.residual]
    for _ in range(3):
        q = VariationalGaussian.of(K, y, likelihood, q.newton(K, convex=True, tol=1e-12))
        residuals.append(q.residual)
    assert residuals[1] < 0.1 * residuals[0]
    assert residuals[3] < 1e-10


def test_expected_losses_are_moved_to_marginals_nearby_alone():
    likelihood = NormalizedHinge(1.5)
    K, y, natural = some_gaussian(likelihood, negative=False)
    q = VariationalGaussian.of(K, y, likelihood, natural)
    deviation = np.sqrt(q.var)
    for mean, var in ((q.mean + 9e-4 * deviation, q.var), (q.mean - 9e-4 * deviation, (1.0 - 9e-4) * q.var)):
        moved, exact = q.moved(mean, var, 1e-3), likelihood.expected(y, mean, var)
        np.testing.assert_allclose(moved.loss, exact.loss, rtol=1e-9)
        np.testing.assert_allclose(moved.curvature, exact.curvature, atol=1e-7)
    far = np.where(np.arange(y.size) == 3, 1.1e-3, 0.0)
    assert q.moved(q.mean + far * deviation, q.var, 1e-3) is None
    assert q.moved(q.mean - far * deviation, q.var, 1e-3) is None
    assert q.moved(q.mean, (1.0 + far) * q.var, 1e-3) is None
