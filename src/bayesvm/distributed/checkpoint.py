"""A log of evaluations from which a fit can be resumed.

The first line describes the fit: the data, the seed of its sample, the options. Every further line is one evaluation:
the number of the search it belongs to, theta, value, gradient. The search is deterministic, so resuming is repeating it
with the recorded evaluations in place of computed ones; it arrives where it was stopped within moments, and goes on.
Numbers are written such that they are read back to the last bit, and a line is on the disk before the next evaluation
begins; a last line that was cut short is ignored. Every line has a check that depends on all lines before it, so that
any other damage is found.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bayesvm.hyper import Evaluation, Maximizer, Maximum
from bayesvm.hyper.multistart import Evaluated, Objective
from bayesvm.inference import Evidence
from bayesvm.persistence.atomic import write_atomically
from bayesvm.persistence.errors import ModelFileError
from bayesvm.solvers.base import Status
from bayesvm.typing import Matrix, Vector

FORMAT = "bayesvm-checkpoint"
#: Version that is written; until version 2 fits were committees of blocks.
VERSION = 3


class CheckpointError(ModelFileError):
    """A checkpoint that cannot be read; the message names the file and says why."""


#: What a line says of an evaluation.
FIELDS = ("what", "theta", "value", "gradient", "status")
#: The rows of an evaluation that was recalled: none.
NO_ROWS = np.empty(0, dtype=np.intp)


class Log:
    """Evaluations that were made, in memory and (if there is a path) in a file.

    Parameters
    ----------
    path : path, optional
        Where to write.
    header : mapping
        Description of the fit.
    known : mapping
        Evaluations that were read from an earlier log.
    """

    def __init__(self, path: Path | None, header: dict[str, Any], known: dict[str, dict[str, Any]]) -> None:
        self._path, self._known, self._check = path, known, ""
        if path is not None:
            values = [{"format": FORMAT, "version": VERSION, **header}, *known.values()]
            write_atomically(path, "".join([self._line(value) for value in values]).encode())

    def _line(self, value: dict[str, Any]) -> str:
        """Return the next line of the file, with its check."""
        self._check = _check(self._check, value)
        return json.dumps({**value, "check": self._check}, ensure_ascii=False) + "\n"

    def recall(self, what: str, theta: Vector) -> Evaluation | None:
        """Return an evaluation that was made before, None if it was not; it gives no warm start."""
        found = self._known.get(_key(what, theta))
        if found is None:
            return None
        status, latent = Status[found["status"]], np.empty(0)
        evidence = Evidence(float(found["value"]), {}, NO_ROWS, np.empty((0, 0)), np.empty(0), status, latent, 0)
        gradient = np.asarray(found["gradient"], dtype=float)
        return Evaluation(theta, evidence.value, gradient, (), evidence)

    def append(self, what: str, theta: Vector, found: Evaluated) -> None:
        """Write an evaluation down."""
        if self._path is None:
            return
        line = {
            "what": what,
            "theta": theta.tolist(),
            "value": float(found.value),
            "gradient": found.gradient.tolist(),
            "status": found.evidence.status.name,
        }
        try:
            with open(self._path, "a", encoding="utf-8") as out:
                out.write(self._line(line))
                out.flush()
                os.fsync(out.fileno())
        except OSError as error:
            raise type(error)(error.errno, error.strerror, str(self._path)) from error


@dataclasses.dataclass(frozen=True)
class LoggedObjective:
    """An objective whose evaluations are recalled if they were made before, and written down and reported if not."""

    objective: Objective
    what: str
    log: Log
    report: Callable[[Evaluated, float], None]

    @property
    def bounds(self) -> Matrix:
        """Bounds of theta."""
        return self.objective.bounds

    def evaluate(self, theta: Vector, warm_start: Vector | None = None) -> Evaluated:
        """Return value, gradient and evidence at ``theta``."""
        found: Evaluated | None = self.log.recall(self.what, theta)
        if found is not None:
            return found
        began = time.perf_counter()
        start = None if warm_start is None or not np.size(warm_start) else warm_start
        found = self.objective.evaluate(theta, start)
        self.log.append(self.what, theta, found)
        self.report(found, time.perf_counter() - began)
        return found


@dataclasses.dataclass(frozen=True)
class LoggedMaximizer(Maximizer):
    """A maximiser whose evaluations can be resumed.

    Parameters
    ----------
    log : Log
        Of the fit.
    report : callable
        Told about every evaluation, with the seconds that it took.
    searches : iterator of int
        Numbers of the searches of the fit.
    """

    log: Log = dataclasses.field(kw_only=True)
    report: Callable[[Evaluated, float], None] = dataclasses.field(kw_only=True)
    searches: Iterator[int] = dataclasses.field(default_factory=itertools.count, kw_only=True)

    def maximize(
        self,
        objective: Objective,
        starts: Sequence[Vector],
        *,
        metrics: Sequence[Matrix | None] | None = None,
        latent: Vector | None = None,
    ) -> Maximum:
        """Search from every start and return the best point seen; see the base class."""
        logged = LoggedObjective(objective, str(next(self.searches)), self.log, self.report)
        return super().maximize(logged, starts, metrics=metrics, latent=latent)


def open_log(path: Any, resume: Any, header: dict[str, Any]) -> tuple[Log, int]:
    """Return the log of a fit, and the seed of its sample: that of the fit that is resumed, if there is one.

    The log is written to ``path``; without one, a log that is resumed is continued.

    Raises
    ------
    ValueError
        If the fit to be resumed is another one, which its header tells.
    """
    known: dict[str, dict[str, Any]] = {}
    if resume is not None:
        old, known = read(resume)
        header = {**header, "seed": old["seed"]}
        for key, found in header.items():
            if old.get(key) != found:
                raise ValueError(
                    f"resume: the checkpoint is of another fit: expected {key} = {old.get(key)!r}, found {found!r}"
                )
    path = resume if path is None else path
    return Log(None if path is None else Path(path), header, known), header["seed"]


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the header and the evaluations of a log.

    Raises
    ------
    CheckpointError
        If the file cannot be read, is no checkpoint, or was damaged; a last line that was cut short is no damage.
    """
    name = os.fspath(path)
    try:
        lines = Path(path).read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise CheckpointError(f"resume: {name} cannot be read ({error.strerror})") from None
    records = _records(lines, name)
    header = records[0] if records else {}
    if header.get("format") != FORMAT or header.get("version") not in range(1, VERSION + 1):
        raise CheckpointError(f"resume: expected a checkpoint of a distributed fit, found another file at {name}")
    if header["version"] < VERSION:
        raise CheckpointError(
            f"resume: {name} is of an earlier release, which fitted committees of blocks; begin the fit afresh"
        )
    _verify(records, name)
    known = {}
    for number, record in enumerate(records[1:], start=2):
        try:
            key = _key(record["what"], np.asarray(record["theta"], dtype=float))
            known[key] = {field: record[field] for field in FIELDS}
        except (KeyError, TypeError, ValueError):
            raise CheckpointError(f"resume: {name} is damaged in line {number}") from None
    return {key: value for key, value in header.items() if key not in ("format", "version", "check")}, known


