"""What units measure, so that every table means the same by a word."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from bayesvm.experiments.base import Labels, Numbers
from bayesvm.typing import Matrix, Vector


def classification(machine: Any, X: Matrix, y: Labels, X_test: Matrix, y_test: Labels) -> Numbers:
    """Fit; return test error in per cent, mean test NLL, calibration error, support vectors and processor seconds."""
    began = time.process_time()
    machine.fit(X, y)
    seconds = time.process_time() - began
    proba = machine.predict_proba(X_test)
    given = proba[np.arange(y_test.size), np.searchsorted(machine.classes_, y_test)]
    found = {
        "error": 100.0 * float(np.mean(machine.classes_[proba.argmax(axis=1)] != y_test)),
        "nll": -float(np.mean(np.log(np.maximum(given, 1e-300)))),
        "ece": calibration_error(proba[:, 1], y_test == machine.classes_[1]),
        "seconds": seconds,
    }
    support = getattr(machine, "support_", None)
    return found if support is None else {**found, "vectors": int(np.size(support))}


def calibration_error(p: Vector, positive: Any, bins: int = 10) -> float:
    """Return the expected calibration error: mean distance of probability and frequency over bins of equal width."""
    p, positive = np.asarray(p, dtype=float), np.asarray(positive, dtype=float)
    cell = np.minimum((p * bins).astype(int), bins - 1)
    counts = np.bincount(cell, minlength=bins)
    gaps = np.abs(np.bincount(cell, p, bins) - np.bincount(cell, positive, bins))
    return float(gaps.sum() / counts.sum())


def regression(machine: Any, X: Matrix, y: Vector, X_test: Matrix, y_test: Vector) -> Numbers:
    """Fit, and return average squared and absolute test error and processor seconds."""
    began = time.process_time()
    machine.fit(X, y)
    seconds = time.process_time() - began
    residual = machine.predict(X_test) - y_test
    return {"ase": float(np.mean(residual**2)), "aae": float(np.mean(np.abs(residual))), "seconds": seconds}


def bound_counts(machine: Any) -> tuple[int, int]:
    """Return the numbers of off-bound and on-bound support vectors of a fitted BayesianSVR with one output."""
    on = int(np.count_nonzero(np.abs(machine.dual_coef_) >= machine.likelihood_.C * (1.0 - 1e-9)))
    return int(machine.support_.size) - on, on


__all__ = ["bound_counts", "calibration_error", "classification", "regression"]
