"""``bayesvm fit``: from a table to a saved model."""

from __future__ import annotations

import dataclasses
import importlib.util
import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from bayesvm.cli.cases import cases_of
from bayesvm.cli.console import Reporter
from bayesvm.cli.errors import data_refused
from bayesvm.cli.exit_codes import ExitCode, UsageError
from bayesvm.cli.methods import Method, method_of, names_of
from bayesvm.cli.output import check_output, write_output
from bayesvm.cli.reading import ColumnOptions, ReadOptions, find_column
from bayesvm.cli.target import Task, class_labels, column_meaning, guess_task, target_numbers, weight_values
from bayesvm.hyper import keep_best_on_interrupt
from bayesvm.kernels.expression import parse_kernel
from bayesvm.persistence import save
from bayesvm.report import collect_facts, render
from bayesvm.report.performance import FOLDS, keeps_leave_one_out
from bayesvm.report.verdict import shown, verdict_of
from bayesvm.tables import TableEncoder
from bayesvm.tables.frame import Place, row_numbers, source_of

if TYPE_CHECKING:
    import pandas as pd

#: Rows of a table of the summary that are shown.
SHOWN = 12
#: Head of the table of hyperparameters, where there is one set of them.
PLAIN = ("hyperparameter", "value")


@dataclasses.dataclass(frozen=True)
class Training:
    """Rows with a target, ready for a machine.

    Attributes
    ----------
    features : DataFrame
        Columns other than target and weights, as they stand in the file.
    encoder : TableEncoder
        What is to be done with them; not fitted.
    y : array
        The target.
    weights : array or None
        Weights of the rows.
    task : Task
        What is to be learnt.
    target : str
        Name of the target.
    dropped : int
        Rows that have no target.
    """

    features: pd.DataFrame
    encoder: TableEncoder
    y: np.ndarray
    weights: np.ndarray | None
    task: Task
    target: str
    dropped: int

    def rows(self, chosen: np.ndarray) -> Training:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[chosen]
        return dataclasses.replace(self, features=self.features.iloc[chosen], y=self.y[chosen], weights=weights)


@dataclasses.dataclass(frozen=True)
class FitOptions:
    """Options of a machine, as typed."""

    method: str = "auto"
    kernel: str | None = None
    ard: bool = False
    starts: int | None = None
    jobs: int | None = None
    seed: int = 0
    fast: bool = False
    standardize: bool = True


def training_data(
    path: str,
    target: str,
    *,
    task: Task | None = None,
    weights: str | None = None,
    reading: ReadOptions | None = None,
    columns: ColumnOptions | None = None,
) -> Training:
    """Read a file and split off target and weights."""
    columns = columns or ColumnOptions()
    frame = (reading or ReadOptions()).read(path)
    name = find_column(frame, target)
    taken = [name]
    meaning, place = column_meaning(frame, name, columns), Place.of(frame, name)
    chosen = task or guess_task(meaning, name)
    if chosen.name == "classification":
        y, rows = class_labels(meaning, place)
    else:
        remedy = f"; the task is regression ({chosen.reason}): for classes use {names_of('classification')}"
        y, rows = target_numbers(meaning, place, remedy)
    values = None
    if weights is not None:
        column = find_column(frame, weights)
        taken.append(column)
        values = weight_values(column_meaning(frame, column, columns), Place.of(frame, column))[rows]
    features = frame.iloc[rows].drop(columns=taken)
    if features.shape[1] == 0:
        raise UsageError(f"{source_of(frame)}: there is no column beside the target")
    return Training(features, columns.encoder(frame, taken), y, values, chosen, name, len(frame) - rows.size)


def machine_of(options: FitOptions, task: str, *, progress: bool = False) -> tuple[Method, Any]:
    """Return the method and a new machine with the options that were given."""
    method = method_of(options.method, task)
    given = _arguments(options, progress)
    cls: Any = method.find()
    known = {} if cls is None else cls().get_params()
    if options.fast:
        given = {**_one_candidate(known, task), **given}
    optional = {key for key in ("random_state", "verbose") if key not in known}
    return method, method.create(**{key: value for key, value in given.items() if key not in optional})


