"""Chu2003 Table 1 and Figure 2: a hundred points in one dimension, with and without an outlier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.model_selection import LeaveOneOut

from bayesvm import BayesianSVC, GPClassifier
from bayesvm.datasets import make_simulated_1d
from bayesvm.experiments.base import Case, Column, Experiment, Found, Numbers, Published, Source, Table
from bayesvm.experiments.baselines import searched_svc, thesis_parameters

ORIGINAL, OUTLIER = "original case", "outlier case"


def run(params: Mapping[str, Any], seed: int, source: Source) -> Numbers:
    """Fit one draw; the curves of Figure 2 are kept for the first."""
    X, y, _ = make_simulated_1d(params["n"], outlier=params["outlier"], random_state=seed)
    machine = BayesianSVC(None, posterior="laplace", calibrate=None).fit(X, y)
    scale = float(np.std(X))
    parameters = thesis_parameters(machine)
    found: Numbers = {
        "kappa_0": parameters["kappa_0"],
        "kappa": parameters["kappa"] / scale**2,
        "kappa_b": parameters["kappa_b"],
        "vectors": machine.support_.size,
        "minus_evidence": -machine.log_evidence_,
    }
    svc, C, kappa = searched_svc(X, y, LeaveOneOut(), params["coarse"], params["fine"])
    found |= {"svc_C": C, "svc_kappa": kappa, "svc_vectors": int(svc.n_support_.sum())}
    if seed == 0:
        x = np.linspace(-6.0, 6.0, 121)[:, None]
        mean, std = machine.predict_latent(x)
        gpc = GPClassifier(None).fit(X, y)
        found["curves"] = {
            "x": x[:, 0],
            "mean": mean,
            "std": std,
            "p": machine.predict_proba(x)[:, 1],
            "svc": svc.decision_function(x),
            "gpc": gpc.predict_proba(x)[:, 1],
        }
    return found


def plot(figure: Any, found: Found) -> None:
    """Draw Figure 2: latent function with error bars beside the SVC's, probabilities beside a Gaussian process'."""
    axes = figure.subplots(2, len(found), squeeze=False)
    for column, (case, units) in zip(axes.T, found.items(), strict=True):
        c = {key: np.array(value) for key, value in units[0]["curves"].items()}
        column[0].plot(c["x"], c["mean"], "k-", label="BTSVC")
        for sign in (-1.0, 1.0):
            column[0].plot(c["x"], c["mean"] + sign * c["std"], "k:", linewidth=0.8)
        column[0].plot(c["x"], c["svc"], color="0.5", linestyle="--", label="SVC")
        column[0].set(title=case, ylabel="discriminant", ylim=(-4, 4))
        column[1].plot(c["x"], c["p"], "k-", label="BTSVC")
        column[1].plot(c["x"], c["gpc"], color="0.5", linestyle="--", label="GPC")
        column[1].set(xlabel="x", ylabel="P(y = 1 | x)", ylim=(0, 1))
        for ax in column:
            ax.legend(fontsize=8)


def _columns(rows: Mapping[str, tuple[str, int, float, float]]) -> tuple[Column, ...]:
    return tuple(
        Column(key, head, digits, {ORIGINAL: Published(a, runs=1), OUTLIER: Published(b, runs=1)})
        for key, (head, digits, a, b) in rows.items()
    )


COLUMNS = _columns(
    {
        "kappa_0": ("kappa_0", 3, 7.485, 0.776),
        "kappa": ("kappa", 3, 0.194, 0.792),
        "kappa_b": ("kappa_b", 3, 0.565, 0.113),
        "vectors": ("SVs", 1, 9.0, 74.0),
        "minus_evidence": ("-ln P(D)", 2, 5.46, 15.97),
        "svc_C": ("SVC: C", 2, 7.943, 158.489),
        "svc_kappa": ("SVC: kappa", 4, 0.159, 0.0158),
        "svc_vectors": ("SVC: SVs", 1, 6.0, 8.0),
    }
)
TINY = {"n": 24, "coarse": 2, "fine": 1}
EXPERIMENT = Experiment(
    "chu2003-table1",
    "Chu2003 Table 1 and Figure 2",
    "One-dimensional simulated data, with and without an outlier",
    tuple(
        Case(name, {"n": 100, "outlier": outlier, "coarse": 7, "fine": 9}, TINY, units=10)
        for name, outlier in ((ORIGINAL, False), (OUTLIER, True))
    ),
    run,
    (
        Table(
            "hyperparameters",
            "Hyperparameters over draws of the data",
            COLUMNS,
            note="The paper has one draw, whose spread is taken to be ours. kappa is for inputs as they are.",
        ),
    ),
    plot,
    ("chu2003-figure2",),
)

__all__ = ["EXPERIMENT"]
