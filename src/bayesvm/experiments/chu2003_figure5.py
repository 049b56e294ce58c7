"""Chu2003 Figure 5: the evidence beside the test error, over the hyperparameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesvm import BayesianSVC
from bayesvm.experiments.base import Case, Column, Experiment, Found, Numbers, Source, Table
from bayesvm.kernels import Constant, Gaussian

#: Ranges of log10 kappa_0 and log10 kappa.
RANGES = {"banana": ((-1.0, 2.0), (-1.0, 1.5)), "waveform": ((-1.0, 2.0), (-3.0, 0.0))}


def surface(params: Mapping[str, Any], seed: int, source: Source) -> Numbers:
    """Return minus the log evidence and the test error over a grid of kappa_0 and kappa at kappa_b = 100, first
    partition.
    """
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
        "correlation": float(np.corrcoef(np.array(ranks, dtype=float))[0, 1]),
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


EXPERIMENT = Experiment(
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

__all__ = ["EXPERIMENT"]
