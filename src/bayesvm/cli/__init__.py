"""The command line: ``bayesvm fit``, ``predict``, ``report``, ``compare``, ``inspect``, ``serve`` and others."""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and end the process with its exit code."""
    try:
        from bayesvm.cli.app import run
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        sys.stderr.write("bayesvm: the command line needs typer and rich: pip install 'bayesvm[cli]'\n")
        sys.exit(2)
    sys.exit(run(arguments))


__all__ = ["main"]
