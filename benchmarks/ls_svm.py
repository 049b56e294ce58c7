"""Least-squares machines against the figures of VanGestel2002 and against a grid search.

``python -m benchmarks.ls_svm [name ...]``; names: ripley, smoothness, starts, unbalanced, table1, speed, large,
landmarks, scaling. Default: all but large and landmarks. Set ``OPENBLAS_NUM_THREADS=1`` for figures of one thread;
seconds are processor time of this process.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bayesvm.estimators.ls_svm import BayesianLSSVC
from bayesvm.experiments.baselines import grid_svc
from bayesvm.experiments.vangestel2002 import PAPER
from bayesvm.hyper import Maximizer
from bayesvm.hyper.ls_svm import LevelsObjective, maximize_levels
from bayesvm.inference.ls_svm import Design
from bayesvm.kernels import Gaussian, Inputs
from benchmarks._common import load, peak_bytes, ringnorm, table

ROOT2 = float(np.sqrt(2.0))
#: Accuracy and standard deviation of LS-SVM (BayM) and of SVM (CV10) in Table 1, for the sets at hand.
TABLE1 = {name: (PAPER[name][0], PAPER[name][2]) for name in ("cra", "hea", "ion", "pid", "rsy", "tit", "wbc")}


def _ripley() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    data = load("rsy")
    return data["X"], data["y"].astype(float), data["train"], data["test"]


def _objective() -> LevelsObjective:
    X, y, train, _ = _ripley()
    Z = (X[train] - X[train].mean(axis=0)) / X[train].std(axis=0)
    return LevelsObjective(Gaussian().fix("variance"), Inputs(Z), y[train][:, None], Design(train.size))


def seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return processor seconds and the result."""
    began = time.process_time()
    result = function()
    return time.process_time() - began, result


def ripley() -> None:
    """Evidence, gamma and accuracy on Ripley's set."""
    X, y, train, test = _ripley()
    rows = []
    for sigma, expected in ((0.8, 96.565), (1.311, 101.067), (1.35, 101.068), (2.0, 99.267), (None, None)):
        kernel = None if sigma is None else Gaussian(lengthscale=sigma / ROOT2)
        machine = BayesianLSSVC(kernel, optimizer="bfgs" if sigma is None else None).fit(X[train], y[train])
        found = ROOT2 * machine.kernel_.kernel.lengthscale
        accuracy = 100.0 * machine.score(X[test], y[test])
        rows.append((f"{found:.4f}", f"{machine.log_evidence_:.3f}", expected or "(optimum)"))
        rows[-1] += (f"{machine.gamma_:.3f}", f"{machine.gamma_eff_:.2f}", f"{accuracy:.1f}")
    print(table(("sigma", "ln p(D|H)", "expected", "gamma", "gamma_eff", "accuracy"), rows))


def smoothness() -> None:
    """Second differences of the evidence along sigma."""
    objective = _objective()
    sigmas = np.exp(np.linspace(np.log(0.2), np.log(5.0), 200))
    values = np.array([objective.evaluate(np.log([s / ROOT2])).value for s in sigmas])
    print(
        f"200 widths from 0.2 to 5: largest second difference {np.max(np.abs(np.diff(values, 2))):.4f} nats,", end=" "
    )
    print(f"largest third difference {np.max(np.abs(np.diff(values, 3))):.5f} nats")


def starts() -> None:
    """Sigma found by gradient from different starts."""
    objective = _objective()
    rows = []
    for sigma in (0.2, 0.4, 0.8, 1.6, 3.2, 5.0):
        found = maximize_levels(Maximizer(tol=1e-11), objective, [np.log([sigma / ROOT2])])
        rows.append(
            (sigma, f"{ROOT2 * np.exp(found.theta[0]):.6f}", f"{found.value:.6f}", found.history[0].evaluations)
        )
    print(table(("start", "sigma", "ln p(D|H)", "evaluations"), rows))


def unbalanced() -> None:
    """Section 7.1: negatives of the test set three times, without and with the class priors."""
    X, y, train, test = _ripley()
    negatives = test[y[test] < 0.0]
    rows_ = np.concatenate([test, negatives, negatives])
    rows = []
    for name, kernel in (("sigma = 1.311", Gaussian(lengthscale=1.311 / ROOT2)), ("learnt", None)):
        machine = BayesianLSSVC(kernel, optimizer=None if kernel else "lbfgs").fit(X[train], y[train])
        plain = 100.0 * np.mean(machine.predict(X[rows_]) == y[rows_])
        informed = 100.0 * np.mean(machine.predict(X[rows_], class_prior=[0.75, 0.25]) == y[rows_])
        rows.append((name, f"{plain:.1f}", f"{informed:.1f}"))
    print(table(("kernel", "without priors (paper 90.9)", "with priors (paper 92.5)"), rows))


