"""Predictors of few rows: ``python -m benchmarks.reduction [--partitions 10] [--peer] [--rows 3000]``.

Per data set of the IDA collection, averages over the first partitions of one fit each (one start): test negative
log-likelihood with all rows and with the basis of ``reduce="auto"``, and the median numbers of training rows, of rows
with a coefficient, and of basis rows; with ``--peer`` also the support vectors of scikit-learn's SVC after a grid
search. Then the cost of 100000 probabilities and the size of the file of a machine fitted to many rows (banana).
"""

from __future__ import annotations

import argparse
import io
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bayesvm import BayesianSVC
from bayesvm.kernels import Constant, Gaussian
from bayesvm.persistence import save
from benchmarks._common import load, table

SETS = ["banana", "breast_cancer", "diabetis", "heart", "ringnorm", "thyroid", "titanic", "twonorm", "waveform"]
HEAD = ["data", "n", "NLL, all rows", "NLL, basis", "change %", "support", "basis", "largest error", "SVC vectors"]

COST_HEAD = ["machine", "n", "basis", "100000 probabilities s (3)", "100000 labels s", "file MB (1)"]


def machine(reduce: Any) -> BayesianSVC:
    """Return a machine with a given kernel, so that no choice of models is timed."""
    return BayesianSVC(Gaussian() + Constant(), n_starts=1, reduce=reduce)


def nll(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Return the mean negative log-likelihood of labels."""
    given = model.predict_proba(X)[np.arange(y.size), np.searchsorted(model.classes_, y)]
    return -float(np.mean(np.log(np.maximum(given, 1e-300))))


def support_vectors(X: np.ndarray, y: np.ndarray) -> int:
    """Return how many support vectors a support vector machine has whose parameters a grid search chose."""
    grid = {"C": 2.0 ** np.arange(-5, 16, 2), "gamma": 2.0 ** np.arange(-15, 4, 2)}
    search = GridSearchCV(SVC(), grid, cv=5).fit(StandardScaler().fit_transform(X), y)
    return int(search.best_estimator_.n_support_.sum())


def row(name: str, partitions: int, *, peer: bool) -> list[object]:
    """Return the figures of one data set."""
    data = load(f"ida_{name}")
    scores, counts, errors, vectors = [], [], [], []
    for p in range(partitions):
        train, test = data["train"][p], data["test"][p]
        X, y = data["X"][train], data["y"][train]
        full, few = machine(None).fit(X, y), machine("auto").fit(X, y)
        scores.append([nll(m, data["X"][test], data["y"][test]) for m in (full, few)])
        counts.append([y.size, full.n_basis_, few.n_basis_])
        errors.append(few.reduction_error_)
        vectors.append(support_vectors(X, y) if peer else 0)
    full_nll, few_nll = np.mean(scores, axis=0)
    n, support, basis = np.median(counts, axis=0).astype(int)
    change = f"{100.0 * (few_nll / full_nll - 1.0):+.3f}"
    return [
        name,
        n,
        f"{full_nll:.4f}",
        f"{few_nll:.4f}",
        change,
        support,
        basis,
        f"{max(errors):.4f}",
        int(np.median(vectors)) if peer else "-",
    ]


def cost(rows: int) -> list[list[Any]]:
    """Return time and size of predictors fitted to many rows."""
    data = load("ida_banana")
    X, y = data["X"][:rows], data["y"][:rows]
    rng = np.random.default_rng(0)
    new = X[rng.integers(rows, size=100_000)] + 0.1 * rng.normal(size=(100_000, X.shape[1]))
    lines = []
    for reduce in ("auto", None):
        model = machine(reduce).fit(X, y)
        seconds = []
        for work in (model.predict_proba, model.predict):
            began = time.process_time()
            work(new)
            seconds.append(time.process_time() - began)
        file = io.BytesIO()
        save(model, file)
        lines.append([f"reduce={reduce!r}", rows, model.n_basis_, *seconds, file.tell() / 1e6])
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=10)
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--rows", type=int, default=3000)
    given = parser.parse_args(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(table(HEAD, [row(name, given.partitions, peer=given.peer) for name in SETS]))
        print(table(COST_HEAD, cost(given.rows)))


if __name__ == "__main__":
    main()
