"""The report in a real browser: at three widths, light and dark, nothing overflows, overlaps or is out of reach."""

from __future__ import annotations

import numpy as np
import pytest
from model_zoo import data, fitted

from bayesvm import BayesianSVC, BayesianSVR
from bayesvm.report import collect_facts, write_report
from browser import (
    WIDTHS,
    accessibility_script,
    looked_at,
    needs_axe,
    needs_browser,
    run_browser,
    screenshot,
)

pytestmark = pytest.mark.xdist_group("pages of reports")
LONG = ["a feature whose name goes on and on, and a little further", "b"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Return reports of two classes, of three, of targets, and of noise."""
    pd = pytest.importorskip("pandas")
    folder = tmp_path_factory.mktemp("pages")
    X, y, targets = data(80)
    table = pd.DataFrame(X, columns=LONG)
    three = np.where(targets > 1.0, "a class with a long name", y)
    noise = np.random.default_rng(0).integers(0, 2, 80)
    cases = {
        "two": (BayesianSVC(ard=True, n_starts=2), table, y),
        "three": (BayesianSVC("auto", n_starts=2), table, three),
        "targets": (BayesianSVR(n_starts=2), table, 12345.0 * targets),
        "noise": (BayesianSVC(n_starts=2), table, noise),
    }
    for name, (model, inputs, target) in cases.items():
        facts = collect_facts(fitted(model, inputs, target), inputs, target, target="outcome", preparation=["a: text."])
        write_report(folder / f"{name}.html", {**facts, "source": "people.csv"})
    return {name: folder / f"{name}.html" for name in cases}


#: The narrowest window is where things overflow; the others are slow for the pages that have the fewest parts.
SIZES = [
    pytest.param(name, width, marks=pytest.mark.slow if name in ("targets", "noise") and width != min(WIDTHS) else ())
    for name in ("two", "three", "targets", "noise")
    for width in WIDTHS
]


@needs_browser
@pytest.mark.parametrize(("name", "width"), SIZES)
def test_nothing_overflows_or_overlaps(pages, tmp_path, name, width):
    script = "for (const fold of doc.querySelectorAll('details')) fold.open = true; return checks(doc);"
    found = looked_at(pages[name], tmp_path, width, script=script)
    assert found["width"] == width
    assert found["scroll"] <= width
    assert found["wide"] == []
    assert found["overlapping"] == []
    assert found["smallest"] >= 11  # pixels of a line of text in a picture


@needs_axe
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["two", "three", "targets", "noise"])
def test_no_serious_obstacle_for_anybody(pages, tmp_path, name, dark):
    assert looked_at(pages[name], tmp_path, 800, dark=dark, script=accessibility_script()) == []


@needs_browser
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [pytest.param(w, marks=pytest.mark.slow if w != 800 else ()) for w in WIDTHS])
def test_screenshots_are_light_or_dark(pages, tmp_path, width, dark):
    image = pytest.importorskip("matplotlib.image")
    picture = tmp_path / "page.png"
    screenshot(pages["two"].as_uri(), tmp_path, picture, width, 1200, dark=dark)
    pixels = image.imread(picture)[:, :width, :3]
    assert pixels.shape[:2] == (1200, width)
    assert pixels.mean() < 0.35 if dark else pixels.mean() > 0.85
    assert pixels.std() > 0.05


@needs_browser
def test_the_page_can_be_used_with_the_keyboard(pages, tmp_path):
    script = """
      for (const fold of doc.querySelectorAll('details')) fold.open = true;
      const stops = [...doc.querySelectorAll('a, summary, [tabindex="0"]')];
      stops[0].focus();
      return {first: stops[0].textContent, n: stops.length, lost: stops.filter(e => { e.focus();
        return doc.activeElement !== e; }).length};"""
    found = looked_at(pages["two"], tmp_path, 800, script=script)
    assert found["first"] == "To the results"
    assert found["n"] > 8
    assert found["lost"] == 0


@needs_browser
def test_the_checks_would_notice(tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        "<!doctype html><title>x</title><div style='width:900px'>wide</div><svg width=90 height=40>"
        "<text x=5 y=20>one label</text><text x=9 y=20>another</text></svg>"
    )
    found = looked_at(page, tmp_path, 400)
    assert found["wide"]
    assert found["overlapping"]
    page.write_text("<!doctype html><title>x</title><script>missing()</script>")
    assert len(run_browser(page.as_uri(), tmp_path, "--dump-dom")[1]) == 1
