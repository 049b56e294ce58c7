"""How the documentation is built: offline, with formulas that browsers show, short names, and blocks that are run."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from sklearn.datasets import make_moons

import bayesvm
from bayesvm import BayesianSVC
from bayesvm.persistence.registry import own_classes

readme = pytest.importorskip("benchmarks.readme")

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
INLINE = re.compile(r"(?<![\\$])\$([^$]+)\$")
ROLE = re.compile(r":math:`([^`]+)`")
DISPLAYED = re.compile(r"^\$\$(.+?)\$\$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def extension(monkeypatch):
    """Return a function that imports an extension of the documentation."""
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    monkeypatch.delitem(sys.modules, "executed", raising=False)
    return pytest.importorskip


def formulas():
    """Return all formulas of pages and docstrings."""
    found = []
    for page in DOCS.rglob("*.md"):
        if "_build" not in page.parts:
            text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
            found += DISPLAYED.findall(text)
            found += INLINE.findall(DISPLAYED.sub("", text))
    for module in (ROOT / "src").rglob("*.py"):
        found += ROLE.findall(module.read_text(encoding="utf-8"))
    return found


def test_nothing_is_loaded_from_elsewhere():
    text = (DOCS / "conf.py").read_text(encoding="utf-8")
    assert "mathjax" not in text
    assert "http" not in text


def test_every_formula_can_be_shown(extension):
    mathml = extension("mathml")
    assert len(formulas()) > 500
    for formula in formulas():
        assert mathml.mathml(formula, block=False).startswith("<math")


@pytest.mark.parametrize(
    ("latex", "words"),
    [
        (r"\tfrac12", "<mfrac"),
        (r"\ln p", "<mspace"),
        (r"\big(x\big)", "("),
        (r"a, \dots, b", "…"),
        (r"\{1\}", 'stretchy="false"'),
    ],
)
def test_spellings_of_formulas(extension, latex, words):
    assert words in extension("mathml").mathml(latex, block=False)


def test_a_formula_that_cannot_be_shown_stops_the_build(extension):
    errors = extension("sphinx.errors")
    with pytest.raises(errors.ExtensionError, match="cannot be shown"):
        extension("mathml").mathml(r"\nonsense{x}", block=False)


def test_output_and_pictures_follow_a_block(extension, tmp_path):
    executed = extension("executed")
    pytest.importorskip("matplotlib")
    blocks = [
        ("python", "x = 3\nprint('said')\nx + 1\n"),
        ("console", "$ bayesvm --version\n"),
        ("python", "import matplotlib.pyplot as plt\nax = plt.subplots()[1]\nax.set_title('A title')\n"),
    ]
    first, commands, second = executed.run_page(blocks, "page", tmp_path, "guide/page")
    assert first.text == "said\n4\n"
    assert commands.text == ""
    assert [(name, title) for name, title in second.pictures] == [("page-2-1.png", "A title")]
    assert (tmp_path / "page-2-1.png").exists()
    assert "![A title](/_executed/page-2-1.png)" in executed.shown(second)
    assert ":class: output" in executed.shown(first)


def test_a_block_that_fails_stops_the_build(extension, tmp_path):
    executed, errors = extension("executed"), extension("sphinx.errors")
    with pytest.raises(errors.ExtensionError, match="a block failed: ZeroDivisionError"):
        executed.run_page([("python", "1 / 0\n")], "page", tmp_path, "guide/page")


def test_estimators_have_short_names_and_all_their_methods():
    text = (DOCS / "api" / "estimators.md").read_text(encoding="utf-8")
    public = [name for name in bayesvm.__all__ if f"estimators.{name}" in own_classes()]
    assert len(public) > 15
    for name in public:
        assert re.search(rf"autoclass:: bayesvm\.{name}\n   :members:\n   :inherited-members:", text), name
    assert hasattr(bayesvm.BayesianSVC, "predict_proba")


def test_log_odds_are_called_log_odds():
    text = (DOCS / "start.md").read_text(encoding="utf-8")
    assert re.search(r"decision_function\(.*# log odds", text)


def test_sparseness_is_told_as_it_is():
    texts = {
        name: " ".join((ROOT / name).read_text(encoding="utf-8").split()) for name in ("README.md", "docs/index.md")
    }
    assert not any(words in text for text in texts.values() for words in ("stays sparse", "rests on a subset"))
    assert "sparse only if asked to be" in texts["README.md"]
    X, y = make_moons(100, noise=0.25, random_state=0)
    default, fewer = BayesianSVC(n_starts=1).fit(X, y), BayesianSVC(n_starts=1, posterior="laplace").fit(X, y)
    assert len(fewer.support_) < len(default.support_)


def test_the_results_of_the_readme_have_one_place():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.PLACE.findall(text)) == 1
    records = [
        {"set": "a", "rows": 9, "machine": machine, "error": error, "nll": nll, "seconds": 1.0}
        for machine, error, nll in (("ours", 10.0, 0.5), ("theirs", 12.0, 0.4))
    ]
    assert readme.table(records).splitlines()[2] == "| a | **10.0 %** · 0.500 · 1.0 s | 12.0 % · **0.400** · 1.0 s |"
    picture = re.search(r"!\[[^\]]+\]\(([^)]+)\)", text)[1]
    assert (ROOT / picture).exists()
