"""Machines for rows that are in files or on a Dask cluster of this computer (loopback only).

``python -m benchmarks.distributed [files] [ringnorm] [--sizes N ...] [--tasks NAME ...] [--rows N] [--json FILE]``

*files*: a folder of Parquet files is fitted by two threads of one process with 500 inducing inputs, without Dask. Time,
peak of the resident memory, and the time to predict as many rows as the largest size. *ringnorm*: 200000 rows (or as
many as are asked for), by two threads, by two workers of a cluster from two partitions of the rows, and with a worker
that is killed in the middle, and how far the results are apart. Every fit has a process of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
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
#: Ways to fit the same rows: rows of a part of the Dask array, None for an array in threads.
KILLED = "workers, one of them killed"
WAYS = {"threads": None, "workers": 17_000, "workers, another partition": 41_000, KILLED: 17_000}


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


def fit_ringnorm(n: int, where: str, answers: str, after: int = 0) -> dict[str, Any]:
    """Fit n rows of ringnorm in one of the ways of ``WAYS``, and write the log odds of new rows to a file.

    One of the workers is killed once ``after`` evaluations are done, if that is not zero.
    """
    X, y = ringnorm(n, np.random.default_rng(0))
    Xt, yt = ringnorm(TEST_ROWS, np.random.default_rng(10**6))
    machine = DistributedSVC(inducing=INDUCING, n_jobs=2, random_state=0)
    began, spent = time.perf_counter(), processor()
    part = WAYS[where]
    if part is None:
        machine.fit(X, y)
    else:
        import dask.array as da

        with local_cluster(2) as client, one_killed(client, after):
            machine.set_params(client=client).fit(da.from_array(X, chunks=(part, -1)), da.from_array(y, part))
    found = {
        "where": where,
        "rows": n,
        "seconds": time.perf_counter() - began,
        "processor_seconds": processor() - spent,
    }
    log_proba = machine.predict_log_proba(Xt)
    column = (yt > 0.0).astype(int)
    theta = machine.models_[0].theta
    np.savez(answers, theta=theta, odds=log_proba[:, 1] - log_proba[:, 0], evidence=machine.log_evidence_)
    return {
        **found,
        "error": 100.0 * float(np.mean(np.argmax(log_proba, axis=1) != column)),
        "nll": -float(np.mean(log_proba[np.arange(yt.size), column])),
        "log_evidence": machine.log_evidence_,
        "inducing": machine.n_basis_,
        "on_samples": machine.n_iter_ - sum(record.evaluations for record in machine.history_[-2:]),
    }


@contextlib.contextmanager
def one_killed(client: Any, after: int) -> Iterator[None]:
    """Kill a worker of the cluster after as many evaluations (0: none), and make sure that it was."""
    if not after:
        yield
        return
    victim = next(iter(client.run(os.getpid).values()))

    def kill() -> None:
        while len(client.get_events("bayesvm")) < after:
            time.sleep(0.05)
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    yield
    killer.join(10.0)
    if victim in client.run(os.getpid).values():
        raise RuntimeError("the worker is still alive: there were too few evaluations")


def compare_ways(n: int, record: Callable[[Row], None]) -> None:
    """Fit the same rows by threads, by workers from two partitions, and with a worker that is killed."""
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, dict[str, Any]] = {}
        for where in WAYS:
            after = found["threads"]["on_samples"] + 2 if where == KILLED else 0  # in the search on all rows
            answers = str(Path(folder) / f"{len(found)}.npz")
            found[where] = in_a_process(f"fit_ringnorm({n}, {where!r}, {answers!r}, {after})")
            with np.load(answers) as own, np.load(str(Path(folder) / "0.npz")) as first:
                apart = {name: float(np.max(np.abs(own[name] - first[name]))) for name in ("theta", "odds", "evidence")}
            print(f"{where}: largest differences from threads: {apart}", flush=True)
            record({"name": f"ringnorm, {where}, {n} rows", **found[where], "apart": apart})


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
    parser.add_argument("--rows", type=int, default=RINGNORM, help="of ringnorm")
    parser.add_argument("--json", help="file to which every row is added as soon as it is there")
    options = parser.parse_args()
    parts = options.parts or ["files", "ringnorm"]

    def record(row: Row) -> None:
        if options.json is not None:
            write(options.json, [row])

    if "files" in parts:
        files(options.sizes, options.tasks, record)
    if "ringnorm" in parts:
        compare_ways(options.rows, record)


if __name__ == "__main__":
    main()
