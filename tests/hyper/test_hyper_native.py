"""One evaluation as one native call, against the same in NumPy."""

import dataclasses

import numpy as np
import pytest

import bayesvm.likelihoods as lib
from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper import EvidenceObjective
from bayesvm.hyper.native import NATIVE, native_ep, native_laplace
from bayesvm.inference import EP, Laplace, ep
from bayesvm.kernels import Constant, Gaussian, Linear, Matern32, Matern52, OrnsteinUhlenbeck, Polynomial
from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.native import STATIONARY, native_terms
from bayesvm.likelihoods.native import TABLE
from bayesvm.likelihoods.weighted import Weighted

N, D = 70, 3
KERNELS = {
    "gaussian": Gaussian(1.3, 0.9) + Constant(2.0),
    "gaussian-ard": Constant(0.5) + Gaussian(1.3, [0.9, 2.0, 5.0]),
    "exponential": OrnsteinUhlenbeck(1.3, 0.9),
    "exponential-ard": OrnsteinUhlenbeck(1.3, 0.9, ard=True) + Constant(),
    "matern32": Matern32(1.3, 0.9).fix("variance") + Constant(),
    "matern32-ard": Matern32(1.3, [0.9, 2.0, 5.0]) + Constant(),
    "matern52-and-linear": Matern52(1.3, 0.9) + Linear(0.3) + Constant().fix(),
    "matern52-ard": Matern52(1.3, [0.9, 2.0, 5.0]),
    "linear-ard": Linear([0.3, 0.2, 1.0]) + Constant(),
    "columns": Gaussian(1.0, 0.7).on([0, 2]) + Linear(0.5, ard=True).on([1]),
}
LOSSES = [
    lib.Trigonometric(),
    lib.RaisedCosine(),
    lib.Logistic(),
    lib.SoftInsensitive(3.0, 0.4, 0.5),
    lib.SmoothInsensitive(5.0, 0.4, 0.8),
    lib.Huber(3.0, 0.3),
]


def objective(kernel, likelihood, n=N):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, D))
    signal = 2.0 * np.sin(1.5 * X[:, 0]) + 0.3 * X[:, 1] + 0.3 * rng.normal(size=n)
    y = np.where(signal > 0.0, 1.0, -1.0) if isinstance(likelihood.plain, lib.Classification) else signal
    return EvidenceObjective(kernel.bind(D), likelihood, Laplace(), Inputs(X), y)


def both(objective, theta, warm_start):
    kernel, likelihood = objective.model(theta)
    found = native_laplace(objective.inference, kernel, likelihood, objective.X, objective.y, warm_start)
    (posterior,), evidence, gradient = objective._in_numpy(kernel, likelihood, warm_start)
    return found, posterior, evidence, gradient