def table1(names: tuple[str, ...] = tuple(TABLE1)) -> None:
    """Table 1: two thirds for training, ten randomisations; on small sets a grid search over SVC too."""
    rows = []
    for name in names:
        data = load(name)
        X, y = data["X"], data["y"]
        size = 250 if name == "rsy" else 2 * len(y) // 3
        ours, latent, svm = [], [], []
        for seed in range(10):
            order = np.random.default_rng(seed).permutation(len(y))
            train, test = order[:size], order[size:]
            machine = BayesianLSSVC(random_state=0).fit(X[train], y[train])
            ours.append(100.0 * machine.score(X[test], y[test]))
            latent.append(100.0 * machine.set_params(decision="latent").score(X[test], y[test]))
            if size < 300:
                svm.append(100.0 * grid_svc(X.shape[1]).fit(X[train], y[train]).score(X[test], y[test]))
        (mean, std), (svm_mean, svm_std) = TABLE1[name]
        error = float(np.sqrt((std**2 + np.var(ours, ddof=1)) / 10.0))
        verdict = "yes" if np.mean(ours) >= mean - 2.0 * error else "no"
        found = f"{np.mean(svm):.1f} ({np.std(svm, ddof=1):.1f})" if svm else "-"
        rows.append((name, f"{np.mean(ours):.1f} ({np.std(ours, ddof=1):.1f})", f"{mean} ({std})", verdict))
        rows[-1] += (f"{np.mean(latent):.1f}", found, f"{svm_mean} ({svm_std})")
    header = ("set", "BayM", "paper", "within 2 s.e.", "Bay", "SVC, same splits", "paper's SVM")
    print(table(header, rows))


def speed() -> None:
    """Full three levels against a grid search, in turn in one process."""
    rows = []
    for n, repeats in ((500, 3), (1000, 1)):
        X, y = ringnorm(n, np.random.default_rng(0))
        own, grid = [], []
        for _ in range(repeats):
            own.append(seconds(lambda: BayesianLSSVC().fit(X, y))[0])  # noqa: B023
            grid.append(seconds(lambda: grid_svc(20).fit(X, y))[0])  # noqa: B023
        rows.append((n, float(np.median(own)), float(np.median(grid)), float(np.median(grid) / np.median(own))))
    print(table(("n", "three levels, s", "GridSearchCV(SVC), s", "ratio"), rows))


def _large_problem(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    return X, np.where(f > 0.0, 1, -1)


def _one_setting(n: int, **options: Any) -> None:
    X, y = _large_problem(n)

    def run() -> None:
        spent, machine = seconds(
            lambda: BayesianLSSVC(Gaussian(lengthscale=2.0), optimizer=None, random_state=0, **options).fit(X, y)
        )
        print(f"n = {n}: {spent:.1f} s, gamma {machine.gamma_:.3g}, gamma_eff {machine.gamma_eff_:.1f}")
        print(machine.approximation_, flush=True)

    print(f"peak memory {peak_bytes(run) / 1e9:.2f} GB above the start")


def large() -> None:
    """20000 rows, 500 components, one kernel setting."""
    _one_setting(20_000, n_components=500)


def landmarks() -> None:
    """100000 rows, 500 landmarks, one kernel setting."""
    _one_setting(100_000, landmarks=500)


def scaling() -> None:
    """Cost against n: three levels with all eigenpairs, and one setting with all and with 100 components."""
    rows = []
    for n in (125, 250, 500, 1000, 2000):
        X, y = _large_problem(n)
        full, machine = seconds(lambda: BayesianLSSVC().fit(X, y))  # noqa: B023
        kernel = Gaussian(lengthscale=2.0)
        once = seconds(lambda: BayesianLSSVC(kernel, optimizer=None).fit(X, y))[0]  # noqa: B023
        few = seconds(
            lambda: BayesianLSSVC(kernel, optimizer=None, n_components=100, random_state=0).fit(X, y)  # noqa: B023
        )[0]
        rows.append((n, full, machine.n_iter_, once, few))
    print(table(("n", "three levels, s", "evaluations", "levels 1, 2, s", "100 components, s"), rows))


ALL = {f.__name__: f for f in (ripley, smoothness, starts, unbalanced, table1, speed, large, landmarks, scaling)}


def main() -> None:
    """Run the named benchmarks."""
    names = sys.argv[1:] or [name for name in ALL if name not in ("large", "landmarks")]
    for name in names:
        print(f"\n{name}: {ALL[name].__doc__}")
        ALL[name]()


if __name__ == "__main__":
    main()
