"""Fits over blocks of rows on a Dask cluster of this computer (loopback only).

``python -m benchmarks.distributed [scaling] [speedup] [peers] [california] [blocks] [--sizes N ...]``
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayesvm import GPRegressor
from bayesvm.distributed import DistributedSVC, DistributedSVR
from bayesvm.distributed.blocks import Block
from bayesvm.distributed.engine import local_cluster
from bayesvm.distributed.held_out import make_member
from bayesvm.distributed.objective import BlockEvidence, evaluate_block
from bayesvm.distributed.warm_starts import LocalLatents
from bayesvm.inference import Laplace
from bayesvm.inference.names import PREDICTIVE_EP
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import Trigonometric
from benchmarks._common import load, ringnorm, table

SIZES = (25000, 50000, 100000, 200000)
CHUNK = 12500
TEST_ROWS = 10000
D = 20


def draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ringnorm rows and labels."""
    return ringnorm(n, np.random.default_rng(seed), D)


def bayes_odds(X: np.ndarray) -> np.ndarray:
    """Return the log odds of the wide class: those of the optimal classifier."""
    a = 2.0 / np.sqrt(D)
    return -D * np.log(2.0) - np.sum(X**2, axis=1) / 8.0 + np.sum((X - a) ** 2, axis=1) / 2.0


def rows(n: int) -> tuple[Any, Any]:
    """Return training rows as Dask arrays whose chunks are drawn where they are used."""
    import dask.array as da
    from dask import delayed

    sizes = [min(CHUNK, n - start) for start in range(0, n, CHUNK)]
    parts = [delayed(draw, nout=2)(size, seed) for seed, size in enumerate(sizes)]
    X = da.concatenate([da.from_delayed(p[0], (size, D), float) for p, size in zip(parts, sizes)])
    y = da.concatenate([da.from_delayed(p[1], (size,), float) for p, size in zip(parts, sizes)])
    return X, y


def peak() -> float:
    """Return the peak of the resident memory of this process in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def quality(log_proba: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return error in per cent and mean negative log likelihood."""
    column = (y > 0.0).astype(int)
    error = 100.0 * float(np.mean(np.argmax(log_proba, axis=1) != column))
    return error, -float(np.mean(log_proba[np.arange(y.size), column]))


def one(n: int, n_workers: int, *, predict: bool = True) -> list[Any]:
    """Fit n rows on a fresh cluster; return time, memory, evaluations, error and likelihood."""
    Xt, yt = draw(TEST_ROWS, 10**6)
    with local_cluster(n_workers) as client:
        X, y = rows(n)
        began = time.perf_counter()
        model = DistributedSVC(block_size=1000, random_state=0, client=client).fit(X, y)
        seconds = time.perf_counter() - began
        last = model.history_[-1]
        figures = [
            n,
            n_workers,
            seconds,
            max(client.run(peak).values()),
            model.n_iter_,
            last.evaluations,
            last.seconds,
        ]
        if predict:
            began = time.perf_counter()
            error, nll = quality(model.predict_log_proba(Xt), yt)
            figures += [error, nll, time.perf_counter() - began, float(model.temper_[0])]
    print(figures, flush=True)
    return figures


HEAD = ["n", "workers", "fit [s]", "peak [GiB]", "evaluations", "on all blocks", "of them [s]"]


def scaling(sizes: tuple[int, ...]) -> None:
    """Time, memory and quality by the number of rows, two workers."""
    Xt, yt = draw(TEST_ROWS, 10**6)
    odds = bayes_odds(Xt)
    best = quality(np.column_stack([-np.logaddexp(0.0, odds), -np.logaddexp(0.0, -odds)]), yt)
    found = [one(n, 2) for n in sizes]
    n, seconds = np.log([row[0] for row in found]), np.log([row[2] for row in found])
    print(table([*HEAD, "error [%]", "NLL", "predict [s]", "temper"], found))
    if len(found) > 1:
        print(f"exponent of the fit time {np.polyfit(n, seconds, 1)[0]:.3f} (limit 1.1)")
    print(f"optimal classifier: error {best[0]:.2f} %, NLL {best[1]:.4f} (limit of the error: {best[0] + 0.3:.2f} %)")


def speedup(sizes: tuple[int, ...]) -> None:
    """Fit time with one and with two workers."""
    n = sizes[-1]
    found = [one(n, k, predict=False) for k in (1, 2)]
    print(table(HEAD, found))
    print(f"speed-up from 1 to 2 workers at n = {n}: {found[0][2] / found[1][2]:.2f} (limit 1.7)")


