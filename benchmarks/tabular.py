"""Default machines on generated tables of the kinds that trees are made for, beside histogram boosting, on one core.

``python -m benchmarks.tabular [NAME ...] [--rows N] [--json FILE]``

Every set has N rows to train and 5000 to test. Times are processor times of fit and prediction.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping

import numpy as np
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from bayesvm import BayesianSVC, BayesianSVR
from benchmarks._common import table
from benchmarks.large_peers import residual_deviation
from benchmarks.record import Row, write

TEST = 5000
Data = tuple[np.ndarray, np.ndarray]


def _labels(f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw labels with log odds f."""
    return np.asarray(rng.uniform(size=f.size) < 1.0 / (1.0 + np.exp(-f)))


def one_hot(n: int, rng: np.random.Generator) -> Data:
    """Six categories of 3 to 12 levels as one-hot columns beside four numbers, one of them with an interaction."""
    numbers = rng.normal(size=(n, 4))
    levels = [rng.integers(0, k, n) for k in (3, 4, 5, 6, 8, 12)]
    effects = [np.random.default_rng(k).normal(size=12) for k in range(6)]
    f = sum(e[c] for e, c in zip(effects, levels, strict=True)) + numbers[:, 0] * effects[0][levels[3]] + numbers[:, 1]
    columns = [np.eye(12)[c][:, : c.max() + 1] for c in levels]
    return np.hstack([numbers, *columns]), _labels(f, rng)


def rare(n: int, rng: np.random.Generator) -> Data:
    """Two classes in the ratio of about 1 to 50, ten features."""
    X = rng.normal(size=(n, 10))
    return X, _labels(2.0 * X[:, 0] * X[:, 1] + 2.0 * np.sin(2.0 * X[:, 2]) + X[:, 3] - 6.5, rng)


def wide(n: int, rng: np.random.Generator) -> Data:
    """Eighty features, of which six matter."""
    X = rng.normal(size=(n, 80))
    return X, _labels(2.0 * X[:, 0] * X[:, 1] + 2.0 * np.abs(X[:, 2]) - 1.5 + X[:, 3] - X[:, 4] + X[:, 5], rng)


def classes(n: int, rng: np.random.Generator) -> Data:
    """Six classes, twelve features."""
    centres = np.random.default_rng(1).normal(size=(12, 12))
    which = rng.integers(0, 12, n)
    return centres[which] + 0.8 * rng.normal(size=(n, 12)), which % 6


def steps(n: int, rng: np.random.Generator) -> Data:
    """Targets that are steps and boxes of four integers and two numbers, with repeated rows."""
    X = np.column_stack([rng.integers(0, 10, (n, 4)), rng.uniform(size=(n, 2)).round(2)]).astype(float)
    f = 2.0 * (X[:, 0] > 4) * (X[:, 1] < 6) + (X[:, 2] > 7) - 1.5 * ((X[:, 3] > 2) & (X[:, 4] > 0.5))
    return X, f + 0.3 * rng.normal(size=n)


def heavy(n: int, rng: np.random.Generator) -> Data:
    """Noise of a t distribution with two degrees of freedom, features with tails of three."""
    X = rng.standard_t(3, size=(n, 6))
    return X, np.sin(X[:, 0]) + np.tanh(X[:, 1] * X[:, 2]) + 0.3 * rng.standard_t(2, size=n)


def noisy(n: int, rng: np.random.Generator) -> Data:
    """A signal of a tenth of the noise."""
    X = rng.normal(size=(n, 8))
    return X, 0.3 * np.sin(X[:, 0] + X[:, 1]) + rng.normal(size=n)


LABELS: Mapping[str, Callable[[int, np.random.Generator], Data]] = {
    "one-hot": one_hot,
    "rare": rare,
    "wide": wide,
    "classes": classes,
}
TARGETS: Mapping[str, Callable[[int, np.random.Generator], Data]] = {"steps": steps, "heavy": heavy, "noisy": noisy}


def judged_labels(name: str, n: int) -> list[Row]:
    """Return error, NLL and time of both machines."""
    (X, y), (Xt, yt) = LABELS[name](n, np.random.default_rng(0)), LABELS[name](TEST, np.random.default_rng(1))
    rows: list[Row] = []
    for title, model in (
        ("BayesianSVC()", BayesianSVC(random_state=0)),
        ("histogram boosting", HistGradientBoostingClassifier(random_state=0)),
    ):
        began = time.process_time()
        proba = np.clip(model.fit(X, y).predict_proba(Xt), 1e-15, 1.0)
        seconds = time.process_time() - began
        column = np.searchsorted(model.classes_, yt)
        error = 100.0 * float(np.mean(np.argmax(proba, axis=1) != column))
        nll = -float(np.mean(np.log(proba[np.arange(yt.size), column])))
        rows.append({"name": f"{name}, {title}", "error": error, "nll": nll, "seconds": seconds})
        print(rows[-1], flush=True)
    return rows


def judged_targets(name: str, n: int) -> list[Row]:
    """Return RMSE, median absolute error, NLL, coverage of 95 % intervals and time of both machines."""
    (X, y), (Xt, yt) = TARGETS[name](n, np.random.default_rng(0)), TARGETS[name](TEST, np.random.default_rng(1))
    rows: list[Row] = []
    for title, model in (
        ("BayesianSVR()", BayesianSVR(random_state=0)),
        ("histogram boosting", HistGradientBoostingRegressor(random_state=0)),
    ):
        began = time.process_time()
        mean = model.fit(X, y).predict(Xt)
        seconds = time.process_time() - began
        if title == "BayesianSVR()":
            low, high = model.predict_interval(Xt)
            nll, inside = -float(np.mean(model.log_density(Xt, yt))), 100.0 * float(np.mean((yt > low) & (yt < high)))
        else:  # a normal density with the variance of the residuals of five folds
            std = residual_deviation(model, X, y)
            inside = 100.0 * float(np.mean(np.abs(yt - mean) < norm.ppf(0.975) * std))
            nll = -float(np.mean(norm.logpdf(yt, mean, std)))
        rmse, middle = float(np.sqrt(np.mean((mean - yt) ** 2))), float(np.median(np.abs(mean - yt)))
        numbers = {"rmse": rmse, "median": middle, "nll": nll, "coverage": inside, "seconds": seconds}
        rows.append({"name": f"{name}, {title}", **numbers})
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*LABELS, *TARGETS, []], default=[])
    parser.add_argument("--rows", type=int, default=10000)
    parser.add_argument("--json", help="file to which the rows are added")
    options = parser.parse_args()
    found: list[Row] = []
    for name in options.names or [*LABELS, *TARGETS]:
        found += judged_labels(name, options.rows) if name in LABELS else judged_targets(name, options.rows)
    for kind, keys in ((LABELS, ["error", "nll"]), (TARGETS, ["rmse", "median", "nll", "coverage"])):
        rows = [
            [row[key] for key in ("name", *keys, "seconds")] for row in found if str(row["name"]).split(",")[0] in kind
        ]
        if rows:
            print(table(["set and machine", *keys, "fit and predict [s]"], rows))
    if options.json:
        write(options.json, found)


if __name__ == "__main__":
    main()
