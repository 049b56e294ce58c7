"""Speed beside scikit-learn's Gaussian processes, in one run: ``python -m benchmarks.speed [name ...] [--json FILE]``.

Processor time of one thread, the functions in turn, the least of a few runs. All machines have a given kernel,
``Gaussian() + Constant()``, so that no choice of models is timed. Parts: ``ringnorm`` and ``ringnorm-ard`` (fit with
1000 rows), ``small`` (fits with 140 to 170 rows), ``neo`` (fits of the IDA sets beside neo-ls-svm's), ``evaluation``
(one evidence with gradient over the work that cannot be avoided), ``ep`` (the same by expectation propagation over
Laplace's), ``sweeps`` (its fixed point in native code beside NumPy), ``noise`` (regression beside ``GPRegressor``),
``sinc`` (regression beside scikit-learn's), ``ls`` (least squares), ``variational`` (one bound with gradient over
Laplace's evidence) and ``prediction`` (100000 rows).
Set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import ShuffleSplit

from bayesvm import BayesianLSSVC, BayesianSVC, BayesianSVR, GPRegressor
from bayesvm.hyper import approached as hyper_approached
from bayesvm.inference import EP
from bayesvm.inference.sweep import GramPrior
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import Logistic, Probit, RaisedCosine, Trigonometric, Weighted
from bayesvm.solvers import Newton
from bayesvm.solvers.splitting import approached
from benchmarks._common import load, ringnorm, table
from benchmarks.evaluation import HEAD as EVALUATION_HEAD
from benchmarks.evaluation import rows_by_size
from benchmarks.record import Row, write
from benchmarks.reduction import COST_HEAD, cost
from benchmarks.variational import INNER_HEAD as VARIATIONAL_HEAD
from benchmarks.variational import inner_rows as variational_rows

#: Names of columns, and rows.
Figures = tuple[Sequence[str], Sequence[Sequence[Any]]]


def processor_seconds(functions: Sequence[Callable[[], Any]], repeats: int) -> list[float]:
    """Return the least processor time of each function, called in turn ``repeats`` times."""
    best = [np.inf] * len(functions)
    for _ in range(repeats):
        for k, function in enumerate(functions):
            began = time.process_time()
            function()
            best[k] = min(best[k], time.process_time() - began)
    return best


def classifier(*, n_starts: int = 1, ard: bool = False, **options: Any) -> BayesianSVC:
    """Return the machine that is timed, with the default posterior."""
    return BayesianSVC(Gaussian() + Constant(), ard=ard, n_starts=n_starts, **options)


def _ringnorm(*, ard: bool, repeats: int) -> Figures:
    X, y = ringnorm(1000, np.random.default_rng(0))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    d = X.shape[1]
    scale = np.full(d, np.sqrt(d)) if ard else np.sqrt(d)
    ours, theirs = processor_seconds(
        [
            lambda: classifier(ard=ard).fit(X, y),
            lambda: GaussianProcessClassifier(ConstantKernel(10.0) * RBF(scale)).fit(X, y),
        ],
        repeats,
    )
    name = "ringnorm n=1000, 20 length scales (70)" if ard else "ringnorm n=1000, one length scale (25)"
    return ["fit (goal)", "bayesvm s", "scikit-learn s", "times faster"], [[name, ours, theirs, theirs / ours]]


def small() -> Figures:
    """Return fits with few rows: one start and four beside one of scikit-learn's."""
    rows = []
    for name in ("heart", "thyroid", "banana"):
        data = load(f"ida_{name}")
        X, y = (data[part][data["train"][0]] for part in ("X", "y"))
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        one, four, theirs = processor_seconds(
            [
                lambda X=X, y=y: classifier().fit(X, y),
                lambda X=X, y=y: classifier(n_starts=4).fit(X, y),
                lambda X=X, y=y: GaussianProcessClassifier(ConstantKernel(1.0) * RBF(1.0)).fit(X, y),
            ],
            5,
        )
        rows.append([name, y.size, one, four, theirs, one / theirs, four / theirs])
    return ["data", "n", "one start s", "four s", "scikit-learn s", "ratio (1)", "ratio, four (1.5)"], rows


