"""The default machines beside the ones they choose among and the strongest peers: NLL, error, coverage, seconds.

``python -m benchmarks.choice labels [--sets a,b] [--partitions N] [--machines a;b] [--out FILE]``

Partitions 0 to N - 1 of the IDA sets; N random splits (2/3 to train, spam 1000 rows) of ion, wbc, wdbc, pid, hea, spam;
N draws of a generated set with 5 of 50 inputs relevant. Results are written to FILE as they come, and a second run goes
on where the first ended. Processor seconds of one thread.

``python -m benchmarks.choice targets [--sets a,b] [--partitions N] [--machines a;b] [--out FILE]``

``ShuffleSplit(test_size=0.1, random_state=0)`` of the regression sets (power plant and compactiv with 1500 rows to
train), and generated sets with 5 % of gross outliers among the training targets.

``python -m benchmarks.choice show FILE`` prints the table of a file: means, and differences from the first machine with
their paired standard errors.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from bayesvm import BayesianSVC, BayesianSVR, GPClassifier, GPRegressor
from bayesvm.comparison.sigmoid_svc import SigmoidSVC
from bayesvm.datasets import make_sinc
from bayesvm.typing import Matrix, Vector
from benchmarks._common import IDA_LIMITS, load, table

Split = tuple[Matrix, Any, Matrix, Any]

SPLITS = {"ion": "ion", "wbc": "wbc", "wdbc": "wdbc", "pid": "pid", "hea": "hea", "spam": "spam"}
REGRESSION = {
    "boston": "boston",
    "concrete": "reg_concrete",
    "energy": "reg_energy",
    "yacht": "reg_yacht",
    "red wine": "reg_wine_quality_red",
    "power plant": "reg_power_plant",
    "compactiv": "compactiv",
}


def five_of_fifty(n: int, rng: np.random.Generator) -> tuple[Matrix, Vector]:
    """Draw labels that depend on 5 of 50 inputs."""
    X = rng.normal(size=(n, 50))
    latent = X[:, 0] + X[:, 1] - X[:, 2] + X[:, 3] ** 2 - 1.0 + np.sin(2.0 * X[:, 4])
    return X, np.where(latent + 0.3 * rng.normal(size=n) > 0.0, 1, -1)


def labels_of(name: str, k: int) -> Split:
    """Return one partition of a set with two classes."""
    if name == "5 of 50":
        rng = np.random.default_rng(k)
        return *five_of_fifty(500, rng), *five_of_fifty(5000, rng)
    if name in IDA_LIMITS:
        data = load(f"ida_{name}")
        train, test = data["train"][k], data["test"][k]
    else:
        data = load(SPLITS[name])
        order = np.random.default_rng(k).permutation(len(data["y"]))
        cut = 1000 if name == "spam" else 2 * len(order) // 3
        train, test = order[:cut], order[cut:]
    return data["X"][train], data["y"][train], data["X"][test], data["y"][test]


def targets_of(name: str, k: int) -> Split:
    """Return one split of a set with real targets."""
    if name == "outliers":
        rng = np.random.default_rng(k)
        X, y, _ = make_sinc(300, random_state=rng)
        bad = rng.choice(300, size=15, replace=False)
        y[bad] += rng.choice([-1.0, 1.0], size=15) * rng.uniform(2.0, 5.0, size=15)
        X_test, y_test, _ = make_sinc(2000, random_state=rng)
        return X, y, X_test, y_test
    data = load(REGRESSION[name])
    X, y = data["X"].astype(float), data["y"].astype(float).ravel()
    train, test = list(ShuffleSplit(k + 1, test_size=0.1, random_state=0).split(X))[k]
    train = train[:1500] if name in ("power plant", "compactiv") else train
    return X[train], y[train], X[test], y[test]


class ScikitGPR:
    """scikit-learn's Gaussian process on standardised inputs, with the interface that is measured here."""

    def __init__(self, *, ard: bool) -> None:
        self.ard = ard

    def fit(self, X: Matrix, y: Vector) -> ScikitGPR:
        """Fit from one start."""
        self.scaler = StandardScaler().fit(X)
        scale = np.full(X.shape[1], np.sqrt(X.shape[1])) if self.ard else float(np.sqrt(X.shape[1]))
        kernel = ConstantKernel(1.0) * RBF(scale) + WhiteKernel(0.1)
        self.gpr = GaussianProcessRegressor(kernel, normalize_y=True).fit(self.scaler.transform(X), y)
        return self

    def predict(self, X: Matrix, return_std: bool = False) -> Any:
        """Return means, and deviations if asked for."""
        return self.gpr.predict(self.scaler.transform(X), return_std=return_std)

    def predict_interval(self, X: Matrix) -> tuple[Vector, Vector]:
        """Return 95 per cent intervals."""
        mean, std = self.predict(X, return_std=True)
        return mean - 1.959964 * std, mean + 1.959964 * std

    def log_density(self, X: Matrix, y: Vector) -> Vector:
        """Return Gaussian log densities."""
        mean, std = self.predict(X, return_std=True)
        return np.asarray(-0.5 * ((y - mean) / std) ** 2 - np.log(std) - 0.5 * np.log(2.0 * np.pi))


def scikit_gpc(d: int) -> Any:
    """Return scikit-learn's Gaussian process classifier with the usual kernel, on standardised inputs."""
    kernel = ConstantKernel(1.0) * RBF(float(np.sqrt(d)))
    return make_pipeline(StandardScaler(), GaussianProcessClassifier(kernel))