def _arguments(options: FitOptions, progress: bool) -> dict[str, Any]:
    """Return the options that were given as arguments of an estimator; progress is shown if tqdm is installed."""
    given: dict[str, Any] = {"random_state": options.seed}
    if options.kernel is not None:
        given["kernel"] = "auto" if options.kernel == "auto" else parse_kernel(options.kernel)
    if options.ard:
        given["ard"] = True
    if options.starts is not None:
        given["n_starts"] = options.starts
    if options.jobs is not None:
        given["n_jobs"] = options.jobs
    if not options.standardize:
        given["standardize"] = False
    if progress and importlib.util.find_spec("tqdm") is not None:
        given["verbose"] = 1
    return given


def _one_candidate(parameters: dict[str, Any], task: str) -> dict[str, Any]:
    """Return the arguments with which a machine chooses neither kernel nor likelihood."""
    plain = {"kernel": None, "likelihood": "trigonometric" if task == "classification" else "soft-insensitive"}
    return {name: value for name, value in plain.items() if parameters.get(name) == "auto"}


def fit_pipeline(training: Training, machine: Any) -> Pipeline:
    """Fit the table encoder and the machine, which sees named columns."""
    encoder = clone(training.encoder).set_output(transform="pandas")
    pipeline = Pipeline([("columns", encoder), ("machine", machine)])
    arguments = {} if training.weights is None else {"machine__sample_weight": training.weights}
    with data_refused():
        return pipeline.fit(training.features, training.y, **arguments)


def exit_code(machine: Any) -> ExitCode:
    """Return how a fit ended."""
    if any(model.maximum.interrupted for model in getattr(machine, "models_", ()) if hasattr(model, "maximum")):
        return ExitCode.INTERRUPTED
    return ExitCode.FINE if getattr(machine, "converged_", True) else ExitCode.NOT_CONVERGED


def fit(
    training: Training,
    options: FitOptions,
    out: str,
    report: str | None,
    say: Reporter,
    *,
    force: bool = False,
    cases: bool = True,
) -> ExitCode:
    """Fit, save (with some of the rows, if ``cases``), report; return the exit code."""
    for path in (out, report):
        if path is not None:
            check_output(path, force=force)
    say.say(f"task: {training.task.name} ({training.task.reason})")
    if training.dropped:
        say.say(f"{training.dropped} rows without a value of {training.target} are left out")
    method, machine = machine_of(options, training.task.name, progress=say.shows_progress)
    say.say(f"method: {method.name}; {len(training.y)} rows, {training.features.shape[1]} columns")
    with keep_best_on_interrupt():
        pipeline = fit_pipeline(training, machine)
    if "verbose" in machine.get_params():
        machine.set_params(verbose=0)
    code = exit_code(machine)
    if not keeps_leave_one_out(machine):
        say.say(f"{method.name} keeps no leave-one-out predictions: it is judged by {FOLDS} fits to parts of the rows")
    facts = facts_of_fit(pipeline, training, method, say.warnings)
    model = io.BytesIO()
    kept = {"cases": cases_of(training.features, training.y, training.target)} if cases else {}
    save(pipeline, model, info={"facts": facts, **kept})
    if out == "-":
        sys.stdout.buffer.write(model.getvalue())
    else:
        write_output(out, model.getvalue())
    if report is not None:
        page = render(facts, model="model.bvm" if out == "-" else os.path.basename(out))
        write_output(report, page.encode())
    summarize(facts, training.task.reason, out, report, say)
    if code is ExitCode.NOT_CONVERGED:
        say.say("warning: the search did not converge; the model was saved all the same")
    if code is ExitCode.INTERRUPTED:
        say.say("interrupted: the best model so far was saved")
    return code


