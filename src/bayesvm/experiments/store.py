"""Finished units on disk: one JSON line each, appended in one write, so that an interrupted run loses nothing but what
it was doing.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bayesvm.experiments.base import Numbers


@dataclasses.dataclass(frozen=True)
class Store:
    """The file ``units.jsonl`` of an experiment.

    Parameters
    ----------
    path : Path
        The file; its directory is made when something is written.
    """

    path: Path

    def append(self, case: str, seed: int, settings: Mapping[str, Any], seconds: float, numbers: Numbers) -> None:
        """Add one unit."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unit = {
            "case": case,
            "seed": seed,
            "settings": dict(settings),
            "seconds": round(seconds, 4),
            "numbers": numbers,
        }
        line = json.dumps(unit, default=_plain).encode() + b"\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            if os.lseek(descriptor, 0, os.SEEK_END) and not self._ends_well():
                line = b"\n" + line
            os.write(descriptor, line)
        finally:
            os.close(descriptor)

    def _ends_well(self) -> bool:
        """Return whether the last line is complete."""
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"

    def units(self) -> Iterator[dict[str, Any]]:
        """Yield the units; a line that was cut off is passed over."""
        if not self.path.is_file():
            return
        with self.path.open(encoding="utf-8") as file:
            for line in file:
                try:
                    unit = json.loads(line)
                except json.JSONDecodeError:
                    continue
                if isinstance(unit, dict) and {"case", "seed", "settings", "numbers"} <= unit.keys():
                    yield unit

    def finished(self, case: str, settings: Mapping[str, Any]) -> dict[int, Numbers]:
        """Return the numbers of a case's units by seed, where the settings are the same."""
        wanted = json.loads(json.dumps(dict(settings), default=_plain))
        found = {u["seed"]: u["numbers"] for u in self.units() if u["case"] == case and u["settings"] == wanted}
        return dict(sorted(found.items()))


def _plain(value: Any) -> Any:
    """Return numpy values as Python's."""
    return value.tolist()


__all__ = ["Store"]
