"""Evidence with theta integrated out: Laplace's method against long importance sampling, on small problems.

``python -m benchmarks.model_evidence [--draws N] [--jumps]``

Ten problems have an evidence without jumps (expectation propagation, Gaussian noise); with ``--jumps`` twelve others
are tried, whose evidence by Laplace's method jumps (trigonometric likelihood, soft insensitive noise).

Draws come half from the prior of theta and half from a Student t distribution about the optimum, so no place where the
posterior has mass is without draws, and the mean of the weights is an unbiased estimate of the evidence, with a
standard error from the draws themselves.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, multivariate_t

from bayesvm.hyper import EvidenceObjective, Maximizer, Maximum, regression_starting_points, starting_points
from bayesvm.hyper.default_prior import default_hyperprior
from bayesvm.hyper.model_evidence import ModelEvidence, has_jumps, integrated_evidence
from bayesvm.hyper.multistart import evaluate_point
from bayesvm.hyper.surrogate import maximize_through_surrogates
from bayesvm.inference import EP, Exact, Inference, Laplace
from bayesvm.kernels import Constant, Gaussian, Inputs, Kernel, Linear, Matern52
from bayesvm.likelihoods import GaussianNoise, Likelihood, RaisedCosine, Regression, SoftInsensitive, Trigonometric
from bayesvm.typing import Matrix, Vector
from benchmarks._common import table

#: Training rows of every problem.
ROWS = 40


def problems() -> Iterator[tuple[str, EvidenceObjective]]:
    """Yield ten problems with three to six hyperparameters, with and without one length scale per feature."""
    iso, ard = Gaussian() + Constant(), Gaussian(ard=True) + Constant()
    plan: list[tuple[str, Kernel, int, bool]] = [
        ("labels, one length scale", iso, 2, False),
        ("labels, one length scale, 5 inputs", iso, 5, False),
        ("labels, linear part", Gaussian() + Linear() + Constant(), 2, False),
        ("labels, Matern", Matern52() + Constant(), 3, False),
        ("labels, ARD, 2 inputs", ard, 2, False),
        ("labels, ARD, 4 inputs", ard, 4, False),
        ("targets, one length scale", iso, 1, True),
        ("targets, linear part", Gaussian() + Linear() + Constant(), 2, True),
        ("targets, ARD, 2 inputs", ard, 2, True),
        ("targets, ARD, 3 inputs", ard, 3, True),
    ]
    for seed, (name, kernel, d, regression) in enumerate(plan):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(ROWS, d))
        latent = np.sin(2.0 * X[:, 0]) + (X[:, 1] if d > 1 else 0.0)
        noisy = latent + 0.3 * rng.normal(size=ROWS)
        y = (noisy - noisy.mean()) / noisy.std() if regression else np.where(noisy > 0.0, 1.0, -1.0)
        likelihood: Likelihood = GaussianNoise() if regression else RaisedCosine()
        inference: Inference = Exact() if regression else EP(tol=1e-4, max_iter=60)
        prior = default_hyperprior(np.sqrt(2.0 * d), spread=1.0 if regression else None)
        yield name, EvidenceObjective(kernel.bind(d), likelihood, inference, Inputs(X), y, prior)


def jumping_problems() -> Iterator[tuple[str, EvidenceObjective]]:
    """Yield twelve problems whose evidence jumps along theta, with twice as many rows."""
    iso, ard = Gaussian() + Constant(), Gaussian(ard=True) + Constant()
    for seed in range(3):
        for kernel, form in ((iso, "one length scale"), (ard, "ARD")):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(2 * ROWS, 3))
            noisy = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=2 * ROWS)
            likelihood: Likelihood = Trigonometric()
            y = np.where(noisy > 0.0, 1.0, -1.0)
            prior = default_hyperprior(np.sqrt(6.0))
            name = f"labels, {form}, seed {seed}"
            yield name, EvidenceObjective(kernel.bind(3), likelihood, Laplace(), Inputs(X), y, prior)
            y = (noisy - noisy.mean()) / noisy.std()
            prior = default_hyperprior(np.sqrt(6.0), spread=1.0)
            name = f"targets, {form}, seed {seed}"
            yield name, EvidenceObjective(kernel.bind(3), SoftInsensitive(), Laplace(), Inputs(X), y, prior)


def optimum(objective: EvidenceObjective) -> Maximum:
    """Return the maximum from three starts."""
    rng = np.random.default_rng(0)
    kernel, likelihood, X = objective.kernel, objective.likelihood, objective.X
    if isinstance(likelihood, Regression):
        starts = regression_starting_points(kernel, likelihood, X, 3, rng)
    else:
        starts = starting_points(kernel, X, 3, rng, distance=float(np.sqrt(2.0 * X.n_features)))
    return maximize_through_surrogates(Maximizer(tol=1e-4), objective, starts)


def sampled(objective: EvidenceObjective, found: ModelEvidence, draws: int, seed: int = 0) -> tuple[float, float]:
    """Return the log evidence by importance sampling, with its standard error; the density ends at the bounds."""
    rng = np.random.default_rng(seed)
    mean, covariance = prior_moments(objective)
    near = found.axes @ found.axes.T + 1e-2 * covariance
    parts: list[Any] = [multivariate_normal(mean, covariance), multivariate_t(found.theta, 1.5 * near, df=4)]
    theta = np.concatenate([np.atleast_2d(part.rvs(draws // 2, random_state=rng)) for part in parts])
    low, high = objective.bounds.T
    inside = np.all((theta > low) & (theta < high), axis=1)
    proposal = logsumexp([part.logpdf(theta) + np.log(0.5) for part in parts], axis=0)
    values = np.array([evaluate_point(objective, t, None).value if ok else -np.inf for t, ok in zip(theta, inside)])
    log_weights = values - proposal
    top = log_weights.max()
    weights = np.exp(log_weights - top)
    relative = float(np.std(weights, ddof=1) / np.sqrt(draws) / np.mean(weights))
    return float(top + np.log(np.mean(weights))), relative


def prior_moments(objective: EvidenceObjective) -> tuple[Vector, Matrix]:
    """Return mean and covariance of a Gaussian hyperprior, from its gradient."""
    names, k = objective.names, objective.theta0.size
    gradients = [objective.prior.log_density(e, names)[1] for e in np.vstack([np.zeros(k), np.eye(k)])]
    covariance = np.linalg.inv(np.array([gradients[0] - g for g in gradients[1:]]))
    return covariance @ gradients[0], 0.5 * (covariance + covariance.T)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--jumps", action="store_true", help="problems whose evidence jumps instead")
    given = parser.parse_args()
    head = ["problem", "k", "sampled", "s.e.", "value", "difference", "stated error", "evaluations"]
    for name, objective in jumping_problems() if given.jumps else problems():
        maximum = optimum(objective)
        found = integrated_evidence(objective, maximum.theta, maximum.latent, jumps=has_jumps(objective))
        truth, se = sampled(objective, found, given.draws)
        row = [name, found.theta.size, truth, se, found.value, found.value - truth, found.error, found.evaluations]
        print(table(head, [row]), flush=True)


if __name__ == "__main__":
    main()
