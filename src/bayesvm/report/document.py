"""From facts to the page: the verdict first, then what it rests on, then what only some readers want to know."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from bayesvm.persistence.atomic import write_atomically
from bayesvm.report import pictures
from bayesvm.report.facts import agreement
from bayesvm.report.verdict import number, shown, verdict_of


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
    heading = title or f"How well {facts['data']['target']} can be predicted"
    performance = test or facts["performance"]
    doubts, doubtful = _doubts(facts["doubts"])
    parts = [
        ("performance", "How good the predictions are", _performance(facts, test)),
        ("drivers", "What drives the prediction", _drivers(facts)),
        ("check", doubts, doubtful),
        ("data", "Data", _data(facts["data"])),
        ("model", "Model", _folded("Hyperparameters", facts["machine"], _model(facts))),
        ("kernels", "Choice of the kernel", _kernels(facts.get("candidates", ()))),
        ("search", "Search", _folded("Starts", _search_line(facts), _search(facts))),
        ("use", "How to use the model", _use(facts, model)),
    ]
    parts = [part for part in parts if part[2]]
    links = "".join(f'<li><a href="#{key}">{_text(name)}</a></li>' for key, name, _ in parts)
    sections = "".join(
        f'<section id="{key}" aria-labelledby="{key}-title"><h2 id="{key}-title">{_text(name)}</h2>{body}</section>'
        for key, name, body in parts
    )
    style = files("bayesvm.report").joinpath("style.css").read_text(encoding="utf-8")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<title>{_text(heading)}</title><style>{style}</style></head><body>"
        f'<a class="skip" href="#performance">To the results</a><header class="top"><h1>{_text(heading)}</h1>'
        f'<p class="soft">{_text(_origin(facts))}</p></header><main>'
        f"{_verdict(performance, facts)}{_warnings(facts['warnings'])}"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>{sections}</main></body></html>\n'
    )


# -- pieces -------------------------------------------------------------------------------------------------------
def _text(value: Any) -> str:
    return html.escape(str(value))


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]], label: str, kind: str = "") -> str:
    """Return a table; cells that are numbers stand on the right. The kind "stack" has a block per row on a phone."""
    numeric = [bool(rows) and (isinstance(c, int | float) or c is None) for c in (rows[0] if rows else head)]
    cells = "".join(
        f'<th scope="col"{" class=number" if is_number else ""}>{_text(c)}</th>'
        for c, is_number in zip(head, numeric, strict=True)
    )
    body = "".join(f"<tr>{''.join(_cell(c) for c in row)}</tr>" for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{_text(label)}"><table class="{kind}">'
        f"<thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(value: Any) -> str:
    if isinstance(value, int | float) or value is None:
        return f'<td class="number">{number(value)}</td>'
    return f"<td>{_text(value)}</td>"


def _folded(summary: str, first: str, body: str) -> str:
    """Return a line that is always seen, and the rest behind a click."""
    if not body:
        return f"<p>{_text(first)}</p>" if first else ""
    return f"<p>{_text(first)}</p><details><summary>{_text(summary)}</summary>{body}</details>"


# -- top of the page ----------------------------------------------------------------------------------------------
def _origin(facts: Mapping[str, Any]) -> str:
    """Return where the model comes from: file, estimator, version, date."""
    parts = [str(facts["source"])] if facts.get("source") else []
    parts += [f"{facts['data']['rows']} rows", f"{facts['data']['features']} features", facts["estimator"]]
    if facts.get("version"):
        parts.append(f"bayesvm {facts['version']}")
    if facts.get("created"):
        parts.append(str(facts["created"]))
    return " · ".join(parts)


def _verdict(performance: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    found = verdict_of(performance, facts["task"])
    tiles = "".join(
        f"<div><dt>{_text(name)}</dt><dd>{shown(name, value)}</dd></div>"
        for name, value, *_ in performance["figures"][1:4]
    )
    tiles = f"<dl>{tiles}</dl>" if tiles else ""
    kind = "good" if found.good else "poor"
    return (
        f'<div id="verdict" class="verdict {kind}" role="note"><p class="headline">{_text(found.headline)}</p>'
        f"<p>{_text(found.detail)}</p>{tiles}</div>"
    )


def _warnings(warnings: Sequence[str]) -> str:
    if not warnings:
        return ""
    lines = "".join(f"<li>{_text(line)}</li>" for line in warnings)
    return f'<div id="warnings" class="warnings"><h2>To bear in mind</h2><ul>{lines}</ul></div>'


# -- sections -----------------------------------------------------------------------------------------------------
def _performance(facts: Mapping[str, Any], test: Mapping[str, Any] | None) -> str:
    text = ""
    for found in (test, facts["performance"]):
        if found is not None:
            rows = [
                [n, shown(n, v), "" if a is None else f"{shown(n, a)} to {shown(n, b)}", meaning]
                for n, v, a, b, meaning in found["figures"]
            ]
            text += f"<p>On {found['n']} rows, {_text(found['source'])}:</p>"
            text += _table(
                ["figure", "value", "95 % interval", "meaning"], rows, f"Figures, {found['source']}", "stack"
            )
    found = test or facts["performance"]
    text += _per_class(found)
    drawn = (
        pictures.confusion,
        pictures.reliability,
        pictures.roc,
        pictures.precision_recall,
        pictures.targets,
        pictures.residuals,
    )
    return text + pictures.grid([draw(found) for draw in drawn])


def _percent(share: float | None) -> str:
    """Return a share in per cent."""
    return "-" if share is None else f"{100.0 * share:.1f} %"


def _per_class(found: Mapping[str, Any]) -> str:
    """Return how each of several classes is predicted, and whether its probabilities add up to its rows."""
    rows = [
        [label, str(n), _percent(hit), _percent(right), f"{expected:.1f} ± {1.96 * deviation:.1f}"]
        for label, n, hit, right, expected, deviation in found.get("per_class", ())
    ]
    if not rows:
        return ""
    head = ["class", "rows", "found", "right when named", "rows by the probabilities, 95 %"]
    return _table(head, rows, "Reliability of each class", "stack")


def _drivers(facts: Mapping[str, Any]) -> str:
    found, relevance = facts.get("effects"), facts["relevance"]
    text = ""
    if found and found["curves"]:
        events = found["events"]
        of = f"the probability of {events[0]}" if len(events) == 1 else "the prediction"
        text += f"<p>How {_text(of)} moves with the features that move it most, averaged over the rows:</p>"
        text += (pictures.keys(events) if len(events) > 1 else "") + pictures.grid(pictures.effects(found))
    if relevance:
        text += pictures.relevance(relevance)
    remarks = "".join(f"<p>{_text(line)}</p>" for line in facts.get("remarks", ()))
    return text + remarks


def _doubts(doubts: Mapping[str, Any] | None) -> tuple[str, str]:
    title = "Rows to check"
    if doubts is None:
        return title, ""
    if doubts["kind"] == "labels":
        if not doubts["rows"]:
            return title, "<p>No label is contradicted by the other rows.</p>"
        rows = [[str(row), given, best, f"{p:.1%}"] for row, given, best, p in doubts["rows"]]
        intro = "<p>Labels that the other rows contradict most; they may be wrong.</p>"
        head = ["row", "given", "more probable", "probability that it is wrong"]
        return title, intro + _table(head, rows, "Doubtful labels")
    if not doubts["rows"]:
        return title, "<p>No target is further from its prediction than its noise explains.</p>"
    rows = [[str(row), given, f"{p:.2g}"] for row, given, _, p in doubts["rows"]]
    intro = "<p>Targets that are further from their prediction than the noise explains.</p>"
    return title, intro + _table(["row", "target", "probability of one as far away"], rows, "Surprising targets")


def _data(data: Mapping[str, Any]) -> str:
    text = f"<p>{data['rows']} rows, {data['features']} features; target <code>{_text(data['target'])}</code>.</p>"
    if "classes" in data:
        rows = [[name, count, f"{count / data['rows']:.1%}"] for name, count in data["classes"]]
        text += _table(["class", "rows", "share"], rows, "Classes")
    if "quantiles" in data:
        head = ["smallest", "lower quartile", "median", "upper quartile", "largest"]
        text += _table(head, [data["quantiles"]], "Quantiles of the target")
    if data["preparation"]:
        lines = "".join(f"<li>{_text(line)}</li>" for line in data["preparation"])
        intro = "<p>What was done to the columns before training, and is done again before every prediction:</p>"
        text += f"<details><summary>Columns ({len(data['preparation'])})</summary>{intro}<ul>{lines}</ul></details>"
    return text


def _model(facts: Mapping[str, Any]) -> str:
    """Return the hyperparameters; those per feature are in the picture of the relevances."""
    rows = [row for row in facts["hyperparameters"] if not (facts["relevance"] and "[" in row["name"])]
    support = facts["support"]
    text = ""
    if support is not None:
        share = support["vectors"] / max(1, support["rows"])
        text = f"<p>The solution rests on {support['vectors']} of {support['rows']} training rows ({share:.0%}).</p>"
    if not rows:
        return text
    labels = list(rows[0]["values"]) if "values" in rows[0] else ["value"]
    cells = [
        [row["name"], *(row["values"].values() if "values" in row else [row["value"]]), row["meaning"]] for row in rows
    ]
    return text + _table(["hyperparameter", *labels, "meaning"], cells, "Hyperparameters")


def _kernels(candidates: Sequence[Mapping[str, Any]]) -> str:
    """Return the kernels that were tried; nothing if there was no choice."""
    if len(candidates) < 2:
        return ""
    columns = [
        ("log evidence [nats]", "log_evidence"),
        ("log model evidence [nats]", "log_model_evidence"),
        ("weight", "weight"),
        ("seconds", "seconds"),
    ]
    columns = [(title, key) for title, key in columns if any(row[key] is not None for row in candidates)]
    outputs = list(dict.fromkeys(row["output"] for row in candidates))
    several = len(outputs) > 1
    rows = [
        [*([row["output"]] if several else []), row["kernel"], *(row[key] for _, key in columns)] for row in candidates
    ]
    intro = "<p>Several kernels were fitted to the same rows; the evidence says how well each explains them.</p>"
    head = [*(["of"] if several else []), "kernel", *(title for title, _ in columns)]
    table = _table(head, rows, "Kernels that were tried")
    return intro + (table if several else pictures.candidates(candidates) + table)


def _search_line(facts: Mapping[str, Any]) -> str:
    reached, n = agreement(facts["starts"])
    ended = "converged" if facts["converged"] else "did not converge"
    value = "" if facts["log_evidence"] is None else f" Log evidence {facts['log_evidence']:.2f} nats."
    if not n and facts.get("candidates"):
        return f"Each candidate maximised its evidence; the search of the chosen one {ended}.{value}"
    if not n:
        return "The hyperparameters were given, not learnt."
    starts = f"{n} starts, of which {reached} reached the maximum" if n > 1 else "one start"
    return f"The evidence was maximised from {starts}; the search {ended}.{value}"


def _search(facts: Mapping[str, Any]) -> str:
    if not facts["starts"]:
        return ""
    several = any(s.get("output") for s in facts["starts"])
    rows = [
        [
            *([s["output"]] if several else []),
            f"{i + 1}",
            s["value"],
            s["evaluations"],
            s["status"],
            f"{s['seconds']:.2f} s",
        ]
        for i, s in enumerate(facts["starts"])
    ]
    head = [*(["of"] if several else []), "start", "log evidence", "evaluations", "how it ended", "time"]
    return pictures.grid([pictures.starts(facts["starts"])]) + _table(head, rows, "Starts of the search")


def _use(facts: Mapping[str, Any], model: str) -> str:
    use = "model.predict_proba(table)" if facts["task"] == "classification" else "model.predict(table)"
    code = f'import bayesvm\n\nmodel = bayesvm.load("{model}")\n{use}  # a DataFrame, or a dictionary of columns'
    shell = f"bayesvm predict {model} new.csv --out predictions.csv\nbayesvm serve {model}"
    return "".join(f'<pre tabindex="0"><code>{_text(part)}</code></pre>' for part in (code, shell))


__all__ = ["render", "write_report"]
