"""Expectation propagation: fixed points, evidence, gradient, against independent computations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import bayesvm.likelihoods as lib
from bayesvm.hyper import EvidenceObjective
from bayesvm.inference import EP, Exact, Laplace, ep, leave_one_out
from bayesvm.kernels import Constant, Gaussian, Linear, Matern32, RationalQuadratic
from bayesvm.kernels.inputs import Inputs
from bayesvm.linalg import SignedFactor
from bayesvm.solvers import Status
from bayesvm.testing import check_inference, five_point, relative_error
from bayesvm.testing.solvers import problem

TIGHT = EP(tol=1e-10)
LIKELIHOODS = [
    lib.Trigonometric(),
    lib.RaisedCosine(),
    lib.Logistic(),
    lib.Probit(),
    lib.NormalizedHinge(),
    lib.SoftInsensitive(),
    lib.SmoothInsensitive(),
    lib.Huber(),
    lib.Laplace(),
    lib.EpsilonInsensitive(),
    lib.GaussianNoise(),
]
NAMES = [type(likelihood).__name__ for likelihood in LIKELIHOODS]


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=NAMES)
def test_conformance(likelihood):
    check_inference(TIGHT, likelihood)


@pytest.mark.parametrize("likelihood", [lib.Trigonometric(), lib.SoftInsensitive(), lib.NormalizedHinge()], ids=repr)
def test_conformance_with_weights(likelihood):
    check_inference(TIGHT, lib.Weighted(likelihood, np.linspace(0.4, 3.0, 40)))


KERNELS = {
    "gaussian-ard": Gaussian(2.0, 1.5, ard=True) + Constant(),
    "matern-linear": Matern32() + Linear(0.1),
    "rational-quadratic": RationalQuadratic() + Constant(0.5),
}
#: Every likelihood with one kernel, every kernel with two likelihoods; all the others are slow.
PAIRS = [
    pytest.param(likelihood, kernel, id=f"{name}-{form}", marks=() if quick else pytest.mark.slow)
    for name, likelihood in zip(NAMES, LIKELIHOODS, strict=True)
    for form, kernel in KERNELS.items()
    for quick in [form == "gaussian-ard" or name in ("Trigonometric", "SoftInsensitive")]
]


@pytest.mark.parametrize(("likelihood", "kernel"), PAIRS)
def test_gradient_in_all_hyperparameters(likelihood, kernel):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(25, 2))
    signal = np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=25)
    y = np.where(signal > 0.0, 1.0, -1.0) if isinstance(likelihood, lib.Classification) else signal
    objective = EvidenceObjective(kernel.bind(2), likelihood, TIGHT, Inputs(X), y)
    theta = objective.theta0
    expected = five_point(lambda p: objective.evaluate(p).value, theta)
    assert relative_error(objective.evaluate(theta).gradient, expected) < 1e-6


def test_gaussian_noise_is_exact():
    likelihood = lib.GaussianNoise(0.3)
    K, y = problem(likelihood, n=60)
    (p, e), (q, f) = EP().infer(K, y, likelihood), Exact().infer(K, y, likelihood)
    assert e.value == pytest.approx(f.value, abs=1e-9)
    np.testing.assert_allclose(p.alpha, q.alpha, atol=1e-9)
    np.testing.assert_allclose(e.dK, f.dK, atol=1e-9)
    np.testing.assert_allclose(e.dphi, f.dphi, atol=1e-9)
    np.testing.assert_allclose(p.var(K, np.diag(K)), q.var(K, np.diag(K)), atol=1e-9)


# -- probit: two independent checks ------------------------------------------------------------------------------------
def sequential_probit_ep(K, y, sweeps=60):
    """One site at a time, with a dense posterior covariance and moments from the textbook formulas."""
    n = y.size
    tau, nu = np.zeros(n), np.zeros(n)
    S, m = K.copy(), np.zeros(n)
    for _ in range(sweeps):
        for i in range(n):
            t_cav, n_cav = 1.0 / S[i, i] - tau[i], m[i] / S[i, i] - nu[i]
            mc, vc = n_cav / t_cav, 1.0 / t_cav
            z = y[i] * mc / np.sqrt(1.0 + vc)
            r = norm.pdf(z) / norm.cdf(z)
            mean = mc + y[i] * vc * r / np.sqrt(1.0 + vc)
            var = vc - vc**2 * r / (1.0 + vc) * (z + r)
            change = 1.0 / var - t_cav - tau[i]
            tau[i] += change
            nu[i] = mean / var - n_cav
            S = S - change / (1.0 + change * S[i, i]) * np.outer(S[:, i], S[i])
            m = S @ nu
    v = np.diag(S)
    vc = 1.0 / (1.0 / v - tau)
    mc = vc * (m / v - nu)
    a = nu / tau  # site means; the normalisers of normalised sites
    log_sites = norm.logcdf(y * mc / np.sqrt(1.0 + vc)) + 0.5 * np.log(2.0 * np.pi * (vc + 1.0 / tau))
    log_sites += 0.5 * (mc - a) ** 2 / (vc + 1.0 / tau)
    C = K + np.diag(1.0 / tau)
    value = log_sites.sum() - 0.5 * np.linalg.slogdet(2.0 * np.pi * C)[1] - 0.5 * a @ np.linalg.solve(C, a)
    b = np.linalg.solve(C, a)
    return value, 0.5 * (np.outer(b, b) - np.linalg.inv(C)), m, v


def test_probit_agrees_with_a_sequential_dense_implementation():
    K, y = problem(lib.Probit(), n=20)
    value, dK, mean, var = sequential_probit_ep(K, y)
    posterior, evidence = TIGHT.infer(K, y, lib.Probit())
    assert evidence.value == pytest.approx(value, abs=1e-8)
    np.testing.assert_allclose(evidence.dK, dK, atol=1e-7)
    np.testing.assert_allclose(posterior.mean(K), mean, atol=1e-7)
    np.testing.assert_allclose(posterior.var(K, np.diag(K)), var, atol=1e-7)


def test_probit_evidence_is_close_to_the_orthant_probability():
    """The exact evidence is P(g > 0) for g = y (f + noise), an orthant probability (Genz's algorithm in SciPy)."""
    K, y = problem(lib.Probit(), n=6)
    C = np.outer(y, y) * (K + np.eye(6))
    zero = np.zeros(6)
    exact = multivariate_normal.cdf(zero, zero, C, maxpts=2_000_000, abseps=1e-9, releps=1e-7)
    assert TIGHT.infer(K, y, lib.Probit())[1].value == pytest.approx(np.log(exact), abs=5e-3)


# -- against sampling --------------------------------------------------------------------------------------------------
def elliptical_slice(K, y, likelihood, rng, chains=500, burn=50, keep=400):
    """Return the mean and variance of the latent values over chains * keep draws from the posterior.

    Ellipses are those of the approximation, and its sites are divided out of the likelihood: right for any
    approximation, and mixing at once if it is good.
    """
    posterior, evidence = TIGHT.infer(K, y, likelihood)
    tau, nu = evidence.latent
    centre = posterior.mean(K[:, posterior.support])
    L = np.linalg.cholesky(posterior.covariance(K[:, posterior.support], K) + 1e-12 * np.eye(y.size))

    def log_ratio(f):
        labels = np.broadcast_to(y, f.shape)
        return np.sum(-likelihood.derivatives(labels, f).loss - nu * f + 0.5 * tau * f**2, axis=1)

    f = centre + rng.standard_normal((chains, y.size)) @ L.T
    f[~np.isfinite(log_ratio(f))] = centre  # outside the domain of the loss
    level = log_ratio(f)
    assert np.all(np.isfinite(level))
    total, square = np.zeros(y.size), np.zeros(y.size)
    for step in range(burn + keep):
        other = rng.standard_normal(f.shape) @ L.T
        floor = level + np.log(rng.random(chains))
        angle = 2.0 * np.pi * rng.random(chains)
        low, high = angle - 2.0 * np.pi, angle.copy()
        todo = np.arange(chains)
        while todo.size:
            turn = angle[todo, None]
            trial = centre + (f[todo] - centre) * np.cos(turn) + other[todo] * np.sin(turn)
            value = log_ratio(trial)
            good = value > floor[todo]
            f[todo[good]], level[todo[good]] = trial[good], value[good]
            todo = todo[~good]
            low[todo] = np.where(angle[todo] < 0.0, angle[todo], low[todo])
            high[todo] = np.where(angle[todo] >= 0.0, angle[todo], high[todo])
            angle[todo] = low[todo] + (high[todo] - low[todo]) * rng.random(todo.size)
        if step >= burn:
            total += f.sum(axis=0)
            square += (f**2).sum(axis=0)
    mean = total / (chains * keep)
    return mean, square / (chains * keep) - mean**2


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=NAMES)
def test_marginals_against_200000_draws(likelihood):
    K, y = problem(likelihood, n=20)
    mean, var = elliptical_slice(K, y, likelihood, np.random.default_rng(1))
    posterior, _ = TIGHT.infer(K, y, likelihood)
    K_s = K[:, posterior.support]
    deviation = np.sqrt(var)
    assert np.max(np.abs(posterior.mean(K_s) - mean) / deviation) < 0.05
    assert np.max(np.abs(np.sqrt(posterior.var(K_s, np.diag(K))) / deviation - 1.0)) < 0.09


