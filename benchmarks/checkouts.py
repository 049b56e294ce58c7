"""Two checkouts against each other: ``python -m benchmarks.checkouts OLD_PYTHON [--repeats 9]``.

OLD_PYTHON is the interpreter of an environment in which another version of the library is installed. Both versions run
the same tasks in turn, each in a process of its own with one BLAS thread; a row gives the processor seconds of either
and the median of the ratios, new over old, which a load on the machine hardly moves.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys

#: What is measured; every task is a function of no arguments that is called after one call to warm up.
TASKS = """
import json, sys, time, warnings
import numpy as np
import bayesvm.likelihoods as lib
from bayesvm import BayesianLSSVC, BayesianSVC, BayesianSVR, GPClassifier, GPRegressor
from bayesvm.datasets import make_ringnorm, make_sinc
from bayesvm.hyper import EvidenceObjective
from bayesvm.inference import Laplace
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs

warnings.simplefilter("ignore")

def evaluation(n, likelihood, ard=False):
    X, y = make_ringnorm(n, random_state=0)[:2]
    kernel = (Gaussian(4.0, 4.0, ard=ard) + Constant(1.0)).bind(X.shape[1])
    objective = EvidenceObjective(kernel, likelihood, Laplace(), Inputs(X), y.astype(float))
    first = objective.evaluate(objective.theta0)
    count = max(1, 4000 // n)
    def run():
        for k in range(count):
            objective.evaluate(objective.theta0 + 1e-3 * (k % 3), first.evidence.latent)
    return run

def fit(estimator, X, y):
    return lambda: estimator.fit(X, y)

R = {n: make_ringnorm(n, random_state=1)[:2] for n in (100, 200, 400, 800)}
S = make_sinc(200, random_state=0)[:2]
TASKS = {
    "evaluation, trigonometric, n = 250": evaluation(250, lib.Trigonometric()),
    "evaluation, trigonometric, n = 1000": evaluation(1000, lib.Trigonometric()),
    "evaluation, 20 length scales, n = 250": evaluation(250, lib.Logistic(), ard=True),
    **{f"BayesianSVC, n = {n}": fit(BayesianSVC(Gaussian() + Constant()), *R[n]) for n in R},
    "BayesianSVC, ard, n = 200": fit(BayesianSVC(ard=True), *R[200]),
    "GPClassifier, n = 200": fit(GPClassifier(Gaussian() + Constant()), *R[200]),
    "BayesianSVR, n = 200": fit(BayesianSVR(Gaussian() + Constant(), likelihood="soft-insensitive"), *S),
    "GPRegressor, n = 200": fit(GPRegressor(Gaussian() + Constant()), *S),
    "BayesianLSSVC, n = 200": fit(BayesianLSSVC(), *R[200]),
    "predict_proba, 20000 rows": (lambda m, X: lambda: m.predict_proba(X))(
        BayesianSVC(Gaussian() + Constant(), n_starts=1).fit(*R[400]), make_ringnorm(20000, random_state=2)[0]),
}
for task in TASKS.values():
    task()
print(json.dumps(list(TASKS)), flush=True)
for line in sys.stdin:
    began = time.process_time()
    TASKS[line.strip()]()
    print(time.process_time() - began, flush=True)
"""


class Worker:
    """A version of the library in a process of its own."""

    def __init__(self, python: str) -> None:
        single = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self._process = subprocess.Popen(
            [python, "-c", TASKS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env={**os.environ, **single},
        )
        self.tasks: list[str] = json.loads(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def seconds(self, task: str) -> float:
        """Return the processor seconds of one call of a task."""
        assert self._process.stdin is not None
        self._process.stdin.write(task + "\n")
        return float(self._line())


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", help="interpreter of the other version")
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    new, old = Worker(sys.executable), Worker(options.old)
    ratios = []
    print(f"{'task':40s} {'new':>9s} {'old':>9s} {'ratio':>7s}")
    for task in new.tasks:
        pairs = [(new.seconds(task), old.seconds(task)) for _ in range(options.repeats)]
        ratio = statistics.median(a / b for a, b in pairs)
        ratios.append(ratio)
        a, b = (statistics.median(values) for values in zip(*pairs, strict=True))
        print(f"{task:40s} {a:8.3f}s {b:8.3f}s {ratio:7.3f}", flush=True)
    print(f"{'geometric mean':40s} {'':9s} {'':9s} {statistics.geometric_mean(ratios):7.3f}")


if __name__ == "__main__":
    main()
