"""Chu2003 Table 2 and Figure 3: probabilities on two-dimensional data whose best classifier is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import expit, log_expit
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

from bayesvm import BayesianSVC, GPClassifier
from bayesvm.datasets import make_simulated_2d
from bayesvm.datasets.classes import simulated_2d_odds
from bayesvm.experiments.base import Case, Column, Experiment, Found, Numbers, Published, Source, Table
from bayesvm.experiments.baselines import platt_svc
from bayesvm.typing import Matrix, Vector

#: Sum of the test NLL over 20002 rows, and test error, by method.
PAPER = {
    "optimal": (2532.5, 0.0490),
    "Bayes, estimated": (2559.2, 0.0495),
    "SVC, Platt": (2703.5, 0.0507),
    "GPC": (2570.3, 0.0496),
    "BTSVC": (2665.7, 0.0496),
    "BayesianSVC(None)": (2665.7, 0.0496),
}
MACHINES: dict[str, Callable[[int], Any]] = {
    "Bayes, estimated": lambda size: QuadraticDiscriminantAnalysis(),
    "SVC, Platt": lambda size: platt_svc(2, 5, size),
    "GPC": lambda size: GPClassifier(None),
    "BTSVC": lambda size: BayesianSVC(None, posterior="laplace", calibrate=None),
    "BayesianSVC(None)": lambda size: BayesianSVC(None),
}
AXIS = np.linspace(-6.0, 6.0, 41)


def run(params: Mapping[str, Any], seed: int, source: Source) -> Numbers:
    """Fit one method on one draw; the probabilities of Figure 3 are kept for the first."""
    X, y, _ = make_simulated_2d(params["n"], random_state=seed)
    X_test, y_test, _ = make_simulated_2d(params["m"], random_state=10_000 + seed)
    if params["method"] == "optimal":
        positive: Callable[[Matrix], Vector] = lambda Z: expit(simulated_2d_odds(Z))  # noqa: E731
    else:
        machine = MACHINES[params["method"]](params["size"]).fit(X, y)
        positive = lambda Z: machine.predict_proba(Z)[:, 1]  # noqa: E731
    p = np.clip(positive(X_test), 1e-300, 1.0 - 1e-16)
    nll = -float(np.sum(np.log(np.where(y_test > 0, p, 1.0 - p))))
    optimal = -float(np.sum(log_expit(y_test * simulated_2d_odds(X_test))))
    found: Numbers = {"nll": nll, "excess": nll - optimal, "error": float(np.mean((p > 0.5) != (y_test > 0)))}
    if seed == 0:
        plane = np.stack(np.meshgrid(AXIS, AXIS), axis=-1).reshape(-1, 2)
        found["surface"] = np.round(positive(plane), 5).reshape(AXIS.size, AXIS.size)
    return found


def plot(figure: Any, found: Found) -> None:
    """Draw Figure 3: contours of the probability of +1."""
    shown = [(name, units[0]["surface"]) for name, units in found.items() if "surface" in units[0]]
    for ax, (name, surface) in zip(figure.subplots(2, 3, sharex=True, sharey=True).flat, shown, strict=False):
        lines = ax.contour(
            AXIS, AXIS, np.array(surface), levels=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9], cmap="cividis"
        )
        ax.clabel(lines, fontsize=6)
        ax.set_title(name, fontsize=9)


COLUMNS = (
    Column("nll", "NLL", 1, {k: Published(v[0], runs=1) for k, v in PAPER.items()}, better="lower"),
    Column(
        "excess",
        "NLL above the optimal classifier's",
        1,
        {k: Published(v[0] - PAPER["optimal"][0], runs=1) for k, v in PAPER.items()},
        better="lower",
    ),
    Column("error", "error", 4, {k: Published(v[1], runs=1) for k, v in PAPER.items()}, better="lower"),
)
EXPERIMENT = Experiment(
    "chu2003-table2",
    "Chu2003 Table 2 and Figure 3",
    "Negative log-likelihood and error on two-dimensional simulated data",
    tuple(
        Case(name, {"method": name, "n": 1000, "m": 20002, "size": 7}, {"n": 40, "m": 400, "size": 2}, units=5)
        for name in PAPER
    ),
    run,
    (
        Table(
            "methods",
            "Sum of the test NLL over 20002 rows, and test error",
            COLUMNS,
            note="The paper's one draw is taken to have the spread of ours. The optimal NLL is 2419.6 on average, with "
            "a standard deviation of 61.6 over test sets. Kernel logistic regression of the paper is left out.",
        ),
    ),
    plot,
    ("chu2003-figure3",),
)

__all__ = ["EXPERIMENT"]
