"""Chu2003 Figure 4: errors and cost against the size of the training set."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesvm import BayesianSVC, GPClassifier
from bayesvm.datasets import make_simulated_2d
from bayesvm.experiments.base import Case, Column, Experiment, Found, Numbers, Source, Table
from bayesvm.experiments.baselines import searched_svc

SIZES = (10, 20, 50, 100, 200, 500, 1000)
METHODS = ("BTSVC", "GPC", "SVC")


def by_size(params: Mapping[str, Any], seed: int, source: Source) -> Numbers:
    """Fit one method to one draw of one size, and time one evaluation at the hyperparameters that were found."""
    n = params["n"]
    X, y, _ = make_simulated_2d(n, random_state=seed)
    X_test, y_test, _ = make_simulated_2d(params["m"], random_state=10_000)
    began = time.process_time()
    if params["method"] == "SVC":
        folds = min(10, n // 2)
        machine, _, _ = searched_svc(X, y, folds, params["coarse"], params["fine"])
    else:
        machine = (BayesianSVC if params["method"] == "BTSVC" else GPClassifier)(n_starts=params.get("starts", 4))
        machine.fit(X, y)
    seconds = time.process_time() - began
    found: Numbers = {"error": 100.0 * float(np.mean(machine.predict(X_test) != y_test)), "seconds": seconds}
    if params["method"] != "SVC":
        found["evaluations"] = int(machine.n_iter_)
    return found


def plot_by_size(figure: Any, found: Found) -> None:
    """Draw Figure 4: error and processor time against the size of the training set."""
    axes = figure.subplots(1, 2)
    for method, mark in zip(METHODS, ("ko-", "s--", "^:"), strict=True):
        rows = [(int(name.split(" ")[-1]), units) for name, units in found.items() if name.startswith(f"{method} ")]
        for ax, key in zip(axes, ("error", "seconds"), strict=True):
            means = [np.mean([unit[key] for unit in units]) for _, units in rows]
            spread = [np.std([unit[key] for unit in units]) for _, units in rows]
            ax.errorbar([n for n, _ in rows], means, spread, fmt=mark, capsize=2, label=method)
    axes[0].set(xscale="log", xlabel="training rows", ylabel="test error in per cent")
    axes[1].set(xscale="log", yscale="log", xlabel="training rows", ylabel="processor seconds of tuning and training")
    axes[0].legend()


EXPERIMENT = Experiment(
    "chu2003-figure4",
    "Chu2003 Figure 4",
    "Error and cost against the size of the training set",
    tuple(
        Case(
            f"{method} {n}",
            {"method": method, "n": n, "m": 20002, "coarse": 7, "fine": 9},
            {"n": 10 + n // 50, "m": 200, "coarse": 2, "fine": 1, "starts": 1},
            units=20,
        )
        for method in METHODS
        for n in SIZES
    ),
    by_size,
    (
        Table(
            "by-size",
            "Two-dimensional simulated data",
            (Column("error", "error %", 2), Column("seconds", "s", 3), Column("evaluations", "evaluations", 1)),
        ),
    ),
    plot_by_size,
)

__all__ = ["EXPERIMENT"]
