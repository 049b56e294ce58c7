"""What the benchmarks share: interleaved timing, tables, where the data is."""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bayesvm.datasets import MissingDataError, load_npz, make_ringnorm

#: Folder with the data sets (``ida_<name>.npz``, ``<name>.npz``).
DATA = Path(os.environ.get("BAYESVM_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))

IDA_LIMITS = {
    "banana": 10.65,
    "breast_cancer": 29.3,
    "diabetis": 24.0,
    "heart": 18.5,
    "ringnorm": 2.15,
    "thyroid": 5.25,
    "titanic": 23.4,
    "twonorm": 3.1,
    "waveform": 10.35,
}


def interleaved(
    functions: Sequence[Callable[[], Any]], repeats: int = 5, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Return the median seconds of each function, called in turn ``repeats`` times.

    With ``clock=time.process_time`` they are seconds of the processor, which a busy machine distorts less.
    """
    seconds: list[list[float]] = [[] for _ in functions]
    for _ in range(repeats):
        for record, function in zip(seconds, functions):
            began = clock()
            function()
            record.append(clock() - began)
    return [statistics.median(record) for record in seconds]


def peak_bytes(function: Callable[[], Any]) -> int:
    """Return by how much the function raises the peak of resident memory, in a child process of its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        function()
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        os.write(writer, str(1024 * (after - before)).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as answer:
        return int(answer.read())


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a plain table with aligned columns."""
    cells = [list(map(str, header)), *([_text(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in cells)


def _text(cell: Any) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def load(name: str) -> dict[str, np.ndarray]:
    """Return the arrays of a data set, or say which file is missing."""
    try:
        data = load_npz(name, DATA)
    except MissingDataError as error:
        raise SystemExit(f"{error}; set BAYESVM_DATA to the folder that holds it") from None
    arrays = {"X": data.X, "y": data.y, "train": data.train, "test": data.test, "origin": data.origin}
    alone = name.startswith("ida_")  # other sets have one partition, given as plain row numbers
    return {k: v if alone or v.ndim == 1 or k == "X" else v[0] for k, v in arrays.items() if v is not None}


def ringnorm(n: int, rng: np.random.Generator, d: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Draw Breiman's ringnorm with labels as floats."""
    X, y, _ = make_ringnorm(n, d=d, random_state=rng)
    return X, y.astype(float)
