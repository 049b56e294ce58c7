"""Bayesian networks on the robot arm (Thesis Table 4.6). ``python -m benchmarks.mlp``."""

from __future__ import annotations

import time

import numpy as np
from threadpoolctl import threadpool_limits

from bayesvm.datasets import make_robot_arm
from bayesvm.estimators.bayesian_mlp import BayesianMLPRegressor
from benchmarks._common import table


def robot_arm(draws: int = 3) -> None:
    """200 training and 200 test points, 2 and 6 inputs: sum of the test ASEs of both outputs (MacKay: 0.0057)."""
    rows = []
    for seed in range(draws):
        for n_inputs in (2, 6):
            X, Y, F = make_robot_arm(400, n_inputs=n_inputs, random_state=seed)
            began = time.process_time()
            machine = BayesianMLPRegressor((8, 16), random_state=0).fit(X[:200], Y[:200])
            seconds = time.process_time() - began
            ase = float(np.sum(np.mean((machine.predict(X[200:]) - Y[200:]) ** 2, axis=0)))
            floor = float(np.sum(np.mean((F - Y)[200:] ** 2, axis=0)))
            noise = machine.relevance_[4:] / machine.relevance_[0] if n_inputs == 6 else np.zeros(1)
            rows.append([seed, n_inputs, machine.n_hidden_, 1e3 * ase, 1e3 * floor, f"{noise.max():.1e}", seconds])
    header = ["draw", "inputs", "hidden", "ASE 1e-3", "noise 1e-3", "relevance of noise inputs", "CPU s"]
    print(table(header, rows))


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        robot_arm()
