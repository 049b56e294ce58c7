"""Chu2003 Figures 1, 4 and 5: the likelihood, errors and cost against the size of the data, and the evidence beside the test error."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesvm import BayesianSVC, GPClassifier
from bayesvm.datasets import make_simulated_2d
from bayesvm.experiments.base import Case, Column, Experiment, Found, Numbers, Source, Table
from bayesvm.experiments.rivals import searched_svc
from bayesvm.kernels import Constant, Gaussian
from bayesvm.likelihoods import Trigonometric


def likelihood(params: Mapping[str, Any], seed: int, source: Source) -> Numbers:
    """Return the trigonometric likelihood and its loss for y = +1, and how far the two classes' probabilities are from one."""
    f = np.linspace(-1.5, 1.5, params["points"])
    loss = {label: Trigonometric().profile(label * f).loss for label in (1.0, -1.0)}
    total = np.exp(-loss[1.0]) + np.exp(-loss[-1.0])
    return {
        "f": f,
        "p": np.exp(-loss[1.0]),
        "loss": np.where(np.isfinite(loss[1.0]), np.minimum(loss[1.0], 10.0), 10.0),
        "normaliser": float(np.max(np.abs(total - 1.0))),
    }


def plot_likelihood(figure: Any, found: Found) -> None:
    """Draw Figure 1."""
    unit = next(iter(found.values()))[0]
    for ax, key, label in zip(figure.subplots(1, 2), ("p", "loss"), ("P(y = 1 | f)", "loss"), strict=True):
        ax.plot(unit["f"], unit[key], "k-")
        ax.set(xlabel="f", ylabel=label)


FIGURE1 = Experiment(
    "chu2003-figure1",
    "Chu2003 Figure 1",
    "The trigonometric likelihood and its loss",
    (Case("trigonometric", {"points": 301}, {"points": 31}, most=1),),
    likelihood,
    (Table("normaliser", "Sum of the two probabilities", (Column("normaliser", "largest distance from one", 16),)),),
    plot_likelihood,
)

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


FIGURE4 = Experiment(
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

#: Ranges of log10 kappa_0 and log10 kappa.
RANGES = {"banana": ((-1.0, 2.0), (-1.0, 1.5)), "waveform": ((-1.0, 2.0), (-3.0, 0.0))}


def surface(params: Mapping[str, Any], seed: int, source: Source) -> Numbers:
    """Return minus the log evidence and the test error over a grid of kappa_0 and kappa at kappa_b = 100, first partition."""
    X, y, X_test, y_test = source.load(f"ida_{params['data']}").split(seed)
    X, y = X[: params["rows"]], y[: params["rows"]]
    power, width = (np.linspace(*ends, params["points"]) for ends in RANGES[params["data"]])
    evidence, error = np.empty((width.size, power.size)), np.empty((width.size, power.size))
    for (i, k), (j, p) in ((a, b) for a in enumerate(width) for b in enumerate(power)):
        kernel = Gaussian(10.0**p, 10.0 ** (-0.5 * k)) + Constant(100.0)
        machine = BayesianSVC(kernel, optimizer=None, posterior="laplace", calibrate=None).fit(X, y)
        evidence[i, j] = -machine.log_evidence_
        error[i, j] = 100.0 * float(np.mean(machine.predict(X_test) != y_test))
    best = np.unravel_index(np.argmin(evidence), evidence.shape)
    ranks = [np.argsort(np.argsort(values.ravel())) for values in (evidence, error)]
    return {
        "kappa_0": 10.0**power,
        "kappa": 10.0**width,
        "evidence": np.round(evidence, 4),
        "error": np.round(error, 4),
        "correlation": float(np.corrcoef(*ranks)[0, 1]),
        "at_best": float(error[best]),
        "least": float(error.min()),
    }


def plot_surface(figure: Any, found: Found) -> None:
    """Draw Figure 5: contours of minus the log evidence and of the test error."""
    axes = figure.subplots(len(found), 2, squeeze=False)
    for row, (name, units) in zip(axes, found.items(), strict=True):
        unit = units[0]
        for ax, key in zip(row, ("evidence", "error"), strict=True):
            lines = ax.contour(unit["kappa_0"], unit["kappa"], np.array(unit[key]), levels=15, cmap="cividis")
            ax.clabel(lines, fontsize=6)
            ax.set(xscale="log", yscale="log", xlabel="kappa_0", ylabel="kappa", title=f"{name}: {key}")


FIGURE5 = Experiment(
    "chu2003-figure5",
    "Chu2003 Figure 5",
    "Evidence and test error over the hyperparameters",
    tuple(
        Case(name, {"data": name, "points": 13, "rows": None}, {"points": 2, "rows": 30}, (f"ida_{name}",), most=100)
        for name in RANGES
    ),
    surface,
    (
        Table(
            "surfaces",
            "Minus the log evidence against test error on the grid",
            (
                Column("correlation", "rank correlation", 2),
                Column("at_best", "error % at the highest evidence", 2),
                Column("least", "least error % on the grid", 2),
            ),
        ),
    ),
    plot_surface,
)

__all__ = ["FIGURE1", "FIGURE4", "FIGURE5"]
