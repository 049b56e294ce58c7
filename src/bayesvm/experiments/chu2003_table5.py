"""Chu2003 Table 5: one length scale per input (ARD) on sets with irrelevant inputs.

The image and splice sets of the paper are used where their files are; the generated set shows the same effect without
any file: five of fifty inputs matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesvm import BayesianSVC
from bayesvm.experiments.base import Case, Column, Experiment, Labels, Numbers, Published, Source, Table
from bayesvm.experiments.measures import classification
from bayesvm.typing import Indices, Matrix

#: Number of inputs of the generated set, and of those that matter.
INPUTS, RELEVANT = 50, 5
#: Test error in per cent with ARD (Table 5) and without (Table 4).
PAPER = {"image": ((2.59, 0.54), (3.58, 0.67)), "splice": ((5.29, 0.67), (12.35, 0.75))}
SUFFIX = {True: "", False: " (one length scale)"}


def irrelevant_inputs(n: int, rng: np.random.Generator) -> tuple[Matrix, Indices]:
    """Draw labels that depend on the first five of fifty inputs, linearly, by a square and by a sine of two periods."""
    X = rng.normal(size=(n, INPUTS))
    latent = X[:, 0] + X[:, 1] - X[:, 2] + X[:, 3] ** 2 - 1.0 + np.sin(2.0 * X[:, 4])
    return X, np.where(latent + 0.3 * rng.normal(size=n) > 0.0, 1, -1)


def run(params: Mapping[str, Any], seed: int, source: Source) -> Numbers:
    """Fit one partition, or one draw."""
    X: Matrix
    X_test: Matrix
    y: Labels
    y_test: Labels
    if params["data"] == "generated":
        rng = np.random.default_rng(seed)
        X, labels = irrelevant_inputs(params["n"], rng)
        X_test, test_labels = irrelevant_inputs(params["m"], rng)
        y, y_test = labels.astype(float), test_labels.astype(float)
    else:
        X, y, X_test, y_test = source.load(f"ida_{params['data']}").split(seed)
        X, y = X[: params["n"]], y[: params["n"]]
    machine: Any = BayesianSVC(None, ard=params["ard"], n_starts=params.get("starts", 4))
    found = classification(machine, X, y, X_test, y_test)
    if params["ard"] and params["data"] == "generated":
        order = np.argsort(-machine.relevance_)
        found["right"] = float(set(order[:RELEVANT].tolist()) == set(range(RELEVANT)))
        found["gap"] = float(np.log10(machine.relevance_[order[RELEVANT - 1]] / machine.relevance_[order[RELEVANT]]))
    return found


def _case(name: str, ard: bool) -> Case:
    generated = name == "generated"
    sizes = {"n": 500, "m": 5000} if generated else {"n": None}
    tiny = {"n": 30, "m": 50, "starts": 1} if generated else {"n": 30, "starts": 1}
    needs = () if generated else (f"ida_{name}",)
    return Case(
        f"{name}{SUFFIX[ard]}",
        {"data": name, "ard": ard, **sizes},
        tiny,
        needs,
        10 if generated else 20,
        None if generated else 20,
    )


NUMBERS = {
    f"{n}{SUFFIX[ard]}": Published(*row[i], runs=20) for n, row in PAPER.items() for i, ard in enumerate((True, False))
}
COLUMNS = (
    Column("error", "error %", 2, NUMBERS, better="lower"),
    Column("nll", "NLL", 4),
    Column("seconds", "s / fit", 1),
    Column("error", "error, ARD - one length scale", 2, against=SUFFIX[False]),
    Column("right", "share of draws with the right five first", 2),
    Column("gap", "log10 of 5th / 6th relevance", 1),
)
EXPERIMENT = Experiment(
    "chu2003-table5",
    "Chu2003 Table 5",
    "One length scale per input where inputs are irrelevant",
    tuple(_case(name, ard) for name in ("generated", "image", "splice") for ard in (True, False)),
    run,
    (Table("ard", "ARD against one common length scale", COLUMNS),),
)

__all__ = ["EXPERIMENT", "irrelevant_inputs"]
