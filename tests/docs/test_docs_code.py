"""Every Python block of the documentation runs: page by page, in order, in one namespace and an empty folder.

The commands of the tutorial run too, between its blocks.
"""

from __future__ import annotations

import re
import shlex
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: Pages whose commands are run.
COMMANDS = ("tutorial.md",)


def blocks(page):
    """Return (line number, code) of the blocks of a page; commands become code that runs them."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        line = text[: match.start(2)].count("\n")
        if match[1] == "python":
            found.append((line, match[2]))
        elif page.name in COMMANDS:
            found.append((line, "".join(as_call(command) for command in match[2].splitlines())))
    return found


def as_call(command):
    words = shlex.split(command.removeprefix("$ bayesvm "))
    return f"import bayesvm.cli.app; assert bayesvm.cli.app.run({words!r}) == 0\n"


WITH_CODE = [page for page in PAGES if "_build" not in page.parts and blocks(page)]
#: What a page needs beyond the library itself.
NEEDS = {"experiments.md": "bayesvm.experiments", "tutorial.md": "typer", "serving.md": "typer"}
#: Pages that take longest. Their blocks run with the slow tests and whenever the documentation is built, which fails
#: where a block does.
LONG = ("bayesian_svc.md", "choice_of_kernel.md", "distributed.md", "probabilistic_svc.md", "tutorial.md")


def parameter(page):
    """Return a page as a parameter of the test, slow if it is one of the long ones."""
    marks = [pytest.mark.slow] if page.name in LONG else []
    return pytest.param(page, id=page.relative_to(ROOT).as_posix(), marks=marks)


@pytest.mark.parametrize("page", [parameter(page) for page in WITH_CODE])
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    pytest.importorskip(NEEDS.get(page.name, "bayesvm"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")  # pictures are drawn, and shown by nobody
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


def test_every_guide_page_draws_a_picture():
    guides = sorted((ROOT / "docs" / "guide").glob("*.md"))
    bare = [page.name for page in guides if not any("plot" in code for _, code in blocks(page))]
    assert bare == []


def test_every_page_is_in_the_reading_order_once():
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    named = re.findall(r"^((?:guide/)?\w+)$", text, re.MULTILINE)
    assert len(named) == len(set(named))
    pages = {p.relative_to(ROOT / "docs").with_suffix("").as_posix() for p in (ROOT / "docs" / "guide").glob("*.md")}
    assert pages <= set(named)
    order = ["start", "guide/choosing", "guide/bayesian_svc", "guide/bayesian_svr", "guide/comparing"]
    order += ["guide/distributed", "guide/saving", "guide/command_line", "guide/ls_svm", "theory"]
    assert sorted(order, key=named.index) == order
