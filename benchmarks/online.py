"""Learning online: equality with the batch, error with a budget, updates per minute; and label curves.

``python -m benchmarks.online [batch] [budget] [speed] [active]``
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from threadpoolctl import threadpool_limits

from bayesvm.datasets import make_sinc
from bayesvm.estimators.gaussian_process import GPClassifier, GPRegressor
from bayesvm.estimators.online_gp import OnlineGPRegressor
from bayesvm.estimators.suggest import suggest
from bayesvm.kernels import Gaussian
from benchmarks._common import load, table


def batch() -> None:
    """Sequential updates without a budget against the batch machine with the same hyperparameters."""
    X, y, _ = make_sinc(300, noise=0.2, random_state=0)
    online = OnlineGPRegressor(budget=None, novelty=0.0, n_tune=300).fit(X, y)
    whole = GPRegressor(None, n_starts=2).fit(X, y)
    pairs = zip(online.predict(X, return_std=True), whole.predict(X, return_std=True))
    print("largest difference to the batch (mean, std):", *(f"{np.max(np.abs(a - b)):.1e}" for a, b in pairs))


def budget(n: int = 5000) -> None:
    """Budget of 100 of 5000 points of sinc data: test ASE against the batch machine with the same hyperparameters."""
    X, y, _ = make_sinc(n, noise=0.2, random_state=0)
    T, _, f = make_sinc(3000, noise=0.2, random_state=1)
    online = OnlineGPRegressor(budget=100).fit(X, y)
    prototype = online._prototype
    kernel, noise = prototype.models_[0].kernel, prototype.models_[0].likelihood
    inner, test = prototype._standardizer.inputs(X), prototype._standardizer.inputs(T)
    K = kernel.gram(inner)
    K[np.diag_indices_from(K)] += noise.noise_variance
    alpha = np.linalg.solve(K, prototype._targets.inner(y[:, None])[:, 0])
    whole = prototype._targets.outer((kernel.gram(test, inner) @ alpha)[:, None])[:, 0]
    a, b = float(np.mean((online.predict(T) - f) ** 2)), float(np.mean((whole - f) ** 2))
    row = [int(online.n_basis_[0]), a, b, 100.0 * (a / b - 1.0)]
    print(table(["basis vectors", "ASE online", "ASE batch", "difference %"], [row]))


def speed(n: int = 4000) -> None:
    """Updates per minute with a basis that is full: two inputs and a short length scale."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(n, 2))
    y = np.sin(6.0 * X[:, 0]) * np.cos(5.0 * X[:, 1]) + 0.1 * rng.normal(size=n)
    machine = OnlineGPRegressor(Gaussian(1.0, 0.35), optimizer=None, budget=100).fit(X[:1000], y[:1000])
    began = time.process_time()
    machine.partial_fit(X[1000:], y[1000:])
    seconds = time.process_time() - began
    print(f"{int(machine.n_basis_[0])} basis vectors: {60.0 * (n - 1000) / seconds:.0f} updates per minute of CPU time")


def active(runs: int = 10) -> None:
    """Banana: test error with labels chosen by mutual information, and at random (mean over runs).

    Expectation propagation: few labels can often be separated, and Laplace's variances are then too small to choose by.
    """
    data = load("ida_banana")
    machine = GPClassifier(None, likelihood="probit", inference="ep", n_starts=2)
    sizes = (20, 40, 60, 80, 100, 150, 200)
    curves = {"chosen": np.full((runs, len(sizes)), np.nan), "random": np.full((runs, len(sizes)), np.nan)}
    for run in range(runs):
        pool, test = data["train"][run], data["test"][run]
        X, y = data["X"][pool], data["y"][pool]
        order = np.random.default_rng(run).permutation(len(pool))
        for name in curves:
            rows = list(order[:20])
            for i, size in enumerate(sizes):
                if name == "chosen":
                    if size > 100:
                        break
                    while len(rows) < size:
                        left = np.setdiff1d(np.arange(len(pool)), rows)
                        machine.fit(X[rows], y[rows])
                        rows += list(left[suggest(machine, X[left], min(10, size - len(rows)))])
                else:
                    rows = list(order[:size])
                machine.fit(X[rows], y[rows])
                curves[name][run, i] = 100.0 * (1.0 - machine.score(data["X"][test], data["y"][test]))
    rows = [[name, *map(float, curve.mean(axis=0))] for name, curve in curves.items()]
    print(table(["error % with labels", *map(str, sizes)], rows))


PARTS = {"batch": batch, "budget": budget, "speed": speed, "active": active}


def main() -> None:
    """Run the parts that are asked for, all by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    with threadpool_limits(limits=1):
        for name in parser.parse_args().parts or PARTS:
            PARTS[name]()


if __name__ == "__main__":
    main()
