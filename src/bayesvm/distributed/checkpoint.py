"""A log of evaluations from which a fit can be resumed.

The first line describes the fit: the shape of the data, how rows were dealt to blocks (sizes and the seed), names of the
options. Every further line is one evaluation: what was evaluated, theta, value, gradient. The search is deterministic, so
resuming is repeating it with the recorded evaluations in place of computed ones; it arrives where it was stopped within
milliseconds, and goes on. Numbers are written such that they are read back to the last bit, and a line is on the disk before the next
evaluation begins; a last line that was cut short is ignored.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesvm.solvers.base import Status
from bayesvm.typing import Vector

if TYPE_CHECKING:
    from bayesvm.distributed.objective import Part

FORMAT = "bayesvm-checkpoint"
VERSION = 1


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

    def recall(self, what: str, theta: Vector) -> Part | None:
        """Return an evaluation that was made before, None if it was not."""
        from bayesvm.distributed.objective import Part

        found = self._known.get(_key(what, theta))
        if found is None:
            return None
        failures = tuple((int(number), str(message)) for number, message in found["failures"])
        gradient = np.asarray(found["gradient"], dtype=float)
        return Part(float(found["value"]), gradient, Status[found["status"]], 0.0, failures, int(found["failed"]))

    def append(self, what: str, theta: Vector, part: Part) -> None:
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


def check_same(header: dict[str, Any], found: dict[str, Any]) -> None:
    """Refuse a checkpoint of another fit, and say what differs."""
    for key, value in found.items():
        if key != "seed" and header.get(key) != value:
            raise ValueError(
                f"resume: the checkpoint is of another fit: expected {key} = {header.get(key)!r}, found {value!r}"
            )


def _key(what: str, theta: Vector) -> str:
    return what + theta.tobytes().hex()


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


__all__ = ["Log", "check_same", "read"]
