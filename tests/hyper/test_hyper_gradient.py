"""The gradient of the evidence objective: every kernel with every likelihood, against five-point differences."""

import os
from pathlib import Path

import numpy as np
import pytest
from kernel_instances import CASES, points
from kernel_instances import IDS as KERNEL_IDS
from likelihood_instances import INSTANCES

import bayesvm.likelihoods as lib
from bayesvm.hyper import EvidenceObjective, LogNormal
from bayesvm.inference import Exact, Laplace
from bayesvm.kernels import Constant, Gaussian, Linear, Matern32
from bayesvm.kernels.inputs import Inputs
from bayesvm.solvers import Newton, Status
from bayesvm.testing import relative_error

STEP = 1e-4
LIKELIHOODS = [
    lib.Trigonometric(),
    lib.RaisedCosine(),
    lib.Logistic(),
    lib.Probit(),
    lib.SoftInsensitive(3.0, 0.4, 0.5),
    lib.SmoothInsensitive(5.0, 0.4, 0.8),
    lib.Huber(3.0, 0.3),
    lib.GaussianNoise(),
]
# tanh alone has negative eigenvalues for every choice of its parameters; a Gaussian lifts them
KERNELS = [Gaussian(2.0, 0.6) + case.kernel if case.id == "mlp" else case.kernel for case in CASES]


def targets(likelihood, X, seed):
    signal = np.sin(1.5 * X[:, 0]) + 0.3 * X[:, 1] + 0.3 * np.random.default_rng(seed).normal(size=len(X))
    return np.where(signal > 0.0, 1.0, -1.0) if isinstance(likelihood, lib.Classification) else signal


def zones(objective, evaluation):
    """Between which knots of the loss every point lies; empty for losses without breaks."""
    likelihood = objective.model(evaluation.theta)[1]
    if likelihood.traits.smoothness >= 3:
        return np.empty(0)
    return np.searchsorted(likelihood.knots, likelihood.argument(objective.y, evaluation.evidence.latent))


def differences(objective, centre):
    """Five-point differences of the value, or None if a point changes its zone across the stencil."""
    theta, here = centre.theta, zones(objective, centre)
    slopes = np.empty(theta.size)
    for j in range(theta.size):
        values = []
        for k in (-2, -1, 1, 2):
            moved = theta.copy()
            moved[j] += k * STEP
            evaluation = objective.evaluate(moved, centre.evidence.latent)
            if not np.array_equal(zones(objective, evaluation), here):
                return None
            values.append(evaluation.value)
        far, near = values[0] - values[3], values[2] - values[1]
        slopes[j] = (far + 8.0 * near) / (12.0 * STEP)
    return slopes


def check_gradient(kernel, likelihood, inference, n=20):
    for seed in range(8):  # a problem in which no point sits on a knot
        X = points(n, seed=10 + seed)
        objective = EvidenceObjective(kernel, likelihood, inference, Inputs(X), targets(likelihood, X, seed))
        centre = objective.evaluate(objective.theta0)
        slopes = differences(objective, centre)
        if slopes is not None:
            break
    assert slopes is not None, "every problem has a point on a knot"
    assert centre.evidence.status is not Status.MAX_ITER
    assert centre.gradient.shape == objective.theta0.shape == (len(objective.names),)
    scale = max(0.01, float(np.abs(slopes).max(initial=0.0)) * 1e-2)
    assert relative_error(centre.gradient, slopes, floor=scale) < 1e-6, (centre.gradient, slopes)


def test_no_likelihood_is_missing():
    treated = {type(x) for x in INSTANCES if x.traits.smoothness >= 1 and x.traits.convex}
    assert treated == {type(x) for x in LIKELIHOODS}


@pytest.mark.parametrize("kernel", KERNELS, ids=KERNEL_IDS)
@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda x: type(x).__name__)
def test_every_kernel_with_every_likelihood(kernel, likelihood):
    check_gradient(kernel, likelihood, Laplace(Newton(tol=1e-12)))


@pytest.mark.parametrize("kernel", KERNELS, ids=KERNEL_IDS)
def test_every_kernel_with_exact_inference(kernel):
    check_gradient(kernel, lib.GaussianNoise(0.2), Exact())


