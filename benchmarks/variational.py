"""VariationalSVC: Table 1 of Seeger1999, the bound, the inner loop, gradients, and three approximations side by side.

``python -m benchmarks.variational [table1] [bound] [inner] [gradient] [approximations] [--draws N] [--sets a,b]
[--flat]``
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

import bayesvm.likelihoods as lib
from bayesvm.estimators.gaussian_process import GPClassifier
from bayesvm.estimators.variational_svc import VariationalSVC
from bayesvm.experiments import Source
from bayesvm.experiments.seeger1999_table1 import data_set
from bayesvm.hyper import EvidenceObjective
from bayesvm.inference import FactorAnalysed, Inference, Laplace, Variational
from bayesvm.kernels import Constant, Gaussian, Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.testing import exact_log_evidence, five_point
from benchmarks._common import DATA, load, table

#: Columns of :func:`inner`.
INNER_HEAD = ["set", "variance", "cold", "warm", "cold svc", "warm svc", "time/Laplace (4)", "svc/Laplace (4)"]
#: Limits of the mean number of test errors.
TABLE1 = {"pima": 69, "crabs": 6, "wdbc": 13, "twonorm": 280, "ringnorm": 160, "waveform": 235}


def table1(draws: int = 10, sets: str = ",".join(TABLE1), *, flat: bool = False) -> None:
    """Test errors of both losses and both ways to predict, ARD kernel; the limit is for the mean over the draws.

    "off" counts inputs with less than a hundredth of the largest relevance; ``flat`` leaves out the hyperprior of the
    relevances.
    """
    header = ["set", "loss", "draws", "errors mean", "errors mode", "limit", "met", "SVs", "off", "s/fit"]
    rows = []
    for name, loss in itertools.product(sets.split(","), ("svc", "logistic")):
        limit = TABLE1[name]
        found, relevances = [], []
        for seed in range(1 if name == "pima" else draws):
            X, y, X_test, y_test = data_set(name, seed, Source(DATA))
            began = time.process_time()
            machine = VariationalSVC(ard=True, likelihood=loss, hyperprior=None if flat else "auto").fit(X, y)
            seconds = time.process_time() - began
            errors = [np.sum(machine.set_params(predict_with=w).predict(X_test) != y_test) for w in ("mean", "mode")]
            off = np.sum(machine.relevance_ < 0.01 * machine.relevance_.max())
            found.append([*errors, machine._modes[0].machine.support.size, off, seconds])
            relevances.append(machine.relevance_)
        mean = np.mean(found, axis=0)
        met = "yes" if max(mean[:2]) <= limit else "NO"
        rows.append([name, loss, len(found), mean[0], mean[1], limit, met, *mean[2:]])
        print(table(header, rows[-1:]), flush=True)
        if name in ("pima", "crabs"):
            print("   mean relevance per input:", np.round(np.mean(relevances, axis=0), 4), flush=True)
    print()
    print(table(header, rows))


def finite_likelihoods() -> list[lib.Likelihood]:
    """Return every likelihood of the library with a finite loss."""
    return [
        lib.Logistic(),
        lib.Probit(),
        lib.Hinge(2.0),
        lib.NormalizedHinge(),
        lib.NormalizedHinge(3.0),
        lib.SoftInsensitive(3.0, 0.4, 0.5),
        lib.SmoothInsensitive(5.0, 0.4, 0.8),
        lib.Huber(3.0, 0.3),
        lib.Laplace(2.0),
        lib.EpsilonInsensitive(2.0, 0.4),
        lib.GaussianNoise(0.3),
    ]


def random_problem(likelihood: lib.Likelihood, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw a Gram matrix of random size and shape, and targets."""
    A = rng.normal(size=(n, n + 1))
    K = np.exp(rng.uniform(-2.0, 3.0)) * (A @ A.T) / n
    y = rng.normal(size=n) * 1.5
    return K, np.where(y > 0.0, 1.0, -1.0) if isinstance(likelihood, lib.Classification) else y


def bound(problems: int = 100) -> None:
    """Gap between the log evidence of two or three points, by quadrature, and the bounds."""
    rows = []
    for likelihood in finite_likelihoods():
        gaps, factors = [], []
        rng = np.random.default_rng(0)
        for i in range(problems):
            n = 3 if i % 10 == 0 else 2
            K, y = random_problem(likelihood, n, rng)
            best = Variational(tol=1e-9).infer(K, y, likelihood)[1].value
            gaps.append(exact_log_evidence(K, y, likelihood) - best)
            if i < 20:
                one, zero = (FactorAnalysed(m).infer(K, y, likelihood)[1].value for m in (1, 0))
                factors.append([best - one, one - zero])
        lowest = np.min(factors, axis=0)
        rows.append([repr(likelihood), problems, min(gaps), float(np.median(gaps)), max(gaps), lowest[0], lowest[1]])
    print("log evidence minus bound; below: smallest full - factor(1), factor(1) - factor(0)")
    print(table(["likelihood", "problems", "least gap", "median", "largest", "full - f1", "f1 - f0"], rows))


