"""Thesis Table H.1: ten trigonometric machines, one digit against the rest each, on the USPS digits."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesvm import TrigonometricSVC
from bayesvm.experiments.base import Case, Column, Experiment, Found, Numbers, Published, Source, Table
from bayesvm.kernels import Gaussian

#: Training errors, support vectors, test errors per digit.
PAPER = (
    (0, 611, 9),
    (1, 176, 9),
    (0, 842, 30),
    (0, 734, 20),
    (1, 755, 31),
    (0, 880, 22),
    (0, 571, 16),
    (0, 502, 14),
    (0, 834, 27),
    (0, 624, 17),
)


def run(params: Mapping[str, Any], seed: int, source: Source) -> Numbers:
    """Fit all ten machines with kappa_0 = 15, kappa = 0.02, and decide by the largest output."""
    data = source.load("usps")
    X, y, X_test, y_test = data.split()
    X, y = X[: params["rows"]], y[: params["rows"]]
    began = time.process_time()
    machine = TrigonometricSVC(Gaussian(15.0, 0.02**-0.5), tol=1e-3, cache_size=1000).fit(X, y)
    seconds = time.process_time() - began
    outputs, own = machine.decision_function(X_test), machine.decision_function(X)
    found: Numbers = {
        "error": 100.0 * float(np.mean(machine.predict(X_test) != y_test)),
        "seconds": seconds,
        "training": {},
        "vectors": {},
        "test": {},
    }
    for k, digit in enumerate(machine.classes_):
        name = str(int(digit))
        found["training"][name] = int(np.sum((own[:, k] > 0.0) != (y == digit)))
        found["test"][name] = int(np.sum((outputs[:, k] > 0.0) != (y_test == digit)))
        found["vectors"][name] = int(np.count_nonzero(machine.dual_coef_[k]))
    return found


def plot(figure: Any, found: Found) -> None:
    """Draw support vectors and test errors per digit beside the thesis'."""
    unit = next(iter(found.values()))[0]
    for ax, key, place in zip(figure.subplots(1, 2), ("vectors", "test"), (1, 2), strict=True):
        digits = [int(name) for name in unit[key]]
        ax.plot(digits, list(unit[key].values()), "ko", label="ours")
        ax.plot(digits, [PAPER[k][place] for k in digits], "x", color="0.4", label="thesis")
        ax.set(xlabel="digit", ylabel="support vectors" if key == "vectors" else "test errors of 2007")
        ax.legend()


def _columns() -> tuple[Column, ...]:
    columns = [
        Column("error", "ten-class error %", 2, {"USPS": Published(4.58)}, better="lower"),
        Column("seconds", "s, all ten", 1),
    ]
    for digit, row in enumerate(PAPER):
        for key, head, value in zip(
            ("training", "vectors", "test"), ("training errors", "SVs", "test errors"), row, strict=True
        ):
            columns.append(Column(f"{key}.{digit}", f"{digit}: {head}", 0, {"USPS": Published(float(value))}))
    return tuple(columns)


EXPERIMENT = Experiment(
    "thesis-tableH.1",
    "Thesis Table H.1",
    "Trigonometric machines with given hyperparameters on the USPS digits",
    (Case("USPS", {"rows": None}, {"rows": 60}, ("usps",), most=1),),
    run,
    (Table("digits", "One digit against the rest", _columns(), transposed=True),),
    plot,
)

__all__ = ["EXPERIMENT"]
