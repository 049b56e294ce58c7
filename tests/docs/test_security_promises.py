"""SECURITY.md: every promise names tests, and they exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^\[(\w+)\]: (tests/\S+)$", PAGE, re.MULTILINE))
LINKS = [(name, FILES[file]) for name, file in re.findall(r"\[(test_\w+)\]\[(\w+)\]", PAGE)]


@pytest.mark.parametrize(("name", "path"), LINKS)
def test_the_test_of_a_promise_exists(name, path):
    assert re.search(rf"^def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_promise_has_one():
    promises = re.findall(r"^- (.*?)(?=^- |^$)", PAGE, re.MULTILINE | re.DOTALL)
    assert len(promises) >= 12
    assert all("[test_" in promise for promise in promises)