# -- the way there -----------------------------------------------------------------------------------------------------
def test_a_warm_start_saves_sweeps():
    K, y = problem(lib.Trigonometric())
    _, cold = EP().infer(K, y, lib.Trigonometric())
    _, warm = EP().infer(1.05 * K, y, lib.Trigonometric(), warm_start=cold.latent)
    _, again = EP().infer(1.05 * K, y, lib.Trigonometric())
    assert warm.n_iter < again.n_iter
    assert warm.value == pytest.approx(again.value, abs=1e-9)


def test_latent_values_of_laplace_are_a_warm_start():
    K, y = problem(lib.RaisedCosine())
    _, laplace = Laplace().infer(K, y, lib.RaisedCosine())
    _, cold = EP().infer(K, y, lib.RaisedCosine())
    _, warm = EP().infer(K, y, lib.RaisedCosine(), warm_start=laplace.latent)
    assert warm.value == pytest.approx(cold.value, abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=NAMES)
def test_prediction_of_sweeps_ends_at_the_same_fixed_point_with_no_more_factorisations(
    likelihood, weighted, monkeypatch
):
    K, y = problem(likelihood, n=40)
    if weighted:
        likelihood = lib.Weighted(likelihood, np.linspace(0.4, 3.0, 40))
    posterior, evidence = TIGHT.infer(3.0 * K, y, likelihood)
    monkeypatch.setattr(ep, "PREDICTED", 0.0)
    monkeypatch.setattr(ep, "native_iterate", lambda *_: None)
    mixed, plain = TIGHT.infer(3.0 * K, y, likelihood)
    assert evidence.value == pytest.approx(plain.value, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(posterior.coefficients(40), mixed.coefficients(40), rtol=1e-6, atol=1e-7)
    assert evidence.n_iter <= plain.n_iter


def test_few_factorisations_are_enough(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.where(X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.4 * rng.normal(size=120) > 0.0, 1.0, -1.0)
    K = (Gaussian(5.0, 1.0) + Constant()).gram(X)
    for likelihood in (lib.Trigonometric(), lib.RaisedCosine(), lib.Logistic(), lib.Probit()):
        _, cold = EP().infer(K, y, likelihood)
        _, warm = EP().infer(1.05 * K, y, likelihood, warm_start=cold.latent)
        with monkeypatch.context() as patch:
            patch.setattr(ep, "PREDICTED", 0.0)
            patch.setattr(ep, "native_iterate", lambda *_: None)
            _, mixed = EP().infer(K, y, likelihood)
        assert cold.status is warm.status is Status.CONVERGED
        assert cold.n_iter < 0.7 * mixed.n_iter
        assert warm.n_iter <= 4


def test_says_when_it_ran_out_of_sweeps():
    K, y = problem(lib.Probit())
    _, evidence = EP(max_iter=2).infer(K, y, lib.Probit())
    assert evidence.status is Status.MAX_ITER
    assert not evidence.status.ok


def test_far_points_of_a_sparse_likelihood_drop_out():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.uniform(-1, 1, 150), rng.uniform(40, 50, 30)])
    y = np.where(X + 0.4 * rng.normal(size=180) > 0.0, 1.0, -1.0)
    K = 4.0 * X[:, None] * X[None, :]  # f = w x with a well determined w
    posterior, evidence = EP().infer(K, y, lib.Trigonometric())
    assert evidence.status.ok
    assert posterior.support.max() < 150
    assert evidence.value == pytest.approx(EP(drop=0.0, tol=1e-9).infer(K, y, lib.Trigonometric())[1].value, abs=1e-9)


