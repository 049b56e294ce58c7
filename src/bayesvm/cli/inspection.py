"""``bayesvm inspect`` and ``bayesvm report``: what is in a model file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from bayesvm.cli.console import Reporter
from bayesvm.cli.fitting import check_writable
from bayesvm.cli.prediction import load_model
from bayesvm.cli.target import find_column, target_values
from bayesvm.persistence import read_info
from bayesvm.persistence.container import write_atomically
from bayesvm.report import measure, render
from bayesvm.report.facts import as_plain
from bayesvm.tables import DataError, read_table


def facts_of(path: str) -> dict[str, Any]:
    """Return the facts that ``bayesvm fit`` stored with a model."""
    try:
        info = read_info(path)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    facts = info.get("facts")
    if not isinstance(facts, dict) or "performance" not in facts:
        raise DataError(f"{path}: the model holds no facts for a report; it was not written by 'bayesvm fit'")
    return facts


def inspect(path: str, say: Reporter) -> None:
    """Say what is in a model file."""
    try:
        info = read_info(path)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    facts = info.get("facts")
    say.heading(f"{path}: {info.get('estimator')}, written by bayesvm {info.get('bayesvm')} (format {info['version']})")
    if isinstance(facts, dict):
        data = facts["data"]
        say.lines([facts["machine"], f"target {data['target']}, {data['rows']} rows, {data['features']} features"])
        say.lines(data["preparation"])
        if facts["log_evidence"] is not None:
            say.lines([f"log evidence {facts['log_evidence']:.3f}; converged: {'yes' if facts['converged'] else 'no'}"])
        say.table(["hyperparameter", "value"], [[r["name"], f"{r['value']:.6g}"] for r in facts["hyperparameters"]])
    else:
        model = load_model(path)
        say.lines([repr(model).replace("\n", " ")])
    say.result({"path": path, **info})


def report(path: str, test: str | None, out: str, *, format: str | None, header: bool | None, say: Reporter) -> None:
    """Write the report of a model, with its performance on test data if there are any."""
    check_writable(out)
    facts = facts_of(path)
    plain = None
    if test is not None:
        plain = as_plain(_on_test(path, facts, test, format, header))
    page = render(facts, model=os.path.basename(path), test=plain)
    if out == "-":
        sys.stdout.write(page)
    else:
        write_atomically(Path(out), page.encode())
    figures = plain["figures"] if plain else facts["performance"]["figures"]
    say.heading(f"report: {out}")
    say.lines(
        [f"{name}: {value:.4g} ({low:.4g} to {high:.4g})" for name, value, low, high, _ in figures if low is not None]
    )
    say.result({"report": out, "figures": {name: value for name, value, *_ in figures}})


def _on_test(path: str, facts: dict[str, Any], test: str, format: str | None, header: bool | None) -> Any:
    model = load_model(path)
    table = read_table(test, format=format, header=header)
    name = find_column(table, facts["data"]["target"])
    if facts["task"] == "classification":
        labels = [label for label, _ in facts["data"]["classes"]]
        y, rows = _known_labels(table, name, labels)
    else:
        y, rows = target_values(table, name, "regression")
    return measure(model, table.take(rows).without([name]), y, f"test data {os.path.basename(test)}")


def _known_labels(table: Any, name: str, labels: list[str]) -> tuple[np.ndarray, np.ndarray]:
    y, rows = target_values(table, name, "labels")
    for i, label in zip(rows, y):
        if label not in labels:
            raise DataError(f"{table.where(int(i), name)}: expected one of {', '.join(labels[:8])}, found {label!r}")
    return y, rows


__all__ = ["facts_of", "inspect", "report"]