def facts_of_fit(pipeline: Pipeline, training: Training, method: Method, warned: Sequence[str]) -> dict[str, Any]:
    """Return the facts of a report, with what was done to the columns and what was pointed out about them."""
    facts = collect_facts(
        pipeline,
        training.features,
        training.y,
        target=training.target,
        preparation=pipeline[0].summary(),
        rows=row_numbers(training.features).tolist(),
        sample_weight=training.weights,
    )
    facts["warnings"] = [*warned, *facts["warnings"]]
    facts["method"], facts["source"] = method.name, os.path.basename(source_of(training.features))
    return facts


def summarize(facts: dict[str, Any], reason: str, out: str, report: str | None, say: Reporter) -> None:
    """Say what was learnt."""
    data = facts["data"]
    say.heading(f"{facts['estimator']} for {data['target']} ({facts['task']}: {reason})")
    say.lines([f"{data['rows']} rows, {data['features']} features after encoding"])
    if data["preparation"]:
        say.heading("Columns")
        say.lines(data["preparation"])
    say.heading("Result")
    say.lines(_result(facts))
    show_learnt(facts, say)
    if facts["warnings"]:
        say.heading("Warnings")
        say.lines(facts["warnings"])
    say.lines([f"model: {out}"] + ([f"report: {report}"] if report else []))
    plain = {key: value for key, value in facts.items() if key not in ("performance",)}
    plain["performance"] = {name: value for name, value, *_ in facts["performance"]["figures"]}
    plain["verdict"] = dataclasses.asdict(verdict_of(facts["performance"], facts["task"]))
    say.result({**plain, "model": out, "report": report})


def _result(facts: dict[str, Any]) -> list[str]:
    performance = facts["performance"]
    verdict = verdict_of(performance, facts["task"])
    lines = [verdict.headline, verdict.detail]
    lines += [f"{name}: {shown(name, value)}" for name, value, *_ in performance["figures"][1:]]
    if facts["support"] is not None:
        lines.append(f"{facts['support']['vectors']} support vectors of {facts['support']['rows']} rows")
    if facts["log_evidence"] is not None:
        parts = 1 + max((start["machine"] for start in facts["starts"]), default=0)
        parts = max(parts, len({row.get("output") for row in facts.get("candidates") or ()}))
        summed = f", summed over {parts} classes or outputs" if parts > 1 else ""
        lines.append(f"log evidence {facts['log_evidence']:.3f}{summed}")
    return [*lines, *facts.get("remarks", ())]


def show_learnt(facts: dict[str, Any], say: Reporter, limit: int = SHOWN) -> None:
    """Show hyperparameters; with one length scale per feature, relevances, largest first, in place of the scales."""
    rows, relevance = facts["hyperparameters"], facts["relevance"]
    if relevance:
        rows = [row for row in rows if "[" not in row["name"]]
    labels = list(rows[0]["values"]) if rows and "values" in rows[0] else []
    values = [(row["name"], list(row["values"].values()) if labels else [row["value"]]) for row in rows]
    _show_first(["hyperparameter", *(f"of {label}" for label in labels)] if labels else PLAIN, values, limit, say)
    if relevance:
        ordered = sorted(relevance.items(), key=lambda pair: -pair[1])
        _show_first(["feature", "relevance"], [(name, [value]) for name, value in ordered], limit, say)


def _show_first(head: Sequence[str], rows: Sequence[tuple[str, list[float]]], limit: int, say: Reporter) -> None:
    say.table(head, [[name, *(f"{value:.4g}" for value in values)] for name, values in rows[:limit]])
    if len(rows) > limit:
        say.lines([f"and {len(rows) - limit} more; 'bayesvm inspect' shows them all"])


__all__ = [
    "FitOptions",
    "Training",
    "exit_code",
    "fit",
    "fit_pipeline",
    "machine_of",
    "show_learnt",
    "training_data",
]
