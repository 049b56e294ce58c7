"""How the cost of a default fit grows with the number of rows: ours and peers', interleaved, with fitted exponents.

``python -m benchmarks.growth [--sizes 100,...,8000] [--machines a;b] [--limit SECONDS] [--json FILE]``

A machine stops at the size whose time, predicted from its last two, would exceed the limit.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from threadpoolctl import threadpool_limits

from bayesvm import BayesianLSSVC, BayesianSVC, BayesianSVR
from bayesvm.datasets import make_sinc, make_twonorm
from bayesvm.experiments.baselines import grid_svc
from benchmarks._common import table
from benchmarks.record import Row, exponent, write

SIZES = (100, 200, 400, 800, 1600, 3200, 8000)
MACHINES: dict[str, Callable[[], Any]] = {
    "BayesianSVC()": BayesianSVC,
    "BayesianSVC(None, n_starts=1)": lambda: BayesianSVC(None, n_starts=1),
    "BayesianLSSVC()": BayesianLSSVC,
    "BayesianSVR()": BayesianSVR,
    "SVC, grid": lambda: grid_svc(20, 5),
    "sklearn GPC": lambda: GaussianProcessClassifier(ConstantKernel(1.0) * RBF(math.sqrt(20.0))),
}


def seconds(name: str, n: int) -> float:
    """Return the processor seconds of one fit: twonorm for classifiers, sinc for the regressor."""
    if name == "BayesianSVR()":
        X, y, _ = make_sinc(n, random_state=0)
    else:
        X, labels, _ = make_twonorm(n, random_state=0)
        y = labels.astype(float)
    began = time.process_time()
    MACHINES[name]().fit(X, y)
    return time.process_time() - began


def grow(
    names: Sequence[str], sizes: Sequence[int], limit: float, repeats: int, keep: Callable[[list[Row]], None]
) -> list[Row]:
    """Return one row per machine and size, and one with the exponent from 400 rows on.

    ``keep`` is given the rows after every size.
    """
    times: dict[str, dict[int, float]] = {name: {} for name in names}
    for n in sizes:
        due = [name for name in names if _predicted(times[name], n) <= limit]
        records: dict[str, list[float]] = {name: [] for name in due}
        for _ in range(repeats if n <= 800 else 1):
            for name in due:
                records[name].append(seconds(name, n))
        for name in due:
            times[name][n] = float(np.median(records[name]))
            print(f"{name}, n = {n}: {times[name][n]:.2f} s", flush=True)
        keep(rows_of(times))
    return rows_of(times)


def rows_of(times: dict[str, dict[int, float]]) -> list[Row]:
    """Return the rows of what was measured so far."""
    rows: list[Row] = []
    ours = times.get("BayesianSVC()", {})
    for name, found in times.items():
        for n, t in found.items():
            ratio = ours[n] / t if n in ours and name in ("SVC, grid", "sklearn GPC") else None
            rows.append({"name": f"growth {name} n={n}", "n": n, "fit_s": t, "ratio": ratio})
        large = {n: t for n, t in found.items() if n >= 400}
        if len(large) > 1:
            rows.append({"name": f"growth {name} exponent", "exponent": exponent(list(large), list(large.values()))})
    return rows


def _predicted(found: dict[int, float], n: int) -> float:
    """Return the time expected at n rows from the last two sizes, at least quadratic."""
    if not found:
        return 0.0
    (last, t), slope = list(found.items())[-1], 2.0
    if len(found) > 1:
        slope = min(max(2.0, exponent(*zip(*list(found.items())[-2:]))), 3.5)
    return t * (n / last) ** slope


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--machines", default=";".join(MACHINES))
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json")
    given = parser.parse_args(arguments)

    def keep(rows: list[Row]) -> None:
        if given.json:
            write(given.json, rows)

    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers warn about bounds and iterations
        sizes = [int(n) for n in given.sizes.split(",")]
        rows = grow(given.machines.split(";"), sizes, given.limit, given.repeats, keep)
    shown = [[row["name"], row.get("fit_s", ""), row.get("ratio") or "", row.get("exponent", "")] for row in rows]
    print(table(["row", "fit [s]", "BayesianSVC() / this", "exponent"], shown))


if __name__ == "__main__":
    main()
