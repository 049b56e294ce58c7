"""Runs every example for the gallery: ``python scripts/gallery.py FOLDER`` leaves pictures and output there.

An example that was run before, and has not changed since, is not run again.
"""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


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


def main() -> None:
    """Run all examples."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for example in sorted(EXAMPLES.glob("*.py")):
        run(example, folder)


if __name__ == "__main__":
    main()
