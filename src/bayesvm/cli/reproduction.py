"""``bayesvm reproduce``: the papers' tables and figures.

They are part of the source, not of the wheel (:mod:`bayesvm.experiments` says why). Importing this module without them
raises the :class:`~bayesvm.cli.exit_codes.UsageError` that says how to get them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bayesvm.cli.console import Reporter
from bayesvm.cli.exit_codes import UsageError
from bayesvm.lookup import did_you_mean

try:
    from bayesvm.experiments import EXPERIMENTS, Options, Source, find, run
except ModuleNotFoundError as error:
    if error.name != "bayesvm.experiments":
        raise
    raise UsageError(
        "the papers' tables and figures come with the source and not with the wheel: unpack the source distribution"
        " ('pip download --no-deps --no-binary bayesvm bayesvm') or clone the repository,"
        " and there say 'pip install --editable \".[cli,plots]\"'"
    ) from None


def show_experiments(say: Reporter) -> None:
    """List what can be reproduced."""
    say.table(
        ["name", "where", "what it shows"],
        [[", ".join((e.name, *e.also)), e.reference, e.title] for e in EXPERIMENTS],
    )
    say.result({"experiments": [{"name": e.name, "also": list(e.also), "title": e.title} for e in EXPERIMENTS]})


def reproduce(names: Sequence[str], options: Options, say: Reporter) -> None:
    """Run the named experiments, all if none is named."""
    try:
        chosen = find(names)
    except ValueError as error:
        known = [name for experiment in EXPERIMENTS for name in (experiment.name, *experiment.also)]
        near = next((hint for hint in (did_you_mean(name, known) for name in names if name not in known) if hint), "")
        raise UsageError(f"{error}{near}") from None
    report = []
    for experiment in chosen:
        outcome = run(experiment, options, say.say)
        say.heading(f"{experiment.reference}: {experiment.title}")
        say.lines(outcome.markdown.splitlines()[1:])
        say.lines([f"written: {path}" for path in outcome.files])
        report.append(
            {"name": experiment.name, "files": [str(path) for path in outcome.files], "skipped": outcome.skipped}
        )
    say.result({"experiments": report})


def options_of(out: Path, data: Path | None, partitions: int | None, jobs: int, quick: bool) -> Options:
    """Return the options of a run."""
    return Options(out, Source.of(data), partitions, jobs, quick)


__all__ = ["options_of", "reproduce", "show_experiments"]
