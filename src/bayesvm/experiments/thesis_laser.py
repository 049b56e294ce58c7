"""Thesis Figure 4.3: a time series one step ahead, with error bars.

The laser series is read from ``laser.npz`` (array y) if it is there; the chaotic series of Mackey and Glass shows the
same without a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesvm.datasets import embed, make_mackey_glass
from bayesvm.experiments.base import Case, Column, Experiment, Found, Numbers, Source, Table
from bayesvm.experiments.thesis_machines import bsvr


def run(params: Mapping[str, Any], seed: int, source: Source) -> Numbers:
    """Train on 1000 points, predict the next 100 from eight values each."""
    n, m = params["n"], params["m"]
    if params["series"] == "laser":
        series = np.asarray(source.load("laser").y, dtype=float)[: n + m]
    else:
        series = make_mackey_glass(n + m, noise=0.03, random_state=seed)
    X, y = embed(series, 8)
    machine = bsvr(params, beta=0.3).fit(X[:-m], y[:-m])
    mean, std = machine.predict(X[-m:], return_std=True)
    low, high = machine.predict_interval(X[-m:], 0.95)
    gap = y[-m:] - mean
    return {
        "target": y[-m:],
        "mean": mean,
        "low": low,
        "high": high,
        "nmse": float(np.mean(gap**2) / np.var(y[-m:])),
        "inside": 100.0 * float(np.mean((y[-m:] >= low) & (y[-m:] <= high))),
        "latent_std": float(np.mean(std)),
    }


def plot(figure: Any, found: Found) -> None:
    """Draw the series with predictions, and the errors with error bars."""
    axes = figure.subplots(2, len(found), squeeze=False)
    for column, (name, units) in zip(axes.T, found.items(), strict=True):
        c = {key: np.array(units[0][key]) for key in ("target", "mean", "low", "high")}
        t = np.arange(len(c["mean"]))
        column[0].plot(t, c["target"], "k-", linewidth=0.8)
        column[0].plot(t, c["mean"], ".", markersize=4)
        column[0].set_title(name)
        column[1].plot(t, c["mean"] - c["target"], ".", markersize=4)
        for edge in ("low", "high"):
            column[1].plot(t, c[edge] - c["mean"], "k-", linewidth=0.8)
        column[1].set(xlabel="step", ylabel="error")


EXPERIMENT = Experiment(
    "thesis-figure4.3",
    "Thesis Figure 4.3",
    "A time series one step ahead, with error bars",
    (
        Case("laser", {"series": "laser", "n": 1000, "m": 100}, {"n": 40, "m": 10}, ("laser",), most=1),
        Case("Mackey-Glass", {"series": "mackey-glass", "n": 1000, "m": 100}, {"n": 40, "m": 10}),
    ),
    run,
    (
        Table(
            "series",
            "Errors one step ahead",
            (Column("nmse", "squared error / variance", 4), Column("inside", "per cent within the 95 % interval", 1)),
        ),
    ),
    plot,
)

__all__ = ["EXPERIMENT"]