def _records(lines: list[bytes], name: str) -> list[dict[str, Any]]:
    """Return the lines that were written completely, read; none, if the first is no record."""
    records: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):  # that of JSON, or of UTF-8
            record = None
        if number == len(lines) and not line.endswith(b"\n") and number > 1:
            break
        if not isinstance(record, dict):
            if not records:
                break
            raise CheckpointError(f"resume: {name} is damaged in line {number}")
        records.append(record)
    return records


def _verify(records: list[dict[str, Any]], name: str) -> None:
    """Raise :class:`CheckpointError` unless every line follows the one before it."""
    before = ""
    for number, record in enumerate(records, start=1):
        before = _check(before, {key: value for key, value in record.items() if key != "check"})
        if record.get("check") != before:
            raise CheckpointError(f"resume: {name} is damaged: the check of line {number} does not fit")


def _check(before: str, value: dict[str, Any]) -> str:
    """Return the check of a line, which depends on all lines before it."""
    text = json.dumps(value, ensure_ascii=True, sort_keys=True)
    return hashlib.sha256((before + text).encode()).hexdigest()[:32]


def _key(what: str, theta: Vector) -> str:
    return what + theta.tobytes().hex()


__all__ = ["CheckpointError", "Log", "LoggedMaximizer", "open_log"]
