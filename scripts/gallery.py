"""Runs every example for the gallery: ``python scripts/gallery.py FOLDER`` leaves pictures, output and notebooks there.

An example that was run before, and has not changed since, is not run again.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
#: Examples that are a command of the command line, and no notebook.
COMMANDS = ("demo",)


def run(example: Path, folder: Path) -> None:
    """Run one example in the folder; its output goes to a text file of its name once it has ended well."""
    output = folder / f"{example.stem}.txt"
    if output.exists() and output.stat().st_mtime > example.stat().st_mtime:
        return
    logging.info("running %s", example.name)
    environment = {**os.environ, "MPLBACKEND": "Agg", "COLUMNS": "110"}
    done = subprocess.run(
        [sys.executable, str(example)], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{example.name} failed:\n{done.stderr}")
    output.write_text(done.stdout or "(prints nothing)\n", encoding="utf-8")


def notebook(example: Path) -> dict[str, Any]:
    """Return an example as a notebook: what it shows, its functions, and the call that runs it."""
    text = example.read_text(encoding="utf-8")
    title = ast.get_docstring(ast.parse(text)) or example.stem
    code = text.split('"""\n', 1)[1].strip()
    body, _, _ = code.partition('\nif __name__ == "__main__":')
    cells = [_cell("markdown", f"# {title}"), _cell("code", body.strip()), _cell("code", "main()")]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _cell(kind: str, text: str) -> dict[str, Any]:
    own = {"execution_count": None, "outputs": []} if kind == "code" else {}
    name = hashlib.sha256(text.encode()).hexdigest()[:8]
    return {"cell_type": kind, "id": name, "metadata": {}, "source": text.splitlines(keepends=True), **own}


def main() -> None:
    """Run all examples."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for example in sorted(EXAMPLES.glob("*.py")):
        run(example, folder)
        if example.stem not in COMMANDS:
            page = json.dumps(notebook(example), indent=1)
            (folder / f"{example.stem}.ipynb").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
