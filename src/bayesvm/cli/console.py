"""What a command says: a summary for people or JSON for machines, and lines on the way."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from bayesvm.cli.exit_codes import ExitCode


class Reporter:
    """Says things.

    Parameters
    ----------
    quiet : bool
        Whether nothing is said but errors.
    as_json : bool
        Whether the result, or the error, is one JSON object on standard output.
    aside : bool
        Whether the summary goes to standard error because standard output carries data.

    Attributes
    ----------
    warnings : list of str
        The warnings so far; they are part of the JSON result.
    """

    def __init__(self, *, quiet: bool = False, as_json: bool = False, aside: bool = False) -> None:
        from rich.console import Console

        self.quiet, self.as_json = quiet, as_json
        self.warnings: list[str] = []
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

    def warn(self, line: str) -> None:
        """Say a warning, once."""
        if line not in self.warnings:
            self.warnings.append(line)
            self.say(f"warning: {line}")

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
        """Show a table: the first column on the left, the others on the right, nothing cut off."""
        if self.quiet or self.as_json:
            return
        cells = [[str(cell) for cell in row] for row in (head, *rows)]
        widths = [max(len(row[j]) for row in cells) for j in range(len(head))]
        for i, row in enumerate(cells):
            parts = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]
            self._out.print("  ".join(parts).rstrip(), style=None if i else "bold", markup=False)

    def result(self, value: Mapping[str, Any]) -> None:
        """Give the result to machines."""
        if self.as_json:
            merged = [*self.warnings, *(w for w in value.get("warnings", ()) if w not in self.warnings)]
            _write_json({**value, "warnings": merged})

    def failure(self, code: ExitCode, message: str) -> None:
        """Say why the command failed: one line on standard error, and for machines an object with the key "error"."""
        sys.stderr.write(f"bayesvm: {message}\n")
        if self.as_json:
            _write_json({"error": {"kind": code.name.lower(), "code": int(code), "message": message}})


def _write_json(value: Mapping[str, Any]) -> None:
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
