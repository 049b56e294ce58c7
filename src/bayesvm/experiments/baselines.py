"""The machines that the papers compare with, and what experiments read from ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from bayesvm.kernels.rescaled import Rescaled


def kernel_parameters(machine: Any) -> dict[str, float]:
    """Return the learnt parameters of a fitted machine's kernel by name, for standardised inputs."""
    kernel = machine.kernel_
    inner = kernel.kernel if isinstance(kernel, Rescaled) else kernel
    return {name: float(value) for name, value in zip(machine.theta_names_, np.exp(inner.theta), strict=False)}


def thesis_parameters(machine: Any) -> dict[str, float]:
    r"""Return :math:`\kappa_0`, :math:`\kappa = 1/\ell^2` and :math:`\kappa_b` of a Gaussian plus a constant, for
    standardised inputs.
    """
    found = kernel_parameters(machine)
    return {
        "kappa_0": found.get("gaussian.variance", 1.0),
        "kappa": found["gaussian.lengthscale"] ** -2.0,
        "kappa_b": found["constant.variance"],
    }


def searched_svc(X: Any, y: Any, folds: Any, coarse: int = 7, fine: int = 9) -> tuple[SVC, float, float]:
    r"""Return a support vector classifier by the search of Chu2003 section 5.1, with its C and :math:`\kappa`.

    First a grid over :math:`0 \le \log_{10} C \le 3`, :math:`-3 \le \log_{10} \kappa \le 0`, then a fine one in steps
    of 0.1 around its best. Of points with the same validation error that with the fewest support vectors counts
    (footnote 9).
    """
    c, k = _best(X, y, np.linspace(0.0, 3.0, coarse), np.linspace(-3.0, 0.0, coarse), folds)
    if fine > 1:
        step = 0.1 * (np.arange(fine) - fine // 2)
        c, k = _best(X, y, c + step, k + step, folds)
    machine = SVC(C=10.0**c, gamma=0.5 * 10.0**k).fit(X, y)
    return machine, 10.0**c, 10.0**k


def _best(X: Any, y: Any, log_c: Any, log_k: Any, folds: Any) -> tuple[float, float]:
    grid = {"C": 10.0 ** np.asarray(log_c), "gamma": 0.5 * 10.0 ** np.asarray(log_k)}
    found = GridSearchCV(SVC(), grid, cv=folds, refit=False).fit(X, y).cv_results_
    scores = found["mean_test_score"]
    ties = [point for point, score in zip(found["params"], scores, strict=True) if np.isclose(score, scores.max())]
    best = min(ties, key=lambda point: int(SVC(**point).fit(X, y).n_support_.sum()))
    return float(np.log10(best["C"])), float(np.log10(2.0 * best["gamma"]))


def grid_svc(d: int, folds: int = 10, size: int = 7) -> GridSearchCV:
    """Return a grid search of a support vector classifier on standardised inputs, ``size**2`` points."""
    grid = {"svc__C": np.logspace(-1, 5, size), "svc__gamma": np.logspace(-3, 1, size) / d}
    return GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=folds)


def platt_svc(d: int, folds: int = 5, size: int = 7) -> CalibratedClassifierCV:
    """Return the grid search with probabilities by Platt's method, on the same number of folds."""
    return CalibratedClassifierCV(grid_svc(d, folds, size), ensemble=False, cv=folds)


def grid_svr(d: int, folds: int = 5, sizes: Sequence[int] = (5, 5, 3)) -> GridSearchCV:
    """Return a grid search of support vector regression over C, gamma and epsilon, on standardised inputs and targets
    as given.
    """
    grid = {
        "svr__C": np.logspace(-1, 3, sizes[0]),
        "svr__gamma": np.logspace(-2, 2, sizes[1]) / d,
        "svr__epsilon": np.logspace(-2, -0.5, sizes[2]),
    }
    pipeline: Pipeline = make_pipeline(StandardScaler(), SVR())
    return GridSearchCV(pipeline, grid, cv=folds, scoring="neg_mean_squared_error")


__all__ = ["grid_svc", "grid_svr", "kernel_parameters", "platt_svc", "searched_svc", "thesis_parameters"]