A, B, C, D = Gaussian(1.3, 0.9), Linear(0.4), Constant(0.3), Matern32(0.8, 1.7)


@pytest.mark.parametrize(
    "likelihood", [lib.RaisedCosine(), lib.Logistic(), lib.SmoothInsensitive()], ids=lambda x: type(x).__name__
)
def test_nested_kernels(likelihood):
    kernel = (A * B + C) * D
    X = points(12)
    np.testing.assert_allclose(kernel.gram(X), (A.gram(X) * B.gram(X) + C.gram(X)) * D.gram(X), rtol=1e-14)
    check_gradient(kernel, likelihood, Laplace(Newton(tol=1e-12)))
    check_gradient(((A + B).on([0, 2]) * D + A * C) * (B + C), likelihood, Laplace(Newton(tol=1e-12)))


def test_with_a_hyperprior_and_weights():
    likelihood = lib.Weighted(lib.RaisedCosine(), np.random.default_rng(0).uniform(0.2, 3.0, size=25))
    X = points(25)
    y = np.where(X[:, 0] > 0.2, 1.0, -1.0)
    inference = Laplace(Newton(tol=1e-12))
    objective = EvidenceObjective(A + C, likelihood, inference, Inputs(X), y, LogNormal(0.3, 0.7))
    centre = objective.evaluate(objective.theta0)
    slopes = differences(objective, centre)
    assert slopes is not None
    assert relative_error(centre.gradient, slopes, floor=0.1) < 1e-6
    flat = EvidenceObjective(A + C, likelihood, inference, objective.X, y).evaluate(objective.theta0)
    log_prior, gradient = LogNormal(0.3, 0.7).log_density(objective.theta0, objective.names)
    np.testing.assert_allclose(centre.value, flat.value + log_prior, rtol=1e-13)
    np.testing.assert_allclose(centre.gradient, flat.gradient + gradient, rtol=1e-12, atol=1e-14)


def test_parts_of_the_objective():
    X = points(25)
    y = targets(lib.SmoothInsensitive(), X, 0)
    objective = EvidenceObjective(A + C, lib.SmoothInsensitive(), Laplace(), Inputs(X), y)
    assert objective.names == ("gaussian.variance", "gaussian.lengthscale", "constant.variance", *objective.names[3:])
    assert all(name.startswith("likelihood.") for name in objective.names[3:])
    assert objective.bounds.shape == (objective.theta0.size, 2)
    kernel, likelihood = objective.model(objective.theta0 + 0.5)
    np.testing.assert_allclose(np.r_[kernel.theta, likelihood.theta], objective.theta0 + 0.5)
    cold = objective.evaluate(objective.theta0)
    warm = objective.evaluate(objective.theta0, warm_start=cold.evidence.latent)
    np.testing.assert_allclose(warm.value, cold.value, rtol=1e-9)
    assert warm.evidence.n_iter < cold.evidence.n_iter
    np.testing.assert_array_equal(cold.theta, objective.theta0)


# -- figures ----------------------------------------------------------------------------------------------------------
DATA = Path(os.environ.get("BAYESVM_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.mark.skipif(not (DATA / "rsy.npz").exists(), reason="rsy.npz is not in the data directory (BAYESVM_DATA)")
def test_ripley():
    """Laplace evidence of Ripley's set: kernel variance 4, length scales 0.5, logistic, no constant."""
    with np.load(DATA / "rsy.npz") as data:
        rows = data["train"]
        X, y = data["X"][rows], data["y"][rows].astype(float)
    assert X.shape == (250, 2)
    kernel = Gaussian(4.0, (0.5, 0.5), ard=True)
    found = EvidenceObjective(kernel, lib.Logistic(), Laplace(Newton(tol=1e-12)), Inputs(X), y).evaluate(kernel.theta)
    np.testing.assert_allclose(found.value, -88.310763, atol=5e-7)
    by_name = dict(zip(kernel.names, found.gradient))
    amplitude = 2.0 * by_name["variance"]  # the variance is the square of the amplitude
    lengths = [by_name[f"lengthscale[{i}]"] for i in range(2)]
    np.testing.assert_allclose([*lengths, amplitude], [-10.623219, -2.810807, 14.748907], atol=1e-6)