def peers(sizes: tuple[int, ...]) -> None:
    """Gradient boosting and Nystroem features on the same data, in memory, one process."""
    n = sizes[-1]
    parts = [draw(min(CHUNK, n - start), seed) for seed, start in enumerate(range(0, n, CHUNK))]
    X, y = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    Xt, yt = draw(TEST_ROWS, 10**6)
    features = Nystroem(n_components=1000, gamma=1.0 / D, random_state=0)
    models = {
        "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
        "Nystroem(1000) + logistic": make_pipeline(StandardScaler(), features, LogisticRegression(max_iter=300)),
    }
    found = []
    for name, model in models.items():
        began = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - began
        proba = np.clip(model.predict_proba(Xt), 1e-15, 1.0)
        found.append([name, seconds, *quality(np.log(proba), yt)])
        print(found[-1], flush=True)
    print(table(["model", "fit [s]", "error [%]", "NLL"], found))


def california() -> None:
    """California housing: RMSE and coverage beside a Gaussian process of 3000 rows and gradient boosting."""
    data = load("california")
    X, y = data["X"], np.asarray(data["y"], dtype=float)
    order = np.random.default_rng(0).permutation(len(y))
    test, train = order[:4000], order[4000:]
    few = train[:3000]
    found = []

    def record(name: str, seconds: float, mean: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        rmse = float(np.sqrt(np.mean((mean - y[test]) ** 2)))
        inside = 100.0 * float(np.mean((y[test] >= low) & (y[test] <= high)))
        found.append([name, seconds, rmse, inside, float(np.mean(high - low))])
        print(found[-1], flush=True)

    with local_cluster(2) as client:
        for partition in ("random", "clustered"):
            began = time.perf_counter()
            model = DistributedSVR(ard=True, partition=partition, random_state=0, client=client).fit(X[train], y[train])
            seconds = time.perf_counter() - began
            record(f"distributed, {partition}", seconds, model.predict(X[test]), *model.predict_interval(X[test]))
    began = time.perf_counter()
    process = GPRegressor(ard=True, n_starts=1, evidence_tol=0.1).fit(X[few], y[few])
    seconds = time.perf_counter() - began
    record("Gaussian process, 3000 rows", seconds, process.predict(X[test]), *process.predict_interval(X[test]))
    began = time.perf_counter()
    boosted = HistGradientBoostingRegressor(random_state=0).fit(X[train], y[train])
    ends = [
        HistGradientBoostingRegressor(loss="quantile", quantile=q, random_state=0).fit(X[train], y[train])
        for q in (0.025, 0.975)
    ]
    seconds = time.perf_counter() - began
    record("HistGradientBoosting", seconds, boosted.predict(X[test]), *(end.predict(X[test]) for end in ends))
    print(table(["model", "fit [s]", "RMSE", "95 % coverage", "mean width"], found))


def blocks() -> None:
    """Processor time per block by its size: one evaluation, one member (Laplace, EP), predicting 1000 rows."""
    found = []
    kernel, theta = Gaussian() + Constant(), np.array([0.54, 1.53, 4.15])
    evidence = BlockEvidence(kernel.bind(D), Trigonometric(), Laplace(), 0)
    kernel = evidence.kernel.with_theta(theta)
    Xt = draw(1000, 1)[0] / 1.6
    for size in (250, 500, 1000, 2000):
        X, y = draw(size, 0)
        block = Block(0, X / 1.6, y[:, None], None)
        steps: list[Any] = [
            lambda b=block: evaluate_block(b, evidence, theta, "e", None, LocalLatents()),
            lambda b=block: make_member(b, [(evidence, theta)], None, 20, 0),
            lambda b=block: make_member(b, [(evidence, theta)], PREDICTIVE_EP, 20, 0),
        ]
        member = steps[2]()[0]
        steps.append(lambda m=member: m.latent(0, kernel, Inputs(Xt)))
        seconds = []
        for step in steps:
            began = time.process_time()
            step()
            seconds.append(time.process_time() - began)
        found.append([size, *seconds, member.X.nbytes / 2**20])
    print(table(["rows", "evaluation [s]", "member [s]", "EP member [s]", "predict 1000 [s]", "member [MiB]"], found))


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    known = {"scaling": scaling, "speedup": speedup, "peers": peers, "california": california, "blocks": blocks}
    parser.add_argument("parts", nargs="*", choices=[*known, []], default=[])
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    options = parser.parse_args()
    for name in options.parts or known:
        part = known[name]
        part(tuple(options.sizes)) if name in ("scaling", "speedup", "peers") else part()


if __name__ == "__main__":
    main()
