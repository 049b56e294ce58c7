"""Pictures of experiments: the differences to the papers, and where figures are written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bayesvm.experiments.base import Experiment, Found
from bayesvm.experiments.summary import Line, summarise


def draw(experiment: Experiment, found: Found, path: Path) -> bool:
    """Write the picture of an experiment as PNG; return whether matplotlib was there to do it."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(9.0, 6.0), layout="constrained")
    FigureCanvasAgg(figure)
    if experiment.plot is None:
        differences(figure, [line for table in experiment.tables for line in summarise(table, found)])
    else:
        experiment.plot(figure, found)
    figure.savefig(path, dpi=110)
    return True


def differences(figure: Any, lines: Sequence[Line]) -> None:
    """Draw ours minus the paper's in standard errors of the difference, one mark per line; the band is two of them."""
    shown = [line for line in lines if math.isfinite(line.deviation)]
    ax = figure.subplots()
    ax.axvspan(-2.0, 2.0, color="0.92")
    ax.axvline(0.0, color="0.5", linewidth=0.8)
    for i, line in enumerate(shown):
        ax.plot(line.deviation, -i, "s" if line.verdict == "worse" else "o", color="black", markersize=5)
    ax.set_yticks([-i for i in range(len(shown))], [f"{line.case}: {line.head}" for line in shown], fontsize=7)
    ax.set(xlabel="ours minus the paper's, in standard errors", title="Difference to the paper")


__all__ = ["differences", "draw"]