def test_pruning_hardly_moves_the_posterior():
    K, y = problem(lib.Trigonometric(), n=80)
    full, *_ = TIGHT.posterior(K, y, lib.Trigonometric())
    less, _, status, _ = EP(tol=1e-10, prune=0.05).posterior(K, y, lib.Trigonometric())
    assert status.ok
    assert less.support.size < full.support.size
    deviation = np.sqrt(full.var(K[:, full.support], np.diag(K)))
    gap = np.abs(full.mean(K[:, full.support]) - less.mean(K[:, less.support])) / deviation
    assert gap.max() < 0.06


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
@pytest.mark.parametrize("likelihood", [lib.Trigonometric(), lib.Logistic(), lib.SoftInsensitive()], ids=repr)
def test_converges_for_tiny_and_huge_prior_variances(likelihood, scale):
    K, y = problem(likelihood, n=60)
    posterior, evidence = EP().infer(scale * K, y, likelihood)
    assert evidence.status.ok
    assert np.isfinite(evidence.value)
    assert np.all(np.isfinite(posterior.alpha))


def test_negative_sites_of_a_likelihood_that_is_not_log_concave():
    rng = np.random.default_rng(3)
    X = np.sort(rng.uniform(-2, 2, 60))
    y = np.where(np.sin(3.0 * X) > 0.0, 1.0, -1.0)
    y[::7] *= -1.0
    K = 3.0 * np.exp(-0.5 * (X[:, None] - X[None, :]) ** 2 / 0.3**2) + 0.01 * np.eye(60)
    likelihood = lib.NormalizedHinge()
    posterior, evidence = TIGHT.infer(K, y, likelihood)
    assert evidence.status.ok
    assert isinstance(posterior.factor, SignedFactor)
    W = np.zeros(60)
    W[posterior.factor.support] = posterior.factor.curvature
    V = np.linalg.inv(np.linalg.inv(K) + np.diag(W))
    np.testing.assert_allclose(posterior.covariance(K[:, posterior.support], K), V, atol=1e-8)
    np.testing.assert_allclose(posterior.factor.log_det(), np.linalg.slogdet(np.eye(60) + K @ np.diag(W))[1], atol=1e-9)
    slope = five_point(lambda p: TIGHT.infer(np.exp(p[0]) * K, y, likelihood)[1].value, np.zeros(1))[0]
    rows = np.ix_(evidence.rows, evidence.rows)
    assert np.sum(evidence.dK * K[rows]) == pytest.approx(slope, rel=1e-6)


