"""Fits of many rows: inducing inputs and neighbours beside trees and other approximations, on one core.

``python -m benchmarks.large [regression] [classification] [growth] [--sets NAME ...] [--machines NAME ...] [--sizes N ...]
[--json FILE] [--resume]``

Peers run if they are installed (``benchmarks/peers-requirements.txt``); they are in :mod:`benchmarks.large_peers`. Times
are processor times. Spam has five splits, the other sets one. Every row is written to the file as soon as it is there;
with ``--resume`` rows that are there already are not measured again.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from bayesvm import BayesianSVC, GPClassifier, GPRegressor
from benchmarks._common import load, ringnorm, table
from benchmarks.record import Row, write

SIZES = (5000, 20000, 80000, 200000)
REGRESSION = ("california", "compactiv", "power", "arm")
CLASSIFICATION = ("spam", "california", "draws", "ringnorm")

#: Features up to which GPBoost runs: with the 21 of compactiv it had not ended after ten minutes.
MOST_VECCHIA = 10

#: Means and standard deviations (None if unknown) at test rows, or log probabilities of the two classes.
Predicted = tuple[np.ndarray, np.ndarray | None]
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def installed(name: str) -> bool:
    """Whether a peer can be imported."""
    return importlib.util.find_spec(name) is not None


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
    """Return training and test rows, labels -1 and +1, of every split."""
    if name == "california":
        return [california(labels=True)]
    if name == "ringnorm":
        return [(*ringnorm(200000, np.random.default_rng(0)), *ringnorm(10000, np.random.default_rng(10**6)))]
    if name == "draws":
        X, y = make_classification(20000, 10, n_informative=8, n_redundant=0, n_clusters_per_class=4, random_state=0)
        return split(X, 2.0 * y - 1.0, 0.25)
    data = load("spam")
    return split(data["X"], np.asarray(data["y"], dtype=float), 0.2, 5)


def vecchia(X: np.ndarray, y: np.ndarray, Xt: np.ndarray) -> Predicted:
    """Return the predictions of GPBoost's Vecchia approximation with 20 neighbours."""
    import gpboost

    scale = StandardScaler().fit(X)
    mean, spread = y.mean(), y.std()
    inputs = {"gp_coords": scale.transform(X), "cov_function": "matern_ard", "cov_fct_shape": 1.5}
    model = gpboost.GPModel(**inputs, likelihood="gaussian", gp_approx="vecchia", num_neighbors=20, seed=0)
    model.fit(y=(y - mean) / spread)
    found = model.predict(gp_coords_pred=scale.transform(Xt), predict_var=True, predict_response=True)
    return mean + spread * found["mu"], spread * np.sqrt(found["var"])


def regressors() -> Iterator[tuple[str, Callable[[np.ndarray, np.ndarray, np.ndarray], Predicted]]]:
    """Yield name and function (training rows, targets, test rows) -> means and standard deviations."""
    yield "GPRegressor()", lambda X, y, Xt: GPRegressor(random_state=0).fit(X, y).predict(Xt, return_std=True)
    trees = HistGradientBoostingRegressor(random_state=0)
    yield "histogram boosting", lambda X, y, Xt: (trees.fit(X, y).predict(Xt), None)
    if installed("lightgbm"):
        from lightgbm import LGBMRegressor

        yield "LightGBM", lambda X, y, Xt: (LGBMRegressor(n_jobs=1, verbose=-1).fit(X, y).predict(Xt), None)
    if installed("catboost"):
        from catboost import CatBoostRegressor

        def boosted(X: np.ndarray, y: np.ndarray, Xt: np.ndarray) -> Predicted:
            model = CatBoostRegressor(thread_count=1, verbose=0, random_seed=0, allow_writing_files=False)
            return model.fit(X, y).predict(Xt), None

        yield "CatBoost", boosted
    if installed("gpboost"):
        yield "GPBoost, Vecchia", vecchia


def searched_svr(X: np.ndarray, y: np.ndarray, Xt: np.ndarray) -> Predicted:
    """Return the predictions of a support vector regression with a grid search by three-fold cross-validation."""
    machine = make_pipeline(StandardScaler(), SVR(cache_size=1000))
    grid = {"svr__C": [1.0, 10.0], "svr__gamma": [0.05, 0.1, 0.2], "svr__epsilon": [0.05]}
    mean, spread = y.mean(), y.std()
    found = GridSearchCV(machine, grid, cv=3).fit(X, (y - mean) / spread)
    return mean + spread * found.predict(Xt), None


