"""Expectation propagation, calibration and Gaussian process machines: ``python -m benchmarks.ep [name ...]``.

Parts: ``nll`` (test likelihoods over IDA partitions, beside peers), ``fit`` (default fit against the Laplace-only fit),
``evaluation`` (one evidence with gradient, EP against Laplace), ``speed`` (GP machines against scikit-learn's).
"""

from __future__ import annotations

import dataclasses
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bayesvm import BayesianSVC
from bayesvm.estimators.gaussian_process import GPClassifier, GPRegressor
from bayesvm.inference import EP
from benchmarks._common import interleaved, load, ringnorm, table

NLL_LIMITS = {
    "thyroid": 0.090,
    "ringnorm": 0.060,
    "twonorm": 0.092,
    "banana": 0.247,
    "waveform": 0.240,
    "heart": 0.445,
    "titanic": 0.520,
    "breast_cancer": 0.570,
}
PARTITIONS = range(5)


def _nll(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    proba = model.predict_proba(X)
    given = proba[np.arange(y.size), np.searchsorted(model.classes_, y)]
    return -float(np.mean(np.log(np.maximum(given, 1e-300))))


def _peer_gpc() -> Any:
    return make_pipeline(StandardScaler(), GaussianProcessClassifier(ConstantKernel(1.0) * RBF(1.0)))


def _peer_svc() -> Any:
    grid = {"C": 2.0 ** np.arange(-5, 16, 2), "gamma": 2.0 ** np.arange(-15, 4, 2)}
    search = GridSearchCV(SVC(), grid, cv=5)
    return make_pipeline(StandardScaler(), CalibratedClassifierCV(search, ensemble=False))


MODELS: dict[str, Callable[[], Any]] = {
    "default": BayesianSVC,
    "uncalibrated": lambda: BayesianSVC(None, calibrate=None),
    "laplace": lambda: BayesianSVC(None, posterior="laplace", calibrate=None),
    "GPClassifier": GPClassifier,
    "probit EP": lambda: GPClassifier(None, likelihood="probit", inference="ep", calibrate="auto"),
}
PEERS: dict[str, Callable[[], Any]] = {"sklearn GPC": _peer_gpc, "SVC + Platt": _peer_svc}


def nll(*, peers: bool = False) -> str:
    """Return mean test NLL (and the default's error) per data set; ``peers`` adds scikit-learn's, which is slow."""
    models = {**MODELS, **(PEERS if peers else {})}
    rows = []
    for name, limit in NLL_LIMITS.items():
        data = load(f"ida_{name}")
        found: dict[str, list[float]] = {key: [] for key in models}
        errors = []
        for p in PARTITIONS:
            train, test = data["train"][p], data["test"][p]
            for key, make in models.items():
                model = make().fit(data["X"][train], data["y"][train])
                found[key].append(_nll(model, data["X"][test], data["y"][test]))
                if key == "default":
                    errors.append(100.0 * np.mean(model.predict(data["X"][test]) != data["y"][test]))
        rows.append([name, limit, *(f"{np.mean(v):.4f}" for v in found.values()), float(np.mean(errors))])
    return table(["data", "limit", *models, "error %"], rows)


def fit() -> str:
    """Return how long the default fit takes beside the Laplace-only one."""
    rows = []
    for n, repeats in ((400, 5), (1000, 3)):
        X, y = ringnorm(n, np.random.default_rng(0))
        full, paper = interleaved(
            [
                lambda X=X, y=y: BayesianSVC(None).fit(X, y),
                lambda X=X, y=y: BayesianSVC(None, posterior="laplace", calibrate=None).fit(X, y),
            ],
            repeats,
        )
        rows.append([n, full, paper, full / paper])
    return table(["n", "default s", "laplace s", "ratio (limit 1.5)"], rows)


def evaluation() -> str:
    """Return the cost of one evidence with gradient: cold at the optimum, and warm after a small step."""
    rows = []
    for n in (400, 1000):
        X, y = ringnorm(n, np.random.default_rng(0))
        for likelihood in ("trigonometric", "raised-cosine", "logistic", "probit"):
            machine = BayesianSVC(None, likelihood=likelihood, posterior="laplace", calibrate=None, n_starts=1).fit(
                X, y
            )
            laplace = machine.models_[0].objective
            ep = dataclasses.replace(laplace, inference=EP())
            theta = machine.models_[0].theta
            starts = [o.evaluate(theta + 0.03).evidence.latent for o in (laplace, ep)]
            cold = interleaved([lambda o=o, t=theta: o.evaluate(t) for o in (laplace, ep)], 3)
            warm = interleaved([lambda o=o, t=theta, s=s: o.evaluate(t, s) for o, s in zip((laplace, ep), starts)], 3)
            rows.append([n, likelihood, *(1e3 * t for t in (*cold, *warm)), cold[1] / cold[0], warm[1] / warm[0]])
    head = ["n", "likelihood", "laplace ms", "ep ms", "warm laplace", "warm ep", "ratio cold", "ratio warm (limit 5)"]
    return table(head, rows)


def speed() -> str:
    """Return fit times against scikit-learn's Gaussian processes: one start, one thread, the same kernel."""
    rng = np.random.default_rng(0)
    X, y = ringnorm(1000, rng)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    d = X.shape[1]
    Z = rng.uniform(-2.0, 2.0, (2000, 4))
    t = np.sin(2.0 * Z[:, 0]) + 0.5 * Z[:, 1] + 0.2 * rng.standard_normal(2000)
    scale = np.full(d, np.sqrt(d))
    pairs = {
        "GPC isotropic n=1000 (6x)": (
            lambda: GPClassifier(None, n_starts=1).fit(X, y),
            lambda: GaussianProcessClassifier(ConstantKernel(10.0) * RBF(np.sqrt(d))).fit(X, y),
            3,
        ),
        "GPC ARD d=20 n=1000 (20x)": (
            lambda: GPClassifier(None, ard=True, n_starts=1).fit(X, y),
            lambda: GaussianProcessClassifier(ConstantKernel(10.0) * RBF(scale)).fit(X, y),
            1,
        ),
        "GPR n=2000 (5x)": (
            lambda: GPRegressor(None, n_starts=1).fit(Z, t),
            lambda: GaussianProcessRegressor(ConstantKernel(1.0) * RBF(2.0) + WhiteKernel(0.1)).fit(Z, t - t.mean()),
            3,
        ),
    }
    rows = []
    GPClassifier(None, n_starts=1).fit(X[:100], y[:100])  # what is imported on first use
    for name, (ours, theirs, repeats) in pairs.items():
        seconds = interleaved([ours, theirs], repeats)
        rows.append([name, *seconds, seconds[1] / seconds[0]])
    return table(["problem (limit)", "bayesvm s", "scikit-learn s", "times faster"], rows)


PARTS: dict[str, Callable[[], str]] = {
    "nll": nll,
    "peers": lambda: nll(peers=True),
    "fit": fit,
    "evaluation": evaluation,
    "speed": speed,
}


def main(names: list[str]) -> None:
    """Print the parts asked for (all but the slow peers, if none is named)."""
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise SystemExit(f"unknown part {unknown[0]!r}; the parts are {', '.join(PARTS)}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name in names or [part for part in PARTS if part != "peers"]:
            sys.stdout.write(f"== {name}\n{PARTS[name]()}\n\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
