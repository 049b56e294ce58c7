"""The commands and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayesvm.cli.comparison import compare_methods, shown
from bayesvm.cli.console import Reporter
from bayesvm.cli.demo import demo as run_demo
from bayesvm.cli.errors import guarded
from bayesvm.cli.exit_codes import ExitCode, UsageError
from bayesvm.cli.fitting import FitOptions, check_writable, task_of, training_data
from bayesvm.cli.fitting import fit as run_fit
from bayesvm.cli.inspection import inspect as run_inspect
from bayesvm.cli.inspection import report as run_report
from bayesvm.cli.methods import METHODS
from bayesvm.cli.prediction import load_model, write_predictions
from bayesvm.cli.prediction import predictions as predict_table
from bayesvm.tables import read_table
from bayesvm.tables.readers import FORMATS

app = typer.Typer(
    name="bayesvm",
    help="Support vector machines that tune themselves.\n\nExample: bayesvm fit data.csv --target y --model y.bvm",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

NAMES = ", ".join(["auto", *(method.name for method in METHODS)])

Data = Annotated[str, typer.Argument(help="File with the data; - is standard input.", show_default=False)]
Model = Annotated[str, typer.Argument(help="Model file of 'bayesvm fit'; - is standard input.", show_default=False)]
Target = Annotated[str, typer.Option("--target", help="Column to learn: name, or number from 1.", show_default=False)]
Kernel = Annotated[str | None, typer.Option("--kernel", help='Such as "gaussian(ard) * linear + constant", or auto.')]
Ard = Annotated[bool, typer.Option("--ard", help="One length scale per feature.")]
Starts = Annotated[int | None, typer.Option("--starts", min=1, help="Starts of the search.")]
Jobs = Annotated[int | None, typer.Option("--jobs", help="Starts at the same time; -1: one per processor.")]
Weights = Annotated[str | None, typer.Option("--weights", help="Column with weights of the rows.")]
TaskName = Annotated[str | None, typer.Option("--task", help="classification or regression; guessed if not given.")]
Format = Annotated[str | None, typer.Option("--format", help=f"{', '.join(FORMATS)}; by the file's name if not given.")]
Header = Annotated[bool | None, typer.Option("--header/--no-header", help="Whether the first line holds names.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of random starts and folds.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Give the result as one JSON object.")]


def _checked_format(format: str | None) -> None:
    if format is not None and format not in FORMATS:
        raise UsageError(f"format: expected one of {', '.join(FORMATS)}, found {format!r}")


@app.command(epilog="Example: bayesvm fit houses.csv --target price --model price.bvm --report price.html")
def fit(
    data: Data,
    target: Target,
    model: Annotated[str, typer.Option("--model", help="Where to save the model; - is standard output.")],
    method: Annotated[str, typer.Option("--method", help=f"One of {NAMES}.")] = "auto",
    kernel: Kernel = None,
    ard: Ard = False,
    starts: Starts = None,
    jobs: Jobs = None,
    weights: Weights = None,
    report: Annotated[str | None, typer.Option("--report", help="Where to write a report (HTML).")] = None,
    task: TaskName = None,
    format: Format = None,
    header: Header = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Learn from a table and save the model. Text columns are one-hot encoded and gaps filled; both are saved with it."""
    with guarded(quiet=quiet):
        _checked_format(format)
        if model == "-" and json:
            raise UsageError("--json and --model - both write to standard output; choose one")
        say = Reporter(quiet=quiet, as_json=json, aside=model == "-")
        given = task if task is not None else task_of(method)
        training = training_data(data, target, task=given, weights=weights, format=format, header=header)
        options = FitOptions(method, kernel, ard, starts, jobs, seed)
        raise typer.Exit(int(run_fit(training, options, model, report, say)))


