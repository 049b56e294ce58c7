"""A log of evaluations from which a fit can be resumed.

The first line describes the fit: the shape of the data, how rows were dealt to blocks (sizes and the seed), names of
the options. Every further line is one evaluation: what was evaluated, theta, value, gradient. The search is
deterministic, so resuming is repeating it with the recorded evaluations in place of computed ones; it arrives where it
was stopped within milliseconds, and goes on. Numbers are written such that they are read back to the last bit, and a
line is on the disk before the next evaluation begins; a last line that was cut short is ignored.
"""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from bayesvm.solvers.base import Status
from bayesvm.typing import Vector

FORMAT = "bayesvm-checkpoint"
VERSION = 1


@dataclasses.dataclass(frozen=True)
class PartialSum:
    """Evidence of some blocks: value, gradient, worst status, seconds, failures as (block, message), their number."""

    value: float
    gradient: Vector
    status: Status
    seconds: float
    failures: tuple[tuple[int, str], ...] = ()
    failed: int = 0


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
        self._path, self._known = path, known
        if path is not None:
            lines = [{"format": FORMAT, "version": VERSION, **header}, *known.values()]
            temporary = path.with_name(path.name + ".tmp")
            temporary.write_text("".join(_line(line) for line in lines), encoding="utf-8")
            os.replace(temporary, path)

    def recall(self, what: str, theta: Vector) -> PartialSum | None:
        """Return an evaluation that was made before, None if it was not."""
        found = self._known.get(_key(what, theta))
        if found is None:
            return None
        failures = tuple((int(number), str(message)) for number, message in found["failures"])
        gradient = np.asarray(found["gradient"], dtype=float)
        return PartialSum(float(found["value"]), gradient, Status[found["status"]], 0.0, failures, int(found["failed"]))

    def append(self, what: str, theta: Vector, part: PartialSum) -> None:
        """Write an evaluation down."""
        if self._path is None:
            return
        line = {
            "what": what,
            "theta": theta.tolist(),
            "value": part.value,
            "gradient": part.gradient.tolist(),
            "status": part.status.name,
            "failures": list(part.failures),
            "failed": part.failed,
        }
        with open(self._path, "a", encoding="utf-8") as out:
            out.write(_line(line))
            out.flush()
            os.fsync(out.fileno())


def open_log(path: Any, resume: Any, header: dict[str, Any]) -> tuple[Log, int]:
    """Return the log of a fit, and the seed of its blocks: that of the fit that is resumed, if there is one.

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
    ValueError
        If the file is no checkpoint.
    """
    lines = Path(path).read_text(encoding="utf-8").splitlines(keepends=True)
    try:
        header = json.loads(lines[0]) if lines else None
    except json.JSONDecodeError:
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT or header.get("version") != VERSION:
        raise ValueError(f"resume: expected a checkpoint of a distributed fit, found another file at {os.fspath(path)}")
    known = {}
    for line in lines[1:]:
        if not line.endswith("\n"):
            break
        record = json.loads(line)
        known[_key(record["what"], np.asarray(record["theta"], dtype=float))] = record
    return {key: value for key, value in header.items() if key not in ("format", "version")}, known


def _key(what: str, theta: Vector) -> str:
    return what + theta.tobytes().hex()


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


__all__ = ["Log", "PartialSum", "open_log"]
