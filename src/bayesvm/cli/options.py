"""Arguments and options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

from bayesvm.cli.methods import METHODS
from bayesvm.tables.file_formats import FORMATS

NAMES = ", ".join(["auto", *(method.name for method in METHODS)])

Data = Annotated[str, typer.Argument(help="File with the data; - is standard input.", show_default=False)]
Model = Annotated[str, typer.Argument(help="Model file of 'bayesvm fit'; - is standard input.", show_default=False)]
Target = Annotated[str, typer.Option("--target", help="Column to learn: name, or number from 1.", show_default=False)]
Kernel = Annotated[
    str | None,
    typer.Option("--kernel", help='Such as "gaussian(ard) * linear + constant", or auto (the default): it is chosen.'),
]
Fast = Annotated[bool, typer.Option("--fast", help="Fit one kernel with one length scale, without a choice.")]
Ard = Annotated[bool, typer.Option("--ard", help="One length scale per feature.")]
Starts = Annotated[int | None, typer.Option("--starts", min=1, help="Starts of the search.")]
Standardize = Annotated[
    bool, typer.Option("--standardize/--no-standardize", help="Whether each feature is scaled by itself.")
]
Jobs = Annotated[int | None, typer.Option("--jobs", help="Starts at the same time; -1: one per processor.")]
Weights = Annotated[str | None, typer.Option("--weights", help="Column with weights of the rows.")]
TaskName = Annotated[str | None, typer.Option("--task", help="classification or regression; guessed if not given.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of random starts and folds.")]

Format = Annotated[str | None, typer.Option("--format", help=f"{', '.join(FORMATS)}; by the file's name if not given.")]
Header = Annotated[bool | None, typer.Option("--header/--no-header", help="Whether the first row holds names.")]
Encoding = Annotated[str | None, typer.Option("--encoding", help="Encoding of text, such as cp1252; else UTF-8.")]
Delimiter = Annotated[str | None, typer.Option("--delimiter", help="Between cells; found out if not given.")]
Sheet = Annotated[str | None, typer.Option("--sheet", help="Sheet of a workbook; the first if not given.")]

Features = Annotated[list[str] | None, typer.Option("--features", help="Columns to use, commas between; all if none.")]
Drop = Annotated[list[str] | None, typer.Option("--drop", help="Columns to leave out, commas between.")]
Categories = Annotated[
    list[str] | None, typer.Option("--categories", help="Columns of categories that look otherwise.")
]
Decimal = Annotated[str | None, typer.Option("--decimal", help="Decimal mark, . or a comma; found out if not given.")]
DayFirst = Annotated[bool | None, typer.Option("--day-first/--month-first", help="Whether 3/4/2019 is in April.")]

Force = Annotated[bool, typer.Option("--force", "-f", help="Replace files that exist.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Give the result, or the error, as one JSON object.")]

__all__ = [
    "NAMES",
    "Ard",
    "Categories",
    "Data",
    "DayFirst",
    "Decimal",
    "Delimiter",
    "Drop",
    "Encoding",
    "Features",
    "Force",
    "Format",
    "Header",
    "Jobs",
    "Json",
    "Kernel",
    "Model",
    "Quiet",
    "Seed",
    "Sheet",
    "Standardize",
    "Starts",
    "Target",
    "TaskName",
    "Weights",
]
