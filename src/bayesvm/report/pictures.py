"""The pictures of a report, as PNG data that sits in the page."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from bayesvm.plots import EvidenceTraceDisplay, RelevanceDisplay, ReliabilityDisplay, ResidualsDisplay


def evidence_picture(facts: Mapping[str, Any]) -> str:
    """Return the picture of the starts of the first model ("" if there is none)."""
    starts = [s for s in facts["starts"] if s["machine"] == 0]
    if not any(s["value"] is not None for s in starts):
        return ""
    records = [
        SimpleNamespace(
            value=-np.inf if s["value"] is None else s["value"],
            evaluations=s["evaluations"],
            status=SimpleNamespace(value=s["status"]),
        )
        for s in starts
    ]
    return _png(lambda ax: EvidenceTraceDisplay(records).plot(ax), "Log evidence at the end of every start")


def relevance_picture(relevance: Mapping[str, float]) -> str:
    """Return bars of the relevances."""
    shown = dict(list(relevance.items())[:20])
    height = 1.2 + 0.3 * len(shown)
    return _png(lambda ax: RelevanceDisplay(shown).plot(ax), "Relevance of the features", height)


def performance_picture(performance: Mapping[str, Any]) -> str:
    """Return a reliability diagram, or residuals with intervals ("" if there is neither)."""
    if performance.get("probability"):
        return _png(
            lambda ax: ReliabilityDisplay.from_predictions(
                performance["outcome"], performance["probability"], label=performance["event"], ax=ax
            ),
            "Observed frequency against predicted probability",
        )
    if performance.get("residuals"):
        return _png(
            lambda ax: ResidualsDisplay.from_predictions(*performance["residuals"], ax=ax), "Residuals with intervals"
        )
    return ""


def _png(draw: Callable[[Any], Any], alt: str, height: float = 4.0) -> str:
    """Draw on a figure of its own, outside the caller's figures, and return an image element."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return ""
    figure = Figure(figsize=(6.4, height), layout="constrained")
    FigureCanvasAgg(figure)
    draw(figure.subplots())
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=120, metadata={"Software": None})
    data = base64.b64encode(out.getvalue()).decode()
    return f'<img alt="{alt}" src="data:image/png;base64,{data}">'


__all__ = ["evidence_picture", "performance_picture", "relevance_picture"]
