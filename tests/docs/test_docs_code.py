"""Every Python block of the documentation runs: page by page, in order, in one namespace and an empty folder."""

from __future__ import annotations

import re
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page):
    """Return (line number, code) of the blocks of a page."""
    text = page.read_text(encoding="utf-8")
    return [(text[: match.start(1)].count("\n"), match[1]) for match in BLOCK.finditer(text)]


WITH_CODE = [page for page in PAGES if "_build" not in page.parts and blocks(page)]
#: What a page needs beyond the library itself.
NEEDS = {"experiments.md": "bayesvm.experiments"}


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    pytest.importorskip(NEEDS.get(page.name, "bayesvm"))
    monkeypatch.chdir(tmp_path)
    np.random.seed(0)  # noqa: NPY002 (pages are run as a reader would; this pins what they leave open)
    script = types.ModuleType("__main__")  # where pickle looks for the classes of a page
    monkeypatch.setitem(sys.modules, "__main__", script)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for line, code in blocks(page):
                exec(compile("\n" * line + code, str(page), "exec"), vars(script))
    finally:
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:
            pyplot.close("all")


def test_pages_are_found():
    assert len(WITH_CODE) > 5
