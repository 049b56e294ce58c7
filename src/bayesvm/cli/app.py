"""The commands and their options. What a command needs is imported when it runs, so that help is quick."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from bayesvm import __version__
from bayesvm.cli.console import Reporter
from bayesvm.cli.errors import guarded
from bayesvm.cli.exit_codes import ExitCode, UsageError
from bayesvm.cli.options import (
    NAMES,
    Ard,
    Categories,
    Data,
    DayFirst,
    Decimal,
    Delimiter,
    Drop,
    Encoding,
    Fast,
    Features,
    Force,
    Format,
    Header,
    Jobs,
    Json,
    Kernel,
    Model,
    Quiet,
    Seed,
    Sheet,
    Standardize,
    Starts,
    Target,
    TaskName,
    Weights,
)

app = typer.Typer(
    name="bayesvm",
    help="Support vector machines that tune themselves.\n\nExample: bayesvm fit data.csv --target y --model y.bvm",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def common(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", "-V", help="Show the version and end.")] = False,
) -> None:
    """Support vector machines that tune themselves.

    Example: bayesvm fit data.csv --target y --model y.bvm
    """
    if version:
        typer.echo(f"bayesvm {__version__}")
        raise typer.Exit(int(ExitCode.FINE))
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(epilog="Example: bayesvm fit houses.csv --target price --model price.bvm --report price.html")
def fit(
    data: Data,
    target: Target,
    model: Annotated[str, typer.Option("--model", help="Where to save the model; - is standard output.")],
    method: Annotated[str, typer.Option("--method", help=f"One of {NAMES}.")] = "auto",
    kernel: Kernel = None,
    ard: Ard = False,
    fast: Fast = False,
    standardize: Standardize = True,
    starts: Starts = None,
    jobs: Jobs = None,
    weights: Weights = None,
    report: Annotated[str | None, typer.Option("--report", help="Where to write a report (HTML).")] = None,
    cases: Annotated[
        bool, typer.Option("--cases/--no-cases", help="Whether the model keeps training rows, for 'bayesvm serve'.")
    ] = True,
    task: TaskName = None,
    features: Features = None,
    drop: Drop = None,
    categories: Categories = None,
    decimal: Decimal = None,
    day_first: DayFirst = None,
    format: Format = None,
    header: Header = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    sheet: Sheet = None,
    seed: Seed = 0,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Learn from a table and save the model, together with what was done to the columns."""
    say = Reporter(quiet=quiet, as_json=json, aside=model == "-")
    with guarded(say):
        from bayesvm.cli.fitting import FitOptions, training_data
        from bayesvm.cli.fitting import fit as run_fit
        from bayesvm.cli.methods import check_methods
        from bayesvm.cli.output import check_output
        from bayesvm.cli.reading import ColumnOptions, ReadOptions
        from bayesvm.cli.target import asked_task

        if model == "-" and json:
            raise UsageError("--json and --model - both write to standard output; choose one")
        check_methods([method])
        for path in (model, report):
            if path is not None:
                check_output(path, force=force)
        training = training_data(
            data,
            target,
            task=asked_task(task, [method]),
            weights=weights,
            reading=ReadOptions(format, header, encoding, delimiter, sheet),
            columns=ColumnOptions(features or (), drop or (), categories or (), decimal, day_first),
        )
        options = FitOptions(method, kernel, ard, starts, jobs, seed, fast, standardize)
        raise typer.Exit(int(run_fit(training, options, model, report, say, force=force, cases=cases)))


@app.command(epilog="Example: bayesvm predict price.bvm new.csv --out predictions.csv --keep id")
def predict(
    model: Model,
    data: Data,
    out: Annotated[
        str, typer.Option("--out", help="Where to write: .csv, .tsv, .jsonl, .parquet, .xlsx; - is standard output.")
    ] = "-",
    confidence: Annotated[float, typer.Option("--confidence", help="Probability of intervals (regression).")] = 0.95,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", help="Columns of the data to put beside the predictions.")
    ] = None,
    escape: Annotated[
        bool, typer.Option("--escape/--no-escape", help="Whether text that looks like a formula is made harmless.")
    ] = True,
    format: Format = None,
    header: Header = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    sheet: Sheet = None,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Predict the rows of a table: labels and probabilities, or means, standard deviations and intervals."""
    say = Reporter(quiet=quiet, as_json=json, aside=out == "-" and not json)
    with guarded(say):
        from bayesvm.cli.output import check_output
        from bayesvm.cli.prediction import kept_columns, load_model, predictions
        from bayesvm.cli.prediction_files import records, write_predictions, writer_of
        from bayesvm.cli.reading import ReadOptions

        if model == "-" and data == "-":
            raise UsageError("model and data cannot both come from standard input")
        writer_of(out)
        check_output(out, force=force)
        fitted = load_model(model)
        frame = ReadOptions(format, header, encoding, delimiter, sheet).read(data)
        made = predictions(fitted, frame, confidence)
        columns = {**kept_columns(frame, keep or (), list(made)), **made}
        result: dict[str, Any] = {"rows": len(frame), "columns": list(columns), "out": out}
        if out == "-" and json:
            result["predictions"] = records(columns)
        else:
            write_predictions(columns, out, escape=escape)
            if out != "-":
                say.heading(f"{len(frame)} predictions: {out}")
        say.result(result)


@app.command(epilog="Example: bayesvm report price.bvm --test held_out.csv --out price.html")
def report(
    model: Annotated[str, typer.Argument(help="Model file of 'bayesvm fit'.", show_default=False)],
    test: Annotated[str | None, typer.Option("--test", help="File with test data, target included.")] = None,
    out: Annotated[str, typer.Option("--out", help="Where to write the page; - is standard output.")] = "report.html",
    decimal: Decimal = None,
    format: Format = None,
    header: Header = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    sheet: Sheet = None,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write a report about a model: one HTML page that needs nothing else."""
    say = Reporter(quiet=quiet, as_json=json, aside=out == "-")
    with guarded(say):
        from bayesvm.cli.inspection import report as run_report
        from bayesvm.cli.reading import ColumnOptions, ReadOptions

        if out == "-" and json:
            raise UsageError("--json and --out - both write to standard output; choose one")
        reading, columns = ReadOptions(format, header, encoding, delimiter, sheet), ColumnOptions(decimal=decimal)
        run_report(model, test, out, reading=reading, columns=columns, say=say, force=force)


