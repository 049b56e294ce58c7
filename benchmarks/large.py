"""Fits of many rows: inducing inputs and neighbours beside trees and other approximations, on one core.

``python -m benchmarks.large [regression] [classification] [growth] [--sets NAME ...] [--machines NAME ...]
[--sizes N ...] [--json FILE] [--resume]``

Peers (:mod:`benchmarks.large_peers`) run if they are installed (``benchmarks/peers-requirements.txt``). Times are
processor times. Spam has five splits, the other sets one. Every row is written to the file as soon as it is there; with
``--resume`` rows that are there already are not measured again.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.datasets import make_classification
from sklearn.model_selection import ShuffleSplit

from bayesvm import BayesianSVC, GPClassifier, GPRegressor
from benchmarks import large_peers
from benchmarks._common import load, ringnorm
from benchmarks.large_peers import Regressor
from benchmarks.record import Row, read, write

SIZES = (5000, 20000, 80000, 200000)
REGRESSION = ("california", "compactiv", "power", "arm")
CLASSIFICATION = ("spam", "california", "draws", "ringnorm", "usps")

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def robot_arm(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the eight joint angles of an arm and the distance of its end from a point, with noise of 0.02."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-np.pi / 2, np.pi / 2, (n, 8))
    angles = np.cumsum(X, axis=1)
    x, z = np.cos(angles).mean(axis=1), np.sin(angles).mean(axis=1)
    return X, np.hypot(x - 0.1, z - 0.1) + 0.02 * rng.normal(size=n)


def split(X: np.ndarray, y: np.ndarray, share: float, n: int = 1) -> list[Split]:
    """Return random splits into training and test rows."""
    pairs = ShuffleSplit(n, test_size=share, random_state=0).split(X)
    return [(X[train], y[train], X[test], y[test]) for train, test in pairs]


def california(labels: bool = False) -> Split:
    """Return California housing with the split of ``benchmarks.distributed``; labels: above the median or not."""
    data = load("california")
    X, y = data["X"], np.asarray(data["y"], dtype=float)
    y = np.where(y > np.median(y), 1.0, -1.0) if labels else y
    order = np.random.default_rng(0).permutation(len(y))
    return X[order[4000:]], y[order[4000:]], X[order[:4000]], y[order[:4000]]


def regression_set(name: str) -> Split:
    """Return training and test rows."""
    if name == "california":
        return california()
    if name == "arm":
        return *robot_arm(8000, 0), *robot_arm(4000, 1)
    data = load({"compactiv": "compactiv", "power": "reg_power_plant"}[name])
    return split(data["X"], np.asarray(data["y"], dtype=float), 0.1)[0]


def classification_sets(name: str) -> list[Split]:
    """Return training and test rows of every split."""
    if name == "california":
        return [california(labels=True)]
    if name == "ringnorm":
        return [(*ringnorm(200000, np.random.default_rng(0)), *ringnorm(10000, np.random.default_rng(10**6)))]
    if name == "draws":
        X, y = make_classification(20000, 10, n_informative=8, n_redundant=0, n_clusters_per_class=4, random_state=0)
        return split(X, 2.0 * y - 1.0, 0.25)
    data = load(name)
    if name == "usps":
        train, test = data["train"], data["test"]
        return [(data["X"][train], data["y"][train], data["X"][test], data["y"][test])]
    return split(data["X"], np.asarray(data["y"], dtype=float), 0.2, 5)


def own_regressors() -> Iterator[tuple[str, Regressor, Any]]:
    """Yield the machines of this library, with error bars of their own."""
    yield "GPRegressor()", lambda X, y, Xt: GPRegressor(random_state=0).fit(X, y).predict(Xt, return_std=True), None


def regression(name: str, wanted: Callable[[str], bool]) -> Iterator[Row]:
    """Yield error, likelihood, coverage of 95 % intervals and processor time of every machine on a set."""
    X, y, Xt, yt = regression_set(name)
    print(f"{name}: {len(y)} rows, {X.shape[1]} features, {len(yt)} to test")
    for title, run, barred in [*own_regressors(), *large_peers.regressors(*X.shape)]:
        if not wanted(f"{name}, {title}"):
            continue
        began = time.process_time()
        mean, std = run(X, y, Xt)
        seconds = time.process_time() - began
        own = std is not None
        if barred is not None:
            std = np.full(len(yt), large_peers.residual_deviation(barred, X, y))
        row = {"name": f"{name}, {title}", "rmse": float(np.sqrt(np.mean((mean - yt) ** 2)))}
        if std is not None:
            inside = np.abs(yt - mean) <= norm.ppf(0.975) * std
            row |= {"nll": -float(np.mean(norm.logpdf(yt, mean, std))), "coverage": 100.0 * float(np.mean(inside))}
        yield {**row, "own_error_bars": own, "seconds": seconds}


def own_classifiers() -> Iterator[tuple[str, Any]]:
    """Yield the machines of this library."""
    yield "BayesianSVC()", BayesianSVC(random_state=0)
    yield "GPClassifier()", GPClassifier(random_state=0)
    plain = BayesianSVC("rbf + constant", likelihood="logistic", inducing=500, n_starts=1, random_state=0)
    yield "BayesianSVC, logistic, 500 inducing inputs", plain


def judged(model: Any, part: Split) -> list[float]:
    """Return error in per cent, mean negative log likelihood and processor time of a classifier on a split."""
    X, y, Xt, yt = part
    began = time.process_time()
    proba = np.clip(model.fit(X, y).predict_proba(Xt), 1e-15, 1.0)
    seconds = time.process_time() - began
    column = np.searchsorted(model.classes_, yt)
    error = 100.0 * float(np.mean(np.argmax(proba, axis=1) != column))
    return [error, -float(np.mean(np.log(proba[np.arange(yt.size), column]))), seconds]


def classification(name: str, wanted: Callable[[str], bool]) -> Iterator[Row]:
    """Yield error, likelihood and processor time of every machine on every split of a set."""
    parts = classification_sets(name)
    X, y, _, yt = parts[0]
    print(f"{name}: {len(y)} rows, {X.shape[1]} features, {len(yt)} to test, {len(parts)} splits")
    machines = [*own_classifiers(), *large_peers.classifiers(*X.shape)]
    for (k, part), (title, model) in itertools.product(enumerate(parts), machines):
        full = f"{name}, {title}" if len(parts) == 1 else f"{name}, {title}, split {k}"
        if wanted(full):
            error, nll, seconds = judged(model, part)
            yield {"name": full, "error": error, "nll": nll, "seconds": seconds}


def growth(sizes: list[int]) -> Iterator[Row]:
    """Yield time and memory by the number of rows: a smooth and a rough function of two features among five.

    The memory is the peak of the process up to then, so sizes have to increase.
    """
    columns = ["rows", "by", "inputs", "fit [s]", "predict 10000 [s]", "peak [MiB]"]
    for n in sizes:
        for frequency in (1.0, 8.0):
            rng = np.random.default_rng(0)
            X = rng.uniform(-2.0, 2.0, (n, 5))
            y = np.sin(frequency * X[:, 0]) * np.cos(frequency * X[:, 1]) + 0.2 * rng.normal(size=n)
            began = time.process_time()
            machine = GPRegressor(random_state=0).fit(X, y)
            fitted = time.process_time() - began
            began = time.process_time()
            machine.predict(X[:10000])
            predicted = (time.process_time() - began) * 10000 / min(n, 10000)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
            kind = "neighbours" if np.isnan(machine.approximation_gap_) else "inducing inputs"
            row = [n, kind, len(machine.inducing_inputs_), fitted, predicted, peak]
            yield {"name": f"growth, {n} rows, {kind}", **dict(zip(columns, row, strict=True))}


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=["regression", "classification", "growth", []], default=[])
    parser.add_argument("--sets", nargs="+", default=[])
    parser.add_argument("--machines", nargs="+", default=[""], help="parts of names")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--json", help="file to which every row is added as soon as it is there")
    parser.add_argument("--resume", action="store_true", help="leave out rows that are in the file already")
    options = parser.parse_args()
    known = {row["name"] for row in read(options.json)} if options.resume and Path(options.json).is_file() else set()

    def wanted(name: str) -> bool:
        return name not in known and any(machine in name for machine in options.machines)

    parts = options.parts or ["regression", "classification", "growth"]
    rows: list[Iterator[Row]] = []
    if "classification" in parts:
        rows += [classification(name, wanted) for name in options.sets or CLASSIFICATION]
    if "regression" in parts:
        rows += [regression(name, wanted) for name in options.sets or REGRESSION]
    if "growth" in parts:
        rows.append(growth(options.sizes))
    for row in itertools.chain.from_iterable(rows):
        print(row, flush=True)
        if options.json is not None:
            write(options.json, [row])


if __name__ == "__main__":
    main()