def test_a_weight_of_three_is_three_rows():
    likelihood = lib.RaisedCosine()
    K, y = problem(likelihood, n=20)
    weights = np.where(np.arange(20) % 4 == 0, 3.0, 1.0)
    rows = np.repeat(np.arange(20), weights.astype(int))
    weighted = lib.Weighted(likelihood, weights)
    p, e = TIGHT.infer(K, y, weighted)
    r, f = TIGHT.infer(K[np.ix_(rows, rows)], y[rows], likelihood)
    assert e.value == pytest.approx(f.value, abs=1e-8)
    np.testing.assert_allclose(p.mean(K[:, p.support]), r.mean(K[:, rows][:, r.support]), atol=1e-8)
    q, s = leave_one_out(K, p, weighted.copies), leave_one_out(K[np.ix_(rows, rows)], r)
    np.testing.assert_allclose(q.cavity_mean[rows], s.cavity_mean, atol=1e-7)
    np.testing.assert_allclose(q.cavity_var[rows], s.cavity_var, atol=1e-7)


def test_sites_far_more_precise_than_the_prior():
    """Noise of 1e-5 beside a prior variance of ten: eleven digits lie between the precisions."""
    rng = np.random.default_rng(6)
    x, weights = rng.uniform(-2.0, 2.0, (9, 1)), np.array([3, 1, 4, 2, 4, 3, 1, 4, 1])
    y, likelihood = rng.integers(0, 3, 9).astype(float), lib.Laplace(1e5)
    kernel, rows = Gaussian(10.0, 0.05), np.repeat(np.arange(9), weights)
    posterior, evidence = EP().infer(kernel.gram(Inputs(x)), y, lib.Weighted(likelihood, weights.astype(float)))
    other, repeated = EP().infer(kernel.gram(Inputs(x[rows])), y[rows], likelihood)
    assert evidence.status is Status.CONVERGED
    assert repeated.status in (Status.CONVERGED, Status.STALLED)
    assert repeated.value == pytest.approx(evidence.value, rel=1e-6)
    new = Inputs(rng.uniform(-2.0, 2.0, (20, 1)))
    means = [kernel.gram(new, Inputs(at)) @ p.coefficients(len(at)) for at, p in ((x, posterior), (x[rows], other))]
    np.testing.assert_allclose(means[0], means[1], rtol=1e-6, atol=1e-8)