CLASSIFIERS: dict[str, Callable[[int], Any]] = {
    "BayesianSVC()": lambda d: BayesianSVC(random_state=0),
    "one length scale": lambda d: BayesianSVC(None, random_state=0),
    "ard": lambda d: BayesianSVC(None, ard=True, random_state=0),
    "SVC, sigmoid": lambda d: SigmoidSVC(),
    "sklearn GPC": scikit_gpc,
    "GPClassifier, EP": lambda d: GPClassifier(None, inference="ep", random_state=0),
    "integrate": lambda d: BayesianSVC(theta="integrate", random_state=0),
}
REGRESSORS: dict[str, Callable[[int], Any]] = {
    "BayesianSVR()": lambda d: BayesianSVR(random_state=0),
    "GPRegressor(None)": lambda d: GPRegressor(None, random_state=0),
    "GPRegressor(None, ard=True)": lambda d: GPRegressor(None, ard=True, random_state=0),
    "sklearn GPR": lambda d: ScikitGPR(ard=False),
    "sklearn GPR, ard": lambda d: ScikitGPR(ard=True),
    "thesis": lambda d: BayesianSVR(None, likelihood="soft-insensitive", random_state=0),
    "integrate": lambda d: BayesianSVR(theta="integrate", random_state=0),
}


def classified(machine: Any, split: Split) -> dict[str, float]:
    """Fit a classifier and measure it."""
    X, y, X_test, y_test = split
    began = time.process_time()
    machine.fit(X, y)
    seconds = time.process_time() - began
    proba = machine.predict_proba(X_test)
    own = proba[np.arange(y_test.size), np.searchsorted(np.unique(y), y_test)]
    nll = -float(np.mean(np.log(np.maximum(own, 1e-300))))
    error = 100.0 * float(np.mean(np.unique(y)[proba.argmax(axis=1)] != y_test))
    return {"nll": nll, "error": error, "seconds": seconds}


def regressed(machine: Any, split: Split) -> dict[str, float]:
    """Fit a regressor and measure it."""
    X, y, X_test, y_test = split
    began = time.process_time()
    machine.fit(X, y)
    seconds = time.process_time() - began
    low, high = machine.predict_interval(X_test)
    return {
        "nll": -float(np.mean(machine.log_density(X_test, y_test))),
        "error": float(np.sqrt(np.mean((machine.predict(X_test) - y_test) ** 2))),
        "coverage": 100.0 * float(np.mean((low <= y_test) & (y_test <= high))),
        "seconds": seconds,
    }


def measure(kind: str, sets: list[str], partitions: int, machines: list[str], out: Path) -> None:
    """Run what is missing in the file."""
    known = json.loads(out.read_text()) if out.exists() else {}
    makers, split, run = (
        (CLASSIFIERS, labels_of, classified) if kind == "labels" else (REGRESSORS, targets_of, regressed)
    )
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's processes warn about bounds on many sets
        for name in sets:
            for k in range(partitions):
                data = split(name, k)
                for machine in machines:
                    key = f"{name}|{k}|{machine}"
                    if key not in known:
                        known[key] = run(makers[machine](data[0].shape[1]), data)
                        out.write_text(json.dumps(known, indent=0))
    show(out)


def show(path: Path) -> None:
    """Print means per set and machine, and paired differences from the first machine."""
    known = json.loads(path.read_text())
    keys = [key.split("|") for key in known]
    machines, sets = list(dict.fromkeys(m for _, _, m in keys)), list(dict.fromkeys(s for s, _, _ in keys))
    rows = []
    for name in sets:
        first = {k: known[f"{s}|{k}|{m}"] for s, k, m in keys if s == name and m == machines[0]}
        for machine in machines:
            own = {k: known[f"{s}|{k}|{m}"] for s, k, m in keys if s == name and m == machine}
            if not own:
                continue
            both = [k for k in own if k in first]
            gap = np.array([own[k]["nll"] - first[k]["nll"] for k in both])
            error = float(gap.std(ddof=1) / np.sqrt(gap.size)) if gap.size > 1 else float("nan")
            means = {
                f: float(np.mean([r[f] for r in own.values()])) for f in next(iter(own.values())) if f != "seconds"
            }
            seconds = float(np.median([r["seconds"] for r in own.values()]))
            gaps = f"{gap.mean():+.4f} +- {error:.4f}" if both else "-"
            rows.append(
                [name, machine, len(own), *(f"{value:.4f}" for value in means.values()), f"{seconds:.2f}", gaps]
            )
    head = [
        "set",
        "machine",
        "runs",
        "NLL",
        "error",
        *(["coverage"] if len(rows[0]) > 7 else []),
        "s/fit",
        "NLL - first",
    ]
    print(table(head, rows))


def main() -> None:
    """Run the command line above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["labels", "targets", "show"])
    parser.add_argument("file", nargs="?")
    parser.add_argument("--sets")
    parser.add_argument("--partitions", type=int)
    parser.add_argument("--machines")
    parser.add_argument("--out")
    given = parser.parse_args()
    if given.kind == "show":
        show(Path(given.file))
        return
    labels = given.kind == "labels"
    everything = [*IDA_LIMITS, *SPLITS, "5 of 50"] if labels else [*REGRESSION, "outliers"]
    sets = given.sets.split(",") if given.sets else everything
    machines = given.machines.split(";") if given.machines else list(CLASSIFIERS if labels else REGRESSORS)[:-1]
    out = Path(given.out or f"choice_{given.kind}.json")
    measure(given.kind, sets, given.partitions or (10 if labels else 5), machines, out)


if __name__ == "__main__":
    main()
