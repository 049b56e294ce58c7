"""BayesianSVC: errors on the IDA sets, simulated data, relevance, speed and memory.

``python -m benchmarks.svc [ida] [simulated] [ard] [starts] [speed] [memory] [--partitions N] [--likelihoods a,b]``
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from bayesvm import BayesianSVC
from bayesvm.datasets import make_simulated_2d
from bayesvm.datasets.classes import simulated_2d_odds
from bayesvm.experiments.chu2003_table5 import irrelevant_inputs
from bayesvm.kernels import Constant, Gaussian
from benchmarks._common import IDA_LIMITS, interleaved, load, peak_bytes, ringnorm, table

LIKELIHOODS = ("trigonometric", "raised-cosine", "logistic", "probit")


def ida(partitions: int, likelihoods: list[str]) -> None:
    """Mean test error over the first partitions of each set (breast_cancer: the original ones), default settings."""
    rows = []
    for name, limit in IDA_LIMITS.items():
        data = load(f"ida_{name}")
        chosen = np.flatnonzero(data["origin"] == 2) if name == "breast_cancer" else np.arange(partitions)
        for likelihood in likelihoods:
            errors, nlls, vectors, seconds = [], [], [], []
            for k in chosen[:partitions]:
                train, test = data["train"][k], data["test"][k]
                began = time.perf_counter()
                machine = BayesianSVC(None, likelihood=likelihood).fit(data["X"][train], data["y"][train])
                seconds.append(time.perf_counter() - began)
                proba = machine.predict_proba(data["X"][test])
                errors.append(100.0 * np.mean(machine.classes_[proba.argmax(axis=1)] != data["y"][test]))
                nlls.append(log_loss(data["y"][test], proba, labels=machine.classes_))
                vectors.append(machine.support_.size)
            sem = float(np.std(errors, ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else float("nan")
            mean = float(np.mean(errors))
            ok = ("yes" if mean <= limit else "NO") if likelihood == "trigonometric" else ""
            rows.append(
                [
                    name,
                    likelihood,
                    len(errors),
                    mean,
                    sem,
                    limit,
                    ok,
                    float(np.mean(nlls)),
                    float(np.mean(vectors)),
                    float(np.mean(seconds)),
                ]
            )
            print(
                table(
                    ["set", "likelihood", "runs", "error %", "s.e.", "limit", "met", "NLL", "SVs", "s/fit"], rows[-1:]
                ),
                flush=True,
            )
    print()
    print(table(["set", "likelihood", "runs", "error %", "s.e.", "limit", "met", "NLL", "SVs", "s/fit"], rows))


def simulated(draws: int = 5) -> None:
    """Chu2003 section 5.2: 1000 training and 20002 test points of two Gaussians, against the Bayes classifier."""
    rows = []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        X, y, _ = make_simulated_2d(1000, random_state=rng)
        Xt, yt, _ = make_simulated_2d(20002, random_state=rng)
        machine = BayesianSVC(None).fit(X, y)
        odds = simulated_2d_odds(Xt)
        best_error, best_nll = np.mean(np.sign(odds) != yt), np.sum(np.logaddexp(0.0, -yt * odds))
        error = np.mean(machine.predict(Xt) != yt)
        nll = log_loss(yt, machine.predict_proba(Xt)) * len(yt)
        rows.append(
            [
                seed,
                float(error),
                float(best_error),
                float(error - best_error),
                float(nll),
                float(best_nll),
                float(nll / best_nll),
            ]
        )
    rows.append(["mean", *(float(np.mean([row[i] for row in rows])) for i in range(1, 7))])
    print("simulated data 2; limits of the means: difference 0.002, ratio 1.06")
    print(table(["draw", "error", "Bayes", "difference", "NLL", "Bayes NLL", "ratio"], rows))


def ard(seeds: int = 10) -> None:
    """Five relevant of fifty features, 500 points: do the five rank first?"""
    rows = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X, y = irrelevant_inputs(500, rng)
        began = time.perf_counter()
        machine = BayesianSVC(None, ard=True).fit(X, y)
        order = np.argsort(-machine.relevance_)
        first = sorted(int(i) for i in order[:5])
        gap = float(machine.relevance_[order[4]] / machine.relevance_[order[5]])
        rows.append([seed, str(first), "yes" if first == [0, 1, 2, 3, 4] else "NO", gap, time.perf_counter() - began])
    print("relevance: 5 of 50 features, n = 500")
    print(table(["seed", "first five", "right", "5th/6th", "seconds"], rows))


def starts(states: int = 10) -> None:
    """Ringnorm-like data, n = 400, d = 20: spread of the evidence over random states, and the best of any start."""
    X, y = ringnorm(400, np.random.default_rng(11))
    values, best = [], -np.inf
    for state in range(states):
        machine = BayesianSVC(None, random_state=state, n_starts=8).fit(X, y)
        values.append(machine.log_evidence_)
        best = max(best, *(record.value for record in machine.history_))
    single = [BayesianSVC(None, random_state=s).fit(X, y).log_evidence_ for s in range(states)]
    print("evidence over random states (8 starts, the last two drawn; 4 starts), limit of the spread 0.5")
    print(
        table(
            ["starts", "lowest", "highest", "best of any start"],
            [[8, min(values), max(values), best], [4, min(single), max(single), best]],
        )
    )


def speed(repeats: int = 3) -> None:
    """One start each from the same start, one thread: against scikit-learn's Gaussian process classifier and a grid."""
    rows = []
    X, y = ringnorm(1000, np.random.default_rng(1))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    root = float(np.sqrt(20.0))
    for name, limit, scales in (("isotropic", 10, root), ("ARD", 25, np.full(20, root))):
        vector = np.ndim(scales) > 0
        ours = Gaussian(10.0, tuple(scales) if vector else scales, ard=vector) + Constant(1.0)
        theirs = ConstantKernel(10.0) * RBF(scales) + ConstantKernel(1.0)
        jobs: list[Callable[[], Any]] = [
            lambda ours=ours: BayesianSVC(ours, n_starts=1, standardize=False).fit(X, y),
            lambda theirs=theirs: GaussianProcessClassifier(theirs).fit(X, y),
        ]
        seconds = interleaved(jobs, repeats if not vector else 1)
        rows.append([f"n=1000 {name}", *seconds, seconds[1] / seconds[0], f">= {limit}"])
        print(table(["row", "BayesianSVC [s]", "peer [s]", "ratio", "limit"], rows[-1:]), flush=True)
    X, y = ringnorm(400, np.random.default_rng(2))
    grid = {"C": np.logspace(-1, 3, 7), "gamma": np.logspace(-3, 0, 7)}
    seconds = interleaved(
        [lambda: BayesianSVC(None).fit(X, y), lambda: GridSearchCV(SVC(), grid, cv=5).fit(X, y)], repeats
    )
    rows.append(["n=400, 4 starts vs GridSearchCV(SVC) 7x7, 5 folds", *seconds, seconds[1] / seconds[0], "> 1"])
    print(table(["row", "BayesianSVC [s]", "peer [s]", "ratio", "limit"], rows))


def memory() -> None:
    """Peak memory of a fit with n = 3000 and one length scale per feature, d = 30, in units of n^2 doubles."""
    n, d = 3000, 30
    X, y = ringnorm(n, np.random.default_rng(3), d)
    kernel = Gaussian(10.0, (np.sqrt(d),) * d, ard=True) + Constant(1.0)
    peak = peak_bytes(lambda: BayesianSVC(kernel, n_starts=1, max_evaluations=6, likelihood="raised-cosine").fit(X, y))
    print(f"peak memory, n = {n}, ARD d = {d}: {peak / (8.0 * n * n):.2f} n^2 doubles (limit 8)")


def main() -> None:
    """Run what is named, or everything."""
    jobs = {"ida": None, "simulated": simulated, "ard": ard, "starts": starts, "speed": speed, "memory": memory}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*jobs, []], default=[])
    parser.add_argument("--partitions", type=int, default=20)
    parser.add_argument("--likelihoods", default=",".join(LIKELIHOODS))
    arguments = parser.parse_args()
    for name in arguments.names or jobs:
        job = jobs[name]
        if job is None:
            ida(arguments.partitions, arguments.likelihoods.split(","))
        else:
            job()


if __name__ == "__main__":
    main()
