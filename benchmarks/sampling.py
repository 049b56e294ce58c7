"""Sampling the hyperparameters: R-hat, effective draws, negative log-likelihood against the point estimate, minutes.

``python -m benchmarks.sampling [sinc] [banana]``
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bayesvm.datasets import make_sinc
from bayesvm.estimators.gaussian_process import GPClassifier, GPRegressor
from bayesvm.sampling import ThetaSamples, sample_theta
from benchmarks._common import load, table

HEADER = ["data", "method", "R-hat", "effective draws", "divergences", "NLL sampled", "NLL point", "minutes"]


def _row(name: str, samples: ThetaSamples, sampled: float, point: float) -> list[Any]:
    d = samples.diagnostics[0]
    numbers = [float(d.rhat.max()), float(d.ess.min()), d.divergences, sampled, point, samples.seconds / 60.0]
    return [name, samples.method, *numbers]


def _gaussian_nll(y: np.ndarray, mean: np.ndarray, std: np.ndarray) -> np.ndarray:
    return 0.5 * ((y - mean) / std) ** 2 + np.log(std) + 0.5 * np.log(2.0 * np.pi)


def sinc(n: int = 200) -> None:
    """Gaussian noise of 0.2, exact inference."""
    X, y, _ = make_sinc(n, noise=0.2, random_state=0)
    T, t, _ = make_sinc(3000, noise=0.2, random_state=1)
    machine = GPRegressor(None).fit(X, y)
    samples = sample_theta(machine, draws=500, tune=300, random_state=0)
    committee = samples.committee(100)
    densities = [-_gaussian_nll(t, *m.predict(T, return_std=True)) for m in committee._members]
    sampled = -float(np.mean(np.log(np.mean(np.exp(densities), axis=0))))
    point = float(np.mean(_gaussian_nll(t, *machine.predict(T, return_std=True))))
    print(table(HEADER, [_row("sinc", samples, sampled, point)]))


def banana() -> None:
    """The first partition, logistic likelihood, Laplace's evidence."""
    data = load("ida_banana")
    train, test = data["train"][0], data["test"][0]
    machine = GPClassifier(None).fit(data["X"][train], data["y"][train])
    samples = sample_theta(machine, draws=400, tune=300, random_state=0)
    committee = samples.committee(100)
    codes = np.searchsorted(machine.classes_, data["y"][test])
    nll = [
        -float(np.mean(np.log(m.predict_proba(data["X"][test])[np.arange(len(codes)), codes])))
        for m in (committee, machine)
    ]
    print(table(HEADER, [_row("banana", samples, *nll)]))


PARTS = {"sinc": sinc, "banana": banana}


def main() -> None:
    """Run the parts that are asked for, all by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    with threadpool_limits(limits=1):
        for name in parser.parse_args().parts or PARTS:
            PARTS[name]()


if __name__ == "__main__":
    main()
