"""Cost of what surrounds a machine: saving, loading, prediction here and in ONNX Runtime, the report.

Run with ``python -m benchmarks.product``; prints a Markdown table (processor time of one thread, median of five).
"""

from __future__ import annotations

import io
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bayesvm import BayesianSVC
from bayesvm.persistence import load, save
from bayesvm.report import collect_facts, render


def milliseconds(work: Callable[[], Any]) -> float:
    """Return the median processor time of five runs."""
    times = []
    for _ in range(5):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return 1e3 * statistics.median(times)


def onnx_milliseconds(model: Any, X: np.ndarray) -> str:
    """Return the same for a prediction in ONNX Runtime, if it is installed."""
    try:
        import onnxruntime
    except ImportError:
        return "-"
    from bayesvm.onnx_export import to_onnx

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString(), options)
    return f"{milliseconds(lambda: session.run(None, {'X': X})):.0f}"


def row(n: int, rng: np.random.Generator) -> str:
    """Return one row of the table."""
    X = rng.normal(size=(n, 8))
    y = np.where(X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.4 * rng.normal(size=n) > 0.0, "a", "b")
    new = rng.normal(size=(1000, 8))
    began = time.process_time()
    model = BayesianSVC(None, n_starts=1).fit(X, y)
    fit = time.process_time() - began
    file = io.BytesIO()
    save(model, file)
    size = file.tell() / 2**20
    saving = milliseconds(lambda: save(model, io.BytesIO()))
    loading = milliseconds(lambda: load(io.BytesIO(file.getvalue())))
    predicting = milliseconds(lambda: model.predict_proba(new))
    reporting = milliseconds(lambda: render(collect_facts(model, X, y)))
    exported = onnx_milliseconds(model, new)
    return (
        f"| {n} | {fit:.1f} | {size:.1f} | {saving:.0f} | {loading:.0f} "
        f"| {predicting:.0f} | {exported} | {reporting:.0f} |"
    )


def main() -> None:
    """Print the table."""
    print(
        "| rows | fit, one start [s] | file [MiB] | save [ms] | load [ms] "
        "| predict 1000 rows [ms] | ONNX [ms] | report [ms] |"
    )
    print("|---|---|---|---|---|---|---|---|")
    rng = np.random.default_rng(0)
    for n in (100, 400, 1000):
        print(row(n, rng))


if __name__ == "__main__":
    main()
