"""Every promise of SECURITY.md, and everything that has broken once, names tests, and they exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECURITY, HOSTILE = ROOT / "SECURITY.md", ROOT / "tests" / "hostile" / "README.md"


def links(page):
    """Return (name, file) of the tests that a page names."""
    text = page.read_text(encoding="utf-8")
    files = dict(re.findall(r"^\[(\w+)\]: (\S+)$", text, re.MULTILINE))
    return [(name, page.parent / files[file]) for name, file in re.findall(r"\[(test_\w+)\]\[(\w+)\]", text)]


@pytest.mark.parametrize(("name", "path"), links(SECURITY))
def test_the_test_of_a_promise_exists(name, path):
    assert re.search(rf"^def {name}\(", path.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize(("name", "path"), links(HOSTILE))
def test_the_test_of_what_has_broken_once_exists(name, path):
    assert re.search(rf"^def {name}\(", path.read_text(encoding="utf-8"), re.MULTILINE)


def test_every_promise_has_one():
    promises = re.findall(r"^- (.*?)(?=^- |^$)", SECURITY.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(promises) >= 12
    assert all("[test_" in promise for promise in promises)


def test_everything_that_has_broken_once_has_one():
    section = HOSTILE.read_text(encoding="utf-8").split("## What has broken once")[1]
    found = re.findall(r"^- (.*?)(?=^- |^$)", section, re.MULTILINE | re.DOTALL)
    assert len(found) >= 14
    assert all("[test_" in each for each in found)


def test_no_test_asserts_how_long_something_takes():
    clock = re.compile(r"\b(perf_counter|monotonic|process_time|thread_time|default_timer)(_ns)?\(|\btime\.time\(")
    timed = [path.name for path in (ROOT / "tests").rglob("test_*.py") if clock.search(path.read_text("utf-8"))]
    assert timed == []
