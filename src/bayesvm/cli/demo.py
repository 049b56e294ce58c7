"""``bayesvm demo``: a machine trains itself on made-up data and is compared with the usual way to get probabilities.

Two classes, each a mixture of two Gaussians. The comparison is a support vector machine with one sigmoid, both from one
grid search (:mod:`bayesvm.comparison.sigmoid_svc`).
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from bayesvm import BayesianSVC
from bayesvm.cli.console import Reporter
from bayesvm.cli.output import check_output
from bayesvm.comparison.sigmoid_svc import SigmoidSVC
from bayesvm.datasets import make_ripley
from bayesvm.persistence import save
from bayesvm.report import collect_facts, measure, write_report
from bayesvm.report.facts import as_plain
from bayesvm.typing import Indices, Matrix


def mixture(n: int, rng: np.random.Generator) -> tuple[Matrix, Indices]:
    """Draw n points of two classes, each of two equal Gaussian bumps in the plane."""
    X, y, _ = make_ripley(n, random_state=rng)
    return X, (y + 1) // 2


#: What is written.
REPORT, MODEL, PICTURE = "report.html", "model.bvm", "probability.png"


def demo(out: Path, say: Reporter, *, n: int = 250, n_test: int = 5000, force: bool = False) -> None:
    """Fit, compare, and write model, report and picture to a folder."""
    out.mkdir(parents=True, exist_ok=True)
    for name in (REPORT, MODEL, PICTURE):
        check_output(str(out / name), force=force)
    rng = np.random.default_rng(7)
    X, y = mixture(n, rng)
    X_test, y_test = mixture(n_test, rng)
    machine = BayesianSVC()
    rows = []
    for name, model in (("BayesianSVC()", machine), ("SVC, grid and sigmoid", SigmoidSVC())):
        say.say(f"fitting {name} ...")
        began = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - began
        error = 100.0 * float(np.mean(model.predict(X_test) != y_test))
        rows.append([name, f"{error:.2f}", f"{log_loss(y_test, model.predict_proba(X_test)):.4f}", f"{seconds:.2f}"])
    facts = collect_facts(machine, X, y, target="class")
    save(machine, out / MODEL, info={"facts": facts})
    test = as_plain(measure(machine, X_test, y_test, "test data"))
    write_report(out / REPORT, facts, title="A support vector machine that tuned itself", test=test)
    files = [REPORT, MODEL, *_picture(machine, X, y, out)]
    say.heading("A support vector machine that tuned itself")
    say.lines([f"trained on {n} points, tested on {n_test}; nothing was set by hand"])
    ended = "converged" if machine.converged_ else "did not converge"
    say.lines([f"log evidence {machine.log_evidence_:.3f} after {machine.n_iter_} evaluations; {ended}"])
    say.table(["hyperparameter", "value"], [[r["name"], f"{r['value']:.4g}"] for r in facts["hyperparameters"]])
    say.table(["model", "error [%]", "NLL [nats]", "seconds"], rows)
    say.lines([f"written: {out / name}" for name in files])
    say.result({"folder": str(out), "files": files, "models": [row[0] for row in rows]})


def _picture(machine: Any, X: Matrix, y: Indices, out: Path) -> list[str]:
    """Write the probability surface, if matplotlib is installed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return []
    from bayesvm.plots import DecisionSurfaceDisplay

    figure = Figure(figsize=(7, 5.2), layout="constrained")
    FigureCanvasAgg(figure)
    DecisionSurfaceDisplay.from_estimator(machine, X, y, ax=figure.subplots())
    figure.savefig(out / PICTURE, dpi=130)
    return [PICTURE]


__all__ = ["demo", "mixture"]
