"""Seeger1999 Table 1: test errors of variational machines, Laplace's method, an SVM and a linear discriminant."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

from bayesvm import GPClassifier, VariationalSVC
from bayesvm.datasets import make_waveform
from bayesvm.experiments.base import Case, Column, Experiment, Numbers, Published, Source, Table
from bayesvm.experiments.baselines import grid_svc
from bayesvm.typing import Matrix, Vector

#: File (none: generated), training rows, and the paper's test errors by method.
SETS: dict[str, tuple[str | None, int, dict[str, tuple[int, ...]]]] = {
    "crabs": ("cra", 80, {"GP": (3, 4), "SVM": (4, 4), "Laplace": (4,), "cross-validated": (4,), "linear": (3,)}),
    "pima": (
        "pima_ripley",
        200,
        {"GP": (66, 66), "SVM": (64, 66), "Laplace": (68,), "cross-validated": (67,), "linear": (67,)},
    ),
    "wdbc": ("wdbc", 300, {"GP": (11, 11), "SVM": (10, 10), "Laplace": (8,), "cross-validated": (9,), "linear": (19,)}),
    "twonorm": (
        "ida_twonorm",
        300,
        {"GP": (233, 224), "SVM": (260, 223), "Laplace": (297,), "cross-validated": (163,), "linear": (207,)},
    ),
    "ringnorm": (
        "ida_ringnorm",
        400,
        {"GP": (119, 124), "SVM": (129, 126), "Laplace": (184,), "cross-validated": (160,), "linear": (1763,)},
    ),
    "waveform": (
        None,
        800,
        {"GP": (206, 204), "SVM": (211, 206), "Laplace": (221,), "cross-validated": (197,), "linear": (220,)},
    ),
}
#: Rows of the waveform data in the paper.
WAVEFORM_ROWS = 3304


def data_set(name: str, seed: int, source: Source) -> tuple[Matrix, Vector, Matrix, Vector]:
    """Return training and test data of one draw; pima comes with its own partition, crabs without the species."""
    file, rows, _ = SETS[name]
    if file is None:
        waves, labels, _ = make_waveform(WAVEFORM_ROWS, classes=(1, 2), random_state=seed)
        codes = labels.astype(float)
        return waves[:rows], codes[:rows], waves[rows:], codes[rows:]
    data = source.load(file)
    if name == "pima":
        return data.split()
    X, y, X_test, y_test = data.random_split(rows, seed)
    return (X[:, 1:], y, X_test[:, 1:], y_test) if name == "crabs" else (X, y, X_test, y_test)


def run(params: Mapping[str, Any], seed: int, source: Source) -> Numbers:
    """Fit one method to one draw, and count test errors."""
    X, y, X_test, y_test = data_set(params["data"], seed, source)
    X, y, X_test, y_test = X[: params["rows"]], y[: params["rows"]], X_test[: params["test"]], y_test[: params["test"]]
    began = time.process_time()
    method = params["method"]
    if method in ("GP", "SVM"):
        machine = VariationalSVC(
            ard=True, likelihood="svc" if method == "SVM" else "logistic", n_starts=params.get("starts", 4)
        ).fit(X, y)
        counts = [np.sum(machine.set_params(predict_with=way).predict(X_test) != y_test) for way in ("mode", "mean")]
        found: Numbers = {"mode": int(counts[0]), "errors": int(counts[1])}
        found["off"] = int(np.sum(machine.relevance_ < 1e-2 * machine.relevance_.max()))
    elif method == "linear":
        guess = np.sign(LinearRegression().fit(X, y).predict(X_test))
        found = {"errors": int(np.sum(guess != y_test))}
    else:
        rival = (
            GPClassifier(None, ard=True)
            if method == "Laplace"
            else grid_svc(X.shape[1], params["folds"], params["size"])
        )
        found = {"errors": int(np.sum(rival.fit(X, y).predict(X_test) != y_test))}
    return {**found, "seconds": time.process_time() - began}


METHODS = ("GP", "Laplace", "SVM", "cross-validated", "linear")
TINY = {"rows": 24, "test": 40, "folds": 2, "size": 2, "starts": 1}


def _case(data: str, method: str) -> Case:
    needs = () if SETS[data][0] is None else (str(SETS[data][0]),)
    params = {"data": data, "method": method, "rows": None, "test": None, "folds": 10, "size": 7}
    return Case(f"{data}, {method}", params, TINY, needs, 1 if data == "pima" else 10, 1 if data == "pima" else None)


def _numbers(mean: bool) -> dict[str, Published]:
    found = {}
    for data, (_, _, row) in SETS.items():
        for method, values in row.items():
            if mean or len(values) == 2:
                found[f"{data}, {method}"] = Published(float(values[-1 if mean else 0]), runs=1)
    return found


EXPERIMENT = Experiment(
    "seeger1999-table1",
    "Seeger1999 Table 1",
    "Test errors of variational machines and others",
    tuple(_case(data, method) for data in SETS for method in METHODS),
    run,
    (
        Table(
            "errors",
            "Number of test errors",
            (
                Column("errors", "errors (mean)", 1, _numbers(True), better="lower"),
                Column("mode", "errors (mode)", 1, _numbers(False), better="lower"),
                Column("off", "inputs switched off", 1),
                Column("seconds", "s", 2),
            ),
            note="The paper has one random partition per set; its spread is taken to be ours. Waveform is drawn afresh."
            " The paper does not say how it counts the classes; 1 against 2 of 0, 1, 2 (Bayes error about 191 rows) "
            "was chosen because its error counts fit, and 0 against 1 (about 121 rows) do not.",
        ),
    ),
)

__all__ = ["EXPERIMENT", "SETS", "data_set"]
