"""The examples of CONTRIBUTING: their numbers of lines are those stated, and within what was promised."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
#: What is added -> the largest number of lines of code that it may take.
MOST = {"a kernel": 15, "a likelihood": 25, "an inference method": 40, "an estimator": 40}


def section(what):
    """Return the text of the section on adding something."""
    return re.search(rf"^## Adding {what}\n(.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL)[1]


def example(what):
    """Return the stated number of lines and the block of code that follows the statement."""
    found = re.search(r"takes (\d+) lines of code:\n\n```python\n(.*?)^```", section(what), re.MULTILINE | re.DOTALL)
    return int(found[1]), found[2]


def code_lines(source):
    """Return the number of lines without blank lines, comments and docstrings."""
    documented = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ClassDef | ast.FunctionDef)]
    strings = [node.body[0] for node in documented if ast.get_docstring(node) is not None]
    prose = {number for string in strings for number in range(string.lineno, string.end_lineno + 1)}
    lines = [line.strip() for number, line in enumerate(source.splitlines(), 1) if number not in prose]
    return sum(1 for line in lines if line and not line.startswith("#"))


def test_lines_are_counted_without_prose():
    assert code_lines('def f():\n    """Text,\n    two lines."""\n\n    # comment\n    x = (\n        1\n    )\n') == 4


@pytest.mark.parametrize("what", MOST)
def test_an_example_has_the_stated_length(what):
    stated, source = example(what)
    assert code_lines(source) == stated <= MOST[what]


def test_an_estimator_writes_one_method():
    (cls,) = (node for node in ast.parse(example("an estimator")[1]).body if isinstance(node, ast.ClassDef))
    assert [node.name for node in cls.body if isinstance(node, ast.FunctionDef)] == ["__init__", "_spec"]
