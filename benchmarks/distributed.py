"""Machines for rows that are in files or on a Dask cluster of this computer (loopback only).

``python -m benchmarks.distributed [files] [ringnorm] [--sizes N ...] [--tasks NAME ...] [--json FILE]``

*files*: a folder of Parquet files is fitted by two threads of one process with 500 inducing inputs, without Dask. Time,
peak of the resident memory, and the time to predict as many rows as the largest size. *ringnorm*: 200000 rows, by two
threads and by two workers of a cluster, and how far the two results are apart. Every fit has a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bayesvm.distributed import DistributedSVC, DistributedSVR
from bayesvm.distributed.engine import local_cluster
from benchmarks._common import ringnorm, table
from benchmarks.record import Row, write

SIZES = (100_000, 300_000, 1_000_000)
TASKS = ("regression", "classification")
FILE_ROWS = 50_000
FEATURES = 10
INDUCING = 500
RINGNORM = 200_000
TEST_ROWS = 10_000


def draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of ten features and targets: a smooth function of five of them with noise of 0.2."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, FEATURES))
    f = np.sin(X[:, 0] + X[:, 1]) + 0.5 * np.cos(2.0 * X[:, 2]) + 0.3 * X[:, 3] * X[:, 4]
    return X, f + 0.2 * rng.normal(size=n)


def targets(y: np.ndarray, task: str) -> np.ndarray:
    """Return the targets of a task: as they are, or as labels."""
    return y if task == "regression" else (y > 0.3).astype(int)


def write_files(folder: Path, n: int, task: str) -> None:
    """Write n rows to Parquet files."""
    import pandas as pd

    for seed, start in enumerate(range(0, n, FILE_ROWS)):
        X, y = draw(min(FILE_ROWS, n - start), seed)
        frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(FEATURES)])
        frame.assign(y=targets(y, task)).to_parquet(folder / f"{seed:05}.parquet")


def peak() -> float:
    """Return the peak of the resident memory of this process in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def processor() -> float:
    """Return the processor seconds of this process and of the children that have ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def fit_files(folder: str, n: int, task: str, predicted: int) -> dict[str, Any]:
    """Fit a folder of Parquet files by two threads, and predict new rows."""
    machine = {"regression": DistributedSVR, "classification": DistributedSVC}[task]
    began, spent = time.perf_counter(), processor()
    model = machine("rbf + constant", ard=True, inducing=INDUCING, n_jobs=2, random_state=0).fit(Path(folder), "y")
    found: dict[str, Any] = {"task": task, "rows": n, "seconds": time.perf_counter() - began}
    found |= {"processor_seconds": processor() - spent, "peak_gib": peak(), "evaluations": model.n_iter_}
    import pandas as pd

    X, y = draw(predicted, 10**6)
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(FEATURES)])
    began, spent = time.perf_counter(), processor()
    answers = model.predict(frame) if task == "regression" else model.predict_proba(frame)
    found |= {"predict_seconds": time.perf_counter() - began, "predict_processor_seconds": processor() - spent}
    if task == "regression":
        return {**found, "rmse": float(np.sqrt(np.mean((answers - y) ** 2)))}
    own = np.clip(answers[np.arange(predicted), targets(y, task)], 1e-15, 1.0)
    return {**found, "nll": -float(np.mean(np.log(own)))}


def fit_ringnorm(where: str) -> dict[str, Any]:
    """Fit ringnorm by two threads or by two workers."""
    X, y = ringnorm(RINGNORM, np.random.default_rng(0))
    Xt, yt = ringnorm(TEST_ROWS, np.random.default_rng(10**6))
    machine = DistributedSVC(inducing=INDUCING, n_jobs=2, random_state=0)
    began, spent = time.perf_counter(), processor()
    if where == "threads":
        machine.fit(X, y)
    else:
        import dask.array as da

        with local_cluster(2) as client:
            machine.set_params(client=client).fit(da.from_array(X, chunks=(17_000, -1)), da.from_array(y, 17_000))
    found = {"where": where, "seconds": time.perf_counter() - began, "processor_seconds": processor() - spent}
    log_proba = machine.predict_log_proba(Xt)
    column = (yt > 0.0).astype(int)
    return {
        **found,
        "error": 100.0 * float(np.mean(np.argmax(log_proba, axis=1) != column)),
        "nll": -float(np.mean(log_proba[np.arange(yt.size), column])),
        "log_evidence": machine.log_evidence_,
        "inducing": machine.n_basis_,
        "mean_latent": float(np.mean(machine.predict_latent(Xt)[0])),
    }


def in_a_process(call: str) -> dict[str, Any]:
    """Return the result of one of the functions above, computed by a process of its own."""
    code = f"import json; from benchmarks import distributed as d; print(json.dumps(d.{call}))"
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(found, flush=True)
    return found


def files(sizes: list[int], tasks: list[str], record: Callable[[Row], None]) -> None:
    """Measure time and memory by the number of rows."""
    for task in tasks:
        rows = []
        for n in sizes:
            with tempfile.TemporaryDirectory() as folder:
                write_files(Path(folder), n, task)
                rows.append(in_a_process(f"fit_files({folder!r}, {n}, {task!r}, {max(sizes)})"))
            record({"name": f"files, {task}, {n} rows", **rows[-1]})
        print(table(list(rows[0]), [list(row.values()) for row in rows]))
        if len(rows) > 1:
            logs = np.log([[row["rows"], row["processor_seconds"]] for row in rows])
            print(f"{task}: exponent of the processor time {np.polyfit(*logs.T, 1)[0]:.3f}")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=["files", "ringnorm", []], default=[])
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--json", help="file to which every row is added as soon as it is there")
    options = parser.parse_args()
    parts = options.parts or ["files", "ringnorm"]

    def record(row: Row) -> None:
        if options.json is not None:
            write(options.json, [row])

    if "files" in parts:
        files(options.sizes, options.tasks, record)
    if "ringnorm" in parts:
        for where in ("threads", "workers"):
            record({"name": f"ringnorm, {where}", **in_a_process(f"fit_ringnorm({where!r})")})


if __name__ == "__main__":
    main()
