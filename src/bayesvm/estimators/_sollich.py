"""Parts of :class:`~bayesvm.ProbabilisticSVC`: nodes of the input density, starts, odds, remarks."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy.special import log_expit, logsumexp

from bayesvm.estimators._machine import Machine
from bayesvm.hyper.normalized import EvidenceCurve, NormalizedObjective, ScaledObjective, evidence_curve, evidence_fall
from bayesvm.inference.hinge import (
    AnnealedEstimate,
    Annealing,
    HingeExactOrEP,
    NormalizerEstimate,
    PosteriorDraws,
    SliceSampling,
    annealed_evidence,
    hinge_bounds,
)
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.scale import Scale
from bayesvm.likelihoods.base import Likelihood
from bayesvm.typing import Matrix, Vector

#: Entries up to which sparse rows are compared densely to find equal ones.
DENSE = 20_000_000
#: Below it the gap inverts.
LN2 = float(np.log(2.0))
#: Nats by which the evidence must fall towards the largest C for its maximum to count.
FLAT = 2.0


@dataclasses.dataclass(frozen=True)
class Nodes:
    """What stands for the input density: rows, weights that sum to one, and the number of training samples."""

    rows: Inputs
    weights: Vector
    count: float


def input_nodes(X: Inputs, weights: Vector, count: float, most: int, rng: np.random.Generator) -> Nodes:
    """Return at most ``most`` different rows of X with their weights.

    Rows are sorted, and equal ones merged, so that the common random numbers belong to rows and not to positions: the evidence does
    not change when rows are permuted, or given twice instead of with weight two.
    """
    if X.is_sparse and X.X.shape[0] * X.n_features > DENSE:
        distinct, total = np.arange(len(X)), weights
    else:
        rows = X.X.toarray() if X.is_sparse else X.X
        _, distinct, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        total = np.bincount(np.ravel(inverse), weights=weights)
    if distinct.size > most:
        chosen = np.sort(rng.choice(distinct.size, most, replace=False))
        distinct, total = distinct[chosen], total[chosen]
    return Nodes(X.forget().take(distinct).forget(), total / total.sum(), count)


def density_rows(given: Any, count: int, n_features: int, rng: np.random.Generator) -> Matrix:
    """Return the user's rows of the input density, drawn by a callable or as they are, or say what is wrong with them."""
    rows = np.asarray(given(rng, count) if callable(given) else given, dtype=float)
    if rows.ndim != 2 or rows.shape[0] < 1 or rows.shape[1] != n_features or not np.all(np.isfinite(rows)):
        raise ValueError(f"inputs: expected finite rows of {n_features} features, found shape {rows.shape}")
    return rows


def curve_grid(given: Any, C: float, largest: float) -> Vector:
    """Return the values of C for an evidence curve: the user's, or forty around the fitted one."""
    grid = (
        np.geomspace(0.1 * C, max(min(10.0 * C, largest), 2.0 * C), 40)
        if given is None
        else np.asarray(given, dtype=float)
    )
    if grid.ndim != 1 or grid.size < 2 or not (np.all(grid > 0.0) and np.all(np.diff(grid) > 0.0)):
        raise ValueError(f"evidence_curve: expected increasing positive values of C, found {given!r}")
    return grid


def log_odds(f: Matrix, C: float) -> Vector:
    r"""Return the log odds of :math:`P(y|\theta)`, Sollich1999 (5), averaged over the columns of f."""
    odds = C * (np.maximum(1.0 + f, 0.0) - np.maximum(1.0 - f, 0.0))
    if odds.shape[1] == 1:
        return np.asarray(odds[:, 0])
    return np.asarray(logsumexp(log_expit(odds), axis=1) - logsumexp(log_expit(-odds), axis=1))


def start_kernel(kernel: Kernel, X: Inputs) -> Kernel:
    """Return the default kernel with sensible values for standardised data, for when they are not learnt."""
    return kernel.at_scale(Scale(2.0, float(np.sqrt(X.n_features)), 0.5, X.n_features))


