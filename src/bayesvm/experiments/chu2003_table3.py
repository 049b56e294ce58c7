"""Chu2003 Table 3: one set of hyperparameters per data set, the average of those of the first five partitions."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesvm import BayesianSVC
from bayesvm.experiments.base import Case, Column, Experiment, Numbers, Published, Source, Table
from bayesvm.experiments.baselines import thesis_parameters
from bayesvm.experiments.chu2003_table4 import runs
from bayesvm.experiments.measures import classification
from bayesvm.kernels import Constant, Gaussian

#: kappa_0, kappa, kappa_b, and the test error of BTSVC and of SVC: mean and standard deviation.
PAPER: dict[str, tuple[Any, ...]] = {
    "banana": (2.308, 1.425, 0.349, (10.39, 0.50), (11.53, 0.66)),
    "breast_cancer": (0.172, 0.115, 0.00343, (25.70, 4.46), (26.04, 4.74)),
    "diabetis": (0.386, 0.0606, 15.638, (23.13, 1.75), (23.53, 1.73)),
    "flare_solar": (0.802, 0.316, 0.0969, (34.26, 1.75), (32.43, 1.82)),
    "german": (0.339, 0.0625, 11.362, (23.37, 2.28), (23.61, 2.07)),
    "heart": (3.787, 0.00731, 9.222, (16.33, 2.78), (15.95, 3.26)),
    "image": (87.953, 0.0428, 95.847, (3.50, 0.62), (2.96, 0.60)),
    "ringnorm": (0.978, 0.0502, 102.126, (1.99, 0.26), (1.66, 0.12)),
    "splice": (3.591, 0.00601, 121.208, (12.36, 0.72), (10.88, 0.66)),
    "thyroid": (66.920, 0.132, 96.360, (3.95, 2.07), (4.80, 2.19)),
    "titanic": (0.391, 0.966, 44.536, (22.51, 1.01), (22.42, 1.02)),
    "twonorm": (18.658, 0.00426, 94.741, (2.90, 0.27), (2.96, 0.23)),
    "waveform": (1.310, 0.0393, 111.23, (9.94, 0.42), (9.88, 0.43)),
}
KEYS = ("kappa_0", "kappa", "kappa_b")
#: Partitions from which the hyperparameters are learnt.
FIRST = 5


@functools.lru_cache(maxsize=32)
def learnt(source: Source, name: str, rows: int | None, first: int) -> tuple[tuple[float, ...], ...]:
    """Return the hyperparameters of each of the first partitions; kept, since every unit of a set needs them."""
    data = source.load(f"ida_{name}")
    found = []
    for k in range(first):
        X, y, _, _ = data.split(k)
        machine = BayesianSVC(None, posterior="laplace", calibrate=None).fit(X[:rows], y[:rows])
        found.append(tuple(float(thesis_parameters(machine)[key]) for key in KEYS))
    return tuple(found)


def run(params: Mapping[str, Any], seed: int, source: Source) -> Numbers:
    """Fit one partition with the averaged hyperparameters; the first partitions keep their own, too."""
    own = learnt(source, params["data"], params["rows"], params["first"])
    variance, kappa, bias = np.mean(own, axis=0)
    X, y, X_test, y_test = source.load(f"ida_{params['data']}").split(seed)
    kernel = Gaussian(variance, kappa**-0.5) + Constant(bias)
    machine = BayesianSVC(kernel, optimizer=None, posterior="laplace", calibrate=None)
    found = classification(machine, X[: params["rows"]], y[: params["rows"]], X_test, y_test)
    return {**found, **dict(zip(KEYS, own[seed], strict=True))} if seed < len(own) else found


def _error(place: int) -> dict[str, Published]:
    return {name: Published(row[place][0], row[place][1], runs=runs(name)) for name, row in PAPER.items()}


COLUMNS = (
    *(
        Column(key, key, 4, {n: Published(float(row[i]), runs=FIRST) for n, row in PAPER.items()})
        for i, key in enumerate(KEYS)
    ),
    Column("error", "error %", 2, _error(3), better="lower"),
    Column("error", "error % (against SVC of Raetsch et al.)", 2, _error(4), better="lower"),
)
EXPERIMENT = Experiment(
    "chu2003-table3",
    "Chu2003 Table 3",
    "BTSVC on the benchmark sets, hyperparameters averaged over the first five partitions",
    tuple(
        Case(n, {"data": n, "rows": None, "first": FIRST}, {"rows": 30, "first": 1}, (f"ida_{n}",), runs(n), runs(n))
        for n in PAPER
    ),
    run,
    (Table("btsvc", "BTSVC with averaged hyperparameters, for standardised inputs", COLUMNS),),
)

__all__ = ["EXPERIMENT"]
