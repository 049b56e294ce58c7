"""One evaluation of the evidence with its gradient, over the time of the work that cannot be avoided, by size.

``python -m benchmarks.evaluation [--sizes 1000,2000] [--json FILE]``. The denominator is the sum of
X X', n^2/2 exponentials, and one potrf and one potri of the support block, timed in the same run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
from scipy.linalg import lapack

from bayesvm.hyper import EvidenceObjective
from bayesvm.inference import Laplace
from bayesvm.kernels import Constant, Gaussian, Inputs
from bayesvm.likelihoods import RaisedCosine, Trigonometric
from benchmarks._common import interleaved, ringnorm, table
from benchmarks.record import Row, write

HEAD = ["likelihood", "n", "support", "evaluation [ms]", "X X'", "n^2/2 exp", "potrf", "potri", "ratio"]


def rows_by_size(sizes: Sequence[int]) -> list[list[object]]:
    """Return one row per size and likelihood."""
    rows = []
    for n in sizes:
        X, y = ringnorm(n, np.random.default_rng(1))
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        rows += [row(X, y, likelihood) for likelihood in (Trigonometric(), RaisedCosine())]
    return rows


def as_results(rows: Sequence[Sequence[object]]) -> list[Row]:
    """Return the rows as named results."""
    return [{"name": f"evaluation {r[0]} n={r[1]}", **dict(zip(HEAD, r))} for r in rows]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one row per size and likelihood."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,2000")
    parser.add_argument("--json")
    given = parser.parse_args(arguments)
    rows = rows_by_size([int(n) for n in given.sizes.split(",")])
    print("evidence plus gradient, Gaussian ARD + constant, d = 20, warm start; limit of the ratio: 4")
    print(table(HEAD, rows))
    if given.json:
        write(given.json, as_results(rows))


def row(X: np.ndarray, y: np.ndarray, likelihood: Trigonometric | RaisedCosine) -> list[object]:
    """Time one evaluation after a step of about 0.05 per parameter, with a third of the points in the support."""
    n, d = X.shape
    kernel = (Gaussian(1.0, np.sqrt(d), ard=True) + Constant(10.0)).bind(d)
    objective = EvidenceObjective(kernel, likelihood, Laplace(), Inputs(X), y)
    theta = objective.theta0
    before = objective.evaluate(theta)
    moved = theta + 0.05 * np.random.default_rng(0).normal(size=theta.size)
    m = before.evidence.rows.size
    block = np.asfortranarray(np.eye(m) * 2.0 + 0.5 / m)
    factor = lapack.dpotrf(block, lower=1)[0]
    half = np.full(n * n // 2, -0.3)
    seconds = interleaved(
        [
            lambda: objective.evaluate(moved, before.evidence.latent),
            lambda: X @ X.T,
            lambda: np.exp(half),
            lambda: lapack.dpotrf(block, lower=1),
            lambda: lapack.dpotri(factor, lower=1),
        ],
        repeats=25 if n < 3000 else 7,
        clock=time.process_time,
    )
    ms = [1e3 * s for s in seconds]
    return [type(likelihood).__name__, n, m, *ms, ms[0] / sum(ms[1:])]


if __name__ == "__main__":
    main()