@app.command(epilog="Example: bayesvm predict price.bvm new.csv --out predictions.csv")
def predict(
    model: Model,
    data: Data,
    out: Annotated[
        str, typer.Option("--out", help="Where to write: .csv, .tsv or .parquet; - is standard output.")
    ] = "-",
    confidence: Annotated[float, typer.Option("--confidence", help="Probability of intervals (regression).")] = 0.95,
    format: Format = None,
    header: Header = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Predict the rows of a table: labels and probabilities, or means, standard deviations and intervals."""
    with guarded(quiet=quiet):
        _checked_format(format)
        if model == "-" and data == "-":
            raise UsageError("model and data cannot both come from standard input")
        if out == "-" and json:
            raise UsageError("--json and --out - both write to standard output; choose one")
        check_writable(out)
        say = Reporter(quiet=quiet, as_json=json, aside=out == "-")
        fitted = load_model(model)
        table = read_table(data, format=format, header=header)
        columns = predict_table(fitted, table, confidence)
        write_predictions(columns, out)
        if out != "-":
            say.heading(f"{len(table)} predictions: {out}")
        say.result({"rows": len(table), "columns": list(columns), "out": out})


@app.command(epilog="Example: bayesvm report price.bvm --test held_out.csv --out price.html")
def report(
    model: Annotated[str, typer.Argument(help="Model file of 'bayesvm fit'.", show_default=False)],
    test: Annotated[str | None, typer.Option("--test", help="File with test data, target included.")] = None,
    out: Annotated[str, typer.Option("--out", help="Where to write the page; - is standard output.")] = "report.html",
    format: Format = None,
    header: Header = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write a report about a model: one HTML page that needs nothing else."""
    with guarded(quiet=quiet):
        _checked_format(format)
        if out == "-" and json:
            raise UsageError("--json and --out - both write to standard output; choose one")
        say = Reporter(quiet=quiet, as_json=json, aside=out == "-")
        run_report(model, test, out, format=format, header=header, say=say)


@app.command(epilog="Example: bayesvm compare data.csv --target y --methods bayesian-svc,ls-svc,gpc")
def compare(
    data: Data,
    target: Target,
    methods: Annotated[str, typer.Option("--methods", help=f"Methods, with commas between: {NAMES}.")] = "auto",
    folds: Annotated[int, typer.Option("--folds", help="Folds of the cross-validation.")] = 5,
    kernel: Kernel = None,
    ard: Ard = False,
    starts: Starts = None,
    jobs: Jobs = None,
    weights: Weights = None,
    task: TaskName = None,
    format: Format = None,
    header: Header = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare methods on the same folds of the data, best first, with standard errors and log evidence."""
    with guarded(quiet=quiet):
        _checked_format(format)
        say = Reporter(quiet=quiet, as_json=json)
        names = [name.strip() for name in methods.split(",") if name.strip()]
        if not names:
            raise UsageError("methods: expected at least one name")
        given = task
        for name in names:
            given = given or task_of(name)
        training = training_data(data, target, task=given, weights=weights, format=format, header=header)
        say.say(f"task: {training.task.name} ({training.task.reason})")
        rows = compare_methods(training, names, FitOptions("auto", kernel, ard, starts, jobs, seed), folds, say)
        say.heading(f"{folds} folds of {len(training.y)} rows")
        say.table(*shown(rows))
        say.result({"task": training.task.name, "folds": folds, "methods": rows})


@app.command(epilog="Example: bayesvm inspect price.bvm")
def inspect(
    model: Annotated[str, typer.Argument(help="Model file.", show_default=False)],
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Say what is in a model file."""
    with guarded(quiet=quiet):
        run_inspect(model, Reporter(quiet=quiet, as_json=json))


@app.command(epilog="Example: bayesvm demo --out demo-output")
def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for report, model and picture.")] = Path("demo-output"),
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Let a machine train itself on made-up data and compare it with a cross-validated one."""
    with guarded(quiet=quiet):
        run_demo(out, Reporter(quiet=quiet, as_json=json))


@app.command(epilog="Example: bayesvm reproduce chu2003-table4 --data ../data --partitions 20 --jobs 2")
def reproduce(
    names: Annotated[list[str] | None, typer.Argument(help="Experiments (see --list); all if none is named.")] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder with data sets; BAYESVM_DATA if not given.")
    ] = None,
    partitions: Annotated[int | None, typer.Option("--partitions", min=1, help="Partitions or draws per row.")] = None,
    jobs: Annotated[int, typer.Option("--jobs", help="Units at the same time; -1: one per processor.")] = 1,
    out: Annotated[Path, typer.Option("--out", help="Folder of the results; what is finished there is kept.")] = Path(
        "reproduction"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="Everything in its smallest setting, to see that it runs.")
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="Only list the experiments.")] = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compute the tables and figures of the papers again, ours beside theirs. An interrupted run goes on where it was."""
    with guarded(quiet=quiet):
        # Loads every machine, so not for the other commands; without the experiments the import is a UsageError.
        from bayesvm.cli.reproduction import options_of, show_experiments
        from bayesvm.cli.reproduction import reproduce as run_reproduce

        say = Reporter(quiet=quiet, as_json=json)
        if listed:
            show_experiments(say)
        else:
            run_reproduce(names or [], options_of(out, data, partitions, jobs, quick), say)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        app(arguments, standalone_mode=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(ExitCode.USAGE)
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)
    return int(ExitCode.FINE)


__all__ = ["app", "run"]
