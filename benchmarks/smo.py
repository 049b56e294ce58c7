"""The working-set solver: speed, the USPS digits, memory at n = 50000, interruption.

`python -m benchmarks.smo [speed] [usps] [memory] [interrupt]`; all rows without a name. Run with one BLAS thread.
"""

from __future__ import annotations

import functools
import os
import resource
import signal
import statistics
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.svm import SVC

from bayesvm._core import working_set
from bayesvm.estimators.extended_svc import ExtendedSVC
from bayesvm.estimators.trigonometric_svc import TrigonometricSVC
from bayesvm.experiments.thesis_table_h1 import PAPER
from bayesvm.kernels import Gaussian
from bayesvm.likelihoods.dual import Dual
from bayesvm.solvers.working_set import WorkingSet
from benchmarks._common import load, table

#: Support vectors per digit, Thesis Table H.1.
TABLE_H1 = np.array([vectors for _, vectors, _ in PAPER])


def sample(n: int, noise: float, d: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and noisy labels of a smooth function."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    f = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.3 * X @ w
    return X, np.where(f + noise * rng.normal(size=n) > 0.0, 1, -1)


def cpu_interleaved(functions: list[Callable[[], Any]], repeats: int) -> list[float]:
    """Return the median processor seconds of each function, called in turn."""
    seconds: list[list[float]] = [[] for _ in functions]
    for _ in range(repeats):
        for record, function in zip(seconds, functions):
            began = time.process_time()
            function()
            record.append(time.process_time() - began)
    return [statistics.median(record) for record in seconds]


def speed() -> None:
    """Fit times against scikit-learn's SVC at tol 1e-3, one thread, interleaved."""
    rows = []
    for n in (5000, 10_000):
        for noise in (0.1, 1.0):
            X, y = sample(n, noise)
            gamma = 1.0 / (X.shape[1] * X.var())
            scale = (2.0 * gamma) ** -0.5
            for C in (1.0, 10.0):
                svc = SVC(C=C, gamma=gamma, tol=1e-3)
                ours = ExtendedSVC(C=C, kernel=Gaussian(1.0, scale), tol=1e-3)
                trigonometric = TrigonometricSVC(Gaussian(C, scale), tol=1e-3)
                machines = [svc, ours, trigonometric]
                s, o, t = cpu_interleaved([functools.partial(m.fit, X, y) for m in machines], 3)
                rows.append(
                    [n, noise, C, svc.support_.size, f"{s:.2f}", f"{o:.2f}", f"{t:.2f}", f"{o / s:.2f}", f"{t / s:.2f}"]
                )
    print(
        "fit, Gaussian kernel, d = 20, tol 1e-3; limits of the ratios: 1.0 (hinge) and 1.5 (trigonometric, kappa_0 = C)"
    )
    header = [
        "n",
        "noise",
        "C",
        "SVs",
        "SVC [s]",
        "ExtendedSVC [s]",
        "TrigonometricSVC [s]",
        "hinge ratio",
        "trig. ratio",
    ]
    print(table(header, rows))


def usps() -> None:
    """Ten one-vs-rest trigonometric machines on the USPS digits, Thesis Table H.1."""
    data = load("usps")
    X, y, train, test = data["X"], data["y"], data["train"], data["test"]
    machine = TrigonometricSVC(Gaussian(15.0, 0.02**-0.5), tol=1e-3, cache_size=1000, n_jobs=2)
    began = time.perf_counter()
    machine.fit(X[train], y[train])
    seconds = time.perf_counter() - began
    error = 100.0 * np.mean(machine.predict(X[test]) != y[test])
    counts = np.count_nonzero(machine.dual_coef_, axis=1)
    print(f"USPS, ten TSVCs: {seconds:.1f} s (limit 90), test error {error:.2f} % (limit 4.7, thesis 4.58)")
    rows = [[k, c, p, f"{100.0 * (c / p - 1.0):+.1f} %"] for k, (c, p) in enumerate(zip(counts, TABLE_H1))]
    print(table(["digit", "SVs", "Table H.1", "difference (limit 10 %)"], rows))


def memory() -> None:
    """Fit 50000 rows with a cache of 500 MB: peak memory and cost per step."""
    X, y = sample(50_000, 0.3)
    scaled = np.ascontiguousarray(X / np.sqrt(0.5 * X.shape[1] * X.var()))
    began = time.perf_counter(), time.process_time()
    columns = working_set.KernelColumns(scaled, True, 1.0)
    dual = Dual.margin(y.astype(float), 1.0)
    result = WorkingSet(tol=1e-3, cache_bytes=500 * 10**6).start(columns, dual, equality=True).finish()
    wall, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    print(
        f"n = 50000, d = 20, cache 500 MB: {result.status.name}, {np.count_nonzero(result.alpha)} SVs, "
        f"{result.n_iter} steps, {wall:.0f} s ({cpu:.0f} s of processor, {1e6 * cpu / result.n_iter:.0f} us per step), "
        f"peak {peak:.0f} MB (limit 900)"
    )


def interrupt() -> None:
    """Time from the signal to KeyboardInterrupt in the middle of a fit."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 20)), rng.integers(0, 2, size=20_000)
    sent: list[float] = []

    def send() -> None:
        time.sleep(2.0)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send, daemon=True).start()
    try:
        ExtendedSVC(C=1e4, tol=1e-9).fit(X, y)
    except KeyboardInterrupt:
        print(f"interrupt: KeyboardInterrupt {time.perf_counter() - sent[0]:.2f} s after the signal (limit 1)")


PARTS = {"memory": memory, "speed": speed, "usps": usps, "interrupt": interrupt}

if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
