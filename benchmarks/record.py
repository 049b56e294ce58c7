"""Results of benchmarks as JSON: what was measured, on what machine, row by row.

A row has a name and numbers. Two of them are watched by ``make bench-check``: ``ratio`` (our time over another's in
the same run; small is good) and ``nll`` (mean negative log-likelihood on test data).
"""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]

#: The machine whose fit is the numerator of ratios.
OURS = "BayesianSVC()"
#: The same estimator from one start, as scikit-learn's and GPy's Gaussian processes search: no peer, but what they are
#: to be compared with.
ONE_START = "BayesianSVC(None, n_starts=1)"
#: Its name in results from before kernels were chosen by default.
EARLIER_ONE_START = "BayesianSVC(n_starts=1)"


def machine() -> dict[str, Any]:
    """Return what matters of the machine: cores, clock, architecture, memory."""
    info = Path("/proc/cpuinfo")
    clocks = (
        [float(line.split(":")[1]) for line in info.read_text().splitlines() if line.startswith("cpu MHz")]
        if info.exists()
        else []
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cores": os.cpu_count(),
        "ghz": round(max(clocks) / 1e3, 1) if clocks else None,
        "architecture": platform.machine(),
        "memory_gb": round(memory),
    }


def write(path: str | Path, rows: Sequence[Row]) -> None:
    """Write rows, with the machine; rows of the same name in an existing file are replaced."""
    path = Path(path)
    old = read(path) if path.is_file() else []
    names = {row["name"] for row in rows}
    kept = [row for row in old if row["name"] not in names]
    path.write_text(json.dumps({"machine": machine(), "rows": [*kept, *map(_finite, rows)]}, indent=1) + "\n")


def read(path: str | Path) -> list[Row]:
    """Return the rows of a file."""
    return list(json.loads(Path(path).read_text())["rows"])


def _finite(row: Row) -> Row:
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the slope of log time against log size by least squares."""
    x, y = ([math.log(v) for v in values] for values in (sizes, seconds))
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / sum((a - mean_x) ** 2 for a in x)
