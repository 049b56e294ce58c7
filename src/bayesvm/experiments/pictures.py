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


#: Standard errors beyond which a difference is drawn at the edge, with its number.
EDGE = 12.0
#: Marks by verdict; what the paper does not rank has the first.
MARKS = {"equal or unranked": ("o", "white"), "better": ("^", "0.6"), "worse": ("s", "black")}


def differences(figure: Any, lines: Sequence[Line]) -> None:
    """Draw ours minus the paper's in standard errors of the difference, one mark per line; the band is two of them."""
    shown = [line for line in lines if math.isfinite(line.deviation)]
    ax = figure.subplots()
    ax.axvspan(-2.0, 2.0, color="0.92", label="within two standard errors")
    ax.axvline(0.0, color="0.5", linewidth=0.8)
    _draw_marks(ax, shown)
    _write_numbers_at_edge(ax, shown)
    ax.set_yticks([-i for i in range(len(shown))], [f"{line.case}: {line.head}" for line in shown], fontsize=7)
    ax.set(xlabel="ours minus the paper's, in standard errors", title="Difference to the paper")
    ax.legend(fontsize=7)


def _draw_marks(ax: Any, shown: Sequence[Line]) -> None:
    """Draw one mark per line, by its verdict; those beyond the edge stand at it."""
    for verdict, (mark, face) in MARKS.items():
        places = [
            (min(max(line.deviation, -EDGE), EDGE), -i)
            for i, line in enumerate(shown)
            if (line.verdict if line.verdict in MARKS else "equal or unranked") == verdict
        ]
        x, y = zip(*places, strict=True) if places else ((), ())
        ax.plot(x, y, mark, markerfacecolor=face, markeredgecolor="black", markersize=5, label=verdict)


def _write_numbers_at_edge(ax: Any, shown: Sequence[Line]) -> None:
    """Write the numbers of the differences that lie beyond the edge beside their marks."""
    for i, line in enumerate(shown):
        if abs(line.deviation) > EDGE:
            right = line.deviation > 0.0
            ax.annotate(
                f"{line.deviation:+.0f}",
                (EDGE if right else -EDGE, -i),
                (-6.0 if right else 6.0, 0.0),
                textcoords="offset points",
                fontsize=7,
                ha="right" if right else "left",
                va="center",
            )


__all__ = ["differences", "draw"]
