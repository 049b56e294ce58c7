"""The quick estimate of the model evidence against quadrature and against the careful one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.special import logsumexp

import bayesvm.likelihoods as lib
from bayesvm.hyper import (
    EvidenceObjective,
    Maximizer,
    assess,
    default_hyperprior,
    integrated_evidence,
    predict_assessment,
)
from bayesvm.inference import EP, Exact, Laplace
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import GaussianNoise


def regression(n=30, d=1, seed=0, kernel=None):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, d))
    y = np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=n)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    prior = default_hyperprior(np.sqrt(2.0 * d), spread=1.0)
    return EvidenceObjective((kernel or Gaussian()).bind(d), GaussianNoise(0.1), Exact(), Inputs(X), y, prior)


def labels(likelihood, inference, n=60, d=2, seed=0, kernel=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + 0.4 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    prior = default_hyperprior(np.sqrt(2.0 * d))
    kernel = (kernel or Gaussian() + Constant()).bind(d)
    return EvidenceObjective(kernel, likelihood, inference, Inputs(X), y, prior)


def maximum(objective):
    top = Maximizer(1e-6, 300).maximize(objective, [objective.theta0])
    return objective.evaluate(top.theta, top.latent)


def by_quadrature(objective, width=4.0, points=61):
    """Return the log integral over (variance, length scale, noise) on a lattice, from eigenvalues of the Gram matrix.

    Written without the objective: only the hyperprior, which is a product of three densities, is asked.
    """
    X, y, top = objective.X.X, objective.y, maximum(objective).theta
    square = (X[:, None] - X[None]) ** 2
    axes = [np.linspace(t - width, t + width, points) for t in top]
    own = []  # logarithm of the density of one entry, the others kept, so that the sum counts the others twice
    base = objective.prior.log_density(top, objective.names)[0]
    for i, axis in enumerate(axes):
        moved = np.tile(top, (points, 1))
        moved[:, i] = axis
        own.append(np.array([objective.prior.log_density(t, objective.names)[0] - base for t in moved]))
    logs = []
    for j, log_scale in enumerate(axes[1]):
        values, vectors = np.linalg.eigh(np.exp(-0.5 * np.sum(square, axis=2) * np.exp(-2.0 * log_scale)))
        part = vectors.T @ y
        spectrum = np.exp(axes[0])[:, None, None] * np.maximum(values, 0.0) + np.exp(axes[2])[None, :, None]
        fit = -0.5 * np.sum(part**2 / spectrum + np.log(2.0 * np.pi * spectrum), axis=2)
        logs.append(fit + own[0][:, None] + own[1][j] + own[2][None, :] + base)
    return float(logsumexp(np.array(logs)) + 3.0 * np.log(axes[0][1] - axes[0][0]))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_one_length_scale_against_quadrature(seed):
    objective = regression(seed=seed)
    assert objective.names == ("variance", "lengthscale", "likelihood.variance")
    here = maximum(objective)
    found = assess(objective, here)
    assert found.log_model_evidence == pytest.approx(by_quadrature(objective), abs=0.3)
    assert found.log_model_evidence == pytest.approx(integrated_evidence(objective, here.theta).value, abs=0.3)
    assert 0.0 < found.determined <= 3.0
    assert found.score == found.log_model_evidence - 0.5 * found.determined


def test_without_data_nothing_is_determined_and_the_evidence_is_that_of_the_hyperprior():
    # Rows too far apart to tell anything about a length scale that is bounded from above: only the prior curves.
    objective = regression()
    flat = dataclasses.replace(objective, kernel=Gaussian(1e-8).fix("variance").bind(1))
    here = maximum(flat)
    found = assess(flat, here)
    fixed = dataclasses.replace(flat, kernel=Gaussian(1e-8).fix().bind(1))
    without = assess(fixed, maximum(fixed))
    assert found.determined == pytest.approx(without.determined, abs=1e-4)
    assert found.log_model_evidence == pytest.approx(without.log_model_evidence, abs=1e-4)


def test_the_axes_are_those_of_the_curvature():
    objective = regression(seed=3)
    here = maximum(objective)
    careful = integrated_evidence(objective, here.theta)
    found = assess(objective, here)
    assert found.open == 0
    deviations = [np.sqrt(np.diag(axes @ axes.T)) for axes in (found.axes, careful.axes)]
    assert deviations[0] == pytest.approx(deviations[1], rel=0.15)


@pytest.mark.parametrize("seed", [5, 6])
def test_length_scales_of_features_without_information(seed):
    one = regression(40, 1, seed)
    X = np.hstack([one.X.X, np.random.default_rng(seed).normal(size=(40, 2))])
    kernel, prior = Gaussian(lengthscale=[1.0, 4.0, 4.0]).bind(3), default_hyperprior(np.sqrt(6.0), spread=1.0)
    wide = dataclasses.replace(one, kernel=kernel, X=Inputs(X), prior=prior)
    here = maximum(wide)
    found, careful = assess(wide, here), integrated_evidence(wide, here.theta)
    assert found.log_model_evidence == pytest.approx(careful.value, abs=max(1.0, careful.error))
    assert found.determined < here.theta.size - 0.5
    assert found.log_model_evidence < assess(one, maximum(one)).log_model_evidence


@pytest.mark.parametrize("inference", [EP(tol=1e-8), Laplace()], ids=["ep", "laplace"])
@pytest.mark.parametrize("likelihood", [lib.Logistic(), lib.RaisedCosine()], ids=["logistic", "raised-cosine"])
def test_labels_against_the_careful_estimate(likelihood, inference):
    objective = labels(likelihood, inference)
    here = maximum(objective)
    careful = integrated_evidence(objective, here.theta, here.evidence.latent)
    assert assess(objective, here).log_model_evidence == pytest.approx(careful.value, abs=max(0.5, careful.error))


def test_sites_kept_bring_a_curvature_close_to_that_with_sites_that_respond():
    objective = labels(lib.Logistic(), EP(tol=1e-9), n=50)
    here = maximum(objective)
    careful = integrated_evidence(objective, here.theta, here.evidence.latent)
    found = assess(objective, here)
    deviations = [np.sqrt(np.diag(axes @ axes.T)) for axes in (found.axes, careful.axes)]
    assert np.all(np.abs(np.log(deviations[0] / deviations[1])) < 0.5)


def test_noise_with_parameters_by_expectation_propagation():
    objective = regression(30, 1, 4)
    objective = dataclasses.replace(objective, likelihood=lib.Laplace(0.3), inference=EP(tol=1e-8))
    here = maximum(objective)
    careful = integrated_evidence(objective, here.theta, here.evidence.latent)
    assert assess(objective, here).log_model_evidence == pytest.approx(careful.value, abs=max(0.5, careful.error))


def test_a_better_value_moves_the_estimate_by_as_much():
    objective = regression()
    here = maximum(objective)
    plain, better = assess(objective, here), assess(objective, here, here.value + 2.0)
    assert better.log_model_evidence - plain.log_model_evidence == pytest.approx(2.0)
    assert better.determined == plain.determined


def test_several_outputs_determine_more():
    objective = regression(30, 1, 6)
    twice = dataclasses.replace(objective, y=np.column_stack([objective.y, objective.y]))
    one, two = assess(objective, maximum(objective)), assess(twice, maximum(twice))
    assert two.determined > one.determined


# -- prediction from a point that is no maximum ------------------------------------------------------------------------
def test_at_a_maximum_the_prediction_is_the_estimate():
    objective = regression(seed=1)
    here = maximum(objective)
    found, predicted = assess(objective, here), predict_assessment(objective, here)
    assert predicted.log_model_evidence == pytest.approx(found.log_model_evidence, abs=1e-3)
    assert predicted.axes == pytest.approx(found.axes)


def test_next_to_a_maximum_one_newton_step_leads_there():
    objective = regression(seed=1)
    here = maximum(objective)
    away = objective.evaluate(here.theta + np.array([0.1, -0.05, 0.1]))
    assert away.value < here.value - 0.05
    predicted = predict_assessment(objective, away).log_model_evidence
    assert predicted == pytest.approx(assess(objective, here).log_model_evidence, abs=0.15)


def test_where_the_evidence_curves_upward_any_gain_is_possible():
    objective = regression(seed=1)
    here = maximum(objective)
    far = objective.evaluate(here.theta + np.array([0.0, 1.2, 1.0]))
    found = predict_assessment(objective, far)
    assert (found.log_model_evidence == np.inf) == bool(_least_eigenvalue(objective, far.theta) <= 0.0)
    assert found.log_model_evidence == np.inf


def _least_eigenvalue(objective, theta, step=0.1):
    rows = []
    for i in range(theta.size):
        moved = theta.copy()
        moved[i] += step
        rows.append((objective.evaluate(theta).gradient - objective.evaluate(moved).gradient) / step)
    return float(np.min(np.linalg.eigvalsh(0.5 * (np.array(rows) + np.array(rows).T))))


def test_a_part_of_the_rows_predicts_about_the_same():
    objective = labels(lib.Logistic(), EP(tol=1e-6), n=120)
    here = maximum(objective)
    whole = predict_assessment(objective, here)
    part = predict_assessment(objective, here, np.arange(0, 120, 2))
    assert part.log_model_evidence == pytest.approx(whole.log_model_evidence, abs=1.0)
