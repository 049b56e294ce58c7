"""Write a version and today's date where they belong: ``python scripts/release.py 0.2.0``.

``make release VERSION=0.2.0`` is the same.

The version itself is in ``src/bayesvm/__init__.py``; citation and changelog repeat it, and a test compares them. With
``--check v0.2.0`` nothing is written: the tag is compared with the version, as the workflow does before it publishes.
"""

from __future__ import annotations

import datetime
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE, CITATION, CHANGELOG = "src/bayesvm/__init__.py", "CITATION.cff", "CHANGELOG.md"
VERSION = re.compile(r"\d+\.\d+\.\d+(rc\d+)?")


def current(root: Path = ROOT) -> str:
    """Return the version of the package."""
    return re.search(r'^__version__ = "(.+)"$', (root / PACKAGE).read_text(encoding="utf-8"), re.MULTILINE)[1]


def stated(root: Path, version: str, date: str) -> dict[str, str]:
    """Return the new texts of the files that state the version."""
    changelog = (root / CHANGELOG).read_text(encoding="utf-8")
    if f"## [{version}]" in changelog:
        raise ValueError(f"{CHANGELOG} has an entry of {version} already")
    if not re.search(r"^## \[Unreleased\]\n\n### ", changelog, re.MULTILINE):
        raise ValueError(f"{CHANGELOG}: nothing under Unreleased")
    package, citation = ((root / name).read_text(encoding="utf-8") for name in (PACKAGE, CITATION))
    citation = re.sub(r"^version: .*$", f"version: {version}", citation, flags=re.MULTILINE)
    return {
        PACKAGE: re.sub(r'^__version__ = ".+"$', f'__version__ = "{version}"', package, flags=re.MULTILINE),
        CITATION: re.sub(r"^date-released: .*$", f"date-released: {date}", citation, flags=re.MULTILINE),
        CHANGELOG: changelog.replace("## [Unreleased]\n", f"## [Unreleased]\n\n## [{version}] - {date}\n", 1),
    }


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Write or check; return the exit code."""
    match arguments:
        case ["--check", tag]:
            fine = tag == f"v{current(root)}"
            print(f"tag {tag}, version {current(root)}: {'the same' if fine else 'not the same'}")
            return 0 if fine else 1
        case [version] if VERSION.fullmatch(version):
            try:
                texts = stated(root, version, datetime.date.today().isoformat())
            except ValueError as error:
                print(f"error: {error}", file=sys.stderr)
                return 1
            for name, text in texts.items():
                (root / name).write_text(text, encoding="utf-8")
            print(
                f"{version} is in {', '.join(texts)}; look at the changes, commit them, and tag the commit v{version}"
            )
            return 0
        case _:
            print("usage: release.py X.Y.Z | release.py --check vX.Y.Z", file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