@app.command(epilog="Example: bayesvm compare data.csv --target y --methods bayesian-svc,ls-svc,gpc,baselines")
def compare(
    data: Data,
    target: Target,
    methods: Annotated[
        str,
        typer.Option("--methods", help=f"Commas between: {NAMES}, baselines; auto is the usual one and all baselines."),
    ] = "auto",
    folds: Annotated[int, typer.Option("--folds", help="Folds of the cross-validation.")] = 5,
    kernel: Kernel = None,
    ard: Ard = False,
    standardize: Standardize = True,
    starts: Starts = None,
    jobs: Jobs = None,
    weights: Weights = None,
    task: TaskName = None,
    features: Features = None,
    drop: Drop = None,
    categories: Categories = None,
    decimal: Decimal = None,
    day_first: DayFirst = None,
    format: Format = None,
    header: Header = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    sheet: Sheet = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare methods with one another and with baselines on the same folds of the data, best first."""
    say = Reporter(quiet=quiet, as_json=json)
    with guarded(say):
        from bayesvm.cli.baselines import ALL_BASELINES, BASELINES
        from bayesvm.cli.comparison import run_comparison
        from bayesvm.cli.fitting import FitOptions, training_data
        from bayesvm.cli.methods import check_methods
        from bayesvm.cli.reading import ColumnOptions, ReadOptions
        from bayesvm.cli.target import asked_task

        names = [name.strip() for name in methods.split(",") if name.strip()]
        if not names:
            raise UsageError("methods: expected at least one name")
        check_methods(names, [ALL_BASELINES, *(baseline.name for baseline in BASELINES)])
        training = training_data(
            data,
            target,
            task=asked_task(task, names),
            weights=weights,
            reading=ReadOptions(format, header, encoding, delimiter, sheet),
            columns=ColumnOptions(features or (), drop or (), categories or (), decimal, day_first),
        )
        run_comparison(
            training, names, FitOptions("auto", kernel, ard, starts, jobs, seed, standardize=standardize), folds, say
        )


@app.command(epilog="Example: bayesvm inspect price.bvm")
def inspect(
    model: Annotated[str, typer.Argument(help="Model file.", show_default=False)],
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Say what is in a model file."""
    say = Reporter(quiet=quiet, as_json=json)
    with guarded(say):
        from bayesvm.cli.inspection import inspect as run_inspect

        run_inspect(model, say)


@app.command(epilog="Example: bayesvm serve price.bvm")
def serve(
    model: Annotated[str, typer.Argument(help="Model file of 'bayesvm fit'.", show_default=False)],
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port on this computer; 0: one that is free.")
    ] = 0,
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Whether a browser is opened.")] = True,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Play with a model on a page that this computer alone can reach: enter a row, move a value, upload a table."""
    say = Reporter(quiet=quiet, as_json=json)
    with guarded(say):
        from bayesvm.cli.inspection import info_of
        from bayesvm.cli.prediction import load_model
        from bayesvm.cli.serve import Service
        from bayesvm.cli.serve import serve as run_serve

        service = Service(load_model(model), info_of(model), Path(model).name)
        run_serve(service, port, say, open_page=open_page)


@app.command(epilog="Example: bayesvm demo --out demo-output")
def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for report, model and picture.")] = Path("demo-output"),
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Let a machine train itself on made-up data and compare it with a cross-validated one."""
    say = Reporter(quiet=quiet, as_json=json)
    with guarded(say):
        from bayesvm.cli.demo import demo as run_demo

        run_demo(out, say, force=force)


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
    """Compute the tables and figures of the papers again, ours beside theirs; an interrupted run goes on."""
    say = Reporter(quiet=quiet, as_json=json)
    with guarded(say):
        # Loads every machine, so not for the other commands; without the experiments the import is a UsageError.
        from bayesvm.cli.reproduction import options_of, show_experiments
        from bayesvm.cli.reproduction import reproduce as run_reproduce

        if listed:
            show_experiments(say)
        else:
            run_reproduce(names or [], options_of(out, data, partitions, jobs, quick), say)


#: What the parser of the command line raises, under whatever name the installed release of typer has it.
_ParsingError: type[Exception] = typer.BadParameter.__bases__[0]


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    command = typer.main.get_command(app)
    try:
        code = command.main(args=words, prog_name="bayesvm", standalone_mode=False)
    except _ParsingError as error:
        code = ExitCode.USAGE
        Reporter(as_json="--json" in words).failure(code, _explained(error))
    except (typer.Abort, KeyboardInterrupt):
        code = ExitCode.INTERRUPTED
    return int(code) if isinstance(code, int) else int(ExitCode.FINE)


def _explained(error: Any) -> str:
    """Return what is wrong with a command, the option or command that may have been meant, and where help is."""
    near = getattr(error, "possibilities", None)
    message = f"{error.message} (did you mean {near[0]}?)" if near else error.format_message()
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "bayesvm"
    return f"{' '.join(message.split())} (see {path} --help)"


__all__ = ["app", "run"]