def sollich_starts(
    kernel: Kernel, likelihood: Likelihood, X: Inputs, n_starts: int, rng: np.random.Generator, distance: float
) -> list[Vector]:
    """Return starts of (kernel, C): amplitudes of a few margins, small variances of the bias, C from 1 to 4.

    A large variance of the bias makes all labels equal (Sollich1999, footnote 1), so none begins there.
    """
    d, root = X.n_features, float(np.sqrt(X.n_features))
    table = [
        (Scale(2.0, root, 0.5, d), 2.0),
        (Scale(4.0, 0.5 * distance, 0.5, d), 1.5),
        (Scale(1.0, 2.0 * root, 0.5, d), 3.0),
        (Scale(8.0, root, 0.1, d), 1.0),
        (Scale(2.0, 0.4 * root, 0.1, d), 2.0),
        (Scale(2.0, 2.0 * distance, 1.0, d), 4.0),
    ]
    while len(table) < n_starts:
        a, b, c, e = rng.normal(size=4)
        scale = Scale(2.0 * float(np.exp(a)), root * float(np.exp(0.7 * b)), 0.3 * float(np.exp(c)), d)
        table.append((scale, 2.0 * float(np.exp(0.5 * e))))
    learnt = likelihood.theta.size
    return [np.concatenate([kernel.at_scale(s).theta, np.log([C])[:learnt]]) for s, C in table[:n_starts]]


def remarks(machine: Machine, C: float, estimate: NormalizerEstimate | None, *, learnt: bool, tol: float) -> list[str]:
    """Return what the user should know about a fitted machine."""
    found = []
    if C < LN2:
        found.append(
            f"C = {C:.3g} is below ln 2: decisions are then more, not less, likely inside the gap |f| < 1, and the model makes "
            "little sense (Sollich1999, footnote 2)"
        )
    likelihood, objective = machine.likelihood, machine.objective
    if isinstance(objective.inference, HingeExactOrEP) and "loss" in machine.evidence.terms:
        found.append(
            "sample weights differ by so many orders of magnitude that expectation propagation does not settle: the coarse estimate of "
            "Sollich1999 (8) took its place"
        )
    learnt = learnt and bool(likelihood.theta.size)
    if learnt and likelihood.theta[0] >= likelihood.bounds[0, 1] - 0.02:
        found.append(
            f"the evidence still rises at the largest C allowed ({C:.3g}): the data show no label noise, and the evidence has no "
            "interior maximum in C; probabilities close to 0 and 1 are not supported by the data"
        )
    elif learnt and bool(np.all(machine.mean(objective.X) * objective.y > 0.0)) and _flat_above(machine, C):
        found.append(
            f"the machine gives every training sample its label: the data show no label noise, and the evidence has no interior "
            f"maximum in C that could be relied on (found C = {C:.3g}; larger values are hardly less probable)"
        )
    if estimate is not None and estimate.error > max(1.0, 5.0 * tol):
        found.append(f"the normaliser is known to {estimate.error:.2g} nats only; compare evidences with care")
    return found


def _flat_above(machine: Machine, C: float) -> bool:
    """Whether the evidence at the largest C allowed is hardly below that at the C found."""
    largest = float(np.exp(machine.likelihood.bounds[0, 1]))
    fall, error = evidence_fall(_scaled_objective(machine), np.geomspace(C, largest, 8), paths=200)
    return fall < FLAT + 2.0 * error


def objective_of(machine: Machine) -> NormalizedObjective:
    """Return the objective of a machine, whose kind is known."""
    assert isinstance(machine.objective, NormalizedObjective)
    return machine.objective


def curve_of(machine: Machine, C: Vector, *, paths: int = 600) -> EvidenceCurve:
    """Return the evidence of a fitted machine against C, at the fixed product of C and its kernel."""
    return evidence_curve(_scaled_objective(machine), C, paths=paths)


def _scaled_objective(machine: Machine) -> ScaledObjective:
    """Return the objective of a fitted machine as a function of C alone."""
    o = objective_of(machine)
    return ScaledObjective(machine.kernel, machine.likelihood, o.inference, o.X, o.y, o.prior, o.normalizer, o.nodes)


def annealed_machine(machine: Machine, rng: np.random.Generator) -> AnnealedEstimate:
    """Return the annealed estimate of Q(D) of a fitted machine."""
    X = machine.objective.X
    options = Annealing(1000, max(50, 5 * len(X)), 2)
    return annealed_evidence(machine.kernel.gram(X), machine.objective.y, machine.likelihood, options, rng)


def posterior_draws(machine: Machine, count: int, rng: np.random.Generator) -> PosteriorDraws:
    """Return draws of the posterior of a fitted machine."""
    X, y = machine.objective.X, machine.objective.y
    bound = hinge_bounds(y, machine.likelihood)[1]
    return SliceSampling(draws=count).run(machine.kernel.gram(X), y, bound, machine.posterior, rng)


__all__ = [
    "Nodes",
    "annealed_machine",
    "curve_grid",
    "curve_of",
    "density_rows",
    "input_nodes",
    "log_odds",
    "objective_of",
    "posterior_draws",
    "remarks",
    "sollich_starts",
    "start_kernel",
]
