"""Every example runs to its end in an empty folder, and is listed in the gallery."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
#: Examples that take longer than the default suite allows.
LONG = {
    "active_selection.py",
    "chaotic_series.py",
    "demo.py",
    "losses_under_outliers.py",
    "ls_svm.py",
    "probabilistic_svc.py",
}


def marked(path):
    return pytest.param(path, marks=pytest.mark.slow) if path.name in LONG else path


@pytest.mark.parametrize("path", [marked(path) for path in EXAMPLES], ids=[path.stem for path in EXAMPLES])
def test_an_example_runs(path, tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path)])
    pyplot.switch_backend("Agg")
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as end:  # of the command line
        if end.code:
            raise
    finally:
        pyplot.close("all")


def test_the_gallery_lists_every_example():
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    missing = [path.name for path in EXAMPLES if f"`{path.name}`" not in text]
    assert missing == []
