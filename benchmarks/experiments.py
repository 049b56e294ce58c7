"""Writes what was measured into docs/experiments.md: ``python -m benchmarks.experiments DIR``.

DIR is where ``bayesvm reproduce`` has written. After ``<!-- experiments -->`` the page holds, in the order of the
catalogue, what every experiment in the directory has printed; nothing there is typed by hand. What is said about it
stands before.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

from bayesvm.experiments import EXPERIMENTS
from benchmarks.page import ROOT

PAGE = ROOT / "docs" / "experiments.md"
MARK = "<!-- experiments -->\n"
WIDTH = 120


def section(text: str, name: str) -> str:
    """Return the Markdown of an experiment as a section of the page.

    Headings are one level lower; the command is added, the picture and missing files are left out, prose is wrapped.
    """
    lines = [line for line in text.splitlines() if not line.startswith(("![", "Skipped: "))]
    text = "\n".join(line if line.startswith(("|", "#")) else textwrap.fill(line, WIDTH) for line in lines)
    text = re.sub(r"^### (.*)$", r"**\1**", text, flags=re.MULTILINE)
    text = re.sub(r"^## (.*)$", rf"### \1\n\n`bayesvm reproduce {name}`", text, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def main(directory: Path) -> None:
    """Write the page."""
    files = [directory / e.name / f"{e.name}.md" for e in EXPERIMENTS]
    sections = [section(file.read_text(encoding="utf-8"), file.stem) for file in files if file.is_file()]
    if not sections:
        raise SystemExit(f"{directory}: expected the results of bayesvm reproduce, found none")
    before, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    PAGE.write_text(before + mark + "\n" + "\n\n".join(sections) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
