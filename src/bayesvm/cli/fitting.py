"""``bayesvm fit``: from a table to a saved model."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import sys
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from bayesvm.cli.console import Reporter
from bayesvm.cli.exit_codes import ExitCode, UsageError
from bayesvm.cli.methods import Method, method_of, task_of
from bayesvm.cli.target import Task, find_column, guess_task, target_values, weight_values
from bayesvm.hyper import SearchStatus
from bayesvm.kernels.expression import parse_kernel
from bayesvm.persistence import save
from bayesvm.report import collect_facts, write_report
from bayesvm.tables import Table, TableEncoder, read_table


@dataclasses.dataclass(frozen=True)
class Training:
    """Rows with a target, ready for a machine.

    Attributes
    ----------
    features : Table
        Columns other than target and weights.
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

    features: Table
    y: np.ndarray
    weights: np.ndarray | None
    task: Task
    target: str
    dropped: int


@dataclasses.dataclass(frozen=True)
class FitOptions:
    """Options of a machine, as typed."""

    method: str = "auto"
    kernel: str | None = None
    ard: bool = False
    starts: int | None = None
    jobs: int | None = None
    seed: int = 0


def training_data(
    path: str, target: str, *, task: str | None, weights: str | None, format: str | None, header: bool | None
) -> Training:
    """Read a file and split off target and weights."""
    table = read_table(path, format=format, header=header)
    name = find_column(table, target)
    chosen = guess_task(table.column(name), task, name)
    y, rows = target_values(table, name, chosen.name)
    drop = [name]
    values = None
    if weights is not None:
        column = find_column(table, weights)
        drop.append(column)
        values = weight_values(table, column)[rows]
    features = table.take(rows).without(drop)
    if not features.columns:
        raise UsageError(f"{table.source}: there is no column beside the target")
    return Training(features, y, values, chosen, name, len(table) - rows.size)


def machine_of(options: FitOptions, task: str, *, progress: bool = False) -> tuple[Method, Any]:
    """Return the method and a new machine with the options that were given."""
    method = method_of(options.method, task)
    given: dict[str, Any] = {"random_state": options.seed}
    if options.kernel is not None:
        given["kernel"] = "auto" if options.kernel == "auto" else parse_kernel(options.kernel)
    if options.ard:
        given["ard"] = True
    if options.starts is not None:
        given["n_starts"] = options.starts
    if options.jobs is not None:
        given["n_jobs"] = options.jobs
    if progress and importlib.util.find_spec("tqdm") is not None:
        given["verbose"] = 1
    cls = method.find()
    known = set() if cls is None else set(cls().get_params())
    optional = {key for key in ("random_state", "verbose") if key not in known}
    return method, method.create(**{key: value for key, value in given.items() if key not in optional})


def fit_pipeline(training: Training, machine: Any) -> Pipeline:
    """Fit the table encoder and the machine; the machine sees named columns if pandas is installed."""
    encoder = TableEncoder()
    if importlib.util.find_spec("pandas") is not None:
        encoder.set_output(transform="pandas")
    pipeline = Pipeline([("columns", encoder), ("machine", machine)])
    arguments = {} if training.weights is None else {"machine__sample_weight": training.weights}
    return pipeline.fit(training.features, training.y, **arguments)


def histories(machine: Any) -> list[Any]:
    """Return the records of all starts."""
    return list(getattr(machine, "history_", ()))


def exit_code(machine: Any) -> ExitCode:
    """Return how a fit ended."""
    if any(record.status is SearchStatus.INTERRUPTED for record in histories(machine)):
        return ExitCode.INTERRUPTED
    return ExitCode.FINE if getattr(machine, "converged_", True) else ExitCode.NOT_CONVERGED


def fit(training: Training, options: FitOptions, out: str, report: str | None, say: Reporter) -> ExitCode:
    """Fit, save, report; return the exit code."""
    check_writable(out)
    if report is not None:
        check_writable(report)
    say.say(f"task: {training.task.name} ({training.task.reason})")
    if training.dropped:
        say.say(f"{training.dropped} rows without a value of {training.target} are left out")
    method, machine = machine_of(options, training.task.name, progress=say.shows_progress)
    say.say(f"method: {method.name}; {len(training.y)} rows, {len(training.features.names)} columns")
    pipeline = fit_pipeline(training, machine)
    if "verbose" in machine.get_params():
        machine.set_params(verbose=0)
    code = exit_code(machine)
    preparation = pipeline[0].summary()
    numbers = [training.features.number(i) for i in range(len(training.y))]
    facts = collect_facts(
        pipeline, training.features, training.y, target=training.target, preparation=preparation, rows=numbers
    )
    facts["method"], facts["source"] = method.name, training.features.source
    target: Any = sys.stdout.buffer if out == "-" else out
    save(pipeline, target, info={"facts": facts})
    if report is not None:
        write_report(report, facts, model="model.bvm" if out == "-" else os.path.basename(out))
    summarize(facts, training.task.reason, out, report, say)
    if code is ExitCode.NOT_CONVERGED:
        say.say("warning: the search did not converge; the model was saved all the same")
    if code is ExitCode.INTERRUPTED:
        say.say("interrupted: the best model so far was saved")
    return code


def check_writable(path: str) -> None:
    """Refuse an output that cannot be written, before the work and not after it."""
    folder = os.path.dirname(path) or "."
    if path != "-" and (not os.path.isdir(folder) or os.path.isdir(path) or not os.access(folder, os.W_OK)):
        raise UsageError(f"{path}: expected a file name in a folder that exists and can be written to")


def summarize(facts: dict[str, Any], reason: str, out: str, report: str | None, say: Reporter) -> None:
    """Say what was learnt."""
    data = facts["data"]
    say.heading(f"{facts['estimator']} for {data['target']} ({facts['task']}: {reason})")
    say.lines([f"{data['rows']} rows, {data['features']} features after encoding"])
    if data["preparation"]:
        say.heading("Columns")
        say.lines(data["preparation"])
    say.heading("Result")
    evidence = facts["log_evidence"]
    lines = [] if evidence is None else [f"log evidence {evidence:.3f} from {len(facts['starts'])} climbs"]
    if facts["support"] is not None:
        lines.append(f"{facts['support']['vectors']} support vectors")
    performance = facts["performance"]
    lines += [f"{name} ({performance['source']}): {value:.4g}" for name, value, *_ in performance["figures"]]
    say.lines(lines)
    say.table(["hyperparameter", "value"], [[r["name"], f"{r['value']:.4g}"] for r in facts["hyperparameters"][:12]])
    if facts["warnings"]:
        say.heading("Warnings")
        say.lines(facts["warnings"])
    say.lines([f"model: {out}"] + ([f"report: {report}"] if report else []))
    plain = {key: value for key, value in facts.items() if key not in ("performance",)}
    plain["performance"] = {name: value for name, value, *_ in performance["figures"]}
    say.result({**plain, "model": out, "report": report})


__all__ = [
    "FitOptions",
    "Training",
    "check_writable",
    "exit_code",
    "fit",
    "fit_pipeline",
    "machine_of",
    "task_of",
    "training_data",
]