def regression(names: list[str]) -> list[Row]:
    """Return error, likelihood, coverage of 95 % intervals and processor time for every set and machine."""
    found = []
    for name in names:
        X, y, Xt, yt = regression_set(name)
        machines = [*regressors(), *([("SVR, grid search", searched_svr)] if name == "arm" else [])]
        machines = [(title, run) for title, run in machines if run is not vecchia or X.shape[1] <= MOST_VECCHIA]
        rows = []
        for title, run in machines:
            began = time.process_time()
            mean, std = run(X, y, Xt)
            seconds = time.process_time() - began
            rmse = float(np.sqrt(np.mean((mean - yt) ** 2)))
            nll = inside = np.nan
            if std is not None:
                nll = -float(np.mean(norm.logpdf(yt, mean, std)))
                inside = 100.0 * float(np.mean(np.abs(yt - mean) <= norm.ppf(0.975) * std))
            rows.append([title, rmse, nll, inside, seconds])
            numbers = {"rmse": rmse, "nll": nll, "coverage": inside, "seconds": seconds}
            found.append({"name": f"{name}, {title}", **numbers})
            print(name, rows[-1], flush=True)
        print(f"{name}: {len(y)} rows, {X.shape[1]} features, {len(yt)} to test")
        print(table(["machine", "RMSE", "NLL", "95 % coverage", "fit and predict [s]"], rows))
    return found


def classifiers() -> Iterator[tuple[str, Any]]:
    """Yield names and classifiers."""
    yield "BayesianSVC()", BayesianSVC(random_state=0)
    yield "GPClassifier()", GPClassifier(random_state=0)
    plain = BayesianSVC("rbf + constant", likelihood="logistic", inducing=500, n_starts=1, random_state=0)
    yield "BayesianSVC, logistic, 500 inducing inputs", plain
    yield "histogram boosting", HistGradientBoostingClassifier(random_state=0)
    if installed("lightgbm"):
        from lightgbm import LGBMClassifier

        yield "LightGBM", LGBMClassifier(n_jobs=1, verbose=-1)
    if installed("catboost"):
        from catboost import CatBoostClassifier

        yield "CatBoost", CatBoostClassifier(thread_count=1, verbose=0, random_seed=0, allow_writing_files=False)


def judged(model: Any, part: Split) -> list[float]:
    """Return error in per cent, mean negative log likelihood and processor time of a classifier on a split."""
    X, y, Xt, yt = part
    began = time.process_time()
    proba = np.clip(model.fit(X, y).predict_proba(Xt), 1e-15, 1.0)
    seconds = time.process_time() - began
    column = (yt > 0.0).astype(int)
    error = 100.0 * float(np.mean(np.argmax(proba, axis=1) != column))
    return [error, -float(np.mean(np.log(proba[np.arange(yt.size), column]))), seconds]


def classification(names: list[str]) -> list[Row]:
    """Return error, likelihood and processor time, averaged over the splits, for every set and machine."""
    found = []
    for name in names:
        parts = classification_sets(name)
        X, y, _, yt = parts[0]
        platt = make_pipeline(StandardScaler(), SVC(probability=True, cache_size=1000, random_state=0))
        rows = []
        for title, model in [*classifiers(), *([("SVC, Platt", platt)] if len(y) < 10000 else [])]:
            error, nll, seconds = np.mean([judged(model, part) for part in parts], axis=0)
            rows.append([title, error, nll, seconds])
            found.append({"name": f"{name}, {title}", "error": error, "nll": nll, "seconds": seconds})
            print(name, rows[-1], flush=True)
        print(f"{name}: {len(y)} rows, {X.shape[1]} features, {len(yt)} to test, {len(parts)} splits")
        print(table(["machine", "error [%]", "NLL", "fit and predict [s]"], rows))
    return found


def growth(sizes: list[int]) -> list[Row]:
    """Return time and memory by the number of rows: a smooth and a rough function of two features among five.

    The memory is the peak of the process up to then, so sizes have to increase.
    """
    rows = []
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
            rows.append([n, kind, len(machine.inducing_inputs_), fitted, predicted, peak])
            print(rows[-1], flush=True)
    columns = ["rows", "by", "inputs", "fit [s]", "predict 10000 [s]", "peak [MiB]"]
    print(table(columns, rows))
    return [{"name": f"growth, {row[0]} rows, {row[1]}", **dict(zip(columns, row, strict=True))} for row in rows]


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=["regression", "classification", "growth", []], default=[])
    parser.add_argument("--sets", nargs="+", default=[])
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--json", help="file to which the rows are added")
    options = parser.parse_args()
    parts = options.parts or ["regression", "classification", "growth"]
    found: list[Row] = []
    if "regression" in parts:
        found += regression(options.sets or list(REGRESSION))
    if "classification" in parts:
        found += classification(options.sets or list(CLASSIFICATION))
    if "growth" in parts:
        found += growth(options.sizes)
    if options.json is not None:
        write(options.json, found)


if __name__ == "__main__":
    main()
