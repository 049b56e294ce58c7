"""Where the time of a default fit goes.

``python -m benchmarks.profile [--sizes 400,1000,3000] [--top N] [--json FILE]``. Time is that of each function itself,
summed by the part of the library (or the routine below it) that the function belongs to.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
from collections import defaultdict
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bayesvm import BayesianSVC, BayesianSVR
from bayesvm.datasets import make_sinc
from benchmarks._common import ringnorm, table
from benchmarks.record import Row, write

#: Parts by what occurs in the file's or the function's name; the first that fits counts.
PARTS = (
    ("factorisations, solves", ("potr", "trtr", "trsm", "linalg", "dsyrk", "scipy")),
    ("Gram matrix, pullback", ("kernels", "gram")),
    ("likelihood", ("likelihoods", "special", "faddeeva")),
    ("mode (Newton)", ("solvers",)),
    ("EP, Laplace", ("inference",)),
    ("search", ("hyper",)),
    ("estimator", ("estimators",)),
)


def part_of(file: str, function: str) -> str:
    """Return the part that a function belongs to."""
    where = f"{file} {function}"
    return next((part for part, marks in PARTS if any(mark in where for mark in marks)), "Python, NumPy")


def profiled(machine: Any, X: Any, y: Any) -> tuple[float, dict[str, float], list[list[Any]]]:
    """Return seconds, shares by part, and the functions with the most time of their own."""
    profiler = cProfile.Profile()
    began = time.perf_counter()
    profiler.runcall(machine.fit, X, y)
    seconds = time.perf_counter() - began
    own: dict[str, float] = defaultdict(float)
    lines = []
    for (file, line, function), (_, calls, tt, _, _) in pstats.Stats(profiler).stats.items():  # type: ignore[attr-defined]
        own[part_of(file, function)] += tt
        lines.append([f"{file.rsplit('bayesvm/', 1)[-1]}:{line} {function}"[:90], calls, tt])
    total = sum(own.values())
    shares = {part: own[part] / total for part in (*(name for name, _ in PARTS), "Python, NumPy") if own[part]}
    return seconds, shares, sorted(lines, key=lambda row: -row[2])


def main() -> None:
    """Print shares and the top functions of each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="400,1000,3000")
    parser.add_argument("--top", type=int, default=15)
    parser.add_argument("--regression", action="store_true")
    parser.add_argument("--json")
    given = parser.parse_args()
    rows: list[Row] = []
    for n in map(int, given.sizes.split(",")):
        if given.regression:
            X, y, _ = make_sinc(n, random_state=0)
        else:
            X, y = ringnorm(n, np.random.default_rng(0))
        machine = (BayesianSVR if given.regression else BayesianSVC)()
        with threadpool_limits(limits=1):
            seconds, shares, lines = profiled(machine, X, y)
        name = f"profile {type(machine).__name__} n={n}"
        rows.append({"name": name, "n": n, "fit_s": seconds, "shares": shares, "evaluations": machine.n_iter_})
        print(f"{name}: {seconds:.2f} s, {machine.n_iter_} evaluations")
        print(table(list(shares), [[f"{100 * share:.1f} %" for share in shares.values()]]))
        print(table(["function", "calls", "own s"], lines[: given.top]), flush=True)
    if given.json:
        write(given.json, rows)


if __name__ == "__main__":
    main()
