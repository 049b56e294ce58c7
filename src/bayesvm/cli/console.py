"""What a command says: a summary for people or JSON for machines, and lines on the way."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable


class Reporter:
    """Says things.

    Parameters
    ----------
    quiet : bool
        Whether lines on the way and the summary are left out.
    as_json : bool
        Whether the result is one JSON object on standard output.
    aside : bool
        Whether the summary goes to standard error because standard output carries data.
    """

    def __init__(self, *, quiet: bool = False, as_json: bool = False, aside: bool = False) -> None:
        self.quiet, self.as_json = quiet, as_json
        self._err = Console(stderr=True, highlight=False, soft_wrap=True)
        self._out = self._err if aside else Console(highlight=False, soft_wrap=True)

    @property
    def shows_progress(self) -> bool:
        """Whether a progress bar makes sense: a person is looking, and has not asked for silence."""
        return not self.quiet and not self.as_json and sys.stderr.isatty()

    def say(self, line: str) -> None:
        """Say one line on the way, on standard error."""
        if not self.quiet:
            self._err.print(line, markup=False)

    def heading(self, text: str) -> None:
        """Begin the summary."""
        if not self.quiet and not self.as_json:
            self._out.print(text, style="bold", markup=False)

    def lines(self, lines: Sequence[str]) -> None:
        """Say lines of the summary."""
        if not self.quiet and not self.as_json:
            for line in lines:
                self._out.print(f"  {line}", markup=False)

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Show a table."""
        if self.quiet or self.as_json:
            return
        table = RichTable(box=None, pad_edge=False)
        for i, name in enumerate(head):
            table.add_column(name, justify="left" if i == 0 else "right")
        for row in rows:
            table.add_row(*(str(cell).replace("[", "\\[") for cell in row))
        self._out.print(table)

    def result(self, value: Mapping[str, Any]) -> None:
        """Give the result to machines."""
        if self.as_json:
            sys.stdout.write(json.dumps(_finite(value), ensure_ascii=False) + "\n")


def _finite(value: Any) -> Any:
    """Return JSON values in which numbers that JSON does not know are null."""
    if isinstance(value, Mapping):
        return {str(key): _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    if isinstance(value, float) and not (value == value and abs(value) != float("inf")):
        return None
    return value


__all__ = ["Reporter"]
