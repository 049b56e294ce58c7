"""Laplace's method: conformance, independent dense formulas, the printed equations, sparseness."""

import dataclasses

import numpy as np
import pytest
from likelihood_instances import IDS, INSTANCES, concrete_subclasses
from scipy.integrate import quad
from scipy.optimize import root

import bayesvm.likelihoods as lib
from bayesvm.exceptions import IncompatibleError
from bayesvm.inference import Evidence, Exact, Inference, Laplace, Posterior
from bayesvm.kernels import Constant, Gaussian
from bayesvm.solvers import SMO, Newton, Status
from bayesvm.testing import check_inference, five_point
from bayesvm.testing.solvers import problem

TIGHT = Laplace(Newton(tol=1e-12))
TREATED = [(i, x) for i, x in zip(IDS, INSTANCES) if x.traits.smoothness >= 1 and x.traits.convex]
REFUSED = [(i, x) for i, x in zip(IDS, INSTANCES) if not (x.traits.smoothness >= 1 and x.traits.convex)]


def every(cases):
    return pytest.mark.parametrize("likelihood", [x for _, x in cases], ids=[i for i, _ in cases])


# -- conformance ------------------------------------------------------------------------------------------------------
def test_no_method_of_these_two_files_is_forgotten():
    modules = {"bayesvm.inference.laplace", "bayesvm.inference.exact"}
    assert {c for c in concrete_subclasses(Inference) if c.__module__ in modules} == {Laplace, Exact}


@every(TREATED)
def test_contract(likelihood):
    check_inference(TIGHT, likelihood)


@every(TREATED)
def test_contract_with_weights(likelihood):
    weights = np.random.default_rng(3).uniform(0.2, 2.0, size=40)
    weights[::9] = 0.0
    check_inference(TIGHT, lib.Weighted(likelihood, weights))


@every(REFUSED)
def test_refusal_names_what_is_missing(likelihood):
    K, y = problem(likelihood)
    message = rf"Laplace's method cannot treat {type(likelihood).__name__}: it needs 1 continuous derivative"
    with pytest.raises(IncompatibleError, match=message):
        Laplace().infer(K, y, likelihood)


@dataclasses.dataclass(frozen=True)
class Faulty(Laplace):
    """Laplace's method with one fault, to see that the check notices it."""

    change: object = None

    def infer(self, K, y, likelihood, *, warm_start=None) -> tuple[Posterior, Evidence]:
        posterior, evidence = super().infer(K, y, likelihood, warm_start=warm_start)
        return posterior, dataclasses.replace(evidence, **self.change(evidence, warm_start))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e, _: {"dK": 1.0001 * e.dK}, "dK is off"),
        (lambda e, _: {"dphi": e.dphi + 0.01}, "dphi is off"),
        (lambda e, _: {"status": Status.MAX_ITER}, "did not converge"),
        (lambda e, _: {"value": e.value + 1e-6}, "not the sum of its terms"),
        (
            lambda e, w: {} if w is None else {"value": e.value + 1e-3, "terms": {"all": e.value + 1e-3}},
            "warm start changes the evidence",
        ),
    ],
    ids=["dK", "dphi", "status", "value", "warm"],
)
def test_the_check_notices(change, message):
    with pytest.raises(AssertionError, match=message):
        check_inference(Faulty(solver=Newton(tol=1e-12), change=change), lib.SmoothInsensitive())


