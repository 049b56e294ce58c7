"""The report: complete, self-contained, and right when a browser shows it."""

from __future__ import annotations

import html.parser
import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from model_zoo import data, fitted, models
from sklearn.pipeline import make_pipeline

from bayesvm import BayesianSVC
from bayesvm.report import collect_facts, measure, render, write_report
from bayesvm.report.facts import as_plain
from bayesvm.tables import TableEncoder

matplotlib = pytest.importorskip("matplotlib")
pytest.importorskip("matplotlib.image")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SECTIONS = [
    "data", "model", "evidence", "performance", "relevance", "calibration", "support", "doubts", "warnings", "load",
]  # fmt: skip


class Checker(html.parser.HTMLParser):
    """Checks that elements are closed in order, and notes addresses and anchors."""

    VOID = ("meta", "link", "img", "br")

    def __init__(self):
        super().__init__()
        self.open, self.addresses, self.ids = [], [], []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.addresses += [values[key] for key in ("src", "href") if key in values]
        self.ids += [values["id"]] if "id" in values else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def checked(page):
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert all(address.startswith(("data:", "#")) for address in checker.addresses)
    assert checker.ids == SECTIONS
    assert "http" not in page.replace("http-equiv", "")
    assert "@import" not in page
    return page


@pytest.fixture(scope="module")
def model():
    X, y, _ = data(60)
    return fitted(BayesianSVC(None, ard=True, n_starts=2, max_evaluations=30), X, y)


@pytest.fixture(scope="module")
def facts(model):
    X, y, _ = data(60)
    return collect_facts(model, X, y, target="outcome", preparation=["age: 3 missing, replaced by the median 40."])


def test_all_sections_are_there(facts):
    page = checked(render(facts, title="A <title> & more", model="m.bvm"))
    assert "A &lt;title&gt; &amp; more" in page
    assert "age: 3 missing" in page
    assert page.count("data:image/png") == 3  # evidence, relevance, calibration
    assert re.search(r"load\(&quot;m\.bvm&quot;\)", page)


def test_facts_are_plain_data(facts):
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert checked(render(json.loads(json.dumps(facts)))) == checked(render(facts))


def test_test_data_come_first(model, facts):
    X, y, _ = data(80, seed=5)
    test = as_plain(measure(model, X, y, "test data"))
    page = checked(render(facts, test=test))
    assert page.index("test data") < page.index("leave-one-out")
    error = np.mean(model.predict(X) != y)
    assert test["figures"][0][1] == pytest.approx(error)
    assert test["figures"][0][2] <= error <= test["figures"][0][3]


def test_intervals_of_frequencies_cover(model):
    from bayesvm.report.performance import _share

    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(400):
        figure = _share("x", rng.random(50) < 0.2)
        hits += figure.lower <= 0.2 <= figure.upper
    assert 0.90 < hits / 400 < 0.985
    assert _share("x", np.zeros(10, dtype=bool)).lower == 0.0
    assert _share("x", np.ones(10, dtype=bool)).upper == 1.0


def test_every_estimator_has_a_report():
    X, labels, targets = data()
    for _, model in models():
        if hasattr(model, "predict"):
            y = labels if hasattr(model, "classes_") else targets
            checked(render(collect_facts(model, X, y)))


def test_a_wrong_label_is_doubted():
    X, y, _ = data(80)
    far = int(np.argmax(X[:, 0]))
    wrong = y.copy()
    wrong[far] = "no"
    facts = collect_facts(fitted(BayesianSVC(None, n_starts=1), X, wrong), X, wrong, rows=range(2, 82))
    assert far + 2 in [row for row, *_ in facts["doubts"]["rows"]]


def test_warnings_say_what_is_the_matter():
    X, y, _ = data(12)
    model = fitted(BayesianSVC(None, n_starts=1, max_evaluations=1), X, y)
    text = " ".join(collect_facts(model, X, y)["warnings"])
    assert "did not converge" in text
    assert "fewer than thirty rows" in text


def test_pipelines_and_files(tmp_path):
    X, y, _ = data()
    table = {"a": X[:, 0].tolist(), "b": X[:, 1].tolist()}
    model = fitted(make_pipeline(TableEncoder(), BayesianSVC(None, n_starts=1, max_evaluations=10)), table, y)
    path = tmp_path / "report.html"
    write_report(path, collect_facts(model, table, y))
    checked(path.read_text(encoding="utf-8"))
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def shown(page, folder, name, *options):
    """Open a page in the browser; return what it logged and the picture of it."""
    picture = folder / f"{name}.png"
    command = [
        BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr",
        "--v=0", f"--user-data-dir={folder / 'profile'}", f"--screenshot={picture}", *options, page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    pixels = matplotlib.image.imread(picture)[:, :, :3]
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line], pixels


@pytest.mark.skipif(BROWSER is None, reason="needs chromium")
def test_a_browser_shows_it_without_errors(facts, tmp_path):
    page = tmp_path / "report.html"
    write_report(page, facts, title="Report")
    errors, wide = shown(page, tmp_path, "wide", "--window-size=1000,1400")
    assert errors == []
    assert wide.shape[:2] == (1400, 1000)
    assert wide.mean() > 0.85  # dark text on light paper
    assert wide.std() > 0.05
    errors, dark = shown(
        page,
        tmp_path,
        "dark",
        "--window-size=1000,1400",
        "--force-dark-mode",
        "--blink-settings=preferredColorScheme=0",
    )
    assert errors == []
    assert dark.mean() < 0.35
    errors, phone = shown(page, tmp_path, "phone", "--window-size=500,1400")
    assert errors == []
    assert phone.std() > 0.05


@pytest.mark.skipif(BROWSER is None, reason="needs chromium")
def test_the_browser_check_would_notice_an_error(tmp_path):
    page = tmp_path / "bad.html"
    page.write_text("<!doctype html><title>x</title><script>missing()</script>")
    errors, _ = shown(page, tmp_path, "bad", "--window-size=300,300")
    assert len(errors) == 1
