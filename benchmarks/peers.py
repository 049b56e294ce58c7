"""The race against what a user would pick instead: time, memory, error, likelihood, calibration, size.

``python -m benchmarks.peers [--sets a,b] [--partitions N] [--machines a,b] [--json FILE] [--memory]``

Machines are fitted in turn on the same partitions, in one process and one thread. ``ratio`` is our fit time over
the machine's, so below one we are faster. Peers beyond scikit-learn are in ``benchmarks/peers-requirements.txt``;
absent ones are named.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from bayesvm import BayesianSVC, BayesianSVR, GPRegressor
from bayesvm.comparison.sigmoid_svc import SigmoidSVC
from bayesvm.datasets import MissingDataError, load_ida, load_npz, make_sinc
from bayesvm.experiments.baselines import grid_svc, grid_svr
from bayesvm.experiments.measures import calibration_error
from benchmarks._common import DATA, table
from benchmarks.record import ONE_START, OURS, Row, write

SETS = ("banana", "diabetis", "heart", "ringnorm", "thyroid", "twonorm", "waveform")
REGRESSION = ("sinc", "boston")


class GPyClassifier(ClassifierMixin, BaseEstimator):
    """GPy's classifier (EP, probit) with a Gaussian kernel and a constant, in scikit-learn's manner."""

    def fit(self, X: Any, y: Any) -> GPyClassifier:
        """Optimise the hyperparameters from one start."""
        import GPy

        d = X.shape[1]
        kernel = GPy.kern.RBF(d, lengthscale=float(np.sqrt(d))) + GPy.kern.Bias(d)
        self.classes_ = np.unique(y)
        self.model_ = GPy.models.GPClassification(X, (y == self.classes_[1])[:, None].astype(float), kernel=kernel)
        self.model_.optimize()
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return probabilities."""
        p = self.model_.predict(X)[0][:, 0]
        return np.column_stack([1.0 - p, p])

    def predict(self, X: Any) -> Any:
        """Return the more probable class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def _fastrvm(d: int) -> Any:
    from fastrvm import RVC

    grid = {"rvc__gamma": np.logspace(-3, 1, 9) / d}
    return GridSearchCV(make_pipeline(StandardScaler(), RVC(fit_intercept=True)), grid, cv=5)


def _neo(d: int) -> Any:
    from neo_ls_svm import NeoLSSVM

    return make_pipeline(StandardScaler(), NeoLSSVM())


def _sklearn_gpc(d: int) -> Any:
    kernel = ConstantKernel(1.0) * RBF(float(np.sqrt(d)))
    return make_pipeline(StandardScaler(), GaussianProcessClassifier(kernel))


#: Name: (module that must be there, maker given the number of inputs).
CLASSIFIERS: dict[str, tuple[str, Callable[[int], Any]]] = {
    OURS: ("bayesvm", lambda d: BayesianSVC()),
    ONE_START: ("bayesvm", lambda d: BayesianSVC(None, n_starts=1)),
    "SVC, grid, sigmoid": ("sklearn", lambda d: SigmoidSVC()),
    "SVC, grid, isotonic": (
        "sklearn",
        lambda d: CalibratedClassifierCV(grid_svc(d, 5), method="isotonic", ensemble=False),
    ),
    "sklearn GPC": ("sklearn", _sklearn_gpc),
    "fastrvm, grid": ("fastrvm", _fastrvm),
    "neo-ls-svm": ("neo_ls_svm", _neo),
    "GPy EP": ("GPy", lambda d: make_pipeline(StandardScaler(), GPyClassifier())),
}


def present(machines: dict[str, tuple[str, Any]], chosen: list[str] | None) -> list[str]:
    """Return the names of machines that can run; say which cannot."""
    names = []
    for name, (module, _) in machines.items():
        if chosen and name not in chosen:
            continue
        if importlib.util.find_spec(module) is None:
            print(f"absent: {name} (pip install -r benchmarks/peers-requirements.txt)")
        else:
            names.append(name)
    return names


def vectors(machine: Any) -> float:
    """Return the number of training rows that a machine keeps, if it tells."""
    inner: Any = machine
    for step in ("calibrated_classifiers_", "estimator", "best_estimator_"):
        found = getattr(inner, step, None)
        inner = inner if found is None else found[0] if isinstance(found, list) else found
    inner = inner[-1] if hasattr(inner, "named_steps") else inner
    inner = getattr(inner, "svc_", inner)
    for name in ("support_", "relevance_"):
        if hasattr(inner, name):
            return float(np.size(getattr(inner, name)))
    return float("nan")


def classify(name: str, data: Any, k: int) -> Row:
    """Fit one machine on one partition and measure it."""
    X, y, X_test, y_test = data.split(k)
    machine = CLASSIFIERS[name][1](X.shape[1])
    began = time.process_time()
    machine.fit(X, y)
    fit = time.process_time() - began
    began = time.process_time()
    proba = machine.predict_proba(X_test)
    predict = time.process_time() - began
    given = proba[np.arange(y_test.size), np.searchsorted(machine.classes_, y_test)]
    return {
        "fit_s": fit,
        "predict_ms_per_1000": 1e6 * predict / len(X_test),
        "error": 100.0 * float(np.mean(machine.classes_[proba.argmax(axis=1)] != y_test)),
        "nll": -float(np.mean(np.log(np.clip(given, 1e-15, 1.0)))),
        "ece": calibration_error(np.clip(proba[:, 1], 0.0, 1.0), y_test == machine.classes_[1]),
        "vectors": vectors(machine),
    }


def available(sets: list[str]) -> dict[str, Any]:
    """Return the data sets by name; say which files are missing."""
    found = {}
    for which in sets:
        try:
            found[which] = load_ida(which, DATA)
        except MissingDataError as error:
            print(error)
    return found


def peak_megabytes(which: str, name: str) -> float:
    """Return by how much a fit raises the peak of memory, in an interpreter of its own."""
    command = [sys.executable, "-m", "benchmarks.peers", "--peak", which, name]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(answer.stdout.split()[-1])


def own_peak(which: str, name: str) -> float:
    """Fit in this process, and return megabytes above the peak before.

    A fit to tiny data goes before, which imports and compiles what is needed.
    """
    warm_up([name])
    X, y, _, _ = load_ida(which, DATA).split(0)
    machine = CLASSIFIERS[name][1](X.shape[1])
    before = resident_peak()
    machine.fit(X, y)
    return resident_peak() - before


def resident_peak() -> float:
    """Return the peak of this process' resident memory in megabytes.

    getrusage would count that of the process which started it.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024.0


