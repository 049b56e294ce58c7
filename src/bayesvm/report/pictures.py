"""The pictures of a report: each is a function from facts to a figure, or to nothing where the facts have none."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import precision_recall_curve, roc_curve

from bayesvm.plots.reliability import reliability_bins
from bayesvm.report.svg import Axis, Frame, short

#: Features, rows and points that are drawn at most.
FEATURES, POINTS = 20, 600
#: Kinds of lines; more classes begin again.
KEYS = 6


def figure(drawing: str, caption: str) -> str:
    """Return a picture with its caption; an empty text for none."""
    return f"<figure>{drawing}<figcaption>{html.escape(caption)}</figcaption></figure>" if drawing else ""


def grid(figures: Sequence[str]) -> str:
    """Return figures side by side where there is room."""
    shown = [one for one in figures if one]
    return f'<div class="figures">{"".join(shown)}</div>' if shown else ""


def bars(rows: Sequence[tuple[str, float, str]], label: str) -> str:
    """Return bars with their names and what is written behind each; they are text for whoever does not see them."""
    top = max((value for _, value, _ in rows), default=0.0) or 1.0
    parts = "".join(
        f'<li><span class="name">{html.escape(name)}</span><span class="track">'
        f'<span class="bar" style="width:{max(0.0, 100.0 * value / top):.2f}%"></span></span>'
        f'<span class="number">{html.escape(text)}</span></li>'
        for name, value, text in rows
    )
    return f'<ol class="bars" aria-label="{html.escape(label)}">{parts}</ol>'


# -- performance --------------------------------------------------------------------------------------------------
def reliability(performance: Mapping[str, Any]) -> str:
    """Return observed frequency against predicted probability."""
    if not performance.get("probability"):
        return ""
    event = performance["event"]
    found = reliability_bins(performance["outcome"], performance["probability"], 10)
    frame = Frame(Axis.shares(f"predicted probability of {_brief(event)}"), Axis.shares("observed frequency"))
    marks = [frame.line([0, 1], [0, 1], "guide")]
    marks += [
        frame.upright(x, low, high, "whisker")
        for x, low, high in zip(found.predicted, found.lower, found.upper, strict=True)
    ]
    marks += [
        frame.line(found.predicted, found.observed, "line"),
        frame.dots(found.predicted, found.observed, "dot", 4),
    ]
    label = f"Reliability: observed frequency of {event} in {len(found.counts)} bins of its predicted probability"
    return figure(
        frame.drawn(marks, label),
        "Do events of 70 % happen in 70 % of the cases? Dots on the diagonal: yes. Strokes: 95 % intervals.",
    )


def roc(performance: Mapping[str, Any]) -> str:
    """Return the ROC curve of two classes."""
    if not _two_classes(performance):
        return ""
    fall_out, recall, _ = roc_curve(performance["outcome"], performance["probability"])
    frame = Frame(Axis.shares("share of the others taken for it"), Axis.shares("share of its rows found"))
    marks = [frame.line([0, 1], [0, 1], "guide"), frame.line(*_thinned(fall_out, recall), "line")]
    event = performance["event"]
    return figure(
        frame.drawn(marks, f"ROC curve of {event}"),
        f"ROC curve of {event}: how many of its rows are found, at what price. Dashed: guessing.",
    )


def precision_recall(performance: Mapping[str, Any]) -> str:
    """Return the curve of precision against recall of two classes."""
    if not _two_classes(performance):
        return ""
    precision, recall, _ = precision_recall_curve(performance["outcome"], performance["probability"])
    share = float(np.mean(performance["outcome"]))
    frame = Frame(Axis.shares("share of its rows found"), Axis.shares("share of the found that is right"))
    marks = [frame.line([0, 1], [share, share], "guide"), frame.line(*_thinned(recall, precision), "line")]
    event = performance["event"]
    return figure(
        frame.drawn(marks, f"Precision against recall of {event}"),
        f"Precision and recall of {event}: the more are found, the fewer of them are right. Dashed: guessing.",
    )


def _two_classes(performance: Mapping[str, Any]) -> bool:
    outcome = performance.get("outcome") or ()
    labels = performance.get("confusion", {}).get("labels", ())
    return len(labels) == 2 and 0 < sum(outcome) < len(outcome)


def confusion(performance: Mapping[str, Any]) -> str:
    """Return the confusion matrix as a table, the deeper the colour the larger the share of its row."""
    found = performance.get("confusion")
    if not found:
        return ""
    labels, counts = found["labels"], found["counts"]
    head = "".join(f'<th scope="col" class="number">{html.escape(label)}</th>' for label in labels)
    rows = ""
    for i, (label, row) in enumerate(zip(labels, counts, strict=True)):
        total = sum(row) or 1
        cells = "".join(
            f'<td class="number {"right" if i == j else "wrong"}" style="--share:{count / total:.3f}">{count}</td>'
            for j, count in enumerate(row)
        )
        rows += f'<tr><th scope="row">{html.escape(label)}</th>{cells}</tr>'
    corner = '<td class="soft">true class ↓ &nbsp; taken for →</td>'
    table = (
        '<div class="scroll" tabindex="0" role="region" aria-label="Confusion matrix"><table class="confusion">'
        f"<thead><tr>{corner}{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
    return figure(table, "Confusion matrix: rows of each class (down) by the class they were taken for (across).")


def targets(performance: Mapping[str, Any]) -> str:
    """Return targets against predictions, with the band of their intervals."""
    if not performance.get("residuals"):
        return ""
    y, predicted, lower, upper, inside = _shown_targets(performance)
    order = np.argsort(predicted, kind="stable")
    across = Axis.around([*predicted], "prediction")
    frame = Frame(across, Axis.around([*y, *lower, *upper], "target"), left=52.0)
    marks = [
        frame.band(predicted[order], lower[order], upper[order], "band"),
        frame.line([across.low, across.high], [across.low, across.high], "guide"),
        frame.dots(predicted[inside], y[inside], "dot soft-dot"),
        frame.dots(predicted[~inside], y[~inside], "dot odd"),
    ]
    return figure(
        frame.drawn(marks, "Targets against predictions, with the band of the 95 % intervals"),
        "Targets against predictions. Band: 95 % intervals; orange: targets outside theirs.",
    )


def residuals(performance: Mapping[str, Any]) -> str:
    """Return what is left over, against predictions."""
    if not performance.get("residuals"):
        return ""
    y, predicted, _, _, inside = _shown_targets(performance)
    rest = y - predicted
    across = Axis.around([*predicted], "prediction")
    frame = Frame(across, Axis.around([*rest, 0.0], "target minus prediction"), left=52.0)
    marks = [
        frame.line([across.low, across.high], [0.0, 0.0], "guide"),
        frame.dots(predicted[inside], rest[inside], "dot soft-dot"),
        frame.dots(predicted[~inside], rest[~inside], "dot odd"),
    ]
    return figure(frame.drawn(marks, "Residuals against predictions"), "Residuals: there should be no pattern.")


def _shown_targets(performance: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return targets, predictions, ends of the intervals, and whether each target is inside, of some of the rows."""
    parts = [np.asarray(part) for part in performance["residuals"]]
    keep = np.linspace(0, parts[0].size - 1, min(POINTS, parts[0].size)).astype(int)
    y, predicted, lower, upper = (part[keep] for part in parts)
    return y, predicted, lower, upper, (y >= lower) & (y <= upper)