def test_every_class_of_the_tables_is_tried():
    leaves = {
        type(term.leaf) for kernel in KERNELS.values() for term in native_terms(kernel.bind(D), Inputs(np.eye(D)))
    }
    assert leaves == {Constant, Linear, *STATIONARY}
    assert {type(loss) for loss in LOSSES} == set(TABLE)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("likelihood", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("name", KERNELS)
def test_all_that_is_returned_is_that_of_numpy(name, likelihood, weighted):
    if weighted:
        likelihood = Weighted(likelihood, np.tile([1.0, 3.0, 0.5, 2.0, 1.0], N // 5))
    made = objective(KERNELS[name], likelihood)
    start = made.evaluate(made.theta0).evidence.latent
    for theta, warm_start in ((made.theta0, None), (made.theta0 + 0.1, start)):
        found, posterior, evidence, gradient = both(made, theta, warm_start)
        np.testing.assert_allclose(found.evidence.value, evidence.value, rtol=1e-10)
        np.testing.assert_allclose(found.gradient, gradient, rtol=1e-9, atol=1e-10 * np.abs(evidence.value))
        np.testing.assert_allclose(found.evidence.dphi, evidence.dphi, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(found.evidence.rows, evidence.rows)
        np.testing.assert_allclose(found.evidence.dK, evidence.dK, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(found.posterior.alpha, posterior.alpha, rtol=1e-8, atol=1e-9)
        np.testing.assert_array_equal(found.posterior.support, posterior.support)
        assert found.evidence.status is evidence.status


@pytest.mark.parametrize("ard", [False, True])
def test_few_rows_in_the_support_give_the_same_as_all(ard):
    """With most margins beyond one only some rows of the Gram matrix are computed, and chord steps leave out others."""
    kernel = Gaussian(60.0, 1.5, ard=ard) + Constant(3.0)
    made = objective(kernel, lib.RaisedCosine(), n=300)
    first = made.evaluate(made.theta0)
    assert first.evidence.rows.size < 0.5 * 300
    found, _, evidence, gradient = both(made, made.theta0 + 0.05, first.evidence.latent)
    np.testing.assert_allclose(found.evidence.value, evidence.value, rtol=1e-10)
    np.testing.assert_allclose(found.gradient, gradient, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.evidence.latent, evidence.latent, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("kernel", "likelihood", "inference"),
    [
        (Polynomial(), lib.Logistic(), Laplace()),
        (Gaussian() * Linear(), lib.Logistic(), Laplace()),
        (Gaussian(), lib.Probit(), Laplace()),
        (Gaussian(), lib.Logistic(), EP()),
    ],
)
def test_what_native_code_does_not_know_is_left_to_numpy(kernel, likelihood, inference):
    made = objective(kernel, likelihood)
    assert native_laplace(inference, kernel.bind(D), likelihood, made.X, made.y, None) is None


@pytest.fixture
def without_native_sweeps(monkeypatch):
    monkeypatch.setattr(ep, "native_iterate", lambda *_: None)


LABELS = [lib.Trigonometric(), lib.RaisedCosine(), lib.Logistic(), lib.Probit()]
WEIGHTS = np.resize([0.0, 0.2, 1.0, 1.0, 2.5], N)
TERMS = {repr(each): each for each in LABELS} | {f"{each!r}, weighted": lib.Weighted(each, WEIGHTS) for each in LABELS}


@pytest.mark.parametrize("likelihood", TERMS.values(), ids=TERMS)
@pytest.mark.parametrize("name", KERNELS)
def test_expectation_propagation_is_that_of_numpy(name, likelihood, without_native_sweeps):
    made = dataclasses.replace(objective(KERNELS[name], likelihood), inference=EP(tol=1e-11))
    start = made.evaluate(made.theta0).evidence.latent
    theta = made.theta0 + 0.1
    kernel, _ = made.model(theta)
    found = native_ep(made.inference, kernel, likelihood, made.X, made.y, start)
    (posterior,), evidence, gradient = made._in_numpy(kernel, likelihood, start)
    assert found.evidence.value == pytest.approx(evidence.value, rel=1e-11)
    assert found.evidence.terms == pytest.approx(evidence.terms, rel=1e-9)
    assert found.evidence.status is evidence.status
    np.testing.assert_allclose(found.gradient, gradient, rtol=1e-9, atol=1e-10 * np.abs(evidence.value))
    np.testing.assert_array_equal(found.evidence.rows, evidence.rows)
    np.testing.assert_allclose(found.evidence.dK, evidence.dK, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.evidence.latent, evidence.latent, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.posterior.alpha, posterior.alpha, rtol=1e-8, atol=1e-9)
    np.testing.assert_array_equal(found.posterior.support, posterior.support)
    assert found.evidence.dphi.shape == evidence.dphi.shape


@pytest.mark.parametrize(
    ("kernel", "likelihood", "start"),
    [
        (Polynomial(), lib.Trigonometric(), np.ones((2, N))),
        (Gaussian(), lib.NormalizedHinge(), np.ones((2, N))),
        (Gaussian(), lib.Trigonometric(), None),
        (Gaussian(), lib.Trigonometric(), np.full((2, N), np.nan)),
    ],
)
def test_sweeps_that_native_code_does_not_know_are_left_to_numpy(kernel, likelihood, start):
    made = objective(kernel, likelihood)
    assert NATIVE[EP](EP(), kernel.bind(D), likelihood, made.X, made.y, start) is None


@pytest.mark.parametrize("likelihood", [lib.Trigonometric(), lib.Logistic()], ids=repr)
def test_evidence_is_off_by_the_square_of_the_mismatch_and_its_gradient_by_the_mismatch(likelihood):
    """Evidence and gradient at sites that are off by a known part: what the tolerance of a search rests on."""
    made = dataclasses.replace(objective(KERNELS["gaussian"], likelihood, n=150), inference=EP(tol=1e-11))
    exact = made.evaluate(made.theta0)
    shift = np.stack([np.sin(np.arange(150.0)), np.cos(np.arange(150.0))]) * exact.evidence.latent
    values, gradients, residuals = [], [], []
    for part in (1e-2, 1e-3, 1e-4):
        loose = dataclasses.replace(made, inference=EP(tol=1e300))  # the first sweep is the last
        there = loose.evaluate(made.theta0, exact.evidence.latent + part * shift)
        sweep = EP()._sweep(ep.GramPrior(made.kernel.gram(made.X)), made.y, likelihood, there.evidence.latent, False)
        residuals.append(sweep.residual)
        values.append(abs(there.value - exact.value))
        gradients.append(np.max(np.abs(there.gradient - exact.gradient)))
    np.testing.assert_allclose(np.log10(values[:2]) - np.log10(values[1:]), 2.0, atol=0.1)
    np.testing.assert_allclose(np.log10(gradients[:2]) - np.log10(gradients[1:]), 1.0, atol=0.1)
    assert np.all(np.array(values) <= 150 * np.square(residuals))
    assert np.all(np.array(gradients) <= 0.5 * 150 * np.array(residuals))


def test_a_matrix_that_is_no_covariance_is_refused_with_its_order():
    made = objective(Linear() + Constant(), lib.Logistic())
    broken = EvidenceObjective(made.kernel, made.likelihood, Laplace(), Inputs(np.full((N, D), 1e200)), made.y)
    with pytest.raises(NotPositiveDefiniteError, match=rf"\({N} x {N}\)"), np.errstate(all="ignore"):
        broken.evaluate(broken.theta0)