def race(sets: list[str], partitions: int, chosen: list[str] | None, memory: bool) -> list[Row]:
    """Return one row per set and machine: means over partitions, times as medians."""
    names = present(CLASSIFIERS, chosen)
    rows = []
    for which, data in available(sets).items():
        found: dict[str, list[Row]] = {name: [] for name in names}
        for k in range(partitions):
            for name in names:
                found[name].append(classify(name, data, k))
        ours = statistics.median(unit["fit_s"] for unit in found[OURS]) if OURS in found else float("nan")
        for name in names:
            peak = {"peak_mb": peak_megabytes(which, name)} if memory else {}
            rows.append(_row(which, name, found[name], ours, found.get(OURS)) | peak)
            print(table(list(rows[-1]), [list(rows[-1].values())]), flush=True)
    return rows


def _row(which: str, name: str, units: list[Row], ours: float, own: list[Row] | None) -> Row:
    """Return means over partitions, with the paired difference in NLL to ours and its standard error."""
    row: Row = {"name": f"{which} | {name}", "partitions": len(units)}
    for key in units[0]:
        values = [unit[key] for unit in units]
        row[key] = float(statistics.median(values) if key.endswith(("_s", "_1000")) else np.mean(values))
    row["ratio"] = ours / row["fit_s"] if name != OURS else None
    gaps = [] if own is None or name == OURS else [a["nll"] - b["nll"] for a, b in zip(units, own)]
    row["nll_above_ours"] = float(np.mean(gaps)) if gaps else None
    row["nll_above_ours_se"] = float(np.std(gaps, ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else None
    return row


def _sklearn_gpr(d: int) -> Any:
    kernel = ConstantKernel(1.0) * RBF(float(np.sqrt(d))) + WhiteKernel(0.1)
    return make_pipeline(StandardScaler(), GaussianProcessRegressor(kernel, normalize_y=True))


REGRESSORS: dict[str, Callable[[int], Any]] = {
    "BayesianSVR()": lambda d: BayesianSVR(),
    "GPRegressor()": lambda d: GPRegressor(),
    "sklearn GPR": _sklearn_gpr,
    "SVR, grid": lambda d: grid_svr(d),
}


def regress(name: str, X: Any, y: Any, X_test: Any, y_test: Any) -> Row:
    """Fit one regressor and measure it; machines without a density have no NLL."""
    machine = REGRESSORS[name](X.shape[1])
    began = time.process_time()
    machine.fit(X, y)
    fit = time.process_time() - began
    began = time.process_time()
    mean = machine.predict(X_test)
    predict = time.process_time() - began
    if hasattr(machine, "log_density"):
        nll = -float(np.mean(machine.log_density(X_test, y_test)))
    elif name == "sklearn GPR":
        center, std = machine.predict(X_test, return_std=True)
        nll = -float(np.mean(norm.logpdf(y_test, center, std)))
    else:
        nll = float("nan")
    return {
        "fit_s": fit,
        "predict_ms_per_1000": 1e6 * predict / len(X_test),
        "rmse": float(np.sqrt(np.mean((mean - y_test) ** 2))),
        "nll": nll,
    }


def regression_race(partitions: int) -> list[Row]:
    """Return one row per set and regressor."""
    rows = []
    for which in REGRESSION:
        found: dict[str, list[Row]] = {name: [] for name in REGRESSORS}
        for k in range(partitions):
            if which == "sinc":
                X, y, _ = make_sinc(400, random_state=k)
                X_test, y_test, _ = make_sinc(3000, random_state=1000 + k)
            else:
                try:
                    X, y, X_test, y_test = load_npz(which, DATA).random_split(400, k)
                except MissingDataError as error:
                    print(error)
                    break
            for name in REGRESSORS:
                found[name].append(regress(name, X, y, X_test, y_test))
        for name, units in found.items():
            if units:
                own = found["BayesianSVR()"]
                row = _row(which, name, units, statistics.median(u["fit_s"] for u in own), None)
                row["ratio"] = None if name == "BayesianSVR()" else row["ratio"]
                rows.append(row)
                print(table(list(row), [list(row.values())]), flush=True)
    return rows


def warm_up(names: list[str]) -> None:
    """Fit every machine once to tiny data, so that compilation on first use is not counted."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=40) > 0.0, 1, -1)
    for name in names:
        CLASSIFIERS[name][1](2).fit(X, y).predict_proba(X)


def main() -> None:
    """Run the race."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--partitions", type=int, default=3)
    parser.add_argument("--machines", help="names with semicolons between")
    parser.add_argument(
        "--memory", action="store_true", help="measure the peak of memory too, in processes of their own"
    )
    parser.add_argument(
        "--peak", nargs=2, metavar=("SET", "MACHINE"), help="measure that peak here and do nothing else"
    )
    parser.add_argument("--regression", action="store_true", help="regressors instead of classifiers")
    parser.add_argument("--json")
    given = parser.parse_args()
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers warn about bounds and iterations; their figures tell
        if given.peak:
            print(own_peak(*given.peak))
            return
        if given.regression:
            rows = regression_race(given.partitions)
        else:
            chosen = given.machines.split(";") if given.machines else None
            warm_up(present(CLASSIFIERS, chosen))
            rows = race(given.sets.split(","), given.partitions, chosen, given.memory)
    if given.json:
        write(given.json, rows)


if __name__ == "__main__":
    main()