# -- what drives the prediction -----------------------------------------------------------------------------------
def effects(found: Mapping[str, Any]) -> list[str]:
    """Return the partial dependence on the strongest features, all on the same scale."""
    curves = found["curves"]
    if not curves:
        return []
    events = found["events"]
    ends = [v for c in curves for part in (*c["means"], c["lower"] or (), c["upper"] or ()) for v in part]
    title = f"probability of {_brief(events[0])}" if len(events) == 1 else "probability" if events else "prediction"
    upright = Axis.shares(title) if events else Axis.around(ends, title)
    return [_effect(curve, upright) for curve in curves]


def keys(labels: Sequence[str]) -> str:
    """Return which line is of which class."""
    parts = "".join(f'<li class="key k{k % KEYS}">{html.escape(label)}</li>' for k, label in enumerate(labels))
    return f'<ul class="keys" aria-label="Lines of the classes">{parts}</ul>'


def _effect(curve: Mapping[str, Any], upright: Axis) -> str:
    frame = Frame(Axis.around(curve["values"], _brief(curve["feature"], 44)), upright, left=52.0)
    few = len(curve["values"]) <= 2
    marks = []
    if curve["lower"] is not None and few:
        ends = zip(curve["values"], curve["lower"], curve["upper"], strict=True)
        marks += [frame.upright(x, low, high, "whisker") for x, low, high in ends]
    elif curve["lower"] is not None:
        marks.append(frame.band(curve["values"], curve["lower"], curve["upper"], "band"))
    for k, mean in enumerate(curve["means"]):
        if not few:
            marks.append(frame.line(curve["values"], mean, f"line k{k % KEYS}"))
        marks.append(frame.dots(curve["values"], mean, f"dot k{k % KEYS}", 4.0 if few else 2.2))
    name = curve["feature"]
    caption = f"{name}, all else as it is." + (" Band: 95 % of the posterior." if curve["lower"] is not None else "")
    return figure(frame.drawn(marks, f"Mean prediction against {name}"), caption)