def inner_rows() -> list[list[Any]]:
    """Return one row per setting of :func:`inner`."""
    rows = []
    for name in ("ringnorm", "twonorm", "diabetis", "banana", "waveform"):
        data = load(f"ida_{name}")
        X, y = data["X"][:400], data["y"][:400].astype(float)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        for variance in (1.0, 10.0, 100.0):
            kernel = Gaussian(variance, float(np.sqrt(X.shape[1]))) + Constant(1.0)
            rows.append([name, variance, *_inner_row(kernel, X, y)])
    return rows


def inner() -> None:
    """Factorisations and process time per evaluation at n = 400, cold and warm, against Laplace's method."""
    print(
        "n = 400; warm: after a change of every log hyperparameter by 0.1; "
        "times: process time of a warm evaluation with gradient"
    )
    print(table(INNER_HEAD, inner_rows()))


def _inner_row(kernel: Kernel, X: np.ndarray, y: np.ndarray) -> list[float]:
    methods: list[tuple[Inference, lib.Likelihood]] = [
        (Laplace(), lib.Logistic()),
        (Variational(), lib.Logistic()),
        (Variational(), lib.NormalizedHinge().fix("C")),
    ]
    counts, runs = [], []
    for method, likelihood in methods:
        objective = EvidenceObjective(kernel, likelihood, method, Inputs(X), y)
        cold = objective.evaluate(objective.theta0)
        moved = objective.theta0 + 0.1
        warm = objective.evaluate(moved, cold.evidence.latent)
        counts += [cold.evidence.n_iter, warm.evidence.n_iter]
        runs.append((objective, moved, cold.evidence.latent))
    seconds = _process_times([lambda run=run: run[0].evaluate(run[1], run[2]) for run in runs])
    return [*counts[2:], seconds[1] / seconds[0], seconds[2] / seconds[0]]


def _process_times(functions: list[Callable[[], object]], repeats: int = 7) -> list[float]:
    """Return the least process time of each function, called in turn."""
    best = [np.inf] * len(functions)
    for _, (i, function) in itertools.product(range(repeats), enumerate(functions)):
        began = time.process_time()
        function()
        best[i] = min(best[i], time.process_time() - began)
    return best


def gradient() -> None:
    """Largest relative error of the gradient of the bound against five-point differences, n = 60, ARD."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    signal = np.sin(1.5 * X[:, 0]) + 0.3 * X[:, 1] + 0.3 * rng.normal(size=60)
    kernel = Gaussian(4.0, (1.0, 1.5, 3.0), ard=True) + Constant(0.5)
    rows = []
    for likelihood in finite_likelihoods():
        y = np.where(signal > 0.0, 1.0, -1.0) if isinstance(likelihood, lib.Classification) else signal
        objective = EvidenceObjective(kernel, likelihood, Variational(tol=1e-10), Inputs(X), y)
        centre = objective.evaluate(objective.theta0)
        slopes = five_point(
            lambda t, o=objective, c=centre: o.evaluate(t, c.evidence.latent).value, objective.theta0, 1e-3
        ).reshape(-1)
        rows.append([repr(likelihood), float(np.max(np.abs(centre.gradient - slopes)) / np.max(np.abs(slopes)))])
    print(table(["likelihood", "relative error"], rows))


def approximations(partitions: int = 3, sets: tuple[str, ...] = ("heart", "thyroid", "ringnorm")) -> None:
    """Laplace, variational and EP with the logistic loss, and the variational SVC: evidence, calibration, time."""
    rows = []
    for name in sets:
        data = load(f"ida_{name}")
        for label, make in (
            ("Laplace", lambda: GPClassifier(None)),
            ("variational", lambda: VariationalSVC(likelihood="logistic")),
            ("EP", lambda: GPClassifier(None, inference="ep")),
            ("variational svc", lambda: VariationalSVC()),
        ):
            found = []
            for k in range(partitions):
                train, test = data["train"][k], data["test"][k]
                began = time.process_time()
                machine = make().fit(data["X"][train], data["y"][train])
                seconds = time.process_time() - began
                proba = machine.predict_proba(data["X"][test])
                y = data["y"][test]
                sure = np.max(proba, axis=1)
                right = machine.classes_[proba.argmax(axis=1)] == y
                found.append(
                    [
                        machine.log_evidence_,
                        100 * np.mean(~right),
                        log_loss(y, proba),
                        np.mean(sure) - np.mean(right),
                        seconds,
                    ]
                )
            rows.append([name, label, *np.mean(found, axis=0)])
            print(
                table(["set", "method", "log evidence", "error %", "NLL", "over-confidence", "s/fit"], rows[-1:]),
                flush=True,
            )
    print()
    print(table(["set", "method", "log evidence", "error %", "NLL", "over-confidence", "s/fit"], rows))


def main() -> None:
    """Run what is named, or everything."""
    jobs: dict[str, Callable[[], None]] = {
        "bound": bound,
        "inner": inner,
        "gradient": gradient,
        "approximations": approximations,
        "table1": table1,
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*jobs, []], default=[])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--sets", default=",".join(TABLE1))
    parser.add_argument("--flat", action="store_true", help="table1 without a hyperprior, as in the paper")
    arguments = parser.parse_args()
    for name in arguments.names or jobs:
        if name == "table1":
            table1(arguments.draws, arguments.sets, flat=arguments.flat)
        else:
            jobs[name]()


if __name__ == "__main__":
    main()
