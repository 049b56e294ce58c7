"""The results and the picture of README.md.

``python -m benchmarks.readme [--partitions N] [--sets a,b] [--json FILE]``

Real two-class sets, split at random into halves with as many rows of each class (at most 400 for training); the same
halves for every machine. Error, negative log-likelihood of the test labels (nats) and seconds of the fit are means over
the partitions. The table goes between ``<!-- table results -->`` and ``<!-- end -->`` of the file; nothing there is
typed by hand. ``--from FILE`` writes the table of an earlier run, ``--picture`` draws the picture alone.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from bayesvm import BayesianSVC, BayesianSVR
from bayesvm.comparison.sigmoid_svc import SigmoidSVC
from bayesvm.datasets import MissingDataError, load_ida, make_ripley, make_sinc
from benchmarks._common import DATA
from benchmarks.page import markdown

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "_static" / "readme.png"
PLACE = re.compile(r"(<!-- table results -->\n).*?(<!-- end -->)", re.DOTALL)
#: Rows that are trained on at most.
LARGEST = 400

OURS = "BayesianSVC()"
MACHINES: dict[str, Callable[[int], Any]] = {
    OURS: lambda d: BayesianSVC(random_state=0),
    "SVC, grid, sigmoid": lambda d: SigmoidSVC(),
    "GaussianProcessClassifier": lambda d: make_pipeline(
        StandardScaler(), GaussianProcessClassifier(ConstantKernel() * RBF(np.sqrt(d)), random_state=0)
    ),
    "HistGradientBoosting": lambda d: HistGradientBoostingClassifier(random_state=0),
}
IDA = ("breast_cancer", "diabetis", "heart", "thyroid", "titanic")


def breast_cancer_images() -> tuple[Any, Any]:
    """Return the set that comes with scikit-learn."""
    return load_breast_cancer(return_X_y=True)


def sets(names: Sequence[str] | None) -> dict[str, tuple[Any, Any]]:
    """Return the sets that are at hand, all or the named ones: inputs and labels."""
    found = {"breast cancer (images)": breast_cancer_images()}
    for name in IDA:
        try:
            data = load_ida(name, DATA)
        except MissingDataError:
            continue
        found[name.replace("_", " ")] = (data.X, data.y)
    return {name: pair for name, pair in found.items() if names is None or name in names}


def measured(make: Callable[[int], Any], X: Any, y: Any, partitions: int) -> dict[str, float]:
    """Return error, NLL and seconds of a machine, means over partitions."""
    size = min(LARGEST, len(y) // 2)
    rows = []
    for train, test in StratifiedShuffleSplit(
        partitions, train_size=size, test_size=len(y) - size, random_state=0
    ).split(X, y):
        began = time.perf_counter()
        model = make(X.shape[1]).fit(X[train], y[train])
        seconds = time.perf_counter() - began
        proba = model.predict_proba(X[test])
        wrong = np.mean(np.unique(y)[proba.argmax(axis=1)] != y[test])
        rows.append([100.0 * wrong, log_loss(y[test], proba), seconds])
    return dict(zip(("error", "nll", "seconds"), np.mean(rows, axis=0).tolist(), strict=True))


def run(names: Sequence[str] | None, partitions: int) -> list[dict[str, Any]]:
    """Return a record per set and machine."""
    records = []
    for name, (X, y) in sets(names).items():
        for machine, make in MACHINES.items():
            with warnings.catch_warnings(), threadpool_limits(1):
                warnings.simplefilter("ignore")
                records.append({"set": name, "rows": len(y), "machine": machine, **measured(make, X, y, partitions)})
            print(records[-1], flush=True)
    return records


def table(records: Sequence[dict[str, Any]]) -> str:
    """Return the Markdown table: a line per set, error, NLL and seconds per machine; the best of each are bold."""
    machines = list(dict.fromkeys(record["machine"] for record in records))
    lines = []
    for name in dict.fromkeys(record["set"] for record in records):
        own = {record["machine"]: record for record in records if record["set"] == name}
        best = {key: min(round(own[m][key], 4) for m in own) for key in ("error", "nll")}
        cells = []
        for machine in machines:
            r = own[machine]
            error, nll = f"{r['error']:.1f} %", f"{r['nll']:.3f}"
            error = f"**{error}**" if round(r["error"], 4) == best["error"] else error
            nll = f"**{nll}**" if round(r["nll"], 4) == best["nll"] else nll
            cells.append(f"{error} · {nll} · {r['seconds']:.1f} s")
        lines.append([name, *cells])
    return markdown(["set", *(f"`{machine}`" for machine in machines)], lines)


def fill(records: Sequence[dict[str, Any]]) -> None:
    """Write the table into the file."""
    text = README.read_text(encoding="utf-8")
    made, n = PLACE.subn(lambda match: match[1] + table(records) + match[2], text)
    if n != 1:
        raise SystemExit(f"expected one place for the results in {README.name}, found {n}")
    README.write_text(made, encoding="utf-8")


def draw(path: Path) -> None:
    """Draw what one gets: probabilities, intervals, relevances."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from bayesvm.plots import DecisionSurfaceDisplay, RelevanceDisplay

    figure = Figure(figsize=(13.0, 4.1), layout="constrained")
    FigureCanvasAgg(figure)
    first, second, third = figure.subplots(1, 3)
    X, y, _ = make_ripley(250, random_state=np.random.default_rng(7))
    label = np.where(y > 0, "ill", "well")
    DecisionSurfaceDisplay.from_estimator(BayesianSVC(random_state=0).fit(X, label), X, label, ax=first)
    next(mark for mark in first.collections if mark.get_label() == "support vectors").remove()
    first.get_legend().remove()
    first.set(title="Probabilities", xlabel="", ylabel="")
    x, t, _ = make_sinc(120, noise=0.15, random_state=0)
    regressor = BayesianSVR(random_state=0).fit(x, t)
    grid = np.linspace(x.min(), x.max(), 200)[:, None]
    lower, upper = regressor.predict_interval(grid, 0.95)
    second.plot(x[:, 0], t, ".", color="0.55", markersize=5)
    second.plot(grid[:, 0], regressor.predict(grid), color="#0072B2", linewidth=2.2)
    second.fill_between(grid[:, 0], lower, upper, color="#0072B2", alpha=0.18)
    second.set(title="Intervals")
    data = load_breast_cancer(as_frame=True)
    relevant = BayesianSVC(ard=True, random_state=0).fit(data.data, data.target)
    RelevanceDisplay.from_estimator(relevant, largest=10, ax=third)
    third.set(title="Relevance", xlabel="")
    figure.savefig(path, dpi=100)


def main() -> None:
    """Measure, or read what was measured, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=10)
    parser.add_argument("--sets", type=lambda text: text.split(","))
    parser.add_argument("--json", type=Path, default=ROOT / "benchmarks" / "results" / "readme.json")
    parser.add_argument("--from", dest="source", type=Path)
    parser.add_argument("--picture", action="store_true")
    given = parser.parse_args()
    draw(PICTURE)
    if given.picture:
        return
    if given.source is None:
        records = run(given.sets, given.partitions)
        given.json.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    else:
        records = json.loads(given.source.read_text(encoding="utf-8"))
    fill(records)


if __name__ == "__main__":
    main()