def relevance(found: Mapping[str, float]) -> str:
    """Return bars of the relevances, largest first."""
    ordered = sorted(found.items(), key=lambda pair: -pair[1])[:FEATURES]
    rows = [(name, value, short(float(f"{value:.3g}"))) for name, value in ordered]
    more = f" The largest {FEATURES} of {len(found)}." if len(found) > FEATURES else ""
    return figure(
        bars(rows, "Relevance of the features, largest first"),
        f"Relevance: inverse square of the distance over which the prediction changes, per standardised feature.{more}",
    )


# -- model --------------------------------------------------------------------------------------------------------
def candidates(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return bars of the weights of the kernels, or of their evidences above the lowest where there are no weights."""
    rows = [row for row in rows if row["log_evidence"] is not None]
    if len(rows) < 2:
        return ""
    if all(row["weight"] is not None for row in rows):
        shown = [(row["kernel"], row["weight"], f"{row['weight']:.1%}") for row in rows]
        return figure(bars(shown, "Weights of the kernels"), "Weight of each kernel in the predictions.")
    lowest = min(row["log_evidence"] for row in rows)
    shown = [(row["kernel"], row["log_evidence"] - lowest, f"{row['log_evidence']:.2f}") for row in rows]
    return figure(
        bars(shown, "Log evidence of the kernels"),
        "Log evidence of each kernel in nats; the bars begin at the lowest.",
    )


def starts(found: Sequence[Mapping[str, Any]]) -> str:
    """Return where the starts of the first model ended."""
    own = [s for s in found if s["machine"] == 0 and s["value"] is not None]
    if len(own) < 2:
        return ""
    values, spent = [s["value"] for s in own], [float(s["evaluations"]) for s in own]
    frame = Frame(Axis.around([0.0, *spent], "evaluations"), Axis.around(values, "log evidence [nats]"), left=62.0)
    marks = [frame.line([frame.x.low, frame.x.high], [max(values)] * 2, "guide"), frame.dots(spent, values, "dot", 4)]
    label = "Log evidence at the end of every start against the evaluations it took"
    return figure(frame.drawn(marks, label), "Where the starts ended. Dashed: the best.")


def _thinned(xs: Any, ys: Any) -> tuple[Any, Any]:
    keep = np.unique(np.linspace(0, len(xs) - 1, min(200, len(xs))).astype(int))
    return np.asarray(xs)[keep], np.asarray(ys)[keep]


def _brief(name: object, letters: int = 22) -> str:
    text = str(name)
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


__all__ = [
    "candidates",
    "confusion",
    "effects",
    "figure",
    "grid",
    "keys",
    "precision_recall",
    "relevance",
    "reliability",
    "residuals",
    "roc",
    "starts",
    "targets",
]
