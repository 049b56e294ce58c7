"""Runs experiments: only units that are not finished yet, in parallel, with the time that is left.

A run writes, per experiment, ``units.jsonl`` (see :mod:`bayesvm.experiments.store`), one CSV file per table,
``<name>.md`` and ``<name>.png``.
"""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from bayesvm.exceptions import ConvergenceWarning
from bayesvm.experiments.base import Case, Experiment, Found, Numbers, Source
from bayesvm.experiments.pictures import draw
from bayesvm.experiments.store import Store
from bayesvm.experiments.summary import as_csv, as_markdown, summarise


@dataclasses.dataclass(frozen=True)
class Options:
    """How to run.

    Parameters
    ----------
    out : Path
        Directory of the results.
    source : Source
        Where the data is.
    partitions : int or None
        Units per case; None: as many as the experiment says.
    jobs : int
        Units at the same time; -1: one per processor.
    quick : bool
        Whether to run everything in its smallest setting, which shows that it works and nothing else.
    """

    out: Path
    source: Source
    partitions: int | None = None
    jobs: int = 1
    quick: bool = False


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a run of one experiment left.

    Parameters
    ----------
    experiment : Experiment
        Which.
    found : mapping
        Finished units by case.
    skipped : dict
        Cases that were skipped, with the files that are missing.
    files : tuple of Path
        What was written.
    markdown : str
        The tables.
    """

    experiment: Experiment
    found: Found
    skipped: dict[str, list[str]]
    files: tuple[Path, ...]
    markdown: str


def run(experiment: Experiment, options: Options, say: Callable[[str], None] = lambda line: None) -> Outcome:
    """Run what is missing of an experiment, and write its tables and its picture.

    Parameters
    ----------
    experiment : Experiment
        What to run.
    options : Options
        How.
    say : callable
        Is told, line by line, how far it is.
    """
    folder = options.out / experiment.name
    store = Store(folder / "units.jsonl")
    skipped = _skipped(experiment, options.source)
    for name, files in skipped.items():
        say(f"{experiment.name}: {name} skipped, missing {', '.join(files)}")
    cases = [case for case in experiment.cases if case.name not in skipped]
    _run_units(experiment, _pending(cases, store, options), store, options, say)
    found = {case.name: _finished(case, store, options.quick) for case in cases}
    return _write(experiment, {name: units for name, units in found.items() if units}, skipped, folder, say)


def _skipped(experiment: Experiment, source: Source) -> dict[str, list[str]]:
    """Return the cases that cannot run, with the files that they lack."""
    absent = {case.name: source.missing(case.needs) for case in experiment.cases}
    return {name: files for name, files in absent.items() if files}


def _pending(cases: Sequence[Case], store: Store, options: Options) -> list[tuple[Case, int]]:
    """Return the units that are not finished yet."""
    return [
        (case, seed)
        for case in cases
        for seed in range(case.count(options.partitions))
        if seed not in store.finished(case.name, case.settings(options.quick))
    ]


def _finished(case: Case, store: Store, quick: bool) -> list[Numbers]:
    units = store.finished(case.name, case.settings(quick))
    return [{**numbers, "seed": seed} for seed, numbers in units.items()]


def _run_units(
    experiment: Experiment,
    pending: Sequence[tuple[Case, int]],
    store: Store,
    options: Options,
    say: Callable[[str], None],
) -> None:
    """Run the units and keep each as soon as it is finished."""
    if not pending:
        return
    calls = (delayed(_unit)(experiment, case, seed, options) for case, seed in pending)
    began = time.monotonic()
    parallel = Parallel(n_jobs=options.jobs, return_as="generator_unordered")
    for done, (name, seed, seconds, numbers) in enumerate(parallel(calls), start=1):
        store.append(name, seed, experiment.case(name).settings(options.quick), seconds, numbers)
        left = (time.monotonic() - began) / done * (len(pending) - done)
        say(f"{experiment.name}: {done} of {len(pending)}, {name} {seed} in {seconds:.1f} s, {_duration(left)} left")


def _unit(experiment: Experiment, case: Case, seed: int, options: Options) -> tuple[str, int, float, Numbers]:
    """Run one unit with one BLAS thread: results do not depend on the number of processors, workers do not compete."""
    began = time.perf_counter()
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # a paper's data set may end so; the numbers say what came of it
        numbers = experiment.run(case.settings(options.quick), seed, options.source)
    return case.name, seed, time.perf_counter() - began, numbers


def _duration(seconds: float) -> str:
    """Return a duration for people."""
    if seconds < 100.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 6000.0 else f"{seconds / 3600.0:.1f} h"


def _write(
    experiment: Experiment, found: Found, skipped: dict[str, list[str]], folder: Path, say: Callable[[str], None]
) -> Outcome:
    """Write tables and picture of what there is."""
    files: list[Path] = []
    parts = [f"## {experiment.reference}: {experiment.title}\n"]
    if found:
        folder.mkdir(parents=True, exist_ok=True)
        for table in experiment.tables:
            lines = summarise(table, found)
            if not lines:
                continue
            files.append(folder / f"{table.name}.csv")
            files[-1].write_text(as_csv(lines), encoding="utf-8")
            parts.append(as_markdown(table, lines))
        if draw(experiment, found, folder / f"{experiment.name}.png"):
            files.append(folder / f"{experiment.name}.png")
            parts.append(f"![{experiment.title}]({experiment.name}.png)\n")
        else:
            say("no pictures: matplotlib is not installed (pip install 'bayesvm[plots]')")
    parts += [f"Skipped: {name}, missing {', '.join(names)}.\n" for name, names in skipped.items()]
    markdown = "\n".join(parts)
    if found:
        files.append(folder / f"{experiment.name}.md")
        files[-1].write_text(markdown, encoding="utf-8")
    return Outcome(experiment, found, skipped, tuple(files), markdown)


__all__ = ["Options", "Outcome", "run"]
