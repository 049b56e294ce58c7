"""Mode, naive evidence, better estimates and normaliser of the hinge model."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import log_ndtr

from bayesvm.exceptions import IncompatibleError
from bayesvm.inference.hinge import (
    Annealing,
    HingeExactOrEP,
    NaiveHinge,
    Normalizer,
    SliceSampling,
    annealed_evidence,
    hinge_mode,
    log_nu,
    normalizer_path,
    rejection,
)
from bayesvm.inference.hinge.annealed import scatter_of_logs
from bayesvm.inference.hinge.exact_integral import integrate_hinges
from bayesvm.kernels import Constant, Gaussian
from bayesvm.likelihoods import Hinge, Logistic, Weighted
from bayesvm.linalg import cholesky
from bayesvm.linalg.cholesky_pullback import cholesky_pullback
from bayesvm.testing import five_point, relative_error


def problem(n, seed=0, noise=0.7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] + noise * rng.normal(size=n) > 0.0, 1.0, -1.0)


KERNEL = Gaussian(2.0, 1.0) + Constant(0.7)


def coordinate_descent(K, y, c):
    t, f = np.zeros(y.size), np.zeros(y.size)
    for _ in range(20000):
        largest = 0.0
        for i in range(y.size):
            change = min(max(t[i] + (1.0 - y[i] * f[i]) / K[i, i], 0.0), c[i]) - t[i]
            t[i] += change
            f += change * y[i] * K[:, i]
            largest = max(largest, abs(change))
        if largest < 1e-13:
            break
    return f


# -- mode -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(3))
def test_the_mode_is_the_hinge_machine(seed):
    X, y = problem(40, seed)
    K = (Gaussian(1.0, 0.7) + Constant(0.5)).gram(X)
    c = np.random.default_rng(seed).uniform(0.5, 2.0, size=40)
    mode = hinge_mode(K, y, c)
    assert mode.status.ok
    assert np.max(np.abs(mode.f - coordinate_descent(K, y, c))) < 1e-9
    margin, t = y * mode.f, y * mode.alpha
    assert np.allclose(margin[mode.marginal], 1.0, atol=1e-9)
    assert np.all((t[mode.marginal] > 0.0) & (t[mode.marginal] < c[mode.marginal]))
    assert np.array_equal(t[mode.bounded], c[mode.bounded])
    rest = np.setdiff1d(np.arange(40), np.union1d(mode.marginal, mode.bounded))
    assert np.all(t[rest] == 0.0)
    assert np.all(margin[rest] >= 1.0 - 1e-8)


def test_the_solution_depends_on_the_product_of_C_and_kernel_only():
    X, y = problem(50)
    K = KERNEL.gram(X)
    first = hinge_mode(K, y, np.full(50, 1.0))
    second = hinge_mode(K / 3.0, y, np.full(50, 3.0), warm_start=first.share)
    assert second.n_iter == 1
    assert np.allclose(first.f, second.f, atol=1e-10)


def test_a_row_given_twice_is_a_row_of_weight_two():
    X, y = problem(30)
    twice = np.r_[X, X[:5]], np.r_[y, y[:5]]
    weights = np.r_[np.full(5, 2.0), np.ones(25)]
    first = hinge_mode(KERNEL.gram(twice[0]), twice[1], np.full(35, 1.3))
    second = hinge_mode(KERNEL.gram(X), y, 1.3 * weights)
    assert np.allclose(first.f[:30], second.f, atol=1e-7)


# -- naive evidence ---------------------------------------------------------------------------------------------------
def printed(K, y, C, guarded):
    """Sollich1999 (8), written down again."""
    mode = hinge_mode(K, y, np.full(y.size, C))
    alpha, theta = y * mode.alpha, mode.f
    loss = np.where(y * theta < 1.0, 1.0 - y * theta, 0.0)
    m = mode.marginal
    L_m = np.diag(2.0 * np.pi * (alpha[m] * (C - alpha[m]) / C) ** 2)
    matrix = L_m @ K[np.ix_(m, m)] + (np.eye(m.size) if guarded else 0.0)
    value = -0.5 * np.sum(y * alpha * theta) - C * np.sum(loss) - y.size * np.log(1.0 + np.exp(-2.0 * C))
    return value - 0.5 * np.log(np.linalg.det(matrix))


@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.parametrize("n", [1, 2, 3, 25])
def test_equation_8_as_printed(n, guarded):
    X, y = problem(n, seed=n)
    K = KERNEL.gram(X)
    found = NaiveHinge(guarded=guarded).infer(K, y, Hinge(1.8))[1]
    assert found.value == pytest.approx(printed(K, y, 1.8, guarded), abs=1e-8)
    assert found.value == pytest.approx(sum(found.terms.values()))


def test_the_known_numbers_of_one_point():
    K, y, C = np.array([[2.0]]), np.ones(1), 3.0
    kappa = 1.0 / (1.0 + np.exp(-2.0 * C))
    values = [
        np.exp(m.infer(K, y, Hinge(C))[1].value) / kappa for m in (NaiveHinge(False), NaiveHinge(), HingeExactOrEP())
    ]
    assert np.allclose(values, [0.527, 0.437, 0.322], atol=5e-4)


@pytest.mark.parametrize(
    "method", [NaiveHinge(), HingeExactOrEP(), HingeExactOrEP(exact_up_to=0)], ids=["naive", "exact", "gaussian"]
)
@pytest.mark.parametrize("n", [1, 2, 3, 30])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_of_the_naive_evidence(method, n, weighted):
    X, y = problem(n, seed=5)
    w = np.random.default_rng(1).uniform(0.5, 2.0, size=n)

    def likelihood(log_c):
        plain = Hinge(float(np.exp(log_c)))
        return Weighted(plain, w) if weighted else plain

    def evidence(theta):
        return method.infer(KERNEL.with_theta(theta[:3]).gram(X), y, likelihood(theta[3]))[1]

    theta = np.r_[KERNEL.theta, np.log(2.1)]
    here = evidence(theta)
    gradient = np.r_[KERNEL.pullback(X[here.rows], here.dK), here.dphi]
    assert relative_error(gradient, five_point(lambda t: evidence(t).value, theta, 1e-4)) < 1e-6


def test_other_likelihoods_are_refused():
    with pytest.raises(IncompatibleError, match="cannot treat Logistic: it needs the likelihood Hinge"):
        NaiveHinge().check(Logistic())
    with pytest.raises(ValueError, match="exact_up_to: expected 0 to 3, found 4"):
        HingeExactOrEP(exact_up_to=4)


# -- brute force ------------------------------------------------------------------------------------------------------
def brute_force(K, y, C, points=160, reach=7.5):
    L = np.linalg.cholesky(K)
    z = (np.arange(points) + 0.5) / points * 2.0 * reach - reach
    w = np.exp(-0.5 * z**2) / np.sum(np.exp(-0.5 * z**2))
    Z = np.stack(np.meshgrid(*[z] * y.size, indexing="ij")).reshape(y.size, -1)
    W = np.stack(np.meshgrid(*[w] * y.size, indexing="ij")).reshape(y.size, -1).prod(axis=0)
    loss = np.maximum(1.0 - y[:, None] * (L @ Z), 0.0).sum(axis=0)
    return float(np.log(W @ np.exp(-C * loss)) - y.size * np.log1p(np.exp(-2.0 * C)))


def random_problem(rng, largest=3):
    n = int(rng.integers(1, largest + 1))
    X = rng.uniform(-1.0, 1.0, size=(n, 1))
    kernel = Gaussian(float(np.exp(rng.uniform(-2.0, 2.5))), float(np.exp(rng.uniform(-2.0, 1.0)))) + Constant(0.1)
    return kernel.gram(X) + 1e-6 * np.eye(n), rng.choice([-1.0, 1.0], size=n), float(np.exp(rng.uniform(-1.0, 1.5)))


@pytest.mark.parametrize("method", [HingeExactOrEP(), HingeExactOrEP(exact_up_to=0)], ids=["exact", "gaussian"])
def test_better_estimates_against_brute_force(method):
    rng = np.random.default_rng(3)
    for _ in range(15):
        K, y, C = random_problem(rng)
        assert abs(np.expm1(method.infer(K, y, Hinge(C))[1].value - brute_force(K, y, C, 100))) < 0.1


def test_annealed_estimates_and_their_errors():
    rng = np.random.default_rng(4)
    scores = []
    for _ in range(30):
        K, y, C = random_problem(rng)
        truth = HingeExactOrEP().infer(K, y, Hinge(C))[1].value
        run = annealed_evidence(K, y, Hinge(C), Annealing(500, 12, 1), rng)
        scores.append((run.log_mean - truth) / run.error)
    assert np.mean(np.abs(scores) < 2.0) >= 0.85
    assert abs(np.mean(scores)) < 0.6


def test_annealed_and_gaussian_agree_on_more_points():
    X, y = problem(20)
    K = KERNEL.gram(X)
    run = annealed_evidence(K, y, Hinge(2.0), Annealing(500, 100, 2), np.random.default_rng(0))
    assert run.error < 0.3
    assert abs(run.log_mean - HingeExactOrEP().infer(K, y, Hinge(2.0))[1].value) < 4.0 * run.error + 0.02


def test_the_model_is_normalised_over_all_data_sets():
    K3, C = Gaussian(1.5, 0.6).gram(np.array([[0.0], [0.5], [1.2]])), 1.7
    L = np.linalg.cholesky(K3)
    z = (np.arange(100) + 0.5) / 100 * 14.0 - 7.0
    w = np.exp(-0.5 * z**2) / np.sum(np.exp(-0.5 * z**2))
    Z = np.stack(np.meshgrid(z, z, z, indexing="ij")).reshape(3, -1)
    W = (w[:, None, None] * w[:, None] * w).ravel()
    N = np.mean(np.exp(log_nu(L @ Z, C)), axis=0)
    total = 0.0
    for rows in itertools.product(range(3), repeat=2):
        K = K3[np.ix_(rows, rows)] + 1e-9 * np.eye(2)
        for labels in itertools.product((-1.0, 1.0), repeat=2):
            total += np.exp(HingeExactOrEP().infer(K, np.array(labels), Hinge(C))[1].value) / 9.0
    assert total / float(W @ N**2) == pytest.approx(1.0, abs=1e-3)


def test_no_margin_has_the_integral_one():
    moments = integrate_hinges(np.zeros(0), np.zeros((0, 0)), np.zeros(0))
    assert moments.log_z == 0.0
    assert moments.loss == 0.0
    assert moments.slope.shape == (0,)
    assert moments.precision.shape == (0, 0)


@pytest.mark.parametrize(
    "method",
    [NaiveHinge(), NaiveHinge(guarded=False), HingeExactOrEP(), HingeExactOrEP(exact_up_to=0)],
    ids=["naive", "printed", "exact", "gaussian"],
)
def test_no_point_in_doubt(method):
    """A kernel of small variance: all points are bounded, and the integral is that of the tangents."""
    X, y = problem(10)
    kernel = Gaussian(1e-4, 1.0)

    def evidence(theta):
        return method.infer(kernel.with_theta(theta[:2]).gram(X), y, Hinge(float(np.exp(theta[2]))))

    theta = np.r_[kernel.theta, np.log(1.3)]
    posterior, here = evidence(theta)
    K = kernel.gram(X)
    tangents = 0.5 * 1.3**2 * float(y @ K @ y) - 10.0 * (1.3 + np.log1p(np.exp(-2.6)))
    assert here.value == pytest.approx(tangents, abs=1e-9)
    gradient = np.r_[kernel.pullback(X[here.rows], here.dK), here.dphi]
    assert relative_error(gradient, five_point(lambda t: evidence(t)[1].value, theta, 1e-3)) < 1e-6
    draws = SliceSampling(40, 4, 5, 2).run(K, y, np.full(10, 1.3), posterior, np.random.default_rng(0))
    assert np.allclose((K @ draws.coefficients).mean(axis=1), 1.3 * K @ y, atol=0.02)


def by_quadrature(mean, cov, c):
    """The integral over two margins: the second in closed form, the first by adaptive quadrature."""
    s, slope = np.sqrt(cov[0, 0]), cov[0, 1] / cov[0, 0]
    rest = np.sqrt(cov[1, 1] - slope * cov[0, 1])

    def log_integrand(u):
        v = (mean[1] + slope * (u - mean[0]) - 1.0) / rest
        a = c[1] * rest
        inner = np.logaddexp(log_ndtr(v), log_ndtr(-v - a) + a * v + 0.5 * a * a)
        return inner - 0.5 * ((u - mean[0]) / s) ** 2 - np.log(s) - 0.5 * np.log(2.0 * np.pi) - c[0] * max(1.0 - u, 0.0)

    crossing = mean[0] + (1.0 - mean[1]) / slope
    grid = np.sort(
        np.r_[[p + t * s * d for p in (1.0, crossing) for d in np.geomspace(1e-6, 12.0, 60) for t in (-1, 1)]]
    )
    top = max(map(log_integrand, grid))
    pieces = itertools.pairwise(grid)
    return top + np.log(sum(quad(lambda u: np.exp(log_integrand(u) - top), a, b)[0] for a, b in pieces))


@pytest.mark.parametrize("variance", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("correlation", [-0.6, 0.3, 0.999])
def test_large_variances_are_integrated_exactly_too(variance, correlation):
    cov = variance * np.array([[1.0, correlation], [correlation, 1.0]])
    c, mean = np.array([3.0, 1.0]), np.array([0.2, -0.5])
    assert integrate_hinges(mean, cov, c).log_z == pytest.approx(by_quadrature(mean, cov, c), abs=1e-7)


@given(st.integers(1, 3), st.integers(0, 10**6))
@settings(max_examples=4, deadline=None)
def test_pattern_moments_are_derivatives(d, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d))
    V, m, c = A @ A.T + 0.3 * np.eye(d), rng.normal(size=d), rng.uniform(0.5, 3.0, size=d)
    found = integrate_hinges(m, V, c)
    slope = five_point(lambda x: integrate_hinges(x, V, c).log_z, m, 1e-3)
    assert np.allclose(found.slope, slope, atol=1e-6)
    bend = five_point(lambda x: integrate_hinges(x, V, c).slope, m, 1e-3)
    assert np.allclose(-found.precision, bend, atol=1e-5)
    rate = five_point(lambda x: integrate_hinges(m, V, np.exp(x[0]) * c).log_z, np.zeros(1), 1e-3)
    assert np.allclose(-found.loss, rate, atol=1e-6)


# -- normaliser -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("C", [0.3, np.log(2.0), 2.0, 30.0])
def test_nu_is_at_most_one(C):
    f = np.linspace(-5.0, 5.0, 1001)
    nu = np.exp(log_nu(f, C))
    direct = (np.exp(-C * np.maximum(1.0 - f, 0.0)) + np.exp(-C * np.maximum(1.0 + f, 0.0))) / (1.0 + np.exp(-2.0 * C))
    assert np.allclose(nu, direct, atol=1e-13)
    assert np.all(nu <= 1.0 + 1e-12)
    assert np.allclose(rejection(f, C), 1.0 - direct, atol=1e-12)
    assert np.exp(log_nu(np.ones(1), C))[0] == pytest.approx(1.0)


def test_below_ln_2_the_gap_inverts():
    inside, far = np.zeros(1), np.full(1, 50.0)
    assert log_nu(inside, 0.8) < log_nu(far, 0.8)
    assert log_nu(inside, 0.6) > log_nu(far, 0.6)


def test_normaliser_against_brute_force():
    K = Gaussian(1.5, 0.6).gram(np.array([[0.0], [0.5], [1.2]]))
    z = (np.arange(100) + 0.5) / 100 * 14.0 - 7.0
    w = np.exp(-0.5 * z**2) / np.sum(np.exp(-0.5 * z**2))
    Z = np.stack(np.meshgrid(z, z, z, indexing="ij")).reshape(3, -1)
    W = (w[:, None, None] * w[:, None] * w).ravel()
    N = np.mean(np.exp(log_nu(np.linalg.cholesky(K) @ Z, 2.0)), axis=0)
    truth = float(np.log(W @ N**10))
    for plan in (Annealing(4000), Annealing(1000, 16, 2, 3.0, 0.5)):
        found = Normalizer(np.full(3, 1.0 / 3.0), 10.0, plan, seed=1).estimate(K, 2.0)
        assert abs(found.value - truth) < 4.0 * found.error + 0.01
    C = np.geomspace(0.5, 2.0, 8)
    values, errors = normalizer_path(Normalizer(np.full(3, 1.0 / 3.0), 10.0, seed=1), K, 2.0, C, paths=2000)
    assert abs(values[-1] - truth) < 4.0 * errors[-1] + 0.03


def test_runs_that_differ_by_many_nats_do_not_claim_to_know_one():
    close = np.log(np.array([1.0, 1.1, 0.9, 1.0]))[:, None]
    assert scatter_of_logs(close)[0] == pytest.approx(np.std(np.exp(close), ddof=1) / 2.0, rel=0.02)
    far = np.array([-370.0, -340.0, -390.0, -385.0])
    assert scatter_of_logs(far[:, None])[0] == pytest.approx(np.std(far, ddof=1) / 2.0)


def test_gradient_through_the_common_random_numbers():
    X, _ = problem(25)
    normalizer = Normalizer(np.random.default_rng(0).dirichlet(np.ones(25)), 40.0, Annealing(300))

    def estimate(theta):
        return normalizer.estimate(KERNEL.with_theta(theta[:3]).gram(X), float(np.exp(theta[3])))

    theta = np.r_[KERNEL.theta, 0.6]
    here = estimate(theta)
    gradient = np.r_[KERNEL.pullback(X, here.dK), here.dC]
    numeric = five_point(lambda t: estimate(t).value, theta, 1e-6)  # short steps: single draws have kinks
    assert relative_error(gradient, numeric) < 1e-5
    assert estimate(theta).value == here.value


def test_cholesky_pullback():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(5, 5))
    A = A @ A.T + np.eye(5)
    bar, move = rng.normal(size=(5, 5)), rng.normal(size=(5, 5))
    move = move + move.T
    direct = five_point(lambda t: np.sum(np.tril(bar) * cholesky(A + t[0] * move).lower()), np.zeros(1), 1e-3)
    assert np.sum(cholesky_pullback(cholesky(A), bar) * move) == pytest.approx(float(direct[0]), abs=1e-8)
