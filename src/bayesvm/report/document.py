"""From facts to the page."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from bayesvm.persistence.atomic import write_atomically
from bayesvm.report.performance import SHARES
from bayesvm.report.pictures import evidence_picture, performance_picture, relevance_picture


def write_report(path: str | os.PathLike[str], facts: Mapping[str, Any], **options: Any) -> None:
    """Write the page to a file, in one step; the options are those of :func:`render`."""
    write_atomically(Path(path), render(facts, **options).encode())


def render(
    facts: Mapping[str, Any],
    *,
    title: str | None = None,
    model: str = "model.bvm",
    test: Mapping[str, Any] | None = None,
) -> str:
    """Return the report as one HTML page that loads nothing from elsewhere.

    Parameters
    ----------
    facts : mapping
        Of :func:`bayesvm.report.collect_facts`.
    title : str, optional
        Heading.
    model : str
        Name of the model file, for the lines that show how to load it.
    test : mapping, optional
        Performance on test data (:func:`bayesvm.report.facts.as_plain`).
    """
    heading = title or f"{facts['estimator']}: {facts['data']['target']}"
    parts = [
        ("data", "Data", _data(facts["data"])),
        ("model", "Model", _model(facts)),
        ("evidence", "Evidence and starts", _evidence(facts)),
        ("performance", "Performance", _performance(facts["performance"], test)),
        ("relevance", "Relevance of features", _relevance(facts["relevance"])),
        ("calibration", *_calibration(facts, test)),
        ("support", "Support vectors", _support(facts["support"])),
        ("doubts", *_doubts(facts["doubts"])),
        ("warnings", "Warnings", _warnings(facts["warnings"])),
        ("load", "How to use the model", _loading(facts, model)),
    ]
    links = " ".join(f'<a href="#{key}">{_text(name)}</a>' for key, name, _ in parts)
    sections = "".join(f'<section id="{key}"><h2>{_text(name)}</h2>{body}</section>' for key, name, body in parts)
    style = files("bayesvm.report").joinpath("style.css").read_text(encoding="utf-8")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<title>{_text(heading)}</title><style>{style}</style></head><body><main>"
        f'<h1>{_text(heading)}</h1><p class="soft">{_text(facts["machine"])}</p>{_tiles(facts, test)}<nav>{links}</nav>'
        f"{sections}</main></body></html>\n"
    )


def _text(value: Any) -> str:
    return html.escape(str(value))


def _number(value: Any) -> str:
    return (
        "–" if value is None else f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e9 else f"{value:.4g}"
    )


def _value(name: str, value: Any) -> str:
    """Return the value of a figure; shares are shown as percentages."""
    return f"{value:.1%}" if value is not None and name in SHARES else _number(value)


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    numeric = [bool(rows) and (isinstance(c, int | float) or c is None) for c in (rows[0] if rows else head)]
    cells = "".join(
        f'<th class="number">{_text(c)}</th>' if is_number else f"<th>{_text(c)}</th>"
        for c, is_number in zip(head, numeric)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td class="number">{_number(c)}</td>'
            if isinstance(c, int | float) or c is None
            else f"<td>{_text(c)}</td>"
            for c in row
        )
        + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>'


def _tiles(facts: Mapping[str, Any], test: Mapping[str, Any] | None) -> str:
    performance = test or facts["performance"]
    name, value, lower, upper, _ = performance["figures"][0]
    tiles = [(_value(name, value), f"{name}, {performance['source']} ({_value(name, lower)} to {_value(name, upper)})")]
    if facts["log_evidence"] is not None:
        tiles.append((f"{facts['log_evidence']:.2f}", "log evidence [nats]"))
    if facts["support"] is not None:
        tiles.append((_number(facts["support"]["vectors"]), f"support vectors of {facts['support']['rows']} rows"))
    tiles.append(("yes" if facts["converged"] else "no", "converged"))
    return (
        '<div class="tiles">'
        + "".join(f'<div class="tile"><b>{_text(a)}</b><span>{_text(b)}</span></div>' for a, b in tiles)
        + "</div>"
    )


def _data(data: Mapping[str, Any]) -> str:
    text = f"<p>{data['rows']} rows, {data['features']} features; target <code>{_text(data['target'])}</code>.</p>"
    if "classes" in data:
        rows = [[name, count, f"{count / data['rows']:.1%}"] for name, count in data["classes"]]
        text += _table(["class", "rows", "share"], rows)
    if "quantiles" in data:
        text += _table(["smallest", "lower quartile", "median", "upper quartile", "largest"], [data["quantiles"]])
    if data["preparation"]:
        text += "<p>What was done to the columns before training, and is done again before every prediction:</p><ul>"
        text += "".join(f"<li>{_text(line)}</li>" for line in data["preparation"]) + "</ul>"
    return text


def _model(facts: Mapping[str, Any]) -> str:
    rows = [[row["name"], row["value"], row["meaning"]] for row in facts["hyperparameters"]]
    if not rows:
        return "<p>The hyperparameters were given, not learnt.</p>"
    intro = "<p>Hyperparameters that maximise the evidence (of the first model, if there are several):</p>"
    return intro + _table(["hyperparameter", "value", "meaning"], rows)


def _evidence(facts: Mapping[str, Any]) -> str:
    if not facts["starts"]:
        return "<p>There was no search.</p>"
    rows = [
        [f"{i + 1}", s["value"], s["evaluations"], s["status"], f"{s['seconds']:.2f} s"]
        for i, s in enumerate(facts["starts"])
    ]
    intro = "<p>The evidence was maximised from several starts. Starts that agree make a good optimum likely.</p>"
    table = _table(["start", "log evidence", "evaluations", "how it ended", "time"], rows)
    return intro + evidence_picture(facts) + table


def _performance(own: Mapping[str, Any], test: Mapping[str, Any] | None) -> str:
    text = ""
    for performance in [test, own]:
        if performance is not None:
            rows = [
                [n, _value(n, v), f"{_value(n, a)} to {_value(n, b)}", meaning]
                for n, v, a, b, meaning in performance["figures"]
            ]
            text += f"<p>On {performance['n']} rows, {_text(performance['source'])}:</p>"
            text += _table(["figure", "value", "95 % interval", "meaning"], rows)
    return text


def _relevance(relevance: Mapping[str, float] | None) -> str:
    if relevance is None:
        return "<p>All features share their length scale; fit with ARD to learn one per feature.</p>"
    return relevance_picture(relevance) + _table(["feature", "relevance"], [[k, v] for k, v in relevance.items()][:20])


def _calibration(facts: Mapping[str, Any], test: Mapping[str, Any] | None) -> tuple[str, str]:
    performance = test or facts["performance"]
    picture = performance_picture(performance) or "<p>This estimator gives no probabilities.</p>"
    if facts["task"] == "classification":
        return (
            "Calibration",
            f"<p>Do events of 70 % happen in 70 % of the cases? Source: {_text(performance['source'])}.</p>{picture}",
        )
    return "Residuals and intervals", f"<p>Source: {_text(performance['source'])}.</p>{picture}"


def _support(support: Mapping[str, int] | None) -> str:
    if support is None:
        return "<p>This estimator has no support vectors.</p>"
    share = support["vectors"] / max(1, support["rows"])
    return f"<p>The solution rests on {support['vectors']} of {support['rows']} training rows ({share:.0%}).</p>"


def _doubts(doubts: Mapping[str, Any] | None) -> tuple[str, str]:
    if doubts is None:
        return "Label doubts", "<p>Not available for this estimator.</p>"
    if doubts["kind"] == "labels":
        if not doubts["rows"]:
            return "Label doubts", "<p>No label is contradicted by the other rows.</p>"
        rows = [[str(row), given, best, f"{p:.1%}"] for row, given, best, p in doubts["rows"]]
        intro = "<p>Labels that the other rows contradict most; they may be wrong.</p>"
        return "Label doubts", intro + _table(["row", "given", "more probable", "probability that it is wrong"], rows)
    if not doubts["rows"]:
        return "Surprising targets", "<p>No target is further from its prediction than its noise explains.</p>"
    rows = [[str(row), given, f"{p:.2g}"] for row, given, _, p in doubts["rows"]]
    return "Surprising targets", _table(["row", "target", "probability of one as far away"], rows)


def _warnings(warnings: Sequence[str]) -> str:
    if not warnings:
        return "<p>None.</p>"
    return "<ul>" + "".join(f'<li class="warning">{_text(line)}</li>' for line in warnings) + "</ul>"


def _loading(facts: Mapping[str, Any], model: str) -> str:
    use = "model.predict_proba(table)" if facts["task"] == "classification" else "model.predict(table)"
    code = f'import bayesvm\n\nmodel = bayesvm.load("{model}")\n{use}  # a DataFrame, or a dictionary of columns'
    shell = f"bayesvm predict {model} new.csv --out predictions.csv"
    return f"<pre><code>{_text(code)}</code></pre><pre><code>{_text(shell)}</code></pre>"


__all__ = ["render", "write_report"]