def neo() -> Figures:
    """Return fits of IDA sets beside neo-ls-svm's, which has to be installed (peers-requirements.txt).

    Without those of which it drops all features (titanic).
    """
    from neo_ls_svm import NeoLSSVM

    rows = []
    for name in ("heart", "thyroid", "banana", "breast_cancer", "diabetis", "ringnorm", "twonorm", "waveform"):
        data = load(f"ida_{name}")
        X, y = (data[part][data["train"][0]] for part in ("X", "y"))
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        one, four, theirs = processor_seconds(
            [
                lambda X=X, y=y: classifier().fit(X, y),
                lambda X=X, y=y: classifier(n_starts=4).fit(X, y),
                lambda X=X, y=y: NeoLSSVM().fit(X, y),
            ],
            2,
        )
        rows.append([name, y.size, one, four, theirs, one / theirs, four / theirs])
    return ["data", "n", "one start s", "four s", "neo-ls-svm s", "ratio (1)", "ratio, four"], rows


def evaluation() -> Figures:
    """Return one evidence with gradient over the work that cannot be avoided."""
    return EVALUATION_HEAD, rows_by_size([250, 1000, 4000])


def ep() -> Figures:
    """Return one evidence with gradient by expectation propagation over Laplace's, warm after a small step.

    With the tolerance of ``inference="ep"``, and with that of predictions and choices.
    """
    rows = []
    for n in (400, 1000):
        X, y = ringnorm(n, np.random.default_rng(0))
        for likelihood in ("trigonometric", "raised-cosine"):
            machine = classifier(likelihood=likelihood, posterior="laplace", calibrate=None).fit(X, y)
            laplace, theta = machine.models_[0].objective, machine.models_[0].theta
            methods = [laplace.inference, EP(), EP(tol=1e-4)]
            all_three = [dataclasses.replace(laplace, inference=method) for method in methods]
            starts = [o.evaluate(theta + 0.03).evidence.latent for o in all_three]
            work = [lambda o=o, t=theta, s=s: o.evaluate(t, s) for o, s in zip(all_three, starts)]
            seconds = processor_seconds(work, 15 if n < 1000 else 5)
            for k in (1, 2):
                ms = [1e3 * seconds[0], 1e3 * seconds[k]]
                rows.append([n, likelihood, methods[k].tol, *ms, work[k]().evidence.n_iter, ms[1] / ms[0]])
    return ["n", "likelihood", "tolerance", "laplace ms", "ep ms", "ep factorisations", "ratio (4, 10)"], rows


def sweeps() -> Figures:
    """Return the fixed point of expectation propagation in native code beside NumPy, from the sites of a neighbour."""
    rows = []
    for n in (150, 400):
        X, y = ringnorm(n, np.random.default_rng(0))
        K = (Gaussian(4.0, 4.0) + Constant(1.0)).gram(Inputs(X))
        for label in (Trigonometric(), RaisedCosine(), Logistic(), Probit()):
            for terms in (label, Weighted(label, np.resize([0.3, 1.0, 2.5], n))):
                start = EP().infer(1.05 * K, y, terms)[1].latent
                both = [EP().iterate, EP().iterate_in_numpy]
                work = [functools.partial(find, GramPrior(K), y, terms, start) for find in both]
                native, numpy = (1e3 * t for t in processor_seconds(work, 9))
                rows.append([n, repr(label), "no" if terms is label else "yes", native, numpy, numpy / native])
    return ["n", "likelihood", "weights", "native ms", "numpy ms", "times"], rows


def insensitive(kernel: Any, **options: Any) -> BayesianSVR:
    """Return the regressor that is timed."""
    return BayesianSVR(kernel, likelihood="soft-insensitive", **options)


class CountingNewton(Newton):
    """Newton's solver that counts modes and factorisations."""

    modes = 0
    factorisations = 0

    def solve(self, *args: Any, **kwargs: Any) -> Any:
        """Return the mode."""
        found = super().solve(*args, **kwargs)
        CountingNewton.modes += 1
        CountingNewton.factorisations += found.n_iter
        return found


def counted_approach(*args: Any) -> Any:
    """Return what the approach of a mode leads to, which takes one factorisation."""
    CountingNewton.factorisations += 1
    return approached(*args)