def test_no_site_is_so_precise_that_rounding_leaves_no_posterior():
    rng = np.random.default_rng(7)
    x = np.repeat(rng.normal(size=(10, 1)), 3, axis=0)
    K, y = 1e6 * Gaussian(1.0, 1.0).gram(Inputs(x)), np.where(rng.random(30) < 0.5, 1.0, -1.0)
    likelihood = lib.Weighted(lib.Trigonometric(), np.full(30, 1e6))
    sites = np.stack([np.full(30, 1e22), 1e22 * y])
    posterior, evidence = EP().infer(K, y, likelihood, warm_start=sites)
    assert np.isfinite(evidence.value)
    assert np.all(np.isfinite(posterior.coefficients(30)))


def test_weights_of_many_magnitudes_do_not_make_sweeps_oscillate():
    statuses = []
    for seed in range(12):  # rounding decides which way such an iteration takes: a few do not end
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(30, 3))
        f = X[:, 0] + np.sin(2.0 * X[:, 2]) + 0.3 * rng.normal(size=30)
        likelihood = lib.Weighted(lib.Trigonometric(), 10.0 ** rng.uniform(-4.0, 6.0, 30))
        K = Gaussian(16.0, 2.0).gram(Inputs(X))
        _, evidence = EP(tol=1e-3).infer(K, np.sign(f), likelihood)
        statuses.append(evidence.status)
    assert statuses.count(Status.CONVERGED) >= 8  # one of them, with one step length for all sites


def test_no_site_of_a_convex_loss_is_negative_by_rounding():
    """Neither where a tilted variance grows by rounding, nor where a site that vanishes goes all the way to zero."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(20, 2))
        y = np.where(X[:, 0] + 0.5 * rng.normal(size=20) > 0.0, 1.0, -1.0)
        likelihood = lib.Weighted(lib.Hinge(2.0), np.full(20, 1e6))
        _, evidence = EP().infer(Gaussian(2.5, 1.5).gram(Inputs(X)), y, likelihood)
        assert np.all(evidence.latent[0] >= 0.0)