# -- Gaussian noise is exact ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("variance", [0.01, 0.1, 30.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_gaussian_noise_equals_exact_regression(variance, seed):
    likelihood = lib.GaussianNoise(variance)
    K, y = problem(likelihood, seed=seed)
    noisy = K + variance * np.eye(40)
    inverse = np.linalg.inv(noisy)
    alpha = inverse @ y
    value = -0.5 * y @ alpha - 0.5 * np.linalg.slogdet(noisy)[1] - 20.0 * np.log(2.0 * np.pi)
    dK = 0.5 * np.outer(alpha, alpha) - 0.5 * inverse
    K_s = 0.9 * K[:7]
    mean, var = K_s @ alpha, 2.0 - np.einsum("ij,jk,ik->i", K_s, inverse, K_s)
    covariance = 2.0 * np.eye(7) - K_s @ inverse @ K_s.T
    for method in (TIGHT, Exact()):
        posterior, evidence = method.infer(K, y, likelihood)
        np.testing.assert_allclose(evidence.value, value, rtol=1e-10)
        np.testing.assert_allclose(evidence.dK, dK, atol=1e-10 * np.abs(dK).max())
        np.testing.assert_allclose(evidence.dphi, [variance * np.trace(dK)], rtol=1e-10)
        np.testing.assert_allclose(posterior.mean(K_s), mean, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(posterior.var(K_s, np.full(7, 2.0)), var, rtol=1e-10)
        np.testing.assert_allclose(posterior.covariance(K_s, 2.0 * np.eye(7)), covariance, atol=1e-10)
    first, second = TIGHT.infer(K, y, likelihood)[1], Exact().infer(K, y, likelihood)[1]
    np.testing.assert_allclose(first.value, second.value, rtol=1e-10)
    for name, part in first.terms.items():
        np.testing.assert_allclose(part, second.terms[name], rtol=1e-10, atol=1e-9)


# -- independent formulas ---------------------------------------------------------------------------------------------
def dense_laplace(K, y, likelihood):
    """Value, mean and covariance from the definition: K^-1, differences of the loss, a root finder."""
    inverse = np.linalg.inv(K)

    def loss(f):
        return likelihood.derivatives(y, f).loss

    def derivative(function, f, h=1e-3):
        return (8 * (function(f + h) - function(f - h)) - (function(f + 2 * h) - function(f - 2 * h))) / (12 * h)

    guess = TIGHT.infer(K, y, likelihood)[1].latent
    found = root(lambda f: inverse @ f + derivative(loss, f), guess + 1e-4, tol=1e-13)
    f = found.x
    W = derivative(lambda g: derivative(loss, g), f)
    S = 0.5 * f @ inverse @ f + loss(f).sum()
    value = -S - 0.5 * np.linalg.slogdet(inverse + np.diag(W))[1] - 0.5 * np.linalg.slogdet(K)[1]
    return value, f, np.linalg.inv(inverse + np.diag(W))


def separated(likelihood, n=25):
    """A well conditioned problem in which no point is within 0.01 of a knot at the mode."""
    knots = np.array([k for k in likelihood.knots if likelihood.traits.smoothness < 3])
    for seed in range(20):
        K, y = problem(likelihood, n=n, seed=seed)
        K = 0.5 * K + 0.3 * np.eye(n)
        t = likelihood.argument(y, TIGHT.infer(K, y, likelihood)[1].latent)
        if np.abs(t[:, None] - knots).min(initial=1.0) > 0.01:
            return K, y
    raise AssertionError("no such problem among 20")


@pytest.mark.parametrize(
    "likelihood",
    [
        lib.Trigonometric(),
        lib.RaisedCosine(),
        lib.Logistic(),
        lib.Probit(),
        lib.SoftInsensitive(3.0, 0.5, 0.9),
        lib.SmoothInsensitive(5.0, 0.5, 0.9),
        lib.Huber(3.0, 0.5),
        lib.GaussianNoise(),
    ],
    ids=lambda x: type(x).__name__,
)
def test_against_the_definition(likelihood):
    K, y = separated(likelihood)
    value, f, covariance = dense_laplace(K, y, likelihood)
    posterior, evidence = TIGHT.infer(K, y, likelihood)
    np.testing.assert_allclose(evidence.value, value, rtol=1e-7)
    np.testing.assert_allclose(evidence.latent, f, atol=1e-7)
    K_s = K[:, posterior.support]
    np.testing.assert_allclose(posterior.mean(K_s), f, atol=1e-7)
    np.testing.assert_allclose(posterior.var(K_s, np.diagonal(K).copy()), np.diagonal(covariance), rtol=1e-5)
    np.testing.assert_allclose(posterior.covariance(K_s, K), covariance, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_gaussian_noise_against_quadrature(n):
    """The integral over all latent values, one dimension at a time along the eigenvectors of K + 0.4 I."""
    likelihood = lib.GaussianNoise(0.4)
    K, y = problem(likelihood, n=n)
    value = TIGHT.infer(K, y, likelihood)[1].value
    sizes, vectors = np.linalg.eigh(K)
    expected = sum(
        np.log(
            quad(
                lambda g, s=s, z=z: (
                    np.exp(-0.5 * g * g / s - 0.5 * (z - g) ** 2 / 0.4) / (2 * np.pi * np.sqrt(0.4 * s))
                ),
                -20.0,
                20.0,
                points=[0.0, z],
                epsabs=1e-14,
            )[0]
        )
        for s, z in zip(sizes, vectors.T @ y)
    )
    np.testing.assert_allclose(value, expected, rtol=1e-9)


@pytest.mark.parametrize(
    "likelihood", [lib.Logistic(), lib.Probit(), lib.RaisedCosine()], ids=lambda x: type(x).__name__
)
def test_one_point_is_near_the_true_evidence(likelihood):
    """By symmetry the evidence of one label is 1/2; Laplace's method comes near it."""
    K, y = np.array([[0.5]]), np.ones(1)
    truth = quad(
        lambda f: np.exp(-likelihood.derivatives(y, np.array([f])).loss[0] - f * f) / np.sqrt(np.pi),
        -8,
        8,
        points=[-1, 1],
    )[0]
    assert abs(truth - 0.5) < 1e-9
    assert abs(TIGHT.infer(K, y, likelihood)[1].value - np.log(0.5)) < 0.05


def test_chu_32_and_33_as_printed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=60) > 0.0, 1.0, -1.0)
    kernel = Gaussian(4.0, 1.1) + Constant(0.6)
    K = kernel.gram(X)
    posterior, evidence = TIGHT.infer(K, y, lib.Trigonometric())
    f = evidence.latent
    M = np.flatnonzero(y * f < 1.0)
    assert 10 < M.size < 60
    np.testing.assert_array_equal(posterior.support, M)

    xi = 1.0 - y[M] * f[M]
    v = y[M] * np.pi / 2.0 * np.tan(np.pi / 4.0 * xi)
    Lambda = np.pi**2 / 8.0 / np.cos(np.pi / 4.0 * xi) ** 2
    Sigma = K[np.ix_(M, M)]
    printed = (
        0.5 * v @ Sigma @ v
        + 2.0 * np.sum(np.log(1.0 / np.cos(np.pi / 4.0 * xi)))
        + 0.5 * np.linalg.slogdet(np.eye(M.size) + Sigma * Lambda)[1]
    )
    np.testing.assert_allclose(-evidence.value, printed, rtol=1e-12)

    inverse = np.linalg.inv(np.diag(1.0 / Lambda) + Sigma)
    changes = five_point(lambda t: kernel.with_theta(t).gram(X[M]), kernel.theta)
    gradient = [
        0.5 * np.trace(inverse @ dSigma)
        - 0.5 * v @ dSigma @ v
        - 0.5 * np.sum(v * np.diagonal(inverse @ Sigma) * ((inverse @ dSigma @ v) / Lambda))
        for dSigma in changes
    ]
    np.testing.assert_allclose(-kernel.pullback(X[M], evidence.dK), gradient, rtol=1e-9)