def noise() -> Figures:
    """Return regression with the soft insensitive loss beside Gaussian noise, one length scale, four starts.

    A factorisation of the companion, Gaussian noise, is one of an evaluation of its own.
    """
    rows = []
    for name in ("reg_concrete", "boston", "reg_energy"):
        data = load(name)
        train, _ = next(ShuffleSplit(test_size=0.1, random_state=0).split(data["X"]))
        X, y = data["X"][train], data["y"][train]
        for kernel in (None, Gaussian() + Constant()):
            CountingNewton.modes = CountingNewton.factorisations = 0
            with mock.patch.object(hyper_approached, "approached", counted_approach):
                machine = insensitive(kernel, solver=CountingNewton()).fit(X, y)
            gaussian_noise = machine.n_iter_ - CountingNewton.modes + 1  # one more mode at the end
            each = (CountingNewton.factorisations + gaussian_noise) / (machine.n_iter_ + 1)
            ours, gaussian = processor_seconds(
                [
                    lambda X=X, y=y, kernel=kernel: insensitive(kernel).fit(X, y),
                    lambda X=X, y=y: GPRegressor(Gaussian() + Constant()).fit(X, y),
                ],
                3,
            )
            name_of_kernel = "thesis" if kernel is None else "given"
            row = [name, y.size, name_of_kernel, machine.log_evidence_, machine.n_iter_, each]
            rows.append([*row, ours, gaussian, ours / gaussian])
    head = ["data", "n", "kernel", "log evidence", "evaluations (80)", "factorisations each (3)", "SVR s"]
    return [*head, "GPRegressor s", "ratio (2)"], rows


def sinc() -> Figures:
    """Return regression of a noisy sinc beside scikit-learn's Gaussian process, four starts against one."""
    rows = []
    for n, goal in ((1000, 20), (2000, 30)):
        rng = np.random.default_rng(0)
        X = rng.uniform(-10.0, 10.0, (n, 1))
        y = np.sinc(X[:, 0] / np.pi) + 0.1 * rng.standard_normal(n)
        peer = GaussianProcessRegressor(ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1))
        ours, theirs = processor_seconds(
            [
                lambda X=X, y=y: insensitive(Gaussian() + Constant()).fit(X, y),
                lambda X=X, y=y, peer=peer: peer.fit(X, y),
            ],
            3,
        )
        rows.append([n, ours, theirs, theirs / ours, goal])
    return ["n", "BayesianSVR s", "scikit-learn s", "times faster", "goal"], rows


def ls() -> Figures:
    """Return a least-squares classifier with many rows."""
    X, y = ringnorm(3200, np.random.default_rng(0))
    (seconds,) = processor_seconds([lambda: BayesianLSSVC().fit(X, y)], 1)
    return ["BayesianLSSVC n", "seconds (6)"], [[3200, seconds]]


def variational() -> Figures:
    """Return one evaluation of the variational bound over Laplace's, in fifteen settings."""
    return VARIATIONAL_HEAD, variational_rows()


def prediction() -> Figures:
    """Return the cost of 100000 predictions by machines fitted to 3000 rows."""
    return COST_HEAD, cost(3000)


PARTS: dict[str, Callable[[], Figures]] = {
    "ringnorm": lambda: _ringnorm(ard=False, repeats=2),
    "ringnorm-ard": lambda: _ringnorm(ard=True, repeats=1),
    "small": small,
    "neo": neo,
    "evaluation": evaluation,
    "ep": ep,
    "sweeps": sweeps,
    "noise": noise,
    "sinc": sinc,
    "ls": ls,
    "variational": variational,
    "prediction": prediction,
}


def as_results(part: str, figures: Figures) -> list[Row]:
    """Return the rows as named results: words and numbers of rows make the name."""
    head, rows = figures
    found = []
    for row in rows:
        own = [
            str(cell) for key, cell in zip(head, row) if isinstance(cell, str) or key in ("n", "variance", "tolerance")
        ]
        found.append({"name": " ".join(["speed", part, *own]), **dict(zip(head, row))})
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the parts asked for; all but ``neo``, whose peer may be absent, if none is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(PARTS))
    parser.add_argument("--json", help="file for the rows")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in PARTS]
    if unknown:
        parser.error(f"unknown part {unknown[0]!r}; the parts are {', '.join(PARTS)}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier().fit(*ringnorm(100, np.random.default_rng(0)))  # what is imported on first use
        for name in given.names or [part for part in PARTS if part != "neo"]:
            figures = PARTS[name]()
            print(f"== {name}\n{table(*figures)}\n", flush=True)
            if given.json:
                write(given.json, as_results(name, figures))


if __name__ == "__main__":
    main()
