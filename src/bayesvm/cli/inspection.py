"""``bayesvm inspect`` and ``bayesvm report``: what is in a model file."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from bayesvm.cli.console import Reporter
from bayesvm.cli.errors import data_refused
from bayesvm.cli.fitting import show_learnt
from bayesvm.cli.output import check_output, write_output
from bayesvm.cli.prediction import load_model
from bayesvm.cli.reading import ColumnOptions, ReadOptions, find_column
from bayesvm.cli.target import column_meaning, known_labels, target_numbers
from bayesvm.persistence import read_info
from bayesvm.report import measure, render
from bayesvm.report.facts import as_plain
from bayesvm.report.verdict import shown
from bayesvm.tables import DataError
from bayesvm.tables.frame import Place


def info_of(path: str) -> dict[str, Any]:
    """Return the remarks in a model file."""
    try:
        return read_info(path)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None


def facts_of(path: str) -> dict[str, Any]:
    """Return the facts that ``bayesvm fit`` stored with a model."""
    facts = info_of(path).get("facts")
    if not isinstance(facts, dict) or "performance" not in facts:
        raise DataError(f"{path}: the model holds no facts for a report; it was not written by 'bayesvm fit'")
    return facts


def inspect(path: str, say: Reporter) -> None:
    """Say what is in a model file."""
    info = info_of(path)
    facts = info.get("facts")
    say.heading(f"{path}: {info.get('estimator')}, written by bayesvm {info.get('bayesvm')} (format {info['version']})")
    if isinstance(facts, dict):
        data = facts["data"]
        say.lines([facts["machine"], f"target {data['target']}, {data['rows']} rows, {data['features']} features"])
        say.lines(data["preparation"])
        if facts["log_evidence"] is not None:
            say.lines([f"log evidence {facts['log_evidence']:.3f}; converged: {'yes' if facts['converged'] else 'no'}"])
        show_learnt(facts, say, limit=sys.maxsize)
    else:
        model = load_model(path)
        say.lines([repr(model).replace("\n", " ")])
    kept = len(info.get("cases", {}).get("rows", ()))
    say.result({"path": path, **{key: value for key, value in info.items() if key != "cases"}, "cases": kept})


def report(
    path: str,
    test: str | None,
    out: str,
    *,
    reading: ReadOptions,
    columns: ColumnOptions,
    say: Reporter,
    force: bool = False,
) -> None:
    """Write the report of a model, with its performance on test data if there are any."""
    check_output(out, force=force)
    facts = facts_of(path)
    plain = None
    if test is not None:
        plain = as_plain(_on_test(path, facts, test, reading, columns))
    page = render(facts, model=os.path.basename(path), test=plain)
    if out == "-":
        sys.stdout.write(page)
    else:
        write_output(out, page.encode())
    figures = plain["figures"] if plain else facts["performance"]["figures"]
    say.heading(f"report: {out}")
    say.lines([_with_interval(*figure[:4]) for figure in figures])
    say.result({"report": out, "figures": {name: value for name, value, *_ in figures}})


def _with_interval(name: str, value: Any, low: Any, high: Any) -> str:
    interval = "" if low is None or high is None else f" ({shown(name, low)} to {shown(name, high)})"
    return f"{name}: {shown(name, value)}{interval}"


def _on_test(path: str, facts: dict[str, Any], test: str, reading: ReadOptions, columns: ColumnOptions) -> Any:
    """Return the performance of a model on a file of test data."""
    model = load_model(path)
    frame = reading.read(test)
    name = find_column(frame, facts["data"]["target"])
    meaning, place = column_meaning(frame, name, columns), Place.of(frame, name)
    if facts["task"] == "classification":
        y, rows = known_labels(meaning, place, [label for label, _ in facts["data"]["classes"]])
    else:
        y, rows = target_numbers(meaning, place)
    features = frame.iloc[rows].drop(columns=[name])
    with data_refused():
        return measure(model, features, y, f"test data {os.path.basename(test)}", _training_targets(facts["data"]))


def _training_targets(data: dict[str, Any]) -> Any:
    """Return what guessing knows: labels as often as they were trained on, or the mean of the targets."""
    if "classes" in data:
        return np.repeat([label for label, _ in data["classes"]], [count for _, count in data["classes"]])
    return [data["mean"]] if "mean" in data else None


__all__ = ["facts_of", "inspect", "report"]
