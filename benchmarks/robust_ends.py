"""Ends of the search for robust noise, beside four searches: ``python -m benchmarks.robust_ends [--json FILE]``.

Eighteen fits of ``BayesianSVR(likelihood="soft-insensitive")``: concrete, boston, energy and yacht with the thesis'
kernel and with a given one, on two splits, and two sinc sets. "four" is the log evidence that four starts reach which
all search through smooth surrogates to their end, as for labels (:mod:`bayesvm.hyper.scouts`).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock

import numpy as np
from sklearn.model_selection import ShuffleSplit

from bayesvm import BayesianSVR
from bayesvm.hyper import search
from bayesvm.kernels import Constant, Gaussian
from benchmarks._common import load, table
from benchmarks.record import write

HEAD = ["data", "n", "kernel", "split", "log evidence", "evaluations", "four", "evaluations of four", "difference"]


def problems() -> Iterator[tuple[str, int, np.ndarray, np.ndarray]]:
    """Return names, splits, inputs and targets."""
    for name in ("reg_concrete", "boston", "reg_energy", "reg_yacht"):
        data = load(name)
        splits = ShuffleSplit(n_splits=2, test_size=0.1, random_state=0).split(data["X"])
        for split, (train, _) in enumerate(splits):
            yield name, split, data["X"][train], data["y"][train]
    for n, noise in ((300, 0.1), (200, 0.2)):
        rng = np.random.default_rng(n)
        X = rng.uniform(-10.0, 10.0, (n, 1))
        yield f"sinc {noise}", 0, X, np.sinc(X[:, 0] / np.pi) + noise * rng.laplace(size=n) / np.sqrt(2.0)


def ends(kernel: Any, X: np.ndarray, y: np.ndarray) -> list[Any]:
    """Return log evidence and evaluations of the search as it is, and of four whole searches."""
    found: list[Any] = []
    for whole in (False, True):
        machine = BayesianSVR(kernel, likelihood="soft-insensitive", random_state=0)
        if whole:
            with mock.patch.object(search, "companion_of", return_value=None):
                machine.fit(X, y)
        else:
            machine.fit(X, y)
        found += [machine.log_evidence_, machine.n_iter_]
    return [*found, found[0] - found[2]]


def rows() -> list[list[Any]]:
    """Return one row per fit."""
    found = []
    for name, split, X, y in problems():
        kernels = {"given": Gaussian() + Constant()} if name.startswith("sinc") else {"thesis": None}
        kernels |= {"given": Gaussian() + Constant()}
        for label, kernel in kernels.items():
            found.append([name, y.size, label, split, *ends(kernel, X, y)])
            print(*found[-1], flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json")
    given = parser.parse_args(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = rows()
    print(table(HEAD, found))
    differences = np.array([row[-1] for row in found])
    print(f"mean {differences.mean():+.2f} nats, lower by more than 0.05 on {np.sum(differences < -0.05)}")
    if given.json:
        write(given.json, [{"name": " ".join(map(str, row[:4])), **dict(zip(HEAD, row))} for row in found])


if __name__ == "__main__":
    main()