# -- structure --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "likelihood",
    [lib.Trigonometric(), lib.RaisedCosine(), lib.SoftInsensitive(3.0, 0.5, 0.3), lib.SmoothInsensitive(5.0, 0.5, 0.5)],
    ids=lambda x: type(x).__name__,
)
def test_only_the_support_carries_the_evidence(likelihood):
    K, y = problem(likelihood, seed=4)
    K = 4.0 * K
    posterior, evidence = TIGHT.infer(K, y, likelihood)
    d = likelihood.derivatives(y, evidence.latent)
    off = (d.gradient == 0.0) & (d.curvature == 0.0)
    assert 0 < off.sum() < 40
    np.testing.assert_array_equal(evidence.rows, np.flatnonzero(~off))
    np.testing.assert_array_equal(posterior.support, evidence.rows)
    assert evidence.dK.shape == (evidence.rows.size,) * 2
    np.testing.assert_allclose(evidence.dK, evidence.dK.T, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(posterior.factor.support, np.flatnonzero(d.curvature > 0.0))

    # a row off the support may change, or be left out, without a change of the value
    row = int(np.flatnonzero(off)[0])
    rest = np.delete(np.arange(40), row)
    part = TIGHT.infer(np.ascontiguousarray(K[np.ix_(rest, rest)]), y[rest], likelihood)[1]
    if not isinstance(likelihood, lib.Regression):  # a density has a constant per row
        np.testing.assert_allclose(part.value, evidence.value, rtol=1e-10)
    np.testing.assert_allclose(part.latent, evidence.latent[rest], atol=1e-8)


def test_bounded_support_vectors_have_a_coefficient_but_no_curvature():
    likelihood = lib.SoftInsensitive(3.0, 0.2, 0.3)
    K, y = problem(likelihood)
    posterior, evidence = TIGHT.infer(K, y, likelihood)
    assert posterior.factor.support.size < posterior.support.size < 40
    bounded = np.setdiff1d(posterior.support, posterior.factor.support)
    np.testing.assert_allclose(np.abs(posterior.alpha[np.searchsorted(posterior.support, bounded)]), 3.0)
    K_s = K[:5, posterior.support]
    W = likelihood.derivatives(y, evidence.latent).curvature
    covariance = K - K @ np.linalg.solve(np.eye(40) + W[:, None] * K, W[:, None] * K)
    np.testing.assert_allclose(posterior.var(K_s, np.diagonal(K)[:5]), np.diagonal(covariance)[:5], rtol=1e-9)


def test_everything_flat():
    """One class, a large constant: no point needs support, and the posterior is the prior but for its mean."""
    K, y = np.full((5, 5), 1e4) + np.eye(5), np.ones(5)
    posterior, evidence = Laplace().infer(K, y, lib.RaisedCosine())
    assert evidence.status.ok
    assert np.isfinite(evidence.value)
    assert np.all(posterior.var(K[:, posterior.support], np.diagonal(K).copy()) <= np.diagonal(K))


def test_the_status_of_the_solver_is_passed_on():
    likelihood = lib.Logistic()
    K, y = problem(likelihood)
    assert Laplace(Newton(max_iter=1)).infer(100.0 * K, y, likelihood)[1].status is Status.MAX_ITER


def test_weights_equal_repeated_rows():
    for likelihood in (lib.RaisedCosine(), lib.Trigonometric(), lib.Huber(3.0, 0.5)):
        K, y = problem(likelihood, n=15)
        w = np.array([1, 2, 3, 0, 1] * 3)
        rows = np.repeat(np.arange(15), w)
        repeated = TIGHT.infer(np.ascontiguousarray(K[np.ix_(rows, rows)]), y[rows], likelihood)[1]
        weighted = TIGHT.infer(K, y, lib.Weighted(likelihood, w.astype(float)))[1]
        np.testing.assert_allclose(weighted.value, repeated.value, rtol=1e-10)
        np.testing.assert_allclose(weighted.dphi, repeated.dphi, rtol=1e-6, atol=1e-9)


def test_a_solver_that_cannot_treat_the_loss_is_replaced():
    by_dual = Laplace(SMO())
    assert by_dual.suited(lib.Trigonometric()) is by_dual
    assert by_dual.suited(lib.RaisedCosine()) == Laplace(Newton())  # no dual is known
